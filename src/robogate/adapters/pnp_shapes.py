"""Convex polygons in the plane: hulls, turned rectangles, and the gaps between them.

In plain floats, like everything that a control's actions follow from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

Plane = tuple[float, float]
Polygon = tuple[Plane, ...]
Leg = tuple[Plane, Plane]


def convex_hull(points: Iterable[Plane]) -> Polygon:
    """Convex hull, counter-clockwise, without points on its edges (Andrew's monotone chain)."""
    ordered = sorted(set(points))

    def half(sequence: Iterable[Plane]) -> list[Plane]:
        chain: list[Plane] = []
        for p in sequence:
            while len(chain) > 1 and _side(chain[-2], chain[-1], p) <= 1e-15:
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return tuple(half(ordered) + half(reversed(ordered)))


def _side(a: Plane, b: Plane, p: Plane) -> float:
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])


def rectangle(centre: Plane, yaw: float, half_x: float, half_y: float) -> Polygon:
    """A turned rectangle, counter-clockwise.

    Args:
        centre: m.
        yaw: Azimuth of its x axis, rad.
        half_x: Half extent along that axis, m.
        half_y: Half extent across, m.
    """
    c, s = math.cos(yaw), math.sin(yaw)
    corners = ((half_x, half_y), (-half_x, half_y), (-half_x, -half_y), (half_x, -half_y))
    return tuple((centre[0] + a * c - b * s, centre[1] + a * s + b * c) for a, b in corners)


def gap(a: Polygon, b: Polygon) -> float:
    """Largest separation of two convex polygons along one of their edge normals, m.

    Negative where they overlap; between two corners it is less than the true distance.
    """
    return max(_gap(a, b), _gap(b, a))


def _gap(a: Polygon, b: Polygon) -> float:
    best = -math.inf
    for i, start in enumerate(a):
        end = a[(i + 1) % len(a)]
        dx, dy = end[0] - start[0], end[1] - start[1]
        length = math.sqrt(dx * dx + dy * dy)
        if length > 0.0:
            outward = (dy / length, -dx / length)
            nearest = min(
                (p[0] - start[0]) * outward[0] + (p[1] - start[1]) * outward[1] for p in b
            )
            best = max(best, nearest)
    return best


def leg_gap(leg: Leg, outline: Polygon) -> float:
    """Distance between a line segment and a convex polygon, 0 where they meet, m."""
    start, end = leg
    corners = [*outline, outline[0]]
    edges = list(zip(corners, corners[1:]))
    if all(_side(a, b, start) >= 0.0 for a, b in edges):
        return 0.0
    if any(_cross(leg, edge) for edge in edges):
        return 0.0
    ends = [_point_gap(p, edge) for p in (start, end) for edge in edges]
    return min(ends + [_point_gap(p, leg) for p in outline])


def _cross(a: Leg, b: Leg) -> bool:
    return _side(*a, b[0]) * _side(*a, b[1]) < 0.0 and _side(*b, a[0]) * _side(*b, a[1]) < 0.0


def _point_gap(p: Plane, leg: Leg) -> float:
    (x, y), (a, b) = leg
    dx, dy = a - x, b - y
    square = dx * dx + dy * dy
    along = ((p[0] - x) * dx + (p[1] - y) * dy) / square if square > 0.0 else 0.0
    t = min(1.0, max(0.0, along))
    ex, ey = p[0] - x - t * dx, p[1] - y - t * dy
    return math.sqrt(ex * ex + ey * ey)
