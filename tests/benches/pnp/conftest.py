"""The committed bench, its rules, and environments on it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the embedded simulator is not installed")
pytest.importorskip("yaml", reason="conf/ is YAML")

from robogate.benches.pnp.environment import PnpEnvironment
from robogate.benches.pnp.robot import load_meshes
from robogate.benches.pnp.simulation import PnpSimulation
from robogate.benches.rendering import prepare_process
from robogate.config.coerce import to_record
from robogate.contract.layout import conf_dir, data_dir
from robogate.contract.schema import Renderer
from robogate.records.benches import bench_rules
from robogate.records.environment import Registration
from robogate.records.observation import FloatArray
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.spec import PnpScene

REGISTRATION = Registration("c" * 64, "zero", "1", "a" * 64, None, None, None, None, None)
ZERO = (0.0,) * 7


def _yaml(name: str) -> dict[str, Any]:
    import yaml

    values: dict[str, Any] = yaml.safe_load((conf_dir() / name).read_text())
    return values


@pytest.fixture(scope="session")
def bench() -> PnpBench:
    values = _yaml("bench/mujoco_pnp.yaml")
    del values["defaults"]
    values["assets"]["sha256"] = "0" * 64
    return to_record(PnpBench, values, "bench")


@pytest.fixture(scope="session")
def renderer() -> Renderer:
    return to_record(Renderer, _yaml("renderer/mujoco_256.yaml"), "renderer")


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
def meshes() -> dict[str, bytes]:
    return load_meshes(data_dir() / "panda")


@pytest.fixture(scope="session")
def scene(bench: PnpBench) -> PnpScene:
    return bench_rules("pnp").resolve(bench, "standard_objects", 191664964)


Simulate = Callable[[PnpScene], PnpSimulation]


@pytest.fixture(scope="session")
def simulate(bench: PnpBench, renderer: Renderer, meshes: dict[str, bytes]) -> Simulate:
    return lambda scene: PnpSimulation(scene, bench, renderer, meshes)


MakeEnvironment = Callable[..., PnpEnvironment]


@pytest.fixture
def make_environment(
    bench: PnpBench, renderer: Renderer, gl: str, scene: PnpScene
) -> Iterator[MakeEnvironment]:
    """Build environments: scenarios by name to scene, each with seed 7; ``max_actions``."""
    opened: list[PnpEnvironment] = []

    def make(
        scenes: Mapping[str, PnpScene] | None = None,
        *,
        max_actions: int = 300,
        bench: PnpBench = bench,
        renderer: Renderer = renderer,
        registered: bool = True,
    ) -> PnpEnvironment:
        environment = PnpEnvironment(
            bench, renderer, max_actions,
            {name: (7, s) for name, s in (scenes or {"nominal": scene}).items()},
            bench_rules("pnp"), data_dir() / "panda", gl,
        )  # fmt: skip
        opened.append(environment)
        if registered:
            environment.register(REGISTRATION)
        return environment

    yield make
    for environment in opened:
        environment.close()


class Driver:
    """A minimal scripted pick, enough to bring a block between the fingers and away."""

    @staticmethod
    def act(simulation: PnpSimulation, step: int, action: FloatArray) -> None:
        """Execute one action, which has to be solvable."""
        command = simulation.solve(action)
        assert command is not None, f"rejected at {step}"
        simulation.execute(step, command, float(action[6]))

    def move(
        self, simulation: PnpSimulation, step: int, goal: FloatArray, gripper: float, actions: int
    ) -> int:
        """Go towards a world position for a number of actions; return the next step."""
        for _ in range(actions):
            action = np.zeros(7)
            action[:3] = np.clip((goal - simulation.sensors.grip_position()) / 0.05, -1.0, 1.0)
            action[6] = gripper
            self.act(simulation, step, action)
            step += 1
        return step

    def grasp(self, simulation: PnpSimulation, block: FloatArray) -> int:
        """Go over the block, down to it, and close; the block's yaw has to be near 0."""
        step = self.move(simulation, 0, block + np.array([0.0, 0.0, 0.1]), -1.0, 15)
        step = self.move(simulation, step, block, -1.0, 10)
        return self.move(simulation, step, block, 1.0, 6)


@pytest.fixture(scope="session")
def drive() -> Driver:
    return Driver()
