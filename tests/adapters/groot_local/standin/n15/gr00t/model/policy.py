"""A stand-in, see conftest.py: the interface of NVIDIA's class, and no network."""

import json
from pathlib import Path

import numpy as np


class Gr00tPolicy:
    def __init__(
        self, model_path, embodiment_tag, modality_config, modality_transform,
        denoising_steps=None, device="cuda",
    ):  # fmt: skip
        metadata = Path(model_path) / "experiment_cfg" / "metadata.json"
        assert embodiment_tag in json.loads(metadata.read_text())
        self.weights = (Path(model_path) / "model.safetensors").read_bytes()
        self.configs, self.transform = modality_config, modality_transform
        self.denoising_steps, self.device, self.given = denoising_steps, device, []

    def get_action(self, observations):
        for name, value in observations.items():
            if name.startswith("state."):
                assert value.ndim == 2, name
            if name.startswith("video."):
                assert value.dtype == np.uint8 and value.ndim == 4, name
        self.given.append(observations)
        steps = len(self.configs["action"].delta_indices)
        keys = self.configs["action"].modality_keys
        return {key: np.full(steps, 0.125 * i, np.float32) for i, key in enumerate(keys)}
