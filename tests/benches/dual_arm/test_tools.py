"""Kinematics, plans, calibration and the facts that a program gets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from robogate.benches.dual_arm.environment import DualArmEnvironment
from robogate.benches.dual_arm.robot_copy import RobotCopy
from robogate.errors import EpisodeError, UsageError
from robogate.records.observation import FloatArray
from robogate.scenes.dual_arm import resolve
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_spec import button_top

MakeEnvironment = Callable[..., DualArmEnvironment]
#: The gripper points down, its fingers apart along the world's +y or −y.
DOWN = [0.7071067811865476, 0.0, 0.7071067811865476, 0.0]
DOWN_TURNED = [0.0, -0.7071067811865476, 0.0, 0.7071067811865476]


def off(pose: FloatArray, goal: FloatArray) -> float:
    """Largest difference of two poses' numbers; a quaternion and its negative are one rotation."""
    sign = np.sign(pose[3:] @ goal[3:])
    return float(max(np.abs(pose[:3] - goal[:3]).max(), np.abs(sign * pose[3:] - goal[3:]).max()))


@pytest.fixture
def environment(make_environment: MakeEnvironment) -> DualArmEnvironment:
    environment = make_environment()
    environment.reset("click_bell_0", 0)
    return environment


@pytest.fixture
def episode(environment: DualArmEnvironment) -> str:
    assert environment._episode is not None
    return environment._episode.id


def test_fk_is_what_the_state_says(environment: DualArmEnvironment, episode: str) -> None:
    state = environment.state(episode)
    poses = environment.fk(state.command)
    for side in ("left", "right"):
        assert np.abs(poses[side] - state.values[f"{side}_ee_pose"]).max() < 1e-9


@pytest.mark.parametrize("side", ["left", "right"])
def test_ik_reaches_what_fk_gives(
    environment: DualArmEnvironment, episode: str, bench: DualArmBench, side: str
) -> None:
    rng, start, reached = np.random.default_rng(4), 0 if side == "left" else 7, 0
    low, high = np.array(bench.action.low), np.array(bench.action.high)
    for _ in range(12):
        command = np.array(bench.reset_command)
        command[start : start + 6] += rng.uniform(-0.4, 0.4, 6)
        goal = environment.fk(np.clip(command, low, high))[side]
        result = environment.ik(episode, side, goal)
        if not result.success:
            continue
        reached += 1
        assert result.joints is not None
        found = np.array(bench.reset_command)
        found[start : start + 6] = result.joints
        assert (found >= low).all() and (found <= high).all()
        assert off(environment.fk(found)[side], goal) < 1e-3
    assert reached >= 11


def test_ik_says_where_nothing_reaches(environment: DualArmEnvironment, episode: str) -> None:
    result = environment.ik(episode, "left", np.array([0.0, 1.5, 1.0, *DOWN]))
    assert (result.success, result.joints) == (False, None)
    assert environment.plan(episode, "left", pose=np.array([0.0, 1.5, 1.0, *DOWN])).success is False


def test_a_plan_keeps_limits_and_distances_and_ends_at_its_goal(
    environment: DualArmEnvironment, episode: str, bench: DualArmBench
) -> None:
    goal = np.array([-0.15, -0.2, 0.95, *DOWN])
    plan = environment.plan(episode, "left", pose=goal)
    raw = environment.plan(episode, "left", pose=goal, raw=True)
    assert plan.success and plan.waypoints is not None and raw.waypoints is not None
    command = np.array(bench.reset_command)
    commands = []
    for waypoint in plan.waypoints:
        command[:6] = waypoint
        commands.append(np.array(command))
        assert environment._robot.breaches(command) == ()
    assert off(environment.fk(command)["left"], goal) < 1e-3
    assert len(plan.waypoints) > len(raw.waypoints) >= 2
    rate = bench.timing.control_hz
    path = np.array([bench.reset_command, *commands])[:, :6]
    velocity = np.diff(path, axis=0) * rate
    acceleration = np.diff(velocity, axis=0, prepend=0.0, append=0.0) * rate
    for i, joint in enumerate(bench.arms.joints):
        assert np.abs(velocity[:, i]).max() <= joint.velocity + 1e-9
        assert np.abs(acceleration[:, i]).max() <= joint.acceleration + 1e-9
    if len(raw.waypoints) == 2:
        way = path[-1] - path[0]
        shares = (path - path[0]) @ way / (way @ way)
        assert np.abs(path - path[0] - shares[:, None] * way).max() < 1e-9, "the way is straight"
    again = environment.plan(episode, "left", pose=goal)
    assert again.waypoints is not None and np.array_equal(again.waypoints, plan.waypoints)


def test_the_shield_accepts_a_plan_and_the_arm_arrives(
    environment: DualArmEnvironment, episode: str, bench: DualArmBench
) -> None:
    goal = np.array([0.15, -0.2, 0.95, *DOWN_TURNED])
    plan = environment.plan(episode, "right", pose=goal)
    assert plan.waypoints is not None
    command = np.array(bench.reset_command)
    for step, waypoint in enumerate([*plan.waypoints, *[plan.waypoints[-1]] * 8]):
        command[7:13] = waypoint
        assert environment.tick(episode, step, np.array(command)).verdict == "accept"
    reached = environment.state(episode).values["right_ee_pose"]
    assert np.abs(reached[:3] - goal[:3]).max() < 1e-3


