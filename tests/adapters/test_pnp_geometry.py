from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robogate.adapters import pnp_shapes as shapes
from robogate.adapters.pnp_geometry import (
    Grasp,
    Standing,
    choose,
    face_azimuth,
    grasps,
    hand_clearance,
    highest_on_the_way,
    last_joint,
    standing_bodies,
)
from robogate.adapters.pnp_shapes import convex_hull, gap, rectangle
from robogate.adapters.rotations import multiply, wrap
from robogate.scenes.pnp import resolve
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.rotations import about_z

SQUARE = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
FLAT = (1.0, 0.0, 0.0, 0.0)


def box(x: float, y: float, half: float, top: float) -> Standing:
    return Standing(rectangle((x, y), 0.0, half, half), top)


def test_a_hull_drops_what_lies_inside_or_on_an_edge() -> None:
    points = [*SQUARE, (0.5, 0.5), (0.5, 0.0), (1.0, 0.5)]
    assert convex_hull(points) == SQUARE


def test_a_rectangle_is_turned_and_counter_clockwise() -> None:
    corners = rectangle((1.0, 2.0), math.pi / 2, 0.5, 0.1)
    rounded = sorted((round(x, 9), round(y, 9)) for x, y in corners)
    assert rounded == [(0.9, 1.5), (0.9, 2.5), (1.1, 1.5), (1.1, 2.5)]
    assert all(
        shapes._side(corners[i], corners[(i + 1) % 4], corners[(i + 2) % 4]) > 0 for i in range(4)
    )


@pytest.mark.parametrize(
    ("shift", "expected"),
    [((3.0, 0.0), 2.0), ((0.0, -1.5), 0.5), ((1.0, 0.0), 0.0), ((0.75, 0.9), -0.1)],
)
def test_the_gap_of_two_squares(shift: tuple[float, float], expected: float) -> None:
    moved = tuple((x + shift[0], y + shift[1]) for x, y in SQUARE)
    assert gap(SQUARE, moved) == pytest.approx(expected)
    assert gap(moved, SQUARE) == pytest.approx(expected)


@given(st.floats(-3.0, 3.0), st.floats(-3.0, 3.0), st.floats(-3.2, 3.2))
def test_a_gap_never_exceeds_the_distance_of_the_nearest_corners(
    x: float, y: float, yaw: float
) -> None:
    other = rectangle((x, y), yaw, 0.4, 0.2)
    nearest = min(math.dist(a, b) for a in SQUARE for b in other)
    assert gap(SQUARE, other) <= nearest + 1e-12


def test_only_what_collides_stands_in_the_way(bench: PnpBench) -> None:
    scene = resolve(bench, "cluttered_scene", 5)
    assert len(standing_bodies(scene)) == len(scene.obstacles) + len(scene.distractors) > 0
    ghosts = tuple(replace(body, collides=False) for body in scene.obstacles)
    assert len(standing_bodies(replace(scene, obstacles=ghosts))) == len(scene.distractors)
    body = scene.obstacles[0]
    standing = standing_bodies(scene)[0]
    assert standing.top == pytest.approx(body.position[2] + body.size[2] / 2)
    assert len(standing.outline) == 4
    centre = [sum(p[i] for p in standing.outline) / 4 for i in (0, 1)]
    assert centre == pytest.approx(body.position[:2])


def test_a_low_body_does_not_narrow_the_way() -> None:
    place, hand_z = (0.5, 0.0), 0.4165
    near = (0.5, 0.09)
    assert hand_clearance(place, 0.0, hand_z, [box(*near, 0.01, 0.29)], 0.01) == math.inf
    beside_the_fingers = hand_clearance(place, 0.0, hand_z, [box(*near, 0.01, 0.33)], 0.01)
    assert beside_the_fingers == pytest.approx(0.08 - 0.0665)
    beside_the_hand = hand_clearance(place, 0.0, hand_z, [box(*near, 0.01, 0.36)], 0.01)
    assert beside_the_hand == pytest.approx(0.08 - 0.1040)
    turned = hand_clearance(place, math.pi / 2, hand_z, [box(*near, 0.01, 0.36)], 0.01)
    assert turned == pytest.approx(0.08 - 0.0320)


