"""A stand-in, see conftest.py."""

from types import SimpleNamespace

NAMES = ["x", "y", "z", "roll", "pitch", "yaw", "gripper"]


class LiberoDataConfig:
    horizon = 16

    def modality_config(self):
        language = "annotation.human.action.task_description"
        keys = {
            "video": ["video.image", "video.wrist_image"],
            "state": [f"state.{name}" for name in NAMES],
            "action": [f"action.{name}" for name in NAMES],
            "language": [language],
        }
        steps = {"action": list(range(self.horizon))}
        return {
            name: SimpleNamespace(modality_keys=found, delta_indices=steps.get(name, [0]))
            for name, found in keys.items()
        }

    def transform(self):
        return "min_max"


class ShortDataConfig(LiberoDataConfig):
    horizon = 8
