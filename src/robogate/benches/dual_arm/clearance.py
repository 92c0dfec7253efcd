"""Whether a robot's whole way is clear, at the shield's pace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robogate.benches.dual_arm.commands import FOLLOWED, scales
from robogate.benches.dual_arm.robot_copy import RobotCopy
from robogate.benches.dual_arm.scene_model import build_robot
from robogate.benches.spec_parts import TABLE
from robogate.errors import RunError
from robogate.records.observation import FloatArray
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_spec import SIDES


class Clearance:
    """Geometric rules of the shield; what a `RobotCopy` says of a command is what counts.

    To read what the simulator reports takes longer than to make it, so it is told to report as
    little as can be: pairs that are nearer than the margins of both together, which are chosen such
    that a pair of two arms, and a pair of an arm and the table, is reported where it is too near.

    Args:
        bench: Robot, cell and limits.
        robot: A copy of the robot.

    Raises:
        RunError: The copy is no such robot.
    """

    def __init__(self, bench: DualArmBench, robot: RobotCopy) -> None:
        import mujoco

        self._kinematics, self._collide = mujoco.mj_kinematics, mujoco.mj_collision
        self._robot, self._limits = robot, bench.limits
        limits = bench.limits
        margin = max(limits.arm_distance, limits.self_distance) / 2.0
        table = np.array([owner == TABLE for owner in robot.owners])
        self._model = build_robot(bench)
        self._model.geom_margin[:] = np.where(table, limits.table_distance - margin, margin)
        self._data = mujoco.MjData(self._model)
        first, second = sorted(robot.indices.tip[side] for side in SIDES)
        if second != first + 1 or self._model.nq != len(FOLLOWED):
            raise RunError("the robot's copy has another layout", code="contract_mismatch")
        self._tips = self._data.site_xpos[first : second + 1].reshape(-1)  # a view
        by_address = np.argsort(robot.indices.qpos)
        self._followed = FOLLOWED[by_address]
        self._scales = scales(bench.arms.gripper.stroke)[by_address]

    def breaches(self, command: FloatArray) -> Sequence[str]:
        """What a command, (14,), would not keep."""
        return self._robot.breaches(command)

    def first_broken(self, commands: FloatArray) -> int | None:
        """Index of the first of several commands, (k, 14), of which `breaches` says anything."""
        model, data, smallest = self._model, self._data, self._robot.smallest
        kinematics, collide = self._kinematics, self._collide
        qpos, tips, limits = data.qpos, self._tips, self._limits
        (low_x, low_y, low_z), (high_x, high_y, high_z) = (
            limits.workspace_low,
            limits.workspace_high,
        )
        for i, place in enumerate(commands[:, self._followed] * self._scales):
            qpos[:] = place
            kinematics(model, data)
            ax, ay, az, bx, by, bz = tips.tolist()
            if not (
                low_x <= ax <= high_x and low_y <= ay <= high_y and low_z <= az <= high_z
                and low_x <= bx <= high_x and low_y <= by <= high_y and low_z <= bz <= high_z
            ):  # fmt: skip
                return i
            collide(model, data)
            if data.ncon:
                contact = data.contact
                if (contact.dist < smallest[contact.geom1, contact.geom2]).any():
                    return i
        return None
