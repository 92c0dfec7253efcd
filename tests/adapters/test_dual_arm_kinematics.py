"""Kinematics without BLAS: the same poses as the simulator's, and joints that reach them."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from robogate.adapters.dual_arm_kinematics import ArmKinematics, Pose, solve
from robogate.contract.strict import decode
from robogate.scenes.dual_arm_config import DualArmBench

BENCH_FILE = Path(__file__).parents[1] / "scenes" / "mujoco_dual_arm.json"
BENCH = decode(DualArmBench, json.loads(BENCH_FILE.read_text()))
LIMITS = [joint.limits for joint in BENCH.arms.joints]


def anywhere(generator: random.Random) -> list[float]:
    return [generator.uniform(low, high) for low, high in LIMITS]


@pytest.mark.parametrize("side", ["left", "right"])
def test_forward_is_the_simulators(side: str) -> None:
    pytest.importorskip("mujoco")
    from robogate.benches.dual_arm.robot_copy import RobotCopy

    robot, arm, generator = RobotCopy(BENCH), ArmKinematics(BENCH.arms, side), random.Random(1)
    start = 0 if side == "left" else 7
    for _ in range(30):
        joints = anywhere(generator)
        command = np.array(BENCH.reset_command)
        command[start : start + 6] = joints
        pose = arm.forward(joints)
        expected = robot.wrist_pose(command, side)
        assert [*pose.position, *pose.orientation] == pytest.approx(expected.tolist(), abs=1e-12)


def test_the_published_reach_of_the_folded_arm() -> None:
    # All joints at zero, sums of the published offsets in the base's frame: x 0.02 − 0.264 + 0.245
    # + 0.06575 + 0.02845 = 0.0952, y 0.001, z 0.0603 + 0.0402 + 0.056 = 0.1565; the base faces +y.
    pose = ArmKinematics(BENCH.arms, "left").forward([0.0] * 6)
    x, y, z = BENCH.arms.left.position
    assert pose.position == pytest.approx((x - 0.001, y + 0.0952, z + 0.1565), abs=1e-9)


def test_inverse_reaches_and_stays_within_limits() -> None:
    arm, generator, reached = ArmKinematics(BENCH.arms, "right"), random.Random(2), 0
    start = BENCH.reset_command[7:13]
    for _ in range(40):
        joints = [
            min(max(q + generator.uniform(-0.5, 0.5), low), high)
            for q, (low, high) in zip(start, LIMITS)
        ]
        goal = arm.forward(joints)
        found = arm.inverse(goal, start)
        if found is None:
            continue
        reached += 1
        assert all(low <= q <= high for q, (low, high) in zip(found, LIMITS))
        pose = arm.forward(found)
        assert math.dist(pose.position, goal.position) < 1e-5
        assert abs(sum(a * b for a, b in zip(pose.orientation, goal.orientation))) > 1 - 1e-9
    assert reached >= 38


def test_inverse_says_where_nothing_reaches() -> None:
    arm = ArmKinematics(BENCH.arms, "left")
    far = Pose((2.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0))
    assert arm.inverse(far, BENCH.reset_command[:6]) is None


def test_elimination_takes_the_largest_pivot() -> None:
    assert solve([[0.0, 2.0], [4.0, 0.0]], [6.0, 8.0]) == [2.0, 3.0]
