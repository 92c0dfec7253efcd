"""Kinematics of one six-joint arm in plain floats: poses, and joints that reach a pose.

No BLAS: its kernels differ between CPUs, and a control's commands must be equal wherever the
fingerprint is. Poses are those of ``link6`` in the world frame.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from robogate.adapters.rotations import conjugate, multiply, rotation_vector
from robogate.scenes.dual_arm_config import ArmJoint, Arms
from robogate.scenes.rotations import rotate
from robogate.scenes.spec import Quat, Vec3

Joints = tuple[float, ...]

_ITERATIONS = 60
_DAMPING = 1e-3
_POSITION_TOLERANCE = 1e-6  # m
_ROTATION_TOLERANCE = 1e-5  # rad
_LARGEST_STEP = 0.4  # rad, of one joint in one iteration


@dataclass(frozen=True)
class Pose:
    """Where a link is.

    Attributes:
        position: World frame, (3,), m.
        orientation: WXYZ, world frame.
    """

    position: Vec3
    orientation: Quat


class ArmKinematics:
    """One arm on its mount.

    Args:
        arms: The robot.
        side: ``left`` or ``right``.
    """

    def __init__(self, arms: Arms, side: str) -> None:
        mount = arms.left if side == "left" else arms.right
        self._base = Pose(mount.position, mount.orientation)
        self._joints: tuple[ArmJoint, ...] = arms.joints

    def forward(self, joints: Sequence[float]) -> Pose:
        """Pose of ``link6`` at joint positions, (6,), rad."""
        return self._chain(joints)[-1]

    def inverse(self, goal: Pose, start: Sequence[float]) -> Joints | None:
        """Joint positions within limits that reach a pose, by damped least squares.

        Args:
            goal: Of ``link6``.
            start: Where to begin, (6,), rad.

        Returns:
            (6,), rad, or None where none was found.
        """
        joints = tuple(
            min(max(q, joint.limits[0]), joint.limits[1]) for q, joint in zip(start, self._joints)
        )
        for _ in range(_ITERATIONS):
            frames = self._chain(joints)
            error = _difference(frames[-1], goal)
            if _norm(error[:3]) <= _POSITION_TOLERANCE and _norm(error[3:]) <= _ROTATION_TOLERANCE:
                return joints
            joints = self._step(joints, self._columns(frames), error)
        return None

    def _chain(self, joints: Sequence[float]) -> list[Pose]:
        """Pose of every link, in order, each after its own joint's rotation."""
        frames, pose = [], self._base
        for joint, angle in zip(self._joints, joints):
            offset = rotate(pose.orientation, joint.origin)
            half = 0.5 * angle
            sine = math.sin(half)
            x, y, z = joint.axis
            turn = (math.cos(half), x * sine, y * sine, z * sine)
            pose = Pose(
                _add(pose.position, offset),
                multiply(multiply(pose.orientation, joint.rotation), turn),
            )
            frames.append(pose)
        return frames

    def _columns(self, frames: Sequence[Pose]) -> list[list[float]]:
        """Columns of the geometric Jacobian of the last link's origin, 6 of (6,)."""
        end = frames[-1].position
        columns = []
        for frame, joint in zip(frames, self._joints):
            axis = rotate(frame.orientation, joint.axis)
            arm = (
                end[0] - frame.position[0],
                end[1] - frame.position[1],
                end[2] - frame.position[2],
            )
            columns.append([*_cross(axis, arm), *axis])
        return columns

    def _step(self, joints: Joints, columns: list[list[float]], error: Sequence[float]) -> Joints:
        """One damped step; a joint at its limit that would be pushed further stays where it is."""
        free = [True] * len(joints)
        while True:
            used = [column for column, moves in zip(columns, free) if moves]
            normal = [
                [sum(column[i] * column[j] for column in used) for j in range(6)] for i in range(6)
            ]
            for i in range(6):
                normal[i][i] += _DAMPING * _DAMPING
            weights = solve(normal, list(error))
            change = [
                sum(c * w for c, w in zip(column, weights)) if moves else 0.0
                for column, moves in zip(columns, free)
            ]
            blocked = [
                moves and ((q >= joint.limits[1] and d > 0.0) or (q <= joint.limits[0] and d < 0.0))
                for q, d, joint, moves in zip(joints, change, self._joints, free)
            ]
            if not any(blocked) or not any(free):
                break
            free = [moves and not stuck for moves, stuck in zip(free, blocked)]
        largest = max(abs(d) for d in change)
        scale = 1.0 if largest <= _LARGEST_STEP else _LARGEST_STEP / largest
        return tuple(
            min(max(q + scale * d, joint.limits[0]), joint.limits[1])
            for q, d, joint in zip(joints, change, self._joints)
        )


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Solve a square system by elimination with the largest pivot; both arguments are used up."""
    n = len(right)
    for k in range(n):
        pivot = max(range(k, n), key=lambda row: abs(matrix[row][k]))
        matrix[k], matrix[pivot] = matrix[pivot], matrix[k]
        right[k], right[pivot] = right[pivot], right[k]
        for i in range(k + 1, n):
            factor = matrix[i][k] / matrix[k][k]
            for j in range(k, n):
                matrix[i][j] -= factor * matrix[k][j]
            right[i] -= factor * right[k]
    for k in reversed(range(n)):
        tail = sum(matrix[k][j] * right[j] for j in range(k + 1, n))
        right[k] = (right[k] - tail) / matrix[k][k]
    return right


def _difference(actual: Pose, goal: Pose) -> list[float]:
    """Translation and rotation vector, world frame, from one pose to another, (6,)."""
    turn = rotation_vector(multiply(goal.orientation, conjugate(actual.orientation)))
    return [*(g - a for g, a in zip(goal.position, actual.position)), *turn]


def _norm(v: Sequence[float]) -> float:
    return math.sqrt(sum(c * c for c in v))


def _add(a: Vec3, b: Vec3) -> Vec3:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def _cross(a: Vec3, b: Vec3) -> Vec3:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
