"""A whole evaluation of a LeRobot policy, and what a wrong checkpoint does to one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robogate.contract.layout import data_dir

pytest.importorskip("lerobot", reason="LeRobot has an environment of its own: make test-lerobot")

#: A generous limit: two evaluations with PyTorch on a machine that may be busy.
PATIENCE_S = 800
pytestmark = [pytest.mark.lerobot, pytest.mark.timeout(2 * PATIENCE_S)]

#: Size that is saved in the checkpoints; the bench's cameras give 256.
SIZE = 64


def run(checkpoint: Path, folder: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable, "-m", "robogate", "bench=mujoco_pnp", "adapter=lerobot",
        f"adapter.checkpoint={checkpoint}", f"adapter.image_size={SIZE}",
        "adapter.image_resize=area", "budget=smoke", "budget.max_actions=6",
        f"runtime.output_dir={folder}", "runtime.media=off", "runtime.wandb=off", *overrides,
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)


def result(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return document


@pytest.mark.skipif(not data_dir().is_dir(), reason="the bench's assets are not here: make assets")
@pytest.mark.parametrize(
    ("kind", "overrides"),
    [
        ("act", ["adapter.chunk=8", "adapter.execute=3"]),
        ("diffusion", ["adapter.chunk=4", "runtime.workers=2"]),
    ],
)
def test_a_policy_of_random_weights_gives_a_result_that_verifies(
    kind: str, overrides: list[str], saved: Callable[..., Path], tmp_path: Path
) -> None:
    done = run(saved(kind), tmp_path / "run", *overrides)
    assert done.returncode == 0, done.stdout + done.stderr
    document = result(tmp_path / "run")
    assert document["summary"]["errored"] == 0
    assert document["identity"]["policy"]["module"] == f"lerobot.policies.{kind}.modeling_{kind}"
    assert document["identity"]["checkpoint"]["files"] == 6
    verify = [sys.executable, "-m", "robogate", "verify", "--replay", str(tmp_path / "run")]
    checked = subprocess.run(verify, capture_output=True, text=True, timeout=PATIENCE_S)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_wrong_checkpoint_stops_the_run_with_nothing_scored(files: Path, tmp_path: Path) -> None:
    (files / "policy_preprocessor.json").write_text('{"steps": []}')
    done = run(files, tmp_path / "run", "adapter.chunk=8")
    assert done.returncode == 3
    document = result(tmp_path / "run")
    assert document["error"]["code"] == "checkpoint"
    assert "policy_preprocessor.json" in document["error"]["message"]
    assert document["summary"]["scored"] == 0