def test_the_last_joint_turns_with_the_hand_and_the_base() -> None:
    assert last_joint((0.5, 0.0), 0.0) == pytest.approx(math.pi / 4)
    assert last_joint((0.5, 0.0), 0.3) == pytest.approx(math.pi / 4 - 0.3)
    assert last_joint((0.0, 0.5), 0.0) == pytest.approx(3 * math.pi / 4)


@given(st.floats(-45.0, 45.0))
def test_the_four_grasps_are_square_to_the_faces(degrees: float) -> None:
    found = grasps((0.5, 0.0), about_z(degrees), 0.4165, 0.0, (0.35, 0.3), [])
    yaws = sorted(wrap(g.yaw - math.radians(degrees)) % math.tau for g in found)
    folded = [min(y % (math.pi / 2), math.pi / 2 - y % (math.pi / 2)) for y in yaws]
    assert folded == pytest.approx([0.0] * 4, abs=1e-9)
    assert len({round(y, 6) % round(math.tau, 6) for y in yaws}) == 4
    # With nothing in the way, the least turning wins, unless the last joint is short of room.
    chosen = choose(found)
    roomy = [g for g in found if g.joint_margin >= 0.2]
    assert abs(chosen.turn) == min(abs(g.turn) for g in roomy)


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("degrees", [0.0, 20.0, -40.0])
def test_a_block_on_its_side_is_taken_by_its_upright_faces(axis: int, degrees: float) -> None:
    half = math.sqrt(0.5)
    fallen = (half, half, 0.0, 0.0) if axis == 1 else (half, 0.0, half, 0.0)
    found = face_azimuth(multiply(about_z(degrees), fallen)) - math.radians(degrees)
    quarter = math.pi / 2
    assert abs(found / quarter - round(found / quarter)) < 1e-9


def test_a_body_beside_the_block_turns_the_hand() -> None:
    # Bodies to the left and right, where the fingers would come down with the hand as it is.
    bodies = [box(0.5, 0.085, 0.015, 0.40), box(0.5, -0.085, 0.015, 0.40)]
    found = grasps((0.5, 0.0), FLAT, 0.4165, 0.0, (0.35, 0.3), bodies)
    assert abs(choose(found).turn) == pytest.approx(math.pi / 2)
    free = grasps((0.5, 0.0), FLAT, 0.4165, 0.0, (0.35, 0.3), [])
    assert choose(free).turn == pytest.approx(0.0)


def grasp(clearance: float, joint_margin: float, turn: float) -> Grasp:
    return Grasp(yaw=turn, clearance=clearance, joint_margin=joint_margin, turn=turn)


def test_room_comes_before_turning_and_enough_is_enough() -> None:
    near, far = grasp(0.02, 0.5, 0.1), grasp(0.5, 2.0, 1.0)
    assert choose([far, near]) is near
    assert choose([grasp(0.001, 0.5, 0.1), far]) is far
    assert choose([grasp(0.02, -0.1, 0.1), far]) is far
    narrow, narrower = grasp(0.004, 0.5, 1.0), grasp(0.001, 0.5, 0.0)
    assert choose([narrower, narrow]) is narrow


def test_the_way_looks_at_what_it_passes() -> None:
    path = ((0.0, 0.0), (1.0, 0.0))
    assert highest_on_the_way(path, []) == -math.inf
    on_it, beside, away = box(0.5, 0.0, 0.02, 0.4), box(0.5, 0.1, 0.02, 0.6), box(0.5, 1, 0.1, 9.0)
    assert highest_on_the_way(path, [on_it, away]) == 0.4
    assert highest_on_the_way(path, [on_it, beside, away]) == 0.6
    assert highest_on_the_way(path, [beside], reach=0.07) == -math.inf
    behind = box(-0.3, 0.0, 0.02, 0.5)
    assert highest_on_the_way(path, [behind]) == -math.inf
    assert highest_on_the_way(((0.5, 0.0),), [on_it]) == 0.4
    assert highest_on_the_way(((0.49, 0.01), (0.51, 0.0)), [box(0.5, 0.0, 0.2, 0.7)]) == 0.7
    corners = ((0.0, 0.0), (0.0, 1.0), (1.0, 1.0))
    assert highest_on_the_way(corners, [box(0.5, 1.05, 0.02, 0.8)]) == 0.8
