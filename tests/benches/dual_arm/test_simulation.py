"""The clock, the servos and what is measured after every physics step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from robogate.benches.dual_arm.commands import to_command, to_positions
from robogate.benches.dual_arm.simulation import DualArmSimulation
from robogate.records.facts import DUAL_ARM_FACTS
from robogate.records.observation import FloatArray
from robogate.scenes.dual_arm_config import TASKS, DualArmBench
from robogate.scenes.rotations import rotate

Simulate = Callable[..., DualArmSimulation]


def facts(simulation: DualArmSimulation) -> dict[str, float]:
    return dict(zip(DUAL_ARM_FACTS, simulation.watch.facts().tolist()))


def test_an_action_is_ten_steps_of_four_milliseconds(simulate: Simulate, hold: FloatArray) -> None:
    simulation = simulate("click_bell")
    assert simulation.data.time == 0.0 and facts(simulation)["tick"] == 0.0
    simulation.execute(hold)
    assert simulation.data.time == pytest.approx(0.04, abs=1e-12)
    assert facts(simulation)["tick"] == 10.0


def test_targets_move_over_eight_steps_and_are_held_for_the_rest(
    simulate: Simulate, hold: FloatArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulation = simulate("click_bell")
    seen = []
    step = simulation.watch.after_step
    first = simulation.indices.servo[0]
    monkeypatch.setattr(
        simulation.watch,
        "after_step",
        lambda: (seen.append(float(simulation.data.ctrl[first])), step()),
    )
    goal = np.array(hold)
    goal[0] = 0.09
    simulation.execute(goal)
    expected = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.09]
    assert seen == pytest.approx(expected, abs=1e-12)


def test_commands_and_positions_are_each_others_inverse(bench: DualArmBench) -> None:
    stroke = bench.arms.gripper.stroke
    rng = np.random.default_rng(1)
    for _ in range(20):
        command = rng.uniform(bench.action.low, bench.action.high)
        positions = to_positions(command, stroke)
        assert positions.shape == (16,)
        assert positions[6] == positions[7] == pytest.approx(command[6] * 0.044)
        assert np.allclose(to_command(positions, stroke), command, atol=1e-12)
    beyond = to_positions(np.zeros(14), stroke)
    beyond[6:8] = -1e-4
    assert to_command(beyond, stroke)[6] == 0.0


@pytest.mark.parametrize("task", TASKS)
def test_holding_the_reset_command_moves_nothing(
    simulate: Simulate, hold: FloatArray, task: str
) -> None:
    simulation = simulate(task)
    before = facts(simulation)
    for _ in range(50):
        simulation.execute(hold)
    after = facts(simulation)
    assert np.abs(simulation.joint_position() - hold).max() < 1e-6, "gravity is compensated"
    assert after["success_tick"] == after["held_steps"] == after["peak_depth"] == 0.0
    for name in ("object_x", "object_y", "object_z"):
        assert after[name] == pytest.approx(before[name], abs=1e-3)
    assert simulation.finite()


def test_a_joint_follows_its_command_within_a_few_actions(
    simulate: Simulate, hold: FloatArray
) -> None:
    simulation = simulate("click_bell")
    goal = np.array(hold)
    goal[[0, 6, 10]] = 0.1, 0.2, goal[10] + 0.1
    for _ in range(10):
        simulation.execute(goal)
    assert np.abs(simulation.joint_position() - goal).max() < 2e-3
    untouched = [i for i in range(14) if i not in (0, 6, 10)]
    assert np.abs(simulation.joint_position() - hold)[untouched].max() < 2e-3


def test_poses_are_those_of_link6_in_the_world(simulate: Simulate, bench: DualArmBench) -> None:
    state = simulate("click_bell").state()
    assert {name: value.shape for name, value in state.items()} == {
        "joint_position": (14,), "left_ee_pose": (7,), "right_ee_pose": (7,),
    }  # fmt: skip
    left, right = state["left_ee_pose"], state["right_ee_pose"]
    assert right[0] - left[0] == pytest.approx(0.6), "the arms are mounted 0.6 m apart"
    assert right[1:].tolist() == pytest.approx(left[1:].tolist())
    quat = tuple(left[3:].tolist())
    assert sum(c * c for c in quat) == pytest.approx(1.0)
    forward = rotate(quat, (1.0, 0.0, 0.0))  # type: ignore[arg-type]
    assert forward[1] > 0.3 and forward[2] < -0.3, "the grippers look forward and down"


def press(simulation: DualArmSimulation, depth: float) -> None:
    simulation.data.qpos[simulation.indices.button_qpos] = depth


def test_a_button_pressed_by_nothing_is_no_success(simulate: Simulate, bench: DualArmBench) -> None:
    simulation = simulate("click_bell")
    press(simulation, bench.tasks.click_bell.travel)
    simulation.watch.after_step()
    row = facts(simulation)
    assert row["depth"] >= bench.tasks.click_bell.press_depth
    assert row["peak_depth"] == row["success_tick"] == 0.0


def test_the_button_springs_back(simulate: Simulate, hold: FloatArray, bench: DualArmBench) -> None:
    simulation = simulate("click_bell")
    press(simulation, bench.tasks.click_bell.travel)
    for _ in range(5):
        simulation.execute(hold)
    assert facts(simulation)["depth"] < 1e-3


def test_the_step_in_which_a_gripper_presses_deep_enough_is_latched(
    simulate: Simulate, bench: DualArmBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulation = simulate("click_bell")
    watch, deep = simulation.watch, bench.tasks.click_bell.press_depth
    monkeypatch.setattr(watch, "_touches", lambda: (False, True))
    for depth in (0.5 * deep, deep, 0.0, deep):
        press(simulation, depth)
        watch.after_step()
    assert (watch.success_tick, facts(simulation)["peak_depth"]) == (2, deep)


def test_a_pot_that_floats_is_held_by_nobody(simulate: Simulate, bench: DualArmBench) -> None:
    simulation = simulate("lift_pot")
    height = bench.tasks.lift_pot.lift_height + 0.01
    simulation.data.qpos[simulation.indices.pot_qpos + 2] += height
    simulation.watch.after_step()
    assert facts(simulation)["held_steps"] == 0.0


def test_a_held_pot_has_to_be_held_in_every_step(
    simulate: Simulate, bench: DualArmBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulation = simulate("lift_pot")
    watch, task = simulation.watch, bench.tasks.lift_pot
    simulation.data.qpos[simulation.indices.pot_qpos + 2] += task.lift_height + 0.01
    grasp = [True]
    monkeypatch.setattr(watch, "_touches", lambda: (True, grasp[0]))
    for _ in range(task.hold_steps - 1):
        watch.after_step()
    grasp[0] = False
    watch.after_step()
    grasp[0] = True
    assert watch.success_tick == 0
    for _ in range(task.hold_steps):
        watch.after_step()
    assert watch.success_tick == 2 * task.hold_steps


def test_physics_is_deterministic(simulate: Simulate, hold: FloatArray) -> None:
    def run() -> bytes:
        simulation = simulate("lift_pot", 3)
        for i in range(20):
            simulation.execute(hold + 0.01 * np.sin(i + np.arange(14)) * (np.arange(14) % 7 < 6))
        return bytes(simulation.data.qpos.tobytes() + simulation.watch.facts().tobytes())

    assert run() == run()
