"""Both controls in the real simulation, without cameras: what physics makes of their commands."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robogate.adapters.dual_arm_motion import Motions, pointing_down, smooth
from robogate.adapters.dual_arm_oracle import DualArmOracleSession
from robogate.adapters.zero import still_action
from robogate.contract.schema import Renderer
from robogate.contract.strict import decode
from robogate.records.benches import bench_rules
from robogate.records.observation import Evaluator, Observation
from robogate.records.policy import Privileged, Stop
from robogate.scenes.dual_arm_check import CAMERAS
from robogate.scenes.dual_arm_config import TASKS, DualArmBench
from robogate.scenes.rotations import rotate

pytest.importorskip("mujoco")

BENCH_FILE = Path(__file__).parents[1] / "scenes" / "mujoco_dual_arm.json"
BENCH = decode(DualArmBench, json.loads(BENCH_FILE.read_text()))
RENDERER = Renderer("mujoco", 160, 120, 0, False, CAMERAS)
RULES = bench_rules("dual_arm")
BUDGET = 300


class Trial:
    """One scenario, its commands passing the shield."""

    def __init__(self, task: str, seed: int) -> None:
        from robogate.benches.dual_arm.robot_copy import RobotCopy
        from robogate.benches.dual_arm.shielding import make_shield
        from robogate.benches.dual_arm.simulation import DualArmSimulation

        self.scene = RULES.resolve(BENCH, task, seed)
        self.simulation = DualArmSimulation(self.scene, BENCH, RENDERER)
        self.shield = make_shield(BENCH, RobotCopy(BENCH))
        self.shield.reset(self.simulation.command)
        self.tracker = RULES.tracker(BENCH, self.scene)
        self.commands: list[Any] = []
        self.verdicts: set[str] = set()
        self._measure()

    def view(self) -> Privileged:
        evaluator = Evaluator("s", 0, {}, False, self.facts, {})
        step, state = len(self.commands), self.simulation.state()
        observation = Observation("1.0.0", "e", step, "", state, {}, "", False, evaluator)
        return Privileged("s", self.scene, observation)

    def act(self, command: Any) -> None:
        decision = self.shield.check(command)
        self.verdicts.add(decision.verdict)
        self.simulation.execute(decision.command)
        self.commands.append(command)
        self._measure()

    def _measure(self) -> None:
        self.facts = self.simulation.watch.facts()
        self.tracker.update(self.facts)


def oracle(task: str, seed: int) -> Trial:
    trial, session = Trial(task, seed), DualArmOracleSession(BENCH)
    while not trial.tracker.success and len(trial.commands) < BUDGET:
        reply = session.infer_privileged(trial.view())
        assert not isinstance(reply, Stop), f"{task} {seed}: {reply.reason}"
        (command,) = reply
        trial.act(command)
    return trial


def assert_passes(task: str, seed: int) -> None:
    trial = oracle(task, seed)
    judgement = trial.tracker.judgement()
    assert judgement.success, f"{task} {seed}: {judgement.failure_stage}"
    assert len(trial.commands) <= 110, f"{task} {seed}: at the first attempt"
    assert trial.verdicts == {"accept"}, f"{task} {seed}"
    assert not any(t.event == "lost" for t in judgement.transitions), f"{task} {seed}"


@pytest.mark.parametrize("task", TASKS)
def test_the_oracle_passes_the_quick_seeds(task: str) -> None:
    for seed in range(10):
        assert_passes(task, seed)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_the_oracle_passes_every_seed(task: str) -> None:
    for seed in range(10, 50):
        assert_passes(task, seed)


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_the_oracle_passes_seeds_that_it_was_not_written_for(task: str) -> None:
    for seed in range(1000, 1100):
        assert_passes(task, seed)


@pytest.mark.parametrize("task", TASKS)
def test_holding_the_reset_command_passes_nothing(task: str) -> None:
    trial = Trial(task, 0)
    still = still_action(BENCH)
    assert still.tolist() == list(BENCH.reset_command)
    for _ in range(BUDGET):
        trial.act(still)
    judgement = trial.tracker.judgement()
    assert not judgement.success and judgement.transitions == ()


@pytest.mark.parametrize("task", TASKS)
def test_the_oracle_does_the_same_twice(task: str) -> None:
    first, second = (oracle(task, 5) for _ in range(2))
    assert np.array(first.commands).tobytes() == np.array(second.commands).tobytes()
    assert first.facts.tobytes() == second.facts.tobytes()
    assert first.simulation.data.qpos.tobytes() == second.simulation.data.qpos.tobytes()


def test_it_takes_the_arm_on_the_bells_side() -> None:
    seeds = {RULES.resolve(BENCH, "click_bell", s).bell.position[0] < 0.0: s for s in range(20)}
    assert set(seeds) == {True, False}
    for left, seed in seeds.items():
        moved = np.ptp(np.array(oracle("click_bell", seed).commands), axis=0) > 0.0
        assert (bool(moved[:7].any()), bool(moved[7:].any())) == (left, not left)


def test_a_pot_that_slips_is_grasped_anew() -> None:
    trial, session = Trial("lift_pot", 2), DualArmOracleSession(BENCH)
    slipped = False
    while not trial.tracker.success and len(trial.commands) < BUDGET:
        (command,) = session.infer_privileged(trial.view())
        trial.act(command)
        if not slipped and "lifted" in [t.stage for t in trial.tracker.judgement().transitions]:
            slipped = True
            address = trial.simulation.indices.pot_qpos
            trial.simulation.data.qpos[address : address + 3] = trial.scene.pot.position
            trial.simulation.data.qvel[:] = 0.0
    judgement = trial.tracker.judgement()
    assert slipped and judgement.success
    assert ("lifted", "lost") in [(t.stage, t.event) for t in judgement.transitions]


def test_a_grasp_points_straight_down_across_its_azimuth() -> None:
    for azimuth in (-1.0, 0.3, 2.0):
        quat = pointing_down(azimuth)
        assert rotate(quat, (1.0, 0.0, 0.0)) == pytest.approx((0.0, 0.0, -1.0), abs=1e-12)
        across = rotate(quat, (0.0, 1.0, 0.0))
        assert across == pytest.approx((math.cos(azimuth), math.sin(azimuth), 0.0), abs=1e-12)


def test_motions_end_where_they_should_and_begin_gently() -> None:
    assert (smooth(0.0), smooth(0.5), smooth(1.0)) == (0.0, 0.5, 1.0)
    motions, command = Motions(BENCH), tuple(BENCH.reset_command)
    goal = (0.5, 1.5, 1.0, -0.5, 0.2, 0.1)
    plan = motions.joint_move(command, {"right": goal})
    assert plan[-1][7:13] == pytest.approx(goal) and plan[-1][:7] == command[:7]
    assert abs(plan[0][7] - command[7]) < 0.002
    assert motions.grip(command, 0.0, ["left"])[-1][6] == 0.0
    assert motions.straight(command, {"left": (3.0, 0.0, 0.0)}) is None