def test_a_plan_goes_around_what_is_in_the_way_or_says_no(
    environment: DualArmEnvironment, episode: str, bench: DualArmBench
) -> None:
    through = np.array([0.0, 2.9, 1.0, -0.5, 0.0, 0.0])  # the forearm would lie in the table
    assert environment.plan(episode, "left", joints=through).success is False
    beyond = np.array([0.0, 1.1, 4.0, -1.0, 0.0, 0.0])
    assert environment.plan(episode, "left", joints=beyond).success is False


def test_nothing_moves_by_asking(environment: DualArmEnvironment, episode: str) -> None:
    simulation = environment._simulation(episode)[0]
    before = simulation.data.qpos.tobytes()
    environment.ik(episode, "left", np.array([-0.15, -0.2, 0.95, *DOWN]))
    environment.plan(episode, "left", pose=np.array([-0.15, -0.2, 0.95, *DOWN]))
    environment.calibration(episode)
    environment.profile()
    assert simulation.data.qpos.tobytes() == before and environment.state(episode).step == 0


def test_questions_that_make_no_sense(environment: DualArmEnvironment, episode: str) -> None:
    pose = np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    with pytest.raises(UsageError, match="arm is 'middle', expected left or right"):
        environment.ik(episode, "middle", pose)
    with pytest.raises(UsageError, match="quaternion of length 2"):
        environment.ik(episode, "left", pose * [1, 1, 1, 2, 1, 1, 1])
    with pytest.raises(UsageError, match="expected 7 finite numbers"):
        environment.ik(episode, "left", pose[:6])
    with pytest.raises(UsageError, match="expected 14 finite numbers"):
        environment.fk(np.full(14, np.inf))
    with pytest.raises(UsageError, match="exactly one of pose and joints"):
        environment.plan(episode, "left")
    with pytest.raises(UsageError, match="exactly one of pose and joints"):
        environment.plan(episode, "left", pose=pose, joints=np.zeros(6))
    with pytest.raises(EpisodeError, match="is not the present one"):
        environment.ik("another", "left", pose)


def test_calibration_projects_a_known_point_to_its_pixel(
    environment: DualArmEnvironment, episode: str, bench: DualArmBench
) -> None:
    image = environment.render(episode, ["cam_head"])["cam_head"].astype(int)
    camera = environment.calibration(episode)["cam_head"]
    bell = resolve(bench, "click_bell", 0).bell
    assert bell is not None
    world = np.array([*button_top(bell), 1.0])
    x, y, z, _ = np.linalg.inv(camera.camera_to_world) @ world
    assert z > 0.0
    u, v, w = camera.intrinsics @ [x, y, z]
    red = (image[:, :, 0] > 120) & (image[:, :, 1] < 60) & (image[:, :, 2] < 60)
    rows, columns = np.nonzero(red)
    assert rows.size > 3
    assert abs(columns.mean() - u / w) < 1.5
    # The top is the upper end of what is seen of the button.
    assert rows.min() - 1.5 < v / w < rows.mean() + 0.5


def test_the_wrist_cameras_move_with_their_arms(
    environment: DualArmEnvironment, episode: str, hold: FloatArray
) -> None:
    before = environment.calibration(episode)
    goal = np.array(hold)
    goal[0] = 0.03
    for step in range(6):
        environment.tick(episode, step, goal)
    after = environment.calibration(episode)
    moved = {
        name: float(np.abs(after[name].camera_to_world - before[name].camera_to_world).max())
        for name in after
    }
    assert moved["cam_left_wrist"] > 0.005
    assert moved["cam_head"] == 0.0 and moved["cam_right_wrist"] < 1e-4


def test_the_profile_states_the_contract(
    environment: DualArmEnvironment, bench: DualArmBench
) -> None:
    profile = environment.profile()
    assert profile.names == bench.action.names and profile.step_limit == 300
    assert [g.start for g in profile.joint_groups] == [0, 6, 7, 13]
    assert [c.parent for c in profile.cameras] == ["world", "left_link6", "right_link6"]
    assert profile.shield.mode == "enforce" and len(profile.shield.velocity) == 14
    assert profile.arm_bases["left"][:3] == (-0.3, -0.45, 0.765)
    spec = environment.action_spec()
    assert spec.control_hz == 25.0 and spec.physics_hz == pytest.approx(250.0)
    assert spec.arms["right"].low == tuple(joint.limits[0] for joint in bench.arms.joints)


def test_policy_obs_holds_grippers_as_commanded(
    environment: DualArmEnvironment, episode: str, hold: FloatArray
) -> None:
    goal = np.array(hold)
    goal[6] = 0.95
    environment.tick(episode, 0, goal)
    seen = environment.policy_obs(episode)
    assert seen["state"]["left_ee_joint_state"].tolist() == [0.95]
    assert seen["state"]["right_arm_joint_state"].shape == (6,)
    assert seen["additional_info"] == {"frequency": 25.0}
    assert seen["vision"]["cam_head"]["color"].shape == (120, 160, 3)


def test_distances_of_a_copy(bench: DualArmBench, hold: FloatArray) -> None:
    robot = RobotCopy(bench)
    assert robot.breaches(hold) == ()
    towards = np.array(hold)
    towards[[0, 7]] = -1.2, 1.2
    assert any("from the other arm" in line for line in robot.breaches(towards))
    low = np.array(hold)
    low[1], low[2] = 2.6, 1.0
    assert any("from the table" in line for line in robot.breaches(low))
    assert any("outside" in line for line in robot.breaches(low))
    assert robot.breaches(hold) == ()
