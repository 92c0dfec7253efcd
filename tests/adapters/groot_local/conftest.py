"""GR00T checkpoints as files, and a stand-in for NVIDIA's package.

``gr00t`` is on no package index, and its weights are gigabytes. What the adapter does with the real
package is therefore tested against a package of the same module layout, classes and checks, written
for these tests after `gr00t/policy/gr00t_policy.py` (N1.6, N1.7) and `gr00t/model/policy.py` (N1.5)
of NVIDIA/Isaac-GR00T. It holds no network: it says what it was given. No real GR00T has run here.
"""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from robogate.contract.adapter_schema import GrootAdapter

NAMES = ["x", "y", "z", "roll", "pitch", "yaw", "gripper"]
STANDIN = Path(__file__).parent / "standin"
LANGUAGE = "annotation.human.action.task_description"


def component(width: int) -> dict[str, list[float]]:
    low, high = [-0.5] * width, [0.75] * width
    return {
        "min": low,
        "max": high,
        "mean": [0.1] * width,
        "std": [0.2] * width,
        "q01": low,
        "q99": high,
    }


def statistics() -> dict[str, Any]:
    state = {name: component(2 if name == "gripper" else 1) for name in NAMES}
    return {"state": state, "action": {name: component(1) for name in NAMES}}


def modality(keys: list[str], steps: int = 1) -> dict[str, Any]:
    return {"delta_indices": list(range(steps)), "modality_keys": keys, "action_configs": None}


def weights(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")


def write_n16(folder: Path, layout: str = "n1.6", tag: str = "libero_panda") -> Path:
    """A checkpoint of N1.6 or N1.7, as their processors save one."""
    robot = {
        "video": modality(["image", "wrist_image"]),
        "state": modality(NAMES),
        "action": modality(NAMES, 16),
        "language": modality([LANGUAGE]),
    }
    other = {**robot, "state": modality(["left_arm"]), "video": modality(["ego_view"])}
    kwargs = {
        "modality_configs": {tag: robot, "gr1": other},
        "max_action_horizon": 40,
        "use_percentiles": False,
        "use_relative_action": False,
        "formalize_language": True,
    }
    name = {"n1.6": "Gr00tN1d6Processor", "n1.7": "Gr00tN1d7Processor"}[layout]
    documents = {
        "processor_config.json": {"processor_class": name, "processor_kwargs": kwargs},
        "statistics.json": {tag: statistics(), "gr1": {}},
        "embodiment_id.json": {tag: 2, "gr1": 20},
        "config.json": {"model_type": name},
    }
    folder.mkdir(parents=True)
    for file, document in documents.items():
        (folder / file).write_text(json.dumps(document))
    weights(folder)
    return folder


def write_n15(folder: Path, tag: str = "new_embodiment") -> Path:
    """A checkpoint of N1.5, as its trainer saves one."""
    shapes = {name: {"shape": [2 if name == "gripper" else 1]} for name in NAMES}
    view = {"resolution": [256, 256], "channels": 3, "fps": 20.0}
    robot = {
        "statistics": statistics(),
        "modalities": {
            "video": {"image": view, "wrist_image": view},
            "state": shapes,
            "action": {name: {"shape": [1]} for name in NAMES},
        },
        "embodiment_tag": tag,
    }
    (folder / "experiment_cfg").mkdir(parents=True)
    (folder / "experiment_cfg" / "metadata.json").write_text(json.dumps({tag: robot}))
    model = {"action_horizon": 16, "action_head_cfg": {"action_horizon": 16}}
    (folder / "config.json").write_text(json.dumps(model))
    weights(folder)
    return folder


def write(folder: Path, layout: str) -> Path:
    """A checkpoint of a layout, in order in every respect."""
    return write_n15(folder) if layout == "n1.5" else write_n16(folder, layout)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a checkpoint of a layout."""
    return lambda layout: write(tmp_path / layout, layout)


@pytest.fixture
def adapter() -> Callable[..., GrootAdapter]:
    """Makes the record of ``adapter=groot``."""

    def make(layout: str = "n1.6", **fields: Any) -> GrootAdapter:
        values: dict[str, Any] = dict(
            kind="groot", version="1", benches=("pnp",), role="policy", determinism="stochastic",
            transfer="zero_shot", execute=8, model=None, revision=None, checkpoint_sha256=None,
            warmup_timeout_s=60.0, seeding="none", batch_invariant=False, chunk=16,
            replan="after_execute", image_transform="rotate_180", image_size=4,
            image_resize="none", state_layout="libero_8", quaternion="axis_angle_raw",
            gripper_decode="unit_open", layout=layout, device="cpu", embodiment_tag=None,
            data_config="examples.Libero.custom_data_config:LiberoDataConfig"
            if layout == "n1.5" else None,
            denoising_steps=8 if layout == "n1.5" else None,
        )  # fmt: skip
        return GrootAdapter(**{**values, **fields})

    return make


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """Puts the stand-in of a generation on the path; returns its folder.

    It is copied out of the repository first, as a package under git has to be clean.
    """
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def install(generation: str) -> Path:
        folder = tmp_path / f"standin_{generation}"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(STANDIN / generation, folder, ignore=ignored)
        monkeypatch.syspath_prepend(str(folder))
        importlib.invalidate_caches()
        return folder

    yield install
    for name in [n for n in sys.modules if n.split(".")[0] in ("gr00t", "examples")]:
        del sys.modules[name]
