"""What the pick-and-place control reads out of one observation."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robogate.records.facts import PNP_FACTS
from robogate.records.observation import Observation
from robogate.scenes.rotations import rotate
from robogate.scenes.spec import Quat, Vec3


@dataclass(frozen=True)
class Situation:
    """What one observation says.

    Attributes:
        hand: Grip site, world frame, (3,), m.
        orientation: Of the hand, WXYZ.
        block: Centre, world frame, (3,), m.
        block_orientation: WXYZ.
        speed: Of the block, m/s.
        width: Opening of the gripper, m.
        held: Whether the block is attached.
    """

    hand: Vec3
    orientation: Quat
    block: Vec3
    block_orientation: Quat
    speed: float
    width: float
    held: bool


def situation(observation: Observation) -> Situation:
    """Read an observation with its evaluator half.

    Raises:
        ValueError: The evaluator half is missing.
    """
    if observation.evaluator is None:
        raise ValueError("the scripted control needs the evaluator half of the observation")
    facts = dict(zip(PNP_FACTS, (float(v) for v in observation.evaluator.facts)))
    x, y, z = (float(v) for v in observation.state["ee_position"])
    qw, qx, qy, qz = (float(v) for v in observation.state["ee_orientation"])
    return Situation(
        hand=(x, y, z),
        orientation=(qw, qx, qy, qz),
        block=(facts["object_x"], facts["object_y"], facts["object_z"]),
        block_orientation=(
            facts["object_qw"],
            facts["object_qx"],
            facts["object_qy"],
            facts["object_qz"],
        ),
        speed=facts["object_speed"],
        width=facts["gripper_width"],
        held=facts["held"] > 0.5,
    )


def half_height(orientation: Quat, size: Vec3) -> float:
    """Half of a box's vertical extent, m."""
    axes: tuple[Vec3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    return sum(abs(rotate(orientation, axis)[2]) * edge / 2.0 for axis, edge in zip(axes, size))


def apart(a: Vec3, b: Vec3) -> float:
    """Horizontal distance of two points, m."""
    return math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2)
