from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robogate.adapters.rotations import (
    conjugate,
    downward,
    multiply,
    rotation_vector,
    turn,
    wrap,
    yaw_of,
)
from robogate.scenes.rotations import rotate
from robogate.scenes.spec import Quat

ANGLES = st.floats(-math.pi, math.pi)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def about(axis: tuple[float, float, float], angle: float) -> Quat:
    s = math.sin(angle / 2.0)
    return (math.cos(angle / 2.0), axis[0] * s, axis[1] * s, axis[2] * s)


def test_multiply_applies_the_right_one_first() -> None:
    both = multiply(about(Z, math.pi / 2), about(X, math.pi / 2))
    # y goes to z about x, and stays there about z.
    assert rotate(both, Y) == pytest.approx((0.0, 0.0, 1.0), abs=1e-12)
    # x stays about x, and goes to y about z.
    assert rotate(both, X) == pytest.approx((0.0, 1.0, 0.0), abs=1e-12)


@given(ANGLES)
def test_a_hand_that_points_down_has_its_fingers_across(yaw: float) -> None:
    hand = downward(yaw)
    assert rotate(hand, Z) == pytest.approx((0.0, 0.0, -1.0), abs=1e-12)
    assert rotate(hand, X) == pytest.approx((math.cos(yaw), math.sin(yaw), 0.0), abs=1e-12)
    assert rotate(hand, Y) == pytest.approx((math.sin(yaw), -math.cos(yaw), 0.0), abs=1e-12)
    assert wrap(yaw_of(hand) - yaw) == pytest.approx(0.0, abs=1e-9)


@given(st.floats(-3.1, 3.1), st.sampled_from([X, Y, Z]))
def test_a_rotation_vector_is_axis_times_angle_by_the_shorter_way(
    angle: float, axis: tuple[float, float, float]
) -> None:
    expected = tuple(a * angle for a in axis)
    for sign in (1.0, -1.0):
        q = about(axis, angle)
        signed = (sign * q[0], sign * q[1], sign * q[2], sign * q[3])
        assert rotation_vector(signed) == pytest.approx(expected, abs=1e-9)


def test_no_rotation_has_no_axis() -> None:
    assert rotation_vector((1.0, 0.0, 0.0, 0.0)) == (0.0, 0.0, 0.0)
    assert rotation_vector((-1.0, 0.0, 0.0, 0.0)) == (0.0, 0.0, 0.0)


@given(ANGLES, st.floats(-1.5, 1.5))
def test_turn_pre_multiplied_gives_the_goal(yaw: float, tilt: float) -> None:
    measured, goal = multiply(about(X, tilt), downward(yaw)), downward(0.3)
    x, y, z = turn(measured, goal)
    angle = math.sqrt(x * x + y * y + z * z)
    step = about((x / angle, y / angle, z / angle), angle) if angle else (1.0, 0.0, 0.0, 0.0)
    left = multiply(multiply(step, measured), conjugate(goal))
    assert abs(left[0]) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    ("angle", "same"), [(0.0, 0.0), (math.pi, -math.pi), (-math.pi, -math.pi), (7.0, 7 - math.tau)]
)
def test_wrap(angle: float, same: float) -> None:
    assert wrap(angle) == pytest.approx(same)
