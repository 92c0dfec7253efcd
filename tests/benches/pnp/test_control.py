from __future__ import annotations

import ast
from pathlib import Path

import mujoco
import numpy as np
import pytest

import robogate.benches.pnp
from robogate.benches.pnp.control import ArmControl
from robogate.errors import RunError


def _reached(simulation, joints):
    """Grip position and orientation at joint positions, on a copy."""
    data = mujoco.MjData(simulation.model)
    data.qpos[:7] = joints
    mujoco.mj_kinematics(simulation.model, data)
    return data.site("grip_site").xpos.copy(), data.body("panda_hand").xquat.copy()


def _angle(a, b):
    """Rotation between two orientations, world frame, (3,), rad."""
    inverse, delta, out = np.zeros(4), np.zeros(4), np.zeros(3)
    mujoco.mju_negQuat(inverse, b)
    mujoco.mju_mulQuat(delta, a, inverse)
    mujoco.mju_quat2Vel(out, delta, 1.0)
    return out


def test_zero_action_holds_the_measured_joints(simulate, scene):
    simulation = simulate(scene)
    command = simulation.solve(np.zeros(7))
    assert command.iterations == 0
    assert (command.joints == simulation.sensors.joints()).all()


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("size", [1.0, -0.4, 0.004])
def test_translation_is_metric_and_in_the_world_frame(simulate, scene, axis, size):
    simulation = simulate(scene)
    action = np.zeros(7)
    action[axis] = size
    command = simulation.solve(action)
    position, orientation = _reached(simulation, command.joints)
    moved = np.zeros(3)
    moved[axis] = 0.05 * size
    assert position - simulation.sensors.grip_position() == pytest.approx(moved, abs=1.1e-5)
    assert _angle(orientation, simulation.sensors.hand_orientation()) == pytest.approx(
        np.zeros(3), abs=1.1e-4
    )


@pytest.mark.parametrize("turn", [(0.0, 0.0, 1.0), (0.3, 0.0, 0.0), (0.1, -0.2, 0.3)])
def test_rotation_is_axis_angle_in_the_world_frame(simulate, scene, turn):
    simulation = simulate(scene)
    command = simulation.solve(np.array([0.0, 0.0, 0.0, *turn, 0.0]))
    position, orientation = _reached(simulation, command.joints)
    got = _angle(orientation, simulation.sensors.hand_orientation())
    assert got == pytest.approx(0.5 * np.array(turn), abs=2e-4)
    assert position == pytest.approx(simulation.sensors.grip_position(), abs=1.1e-5)


def test_zero_rotation_keeps_the_last_goal_and_another_one_starts_from_the_measured(
    simulate, drive, scene
):
    simulation = simulate(scene)
    start = simulation.sensors.hand_orientation()
    drive.act(simulation, 0, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]))
    measured = simulation.sensors.hand_orientation()
    assert 0.05 < _angle(measured, start)[2] < 0.45  # it has not arrived yet
    kept = simulation.solve(np.zeros(7))
    assert _angle(kept.orientation, start)[2] == pytest.approx(0.5, abs=1e-9)
    anew = simulation.solve(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.2, 0.0]))
    assert _angle(anew.orientation, measured)[2] == pytest.approx(0.1, abs=1e-9)


def test_straight_moves_do_not_tilt_the_hand(simulate, drive, scene):
    simulation = simulate(scene)
    start = simulation.sensors.hand_orientation()
    for step in range(12):
        drive.act(simulation, step, np.array([0.3, 0.5, -0.2, 0.0, 0.0, 0.0, -1.0]))
        tilt = np.abs(_angle(simulation.sensors.hand_orientation(), start)).max()
        assert np.degrees(tilt) < 2.0


def test_unreachable_command_has_no_solution_and_moves_nothing(simulate, scene):
    simulation = simulate(scene)
    outward = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0])
    for step in range(60):
        command = simulation.solve(outward)
        if command is None:
            break
        simulation.execute(step, command, -1.0)
    assert command is None
    assert simulation.sensors.grip_position()[0] > 0.6
    before = simulation.data.qpos.copy(), simulation.data.time
    assert simulation.solve(outward) is None
    assert (simulation.data.qpos == before[0]).all() and simulation.data.time == before[1]
    assert simulation.solve(-outward) is not None


def test_targets_stay_within_the_joint_limits(simulate, scene):
    simulation = simulate(scene)
    low, high = simulation.model.jnt_range[:7].T
    rng = np.random.default_rng(3)
    touched = 0
    for step in range(120):
        action = np.clip(rng.normal(0.0, 0.5, 7), -1.0, 1.0)
        action[3:5] *= 0.3
        command = simulation.solve(action)
        if command is None:
            continue
        assert (command.joints >= low).all() and (command.joints <= high).all()
        touched += 1
        simulation.execute(step, command, action[6])
    assert touched > 60


def test_one_action_is_three_sixtieths_of_a_second(simulate, drive, scene):
    simulation = simulate(scene)
    assert simulation.data.time == 0.0
    drive.act(simulation, 0, np.zeros(7))
    assert simulation.data.time == pytest.approx(0.05, abs=1e-12)
    assert simulation.model.opt.timestep == pytest.approx(1 / 240, abs=1e-15)


def test_a_model_without_the_arm_is_a_run_error(bench):
    spec = mujoco.MjSpec()
    spec.worldbody.add_body().add_geom(size=[0.1, 0.1, 0.1])
    with pytest.raises(RunError) as caught:
        ArmControl(spec.compile(), bench.control)
    assert caught.value.code == "ik_solver"


def test_a_broken_solver_is_a_run_error_and_no_rejection(simulate, scene, monkeypatch):
    simulation = simulate(scene)
    monkeypatch.setattr(mujoco, "mju_cholFactor", lambda mat, mindiag: 5)
    with pytest.raises(RunError) as caught:
        simulation.solve(np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert caught.value.code == "ik_solver"


def test_gains_are_the_contracts(simulate, scene, bench):
    simulation = simulate(scene)
    model, control = simulation.model, bench.control
    assert tuple(model.actuator_gainprm[:7, 0]) == control.arm_kp
    assert tuple(-model.actuator_biasprm[:7, 2]) == control.arm_kd
    assert tuple(model.actuator_forcerange[:7, 1]) == (87.0,) * 4 + (12.0,) * 3


def test_nothing_of_the_bench_uses_blas():
    forbidden = {"dot", "matmul", "einsum", "inner", "vdot", "tensordot", "linalg"}
    for file in Path(robogate.benches.pnp.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            product = isinstance(node, (ast.BinOp, ast.AugAssign))
            assert not (product and isinstance(node.op, ast.MatMult)), file
            assert not (isinstance(node, ast.Attribute) and node.attr in forbidden), file


def test_tolerance_is_far_below_a_small_command(bench):
    smallest = 0.01 * bench.control.translation_scale
    assert bench.control.ik_position_tolerance < 0.05 * smallest
