"""What the tests of the training share: the bench, its manifest, demonstrations made by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from robogate.contract.layout import manifests_dir
from robogate.contract.strict import decode
from robogate.scenes.manifest import Manifest, load_manifest
from robogate.scenes.pnp_config import PnpBench
from robogate.training.demos import Demo

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def bench() -> PnpBench:
    return decode(PnpBench, json.loads((TESTS / "scenes" / "mujoco_pnp.json").read_text()))


@pytest.fixture(scope="session")
def manifest() -> Manifest:
    return load_manifest(manifests_dir() / "fair_pnp_v2.json")


@pytest.fixture(scope="session")
def demo() -> Callable[..., Demo]:
    """Makes a demonstration: gripper commands, and a hand that moves 1 cm along x per action."""

    def make(grips: list[float], size: int = 8, seed: int = 0) -> Demo:
        random = np.random.default_rng(seed)
        count = len(grips)
        state = random.standard_normal((count, 16))
        state[:, 9:12] = 0.0
        state[:, 9] = 0.01 * np.arange(count)
        action = random.uniform(-0.5, 0.5, (count, 7))
        action[:, 6] = grips
        shape = (count, size, size, 3)
        images = {c: random.integers(0, 256, shape, dtype=np.uint8) for c in ("primary", "wrist")}
        return Demo(images, state, action)

    return make
