"""Unit quaternions (WXYZ) and rotation vectors in plain floats.

No BLAS: its kernels differ between CPUs, and a control's actions must be equal wherever the
fingerprint is.
"""

from __future__ import annotations

import math

from robogate.scenes.spec import Quat, Vec3


def multiply(a: Quat, b: Quat) -> Quat:
    """The rotation ``b`` followed by ``a``, both in world axes."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def conjugate(a: Quat) -> Quat:
    """The inverse rotation."""
    return (a[0], -a[1], -a[2], -a[3])


def rotation_vector(a: Quat) -> Vec3:
    """Axis times angle of the shorter way, rad, angle in [0, π]."""
    w, x, y, z = a if a[0] >= 0.0 else (-a[0], -a[1], -a[2], -a[3])
    sine = math.sqrt(x * x + y * y + z * z)
    if sine == 0.0:
        return (0.0, 0.0, 0.0)
    scale = 2.0 * math.atan2(sine, w) / sine
    return (x * scale, y * scale, z * scale)


def turn(measured: Quat, goal: Quat) -> Vec3:
    """Rotation vector, world frame, that pre-multiplied to ``measured`` gives ``goal``."""
    return rotation_vector(multiply(goal, conjugate(measured)))


def downward(yaw: float) -> Quat:
    """Orientation of a hand that points straight down.

    Args:
        yaw: Azimuth of the hand's x axis, rad, world frame. Its y axis, along which the fingers
            move, then lies at ``yaw`` − π/2.
    """
    # A half turn about x points the hand down with its x axis along world x; then about world z.
    return (0.0, math.cos(yaw / 2.0), math.sin(yaw / 2.0), 0.0)


def yaw_of(orientation: Quat) -> float:
    """Azimuth of a frame's x axis, rad, in (−π, π]."""
    w, x, y, z = orientation
    return math.atan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z))


def wrap(angle: float) -> float:
    """The same angle in [−π, π), rad."""
    return (angle + math.pi) % (2.0 * math.pi) - math.pi
