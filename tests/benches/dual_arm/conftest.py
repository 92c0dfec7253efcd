"""The committed bench, its scenes, and environments on it."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the embedded simulator is not installed")

from robogate.benches.dual_arm.environment import DualArmEnvironment
from robogate.benches.dual_arm.simulation import DualArmSimulation
from robogate.benches.rendering import prepare_process
from robogate.contract.schema import Adapter, Budget, Renderer, Track
from robogate.contract.strict import decode
from robogate.records.benches import bench_rules
from robogate.records.contract import freeze
from robogate.records.environment import Registration
from robogate.records.observation import FloatArray
from robogate.scenes.dual_arm import resolve
from robogate.scenes.dual_arm_check import CAMERAS
from robogate.scenes.dual_arm_config import TASKS, DualArmBench

BENCH_FILE = Path(__file__).parents[2] / "scenes" / "mujoco_dual_arm.json"
REGISTRATION = Registration("c" * 64, "zero", "1", "a" * 64, None, None, None, None, None)
ZERO = Adapter(
    "zero", "1", ("dual_arm",), "control", "deterministic", "none", 1, None, None, None
)  # fmt: skip


@pytest.fixture(scope="session")
def bench() -> DualArmBench:
    return decode(DualArmBench, json.loads(BENCH_FILE.read_text()))


@pytest.fixture(scope="session")
def renderer() -> Renderer:
    return Renderer("mujoco", 160, 120, 0, False, CAMERAS)


@pytest.fixture(scope="session")
def gl() -> str:
    for backend, library in (("egl", "libEGL.so.1"), ("osmesa", "libOSMesa.so.8")):
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        prepare_process(backend, 1)
        return backend
    pytest.skip("neither EGL nor OSMesa is installed")


@pytest.fixture(scope="session")
def hold(bench: DualArmBench) -> FloatArray:
    """The command in force after a reset."""
    return np.array(bench.reset_command)


Simulate = Callable[..., DualArmSimulation]


@pytest.fixture(scope="session")
def simulate(bench: DualArmBench, renderer: Renderer) -> Simulate:
    """Builds the simulation of a task and a seed."""
    return lambda task, seed=0: DualArmSimulation(resolve(bench, task, seed), bench, renderer)


MakeEnvironment = Callable[..., DualArmEnvironment]


@pytest.fixture
def make_environment(bench: DualArmBench, renderer: Renderer, gl: str) -> Iterator[MakeEnvironment]:
    """Builds environments; both tasks' scenarios are called TASK_SEED."""
    opened: list[DualArmEnvironment] = []

    def make(*, max_actions: int = 300, registered: bool = True) -> DualArmEnvironment:
        track = Track("t", "dual_arm", "click_bell", "t.json", "0" * 64, 1)
        frozen = freeze(bench, track, ZERO, renderer, Budget("b", max_actions, "all"))
        scenarios = {
            f"{task}_{seed}": (seed, resolve(bench, task, seed))
            for task in TASKS
            for seed in range(4)
        }
        environment = DualArmEnvironment(frozen, bench, scenarios, bench_rules("dual_arm"), gl)
        if registered:
            environment.register(REGISTRATION)
        opened.append(environment)
        return environment

    yield make
    for environment in opened:
        environment.close()
