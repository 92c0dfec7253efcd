"""Both controls in the real simulation, without cameras: what physics makes of their actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robogate.adapters.pnp_oracle import PnpOracleSession
from robogate.adapters.zero import still_action
from robogate.contract.layout import data_dir, manifests_dir
from robogate.contract.schema import Renderer
from robogate.records.benches import bench_rules
from robogate.records.observation import Evaluator, Observation
from robogate.records.policy import Privileged
from robogate.scenes.manifest import Manifest, Scenario, load_manifest
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.spec import PnpScene

mujoco = pytest.importorskip("mujoco")

RENDERER = Renderer("mujoco", 256, 256, 4, False, ("primary", "wrist"))
RULES = bench_rules("pnp")


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return load_manifest(manifests_dir() / "fair_pnp_v2.json")


@pytest.fixture(scope="module")
def meshes() -> dict[str, bytes]:
    from robogate.benches.pnp.robot import load_meshes

    return load_meshes(data_dir() / "panda")


class Trial:
    """One scenario; runs to success or to the end of the budget."""

    def __init__(self, bench: PnpBench, scenario: Scenario, meshes: dict[str, bytes]) -> None:
        from robogate.benches.pnp.simulation import PnpSimulation

        self.scene: PnpScene = RULES.resolve(bench, scenario.variant, scenario.seed)
        self.simulation = PnpSimulation(self.scene, bench, RENDERER, meshes)
        self.tracker = RULES.tracker(bench, self.scene)
        self.facts = self.simulation.sensors.facts(False, 0)
        self.tracker.update(self.facts)
        self.actions: list[Any] = []
        self.touched: set[str] = set()

    def view(self) -> Privileged:
        sensors = self.simulation.sensors
        evaluator = Evaluator("s", 0, {}, False, self.facts, {})
        step = len(self.actions)
        observation = Observation("2.0.0", "e", step, "", sensors.state(), {}, "", False, evaluator)
        return Privileged("s", self.scene, observation)

    def act(self, action: Any) -> None:
        command = self.simulation.solve(action)
        assert command is not None, f"action {len(self.actions)} was rejected"
        self.simulation.execute(len(self.actions), command, float(action[6]))
        self.actions.append(action)
        self.facts = self.simulation.sensors.facts(
            self.simulation.attachment.held, self.simulation.push_steps
        )
        self.tracker.update(self.facts)
        self.touched |= self.fixed_contacts()

    def fixed_contacts(self) -> set[str]:
        """Names of the obstacles, occluders and distractors that anything touches."""
        names = {b.name for b in (*self.scene.obstacles, *self.scene.occluders)}
        names |= {b.name for b in self.scene.distractors}
        model, found = self.simulation.model, set()
        for contact in self.simulation.data.contact[: self.simulation.data.ncon]:
            for geom in (contact.geom1, contact.geom2):
                body = mujoco.mj_id2name(
                    model, mujoco.mjtObj.mjOBJ_BODY, int(model.geom_bodyid[geom])
                )
                shape = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, int(geom))
                found |= {name for name in (body, shape) if name in names}
        return found


def oracle(bench: PnpBench, scenario: Scenario, meshes: dict[str, bytes]) -> Trial:
    trial, session = Trial(bench, scenario, meshes), PnpOracleSession(bench)
    while not trial.tracker.success and len(trial.actions) < 300:
        (action,) = session.infer_privileged(trial.view())
        trial.act(action)
    return trial


def assert_passes(bench: PnpBench, scenario: Scenario, meshes: dict[str, bytes]) -> None:
    trial = oracle(bench, scenario, meshes)
    judgement = trial.tracker.judgement()
    assert judgement.success, f"{scenario.id}: {judgement.failure_stage}"
    assert len(trial.actions) <= 140, scenario.id
    assert not trial.touched, f"{scenario.id} touched {trial.touched}"


def test_the_oracle_passes_the_last_scenario_of_every_variant(
    bench: PnpBench, manifest: Manifest, meshes: dict[str, bytes]
) -> None:
    last = {scenario.variant: scenario for scenario in manifest.scenarios}
    assert len(last) == 16
    for scenario in last.values():
        assert_passes(bench, scenario, meshes)


@pytest.mark.slow
def test_the_oracle_passes_all(
    bench: PnpBench, manifest: Manifest, meshes: dict[str, bytes]
) -> None:
    assert len(manifest.scenarios) == 68
    for scenario in manifest.scenarios:
        assert_passes(bench, scenario, meshes)


@pytest.mark.slow
@pytest.mark.parametrize("variant", RULES.variants)
def test_the_oracle_passes_scenes_that_it_was_not_written_for(
    bench: PnpBench, meshes: dict[str, bytes], variant: str
) -> None:
    for seed in range(1000, 1010):
        scenario = Scenario(0, f"{variant}_{seed}", "nominal", variant, seed, {}, "")
        assert_passes(bench, scenario, meshes)


def test_the_oracle_does_the_same_twice(
    bench: PnpBench, manifest: Manifest, meshes: dict[str, bytes]
) -> None:
    scenario = next(s for s in manifest.scenarios if s.variant == "moving_disturbance")
    first, second = (oracle(bench, scenario, meshes) for _ in range(2))
    assert np.array(first.actions).tobytes() == np.array(second.actions).tobytes()
    assert first.facts.tobytes() == second.facts.tobytes()


def test_the_push_reaches_the_block_and_the_oracle_still_finds_it(
    bench: PnpBench, manifest: Manifest, meshes: dict[str, bytes]
) -> None:
    for scenario in manifest.scenarios:
        if scenario.variant == "moving_disturbance":
            trial = oracle(bench, scenario, meshes)
            push = trial.scene.disturbance
            assert push is not None
            steps = push.actions * bench.timing.physics_steps_per_action
            assert trial.facts[-1] == steps
            assert trial.tracker.success


@pytest.mark.parametrize("variant", ["moving_disturbance", "slippery_surface"])
def test_doing_nothing_never_passes(
    bench: PnpBench, manifest: Manifest, meshes: dict[str, bytes], variant: str
) -> None:
    scenario = next(s for s in manifest.scenarios if s.variant == variant)
    trial = Trial(bench, scenario, meshes)
    start = trial.view().observation.state["ee_position"]
    for _ in range(120):
        trial.act(still_action(bench))
    assert not trial.tracker.success
    assert trial.tracker.judgement().failure_stage == "reached"
    end = trial.view().observation.state["ee_position"]
    assert np.abs(end - start).max() < 0.001
