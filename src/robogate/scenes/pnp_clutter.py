"""Bodies that stand around the block: obstacles, distractors and the occluding panel.

They are placed in polar sectors about the block, so that no draw can put one into it and the hand
always has one free way down: see `ClutterRange` for the sectors and the clearances that they leave.
"""

from __future__ import annotations

import math

from robogate.scenes.draws import Draws
from robogate.scenes.pnp_ranges import ClutterRange, OccluderRange
from robogate.scenes.rotations import about_z, normalised, planar, rotate
from robogate.scenes.spec import FixedBody, Material, PnpScene, Quat, Vec3

Plane = tuple[float, float]


def finger_axis(scene: PnpScene) -> Plane:
    """The block's horizontal axis furthest from the way to the target: clutter leaves it free.

    Returns:
        Unit vector, world frame, (2,).
    """
    way = _way(scene)
    first = rotate(scene.object.orientation, (1.0, 0.0, 0.0))
    second = rotate(scene.object.orientation, (0.0, 1.0, 0.0))
    along_first = abs(first[0] * way[0] + first[1] * way[1])
    along_second = abs(second[0] * way[0] + second[1] * way[1])
    chosen = first if along_first <= along_second else second
    return (chosen[0], chosen[1])


def clutter(
    scene: PnpScene, top: float, ranges: ClutterRange, draws: Draws
) -> tuple[tuple[FixedBody, ...], tuple[FixedBody, ...]]:
    """Three obstacles and three distractors.

    Args:
        scene: With the block in place.
        top: Height of the table's top, m.
        ranges: Sectors and sizes.
        draws: Of the scenario.

    Returns:
        Obstacles, distractors.
    """
    x, y, _ = scene.object.position
    way, axis = _way(scene), finger_axis(scene)
    # Straight behind: the block's other axis, on the side away from the target.
    behind = (-axis[1], axis[0])
    if behind[0] * way[0] + behind[1] * way[1] > 0.0:
        behind = (-behind[0], -behind[1])
    length = _length(scene.target.position[0] - x, scene.target.position[1] - y)
    share = draws.uniform("obstacle_0.share", ranges.way_share) * length
    aside = draws.either_side("obstacle_0.offset", ranges.way_offset)
    places = [(x + way[0] * share - way[1] * aside, y + way[1] * share + way[0] * aside)]
    for index, side in ((1, 1.0), (2, -1.0)):
        distance = draws.uniform(f"obstacle_{index}.distance", ranges.flank_distance)
        angle = side * draws.uniform(f"obstacle_{index}.angle", ranges.flank_angle)
        places.append(_at((x, y), behind, distance, angle))
    obstacles = tuple(
        _standing(
            f"obstacle_{i}",
            (
                ranges.obstacle_width,
                ranges.obstacle_width,
                draws.uniform(f"obstacle_{i}.height", ranges.obstacle_height),
            ),
            place,
            top,
            about_z(draws.uniform(f"obstacle_{i}.yaw", (-45.0, 45.0))),
            ranges.obstacle_material,
        )
        for i, place in enumerate(places)
    )
    sectors = (
        (axis, ranges.side_distance, ranges.side_angle),
        ((-axis[0], -axis[1]), ranges.side_distance, ranges.side_angle),
        (behind, ranges.back_distance, ranges.back_angle),
    )
    edge = ranges.distractor_edge
    distractors = tuple(
        _standing(
            f"distractor_{i}",
            (edge, edge, edge),
            _at(
                (x, y),
                direction,
                draws.uniform(f"distractor_{i}.distance", distances),
                draws.either_side(f"distractor_{i}.angle", angles),
            ),
            top,
            about_z(draws.uniform(f"distractor_{i}.yaw", (-45.0, 45.0))),
            ranges.distractor_materials[i],
        )
        for i, (direction, distances, angles) in enumerate(sectors)
    )
    return obstacles, distractors


def occluder(scene: PnpScene, top: float, ranges: OccluderRange, draws: Draws) -> FixedBody:
    """A panel on the line of sight from the primary camera to the block's centre.

    Args:
        scene: With block and primary camera in place.
        top: Height of the table's top, m.
        ranges: Sizes and distances.
        draws: Of the scenario.
    """
    x, y, z = scene.object.position
    eye = scene.primary_camera.position
    reach = _length(eye[0] - x, eye[1] - y)
    towards = ((eye[0] - x) / reach, (eye[1] - y) / reach)
    distance = draws.uniform("occluder.distance", ranges.distance)
    sight = z + (eye[2] - z) * distance / reach
    height = sight - top + draws.uniform("occluder.overlap", ranges.overlap)
    # Local x faces the camera: half of the angle by the half-angle formulas, without a tangent.
    cosine = math.sqrt((1.0 + towards[0]) / 2.0)
    sine = math.sqrt((1.0 - towards[0]) / 2.0) * (1.0 if towards[1] >= 0.0 else -1.0)
    return _standing(
        "occluder_0",
        (ranges.thickness, ranges.width, height),
        (x + towards[0] * distance, y + towards[1] * distance),
        top,
        normalised((cosine, 0.0, 0.0, sine)),
        ranges.material,
    )


def _length(x: float, y: float) -> float:
    # Not math.hypot: its last bit has changed between versions of Python.
    return math.sqrt(x * x + y * y)


def _way(scene: PnpScene) -> Plane:
    """Unit vector from the block to the target."""
    x = scene.target.position[0] - scene.object.position[0]
    y = scene.target.position[1] - scene.object.position[1]
    length = _length(x, y)
    return (x / length, y / length)


def _at(origin: Plane, direction: Plane, distance: float, angle_deg: float) -> Plane:
    """The point at a distance from ``origin``, at an angle from ``direction``."""
    cosine, sine = planar(distance, angle_deg)
    return (
        origin[0] + direction[0] * cosine - direction[1] * sine,
        origin[1] + direction[1] * cosine + direction[0] * sine,
    )


def _standing(
    name: str, size: Vec3, place: Plane, top: float, orientation: Quat, material: Material
) -> FixedBody:
    """A colliding box that stands on the table."""
    return FixedBody(
        name=name,
        shape="box",
        size=size,
        position=(place[0], place[1], top + size[2] / 2.0),
        orientation=orientation,
        collides=True,
        material=material,
    )
