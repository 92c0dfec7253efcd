from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robogate.scenes.rotations import about_z, look_at, normalised, planar, rotate, sincos

ANGLES = st.floats(-2 * math.pi, 2 * math.pi)
COORDINATES = st.floats(-2.0, 2.0)
POINTS = st.tuples(COORDINATES, COORDINATES, COORDINATES)
COMPONENTS = st.floats(-1.0, 1.0).filter(lambda c: c == 0.0 or abs(c) > 1e-6)
QUATS = st.tuples(COMPONENTS, COMPONENTS, COMPONENTS, COMPONENTS).filter(any)


@given(ANGLES)
def test_sine_and_cosine_are_the_ones_of_mathematics(angle: float) -> None:
    sine, cosine = sincos(angle)
    assert sine == pytest.approx(math.sin(angle), abs=5e-15)
    assert cosine == pytest.approx(math.cos(angle), abs=5e-15)


def test_sine_and_cosine_are_the_same_bits_everywhere() -> None:
    # Literals: another platform's or version's mathematics must not show here.
    assert [x.hex() for x in sincos(1.0)] == ["0x1.aed548f090ceep-1", "0x1.14a280fb5068bp-1"]
    assert [x.hex() for x in sincos(-2.5)] == ["-0x1.326af0dcfcab1p-1", "-0x1.9a2f7ef858b7ep-1"]


def test_planar_follows_the_azimuth() -> None:
    assert planar(2.0, 0.0) == (2.0, 0.0)
    assert planar(2.0, 90.0) == pytest.approx((0.0, 2.0), abs=1e-14)
    assert planar(2.0, -30.0) == pytest.approx((math.sqrt(3), -1.0), abs=1e-14)


@given(QUATS)
def test_normalised_is_of_unit_length_with_a_canonical_sign(
    quat: tuple[float, float, float, float],
) -> None:
    unit = normalised(quat)
    assert math.sqrt(sum(c * c for c in unit)) == pytest.approx(1.0, abs=1e-15)
    assert next(c for c in unit if c != 0.0) > 0.0
    assert normalised(tuple(-c for c in quat)) == unit  # type: ignore[arg-type]


@given(QUATS, POINTS)
def test_rotation_keeps_lengths_and_its_own_axis(
    quat: tuple[float, float, float, float], vector: tuple[float, float, float]
) -> None:
    unit = normalised(quat)
    assert math.hypot(*rotate(unit, vector)) == pytest.approx(math.hypot(*vector), abs=1e-12)
    axis = (unit[1], unit[2], unit[3])
    assert rotate(unit, axis) == pytest.approx(axis, abs=1e-12)


def test_about_z_turns_counterclockwise() -> None:
    assert rotate(about_z(90.0), (1.0, 0.0, 0.0)) == pytest.approx((0.0, 1.0, 0.0), abs=1e-14)
    assert about_z(0.0) == (1.0, 0.0, 0.0, 0.0)


@given(POINTS, POINTS)
def test_look_at_sees_the_point_upright(
    eye: tuple[float, float, float], point: tuple[float, float, float]
) -> None:
    flat = math.hypot(eye[0] - point[0], eye[1] - point[1])
    if flat < 1e-3:
        return
    quat = look_at(eye, point)
    distance = math.dist(eye, point)
    forward = tuple((p - e) / distance for e, p in zip(eye, point))
    assert rotate(quat, (0.0, 0.0, -1.0)) == pytest.approx(forward, abs=1e-9)
    assert rotate(quat, (1.0, 0.0, 0.0))[2] == pytest.approx(0.0, abs=1e-9)
    assert rotate(quat, (0.0, 1.0, 0.0))[2] > 0.0


@pytest.mark.parametrize("point", [(1.0, 2.0, 3.0), (1.0, 2.0, 0.0)])
def test_look_at_needs_a_direction_that_is_not_vertical(point: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="no length, or is vertical"):
        look_at((1.0, 2.0, 3.0), point)
