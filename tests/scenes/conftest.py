"""The bench that scene tests use: a copy of its configuration that needs no YAML reader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from robogate.contract.schema import Renderer
from robogate.contract.strict import decode
from robogate.scenes.pnp_config import PnpBench

BENCH_FILE = Path(__file__).with_name("mujoco_pnp.json")


@pytest.fixture(scope="session")
def bench() -> PnpBench:
    return decode(PnpBench, json.loads(BENCH_FILE.read_text()))


@pytest.fixture(scope="session")
def renderer() -> Renderer:
    return Renderer("mujoco", 256, 256, 4, False, ("primary", "wrist"))
