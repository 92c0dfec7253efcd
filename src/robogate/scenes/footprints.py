"""Rectangles on the table: where upright boxes stand, and whether two of them overlap."""

from __future__ import annotations

import math
from dataclasses import dataclass

from robogate.scenes.rotations import rotate
from robogate.scenes.spec import Quat, Vec3

Plane = tuple[float, float]


@dataclass(frozen=True)
class Footprint:
    """An oriented rectangle.

    Attributes:
        centre: World frame, (2,), m.
        axis: Unit vector of its first side, (2,).
        half: Half of the extents along ``axis`` and across it, (2,), m.
    """

    centre: Plane
    axis: Plane
    half: Plane

    @property
    def across(self) -> Plane:
        """Unit vector of its second side."""
        return (-self.axis[1], self.axis[0])

    @property
    def corners(self) -> tuple[Plane, ...]:
        """The four corners, m."""
        (x, y), (a, b), (c, d) = self.centre, self.axis, self.across
        h, k = self.half
        return tuple(
            (x + s * h * a + t * k * c, y + s * h * b + t * k * d)
            for s, t in ((1, 1), (1, -1), (-1, -1), (-1, 1))
        )


def footprint(size: Vec3, position: Vec3, orientation: Quat) -> Footprint:
    """Footprint of an upright box.

    Args:
        size: Full extents, (3,), m.
        position: Centre, world frame, (3,), m.
        orientation: WXYZ, a rotation about z.
    """
    axis = rotate(orientation, (1.0, 0.0, 0.0))
    half = (size[0] / 2.0, size[1] / 2.0)
    return Footprint((position[0], position[1]), (axis[0], axis[1]), half)


def gap(first: Footprint, second: Footprint) -> float:
    """A lower bound of the distance between two rectangles, m; negative where they overlap.

    It is the widest separation along any of the four side directions, and exact where one of them
    separates the two.
    """
    widest = -math.inf
    for direction in (first.axis, first.across, second.axis, second.across):
        low, high = _span(first, direction)
        other_low, other_high = _span(second, direction)
        widest = max(widest, other_low - high, low - other_high)
    return widest


def reaches(rectangle: Footprint, point: Plane) -> float:
    """Distance of a point from a rectangle, m; 0 inside."""
    x, y = point[0] - rectangle.centre[0], point[1] - rectangle.centre[1]
    along = abs(x * rectangle.axis[0] + y * rectangle.axis[1]) - rectangle.half[0]
    across = abs(x * rectangle.across[0] + y * rectangle.across[1]) - rectangle.half[1]
    return math.sqrt(max(along, 0.0) ** 2 + max(across, 0.0) ** 2)


def _span(rectangle: Footprint, direction: Plane) -> Plane:
    shadows = [x * direction[0] + y * direction[1] for x, y in rectangle.corners]
    return min(shadows), max(shadows)
