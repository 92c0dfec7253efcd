"""LIBERO's conventions: the state that its networks read, and the gripper that they write.

LIBERO (robosuite 1.4.0) gives a policy the position of the grip site, the orientation of the hand
as a rotation vector, and two signed finger positions. It turns the quaternion into a rotation
vector without normalising its sign: angles reach 2π, and a quaternion and its negative, which are
the same rotation, give different vectors. The bench's quaternion has the sign of the forward
kinematics, as LIBERO's has, so nothing may be done about it here.
"""

from __future__ import annotations

import math

import numpy as np

from robogate.errors import ConfigError, EpisodeError, nearest
from robogate.records.observation import FloatArray, PolicyObservation

GRIPPER_DECODES = ("environment", "unit_open")

#: Values of a gripper between 0 (close) and 1 (open) may overshoot by this; beyond, they are no
#: such values.
UNIT_OVERSHOOT = 0.5

#: Components of the state, in order; each reads one field of the state that GR00T is given.
STATE_NAMES = ("x", "y", "z", "roll", "pitch", "yaw", "gripper")


def wxyz_to_axis_angle_raw(quaternion: FloatArray) -> FloatArray:
    """Rotation vector of a quaternion, its sign left as it is.

    Args:
        quaternion: (4,) WXYZ, of length 1.

    Returns:
        (3,) float64, rad; its length is in [0, 2π].
    """
    w = min(max(float(quaternion[0]), -1.0), 1.0)
    sine = math.sqrt(1.0 - w * w)
    if sine == 0.0:
        return np.zeros(3)
    return np.asarray(quaternion[1:4], dtype=np.float64) * 2.0 * math.acos(w) / sine


def signed_fingers(fingers: FloatArray) -> FloatArray:
    """LIBERO's finger positions from physical ones, (2,) float64, m.

    Both of the bench's are openings and at least 0; LIBERO's second joint counts downwards.
    """
    return np.array([float(fingers[0]), -float(fingers[1])])


def libero_state(observation: PolicyObservation) -> FloatArray:
    """The eight numbers that LIBERO's networks read.

    Returns:
        (8,) float64: position of the grip site (m, world frame), rotation vector of the hand
        (rad, world frame, sign as in `wxyz_to_axis_angle_raw`), signed finger positions (m).

    Raises:
        ConfigError: The bench has no such state.
    """
    parts = []
    for name, length in (("ee_position", 3), ("ee_orientation", 4), ("finger_position", 2)):
        value = observation.state.get(name)
        if value is None or value.shape != (length,):
            raise ConfigError(
                f"state '{name}' of {length} numbers is needed for LIBERO's state; this bench has "
                + ", ".join(f"{key} {array.shape}" for key, array in observation.state.items()),
                code="adapter",
            )
        parts.append(value)
    position, orientation, fingers = parts
    return np.concatenate(
        [position, wxyz_to_axis_angle_raw(orientation), signed_fingers(fingers)]
    ).astype(np.float64)


def decode_gripper(decode: str, values: FloatArray) -> FloatArray:
    """The bench's gripper command, negative opens, of what a network answers.

    Args:
        decode: ``environment``: the network answers in the bench's own convention.
            ``unit_open``: 0 closes and 1 opens, as in the LIBERO data that GR00T is trained on;
            the command is −sign(2g − 1), which closes at exactly 0.5.
        values: Any shape, finite.

    Raises:
        EpisodeError: ``gripper_decode``: values that are no opening between 0 and 1.
        ConfigError: There is no such decode.
    """
    values = np.asarray(values, dtype=np.float64)
    if decode == "environment":
        return values.copy()
    if decode != "unit_open":
        hint = nearest(decode, GRIPPER_DECODES)
        raise ConfigError(f"adapter.gripper_decode: no '{decode}'; {hint}")
    wrong = np.abs(values - 0.5) > 0.5 + UNIT_OVERSHOOT
    if wrong.any():
        raise EpisodeError(
            f"a gripper value is {float(values[wrong].flat[0]):g}, expected one between 0 (close) "
            "and 1 (open): a server that answers in the environment's own convention needs "
            "adapter.gripper_decode=environment",
            code="gripper_decode",
        )
    # Adding zero turns −0.0 into 0.0.
    return -np.sign(2.0 * values - 1.0) + 0.0
