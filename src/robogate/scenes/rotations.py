"""Rotations from additions, products, quotients and square roots alone.

IEEE-754 fixes those operations to the last bit, while sine and cosine differ between mathematics
libraries. A scene must be the same bytes on every machine, so they are computed here. Quaternions
are WXYZ, of unit length, with the first non-zero component positive.
"""

from __future__ import annotations

import math

from robogate.scenes.spec import Quat, Vec3

DEGREE = math.pi / 180.0
_TAYLOR = 9  # terms; below 1e-19 at the largest reduced angle, π/8
_HALVINGS = 3


def sincos(angle: float) -> tuple[float, float]:
    """Sine and cosine, exact to about 1e-15 and equal on every platform.

    Args:
        angle: rad, within ±2π.
    """
    x = angle / 2**_HALVINGS
    square = x * x
    sine, cosine = 0.0, 0.0
    for n in range(_TAYLOR, 0, -1):
        sine = -square / ((2 * n) * (2 * n + 1)) * (1.0 + sine)
        cosine = -square / ((2 * n - 1) * (2 * n)) * (1.0 + cosine)
    sine, cosine = x * (1.0 + sine), 1.0 + cosine
    for _ in range(_HALVINGS):
        sine, cosine = 2.0 * sine * cosine, cosine * cosine - sine * sine
    return sine, cosine


def planar(length: float, azimuth_deg: float) -> tuple[float, float]:
    """The x and y components of a horizontal vector.

    Args:
        length: Any unit.
        azimuth_deg: From +x towards +y, degrees, within ±360.
    """
    sine, cosine = sincos(azimuth_deg * DEGREE)
    return length * cosine, length * sine


def normalised(quat: Quat) -> Quat:
    """The unit quaternion of the same rotation, sign made canonical."""
    w, x, y, z = quat
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    sign = next((1.0 if c > 0.0 else -1.0 for c in quat if c != 0.0), 1.0)
    scale = sign * norm
    return (w / scale + 0.0, x / scale + 0.0, y / scale + 0.0, z / scale + 0.0)


def about_z(degrees: float) -> Quat:
    """Rotation about +z by an angle within ±360 degrees."""
    sine, cosine = sincos(degrees * DEGREE / 2.0)
    return normalised((cosine, 0.0, 0.0, sine))


def rotate(quat: Quat, vector: Vec3) -> Vec3:
    """Rotate a vector by a unit quaternion."""
    w, x, y, z = quat
    a, b, c = vector
    # v + 2 q × (q × v + w v)
    s, t, u = y * c - z * b + w * a, z * a - x * c + w * b, x * b - y * a + w * c
    return (a + 2.0 * (y * u - z * t), b + 2.0 * (z * s - x * u), c + 2.0 * (x * t - y * s))


def look_at(eye: Vec3, point: Vec3) -> Quat:
    """Orientation of a camera or light at ``eye`` whose local −z axis passes through ``point``.

    Local +y lies in the vertical plane through both and points up.

    Raises:
        ValueError: The line of sight is vertical or has no length.
    """
    back = _unit((eye[0] - point[0], eye[1] - point[1], eye[2] - point[2]))
    right = _unit((-back[1], back[0], 0.0))
    up = _cross(back, right)
    return _from_axes(right, up, back)


def _unit(v: Vec3) -> Vec3:
    norm = math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    if norm == 0.0:
        raise ValueError("a direction has no length, or is vertical where it must not be")
    return (v[0] / norm, v[1] / norm, v[2] / norm)


def _cross(a: Vec3, b: Vec3) -> Vec3:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def _from_axes(x: Vec3, y: Vec3, z: Vec3) -> Quat:
    """Quaternion of the rotation whose matrix has these columns (largest component first)."""
    trace = x[0] + y[1] + z[2]
    candidates = (trace, x[0], y[1], z[2])
    largest = candidates.index(max(candidates))
    if largest == 0:
        quat = (1.0 + trace, y[2] - z[1], z[0] - x[2], x[1] - y[0])
    elif largest == 1:
        quat = (y[2] - z[1], 1.0 + x[0] - y[1] - z[2], y[0] + x[1], z[0] + x[2])
    elif largest == 2:
        quat = (z[0] - x[2], y[0] + x[1], 1.0 + y[1] - x[0] - z[2], z[1] + y[2])
    else:
        quat = (x[1] - y[0], z[0] + x[2], z[1] + y[2], 1.0 + z[2] - x[0] - y[1])
    return normalised(quat)
