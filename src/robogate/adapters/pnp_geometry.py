"""Geometry of a top-down grasp: which way to turn the hand, how high to carry the block.

Everything is worked out from the scene's sizes and poses; no label and no scenario is looked at.
Frames: world, z up. The hand points straight down; its yaw is the azimuth of its x axis, and the
fingers move along its y axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from robogate.adapters.pnp_shapes import Plane, Polygon, convex_hull, gap, leg_gap, rectangle
from robogate.adapters.rotations import wrap
from robogate.scenes.rotations import rotate
from robogate.scenes.spec import FixedBody, PnpScene, Quat, Vec3

#: Lowest point of the open fingers, from the hand's origin along its z axis, m.
FINGER_TIP = 0.1123
#: Limits of the last joint, rad; the hand's yaw is q1 − q7 + π/4 while it points down.
LAST_JOINT_LIMIT = 2.8973
_LAST_JOINT_OFFSET = math.pi / 4.0


@dataclass(frozen=True)
class HandPart:
    """A box around a part of the downward hand with its fingers open.

    Attributes:
        half_depth: Half extent along the hand's x axis, m.
        half_length: Half extent along its y axis, the fingers', m.
        bottom: Lowest point, from the hand's origin along its z axis (downward), m.
    """

    half_depth: float
    half_length: float
    bottom: float


#: Extents of the collision meshes: fingers at full opening, hand, and the flange above it.
HAND_PARTS = (
    HandPart(half_depth=0.0105, half_length=0.0665, bottom=FINGER_TIP),
    HandPart(half_depth=0.0320, half_length=0.1040, bottom=0.0660),
    HandPart(half_depth=0.0440, half_length=0.0880, bottom=-0.0100),
)


@dataclass(frozen=True)
class Standing:
    """A body that must not be touched.

    Attributes:
        outline: Its shadow on the table, convex, counter-clockwise, m.
        top: Its highest point, m.
    """

    outline: Polygon
    top: float


@dataclass(frozen=True)
class Grasp:
    """One way to take the block.

    Attributes:
        yaw: Of the hand, rad.
        clearance: Smallest horizontal gap between hand and bodies, down at the block and down at
            the target, m.
        joint_margin: Smallest distance of the last joint from its limit, at the block and over the
            target, rad.
        turn: Rotation from the present yaw, rad.
    """

    yaw: float
    clearance: float
    joint_margin: float
    turn: float


def standing_bodies(scene: PnpScene) -> tuple[Standing, ...]:
    """Everything in a scene that the robot could hit, but for table and block."""
    bodies = (*scene.obstacles, *scene.occluders, *scene.distractors)
    return tuple(_standing(body) for body in bodies if body.collides)


def _standing(body: FixedBody) -> Standing:
    half = tuple(edge / 2.0 for edge in body.size)
    corners = [
        rotate(body.orientation, (sx * half[0], sy * half[1], sz * half[2]))
        for sx in (-1.0, 1.0)
        for sy in (-1.0, 1.0)
        for sz in (-1.0, 1.0)
    ]
    x, y, z = body.position
    outline = convex_hull([(x + c[0], y + c[1]) for c in corners])
    return Standing(outline=outline, top=z + max(c[2] for c in corners))


def hand_clearance(
    centre: Plane, yaw: float, hand_z: float, bodies: Sequence[Standing], head_room: float
) -> float:
    """Smallest horizontal gap between a downward hand and the bodies that reach up to it.

    Args:
        centre: Below the hand's origin, m.
        yaw: Of the hand, rad.
        hand_z: Height of the hand's origin, m.
        bodies: To keep clear of.
        head_room: A body reaches a part where its top is higher than this below the part, m.

    Returns:
        m; infinite where nothing reaches up to the hand.
    """
    smallest = math.inf
    for part in HAND_PARTS:
        outline = rectangle(centre, yaw, part.half_depth, part.half_length)
        for body in bodies:
            if body.top > hand_z - part.bottom - head_room:
                smallest = min(smallest, gap(outline, body.outline))
    return smallest


def last_joint(place: Plane, yaw: float) -> float:
    """The last joint's angle that turns a downward hand to a yaw over a place, about, rad.

    Args:
        place: Of the hand, base frame, m.
        yaw: rad.
    """
    return wrap(math.atan2(place[1], place[0]) - yaw + _LAST_JOINT_OFFSET)


def grasps(
    block: Plane,
    block_orientation: Quat,
    hand_z: float,
    present_yaw: float,
    target: Plane,
    bodies: Sequence[Standing],
    head_room: float = 0.01,
) -> tuple[Grasp, ...]:
    """The four ways to take a block by two opposite faces.

    Args:
        block: Centre, m.
        block_orientation: WXYZ; one of its axes is about vertical.
        hand_z: Height of the hand's origin at the grasp, m.
        present_yaw: Of the hand, rad.
        target: Where the block goes, m.
        bodies: To keep clear of.
        head_room: See `hand_clearance`.
    """
    face = face_azimuth(block_orientation)
    found = []
    for quarter in range(4):
        yaw = wrap(face + quarter * math.pi / 2.0)
        places = (block, target)
        found.append(
            Grasp(
                yaw=yaw,
                clearance=min(hand_clearance(p, yaw, hand_z, bodies, head_room) for p in places),
                joint_margin=min(LAST_JOINT_LIMIT - abs(last_joint(p, yaw)) for p in places),
                turn=wrap(yaw - present_yaw),
            )
        )
    return tuple(found)


def face_azimuth(orientation: Quat) -> float:
    """Azimuth of a horizontal face normal of a box that lies on any of its faces, rad."""
    axes: tuple[Vec3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    normals = [rotate(orientation, axis) for axis in axes]
    flat = max(normals, key=lambda n: n[0] * n[0] + n[1] * n[1])
    return math.atan2(flat[1], flat[0])


def choose(
    candidates: Sequence[Grasp], clearance: float = 0.015, joint_margin: float = 0.2
) -> Grasp:
    """The grasp with enough room for joint and hand that needs the least turning.

    Where none has enough of both, the one that comes nearest.

    Args:
        candidates: At least one.
        clearance: Enough of it, m.
        joint_margin: Enough of it, rad.
    """

    def score(grasp: Grasp) -> tuple[float, float, float]:
        return (
            min(grasp.joint_margin, joint_margin),
            min(grasp.clearance, clearance),
            -abs(grasp.turn),
        )

    return max(candidates, key=score)


def highest_on_the_way(
    path: Sequence[Plane], bodies: Sequence[Standing], reach: float = 0.125
) -> float:
    """Top of the highest body within reach of a path, m; −inf where there is none.

    Args:
        path: Corners of the way, at least one, m.
        bodies: To look at.
        reach: Half width of what moves along the path, m; the default is the hand's, whichever way
            it is turned.
    """
    legs = list(zip(path, path[1:])) or [(path[0], path[0])]
    return max(
        (b.top for b in bodies if any(leg_gap(leg, b.outline) <= reach for leg in legs)),
        default=-math.inf,
    )
