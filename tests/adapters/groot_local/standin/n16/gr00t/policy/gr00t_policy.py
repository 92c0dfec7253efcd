"""A stand-in, see conftest.py: the interface and the checks of NVIDIA's class, and no network."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from gr00t.data.embodiment_tags import EmbodimentTag


class Gr00tPolicy:
    def __init__(self, embodiment_tag, model_path, *, device, strict=True):
        assert isinstance(embodiment_tag, EmbodimentTag) and strict is True
        folder = Path(model_path)
        self.weights = (folder / "model.safetensors").read_bytes()
        config = json.loads((folder / "processor_config.json").read_text())
        robot = config["processor_kwargs"]["modality_configs"][embodiment_tag.value]
        self.configs = {name: SimpleNamespace(**modality) for name, modality in robot.items()}
        self.device, self.given, self.draw = device, [], None

    def get_modality_config(self):
        return self.configs

    def get_action(self, observation, options=None):
        assert set(observation) == {"video", "state", "language"}
        for name, array in observation["video"].items():
            assert array.dtype == np.uint8 and array.ndim == 5 and array.shape[-1] == 3, name
        for name, array in observation["state"].items():
            assert array.dtype == np.float32 and array.ndim == 3, name
        self.given.append(observation)
        steps = len(self.configs["action"].delta_indices)
        action = {
            name: np.full((1, steps, 1), 0.125 * index, np.float32)
            for index, name in enumerate(self.configs["action"].modality_keys)
        }
        # 0.75: more open than closed. An opening gripper is -1 for the bench.
        action["gripper"][:, steps // 2 :] = 0.25
        if self.draw is not None:
            action["x"] = self.draw((1, steps, 1))
        return action, {}
