"""Between the 14 values of a command and the 16 joint positions of the model."""

from __future__ import annotations

import numpy as np

from robogate.benches.dual_arm.robot import FINGERS, JOINTS
from robogate.records.observation import FloatArray
from robogate.scenes.dual_arm_check import ARM_VALUES
from robogate.scenes.dual_arm_spec import SIDES

#: Model joints of one arm: six and two fingers.
ARM_POSITIONS = len(JOINTS) + len(FINGERS)

#: For each joint position, the value of a command that it follows; both fingers follow one.
FOLLOWED = np.array(
    [
        side * ARM_VALUES + min(joint, len(JOINTS))
        for side in range(len(SIDES))
        for joint in range(ARM_POSITIONS)
    ]
)


def to_positions(command: FloatArray, stroke: float) -> FloatArray:
    """Joint positions that a command asks for.

    Args:
        command: (14,), rad and gripper openings in [0, 1].
        stroke: Distance between the open fingers, m.

    Returns:
        (16,), rad and m; each finger moves half of the stroke.
    """
    positions: FloatArray = command[FOLLOWED] * scales(stroke)
    return positions


def scales(stroke: float) -> FloatArray:
    """Joint position per unit of the value that it follows, (16,); rad, and m for a finger."""
    return np.where(FOLLOWED % ARM_VALUES == len(JOINTS), stroke / 2.0, 1.0)


def to_command(positions: FloatArray, stroke: float) -> FloatArray:
    """Measured positions in the form of a command.

    Args:
        positions: (16,), rad and m.
        stroke: Distance between the open fingers, m.

    Returns:
        (14,); a gripper's opening is that of both fingers together, kept within [0, 1].
    """
    command = np.empty(ARM_VALUES * len(SIDES))
    for i in range(len(SIDES)):
        arm = positions[i * ARM_POSITIONS : (i + 1) * ARM_POSITIONS]
        start = i * ARM_VALUES
        command[start : start + len(JOINTS)] = arm[: len(JOINTS)]
        opening = float(arm[-2] + arm[-1]) / stroke
        command[start + len(JOINTS)] = min(max(opening, 0.0), 1.0)
    return command
