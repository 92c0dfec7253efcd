"""Motions of both arms as sequences of commands: smooth, and within declared shares of the limits.

A motion starts and ends at rest (minimum jerk). Its length follows from the largest velocity and
acceleration that the contract allows each joint, times a share that keeps the control well inside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from robogate.adapters.dual_arm_kinematics import ArmKinematics, Joints, Pose
from robogate.adapters.rotations import multiply
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_spec import SIDES
from robogate.scenes.rotations import rotate
from robogate.scenes.spec import Quat, Vec3

Command = tuple[float, ...]

#: Share of the velocity and acceleration limits that a motion uses.
SHARE = 0.5
#: Peaks of the unit minimum-jerk profile over unit time: velocity, acceleration.
_PEAK_VELOCITY, _PEAK_ACCELERATION = 1.875, 5.7735
#: Speed of a straight motion on average, m/s.
_STRAIGHT_SPEED = 0.12
_ARM = 7


def smooth(share: float) -> float:
    """Minimum-jerk progress, from 0 to 1, at a share of the time."""
    return share**3 * (10.0 - 15.0 * share + 6.0 * share * share)


def pointing_down(azimuth: float) -> Quat:
    """Orientation of ``link6`` whose x axis points straight down.

    Args:
        azimuth: Of its y axis, along which the fingers move, rad, world frame.
    """
    half = (azimuth - math.pi / 2.0) / 2.0
    quarter = math.pi / 4.0
    tipped = (math.cos(quarter), 0.0, math.sin(quarter), 0.0)
    return multiply((math.cos(half), 0.0, 0.0, math.sin(half)), tipped)


class Motions:
    """Plans for both arms of a bench."""

    def __init__(self, bench: DualArmBench) -> None:
        """Take the robot and its limits."""
        self._bench = bench
        self._arms = {side: ArmKinematics(bench.arms, side) for side in SIDES}

    def grasp_pose(self, tip: Vec3, azimuth: float) -> Pose:
        """Pose of ``link6`` that points down with the gripper's tip at a place.

        Args:
            tip: World frame, (3,), m.
            azimuth: Of the fingers' axis, rad, world frame.
        """
        orientation = pointing_down(azimuth)
        reach = rotate(orientation, self._bench.arms.gripper.tip)
        return Pose((tip[0] - reach[0], tip[1] - reach[1], tip[2] - reach[2]), orientation)

    def facing(self, side: str, place: Vec3) -> float:
        """Azimuth from an arm's base to a place, rad."""
        base = getattr(self._bench.arms, side).position
        return math.atan2(place[1] - base[1], place[0] - base[0])

    def reach_down(self, side: str, tip: Vec3, azimuth: float) -> Joints | None:
        """Joints that put a downward gripper's tip at a place; of both ways, the less twisted one.

        Args:
            side: Of the arm.
            tip: World frame, (3,), m.
            azimuth: Of the fingers' axis, rad, world frame; a half turn more is as good.
        """
        forward = self.facing(side, tip)
        start = (forward - math.pi / 2.0, 1.9, 1.7, -1.3, 0.0, 0.0)
        found = []
        for turned in (azimuth, azimuth + math.pi):
            joints = self._arms[side].inverse(self.grasp_pose(tip, turned), start)
            if joints is not None:
                found.append(joints)
        return min(found, key=lambda joints: abs(joints[5])) if found else None

    def joint_move(self, command: Command, goals: Mapping[str, Joints]) -> list[Command]:
        """Move arms through joint space, all in the same time.

        Args:
            command: In force.
            goals: Joints by side; an arm that is not named stays.
        """
        goal = list(command)
        for side, joints in goals.items():
            start = SIDES.index(side) * _ARM
            goal[start : start + len(joints)] = joints
        return self._between(command, goal)

    def grip(self, command: Command, opening: float, sides: Sequence[str]) -> list[Command]:
        """Open or close grippers.

        Args:
            command: In force.
            opening: In [0, 1].
            sides: Whose.
        """
        goal = list(command)
        for side in sides:
            goal[SIDES.index(side) * _ARM + _ARM - 1] = opening
        return self._between(command, goal)

    def straight(self, command: Command, lifts: Mapping[str, Vec3]) -> list[Command] | None:
        """Move grippers along straight lines without turning them, all in the same time.

        Args:
            command: In force.
            lifts: Translation by side, world frame, m.

        Returns:
            None where an arm cannot follow its line.
        """
        starts = {side: self._arms[side].forward(_joints(command, side)) for side in lifts}
        longest = max(math.sqrt(sum(c * c for c in lift)) for lift in lifts.values())
        count = max(2, math.ceil(longest / _STRAIGHT_SPEED * self._bench.timing.control_hz))
        plan: list[Command] = []
        present = list(command)
        for i in range(1, count + 1):
            share = smooth(i / count)
            for side, lift in lifts.items():
                begin = SIDES.index(side) * _ARM
                joints = self._arms[side].inverse(
                    _moved(starts[side], lift, share), present[begin : begin + _ARM - 1]
                )
                if joints is None:
                    return None
                present[begin : begin + len(joints)] = joints
            plan.append(tuple(present))
        return plan

    def hold(self, command: Command, actions: int) -> list[Command]:
        """Keep a command for some actions."""
        return [command] * actions

    def _between(self, command: Command, goal: Sequence[float]) -> list[Command]:
        period = 1.0 / self._bench.timing.control_hz
        seconds = 0.0
        for start, end, (velocity, acceleration) in zip(command, goal, self._limits()):
            way = abs(end - start)
            seconds = max(
                seconds,
                _PEAK_VELOCITY * way / (SHARE * velocity),
                math.sqrt(_PEAK_ACCELERATION * way / (SHARE * acceleration)),
            )
        count = max(1, math.ceil(seconds / period))
        return [
            tuple(a + smooth(i / count) * (b - a) for a, b in zip(command, goal))
            for i in range(1, count + 1)
        ]

    def _limits(self) -> list[tuple[float, float]]:
        """Velocity and acceleration limit of each of the 14 values."""
        arms = self._bench.arms
        one = [(joint.velocity, joint.acceleration) for joint in arms.joints]
        return [*one, (arms.gripper.velocity, arms.gripper.acceleration)] * len(SIDES)


def _joints(command: Command, side: str) -> Command:
    start = SIDES.index(side) * _ARM
    return command[start : start + _ARM - 1]


def _moved(pose: Pose, lift: Vec3, share: float) -> Pose:
    x, y, z = (p + share * c for p, c in zip(pose.position, lift))
    return Pose((x, y, z), pose.orientation)
