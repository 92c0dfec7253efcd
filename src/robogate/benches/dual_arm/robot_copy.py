"""A copy of the robot without any object: poses and distances at commands that nobody executes.

Used to answer kinematic questions, to check planned motions, and by the shield. The simulation of
an episode is never touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from robogate.benches.dual_arm.commands import to_positions
from robogate.benches.dual_arm.names import Indices
from robogate.benches.dual_arm.scene_model import build_robot
from robogate.benches.spec_parts import TABLE
from robogate.records.observation import FloatArray
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_spec import SIDES


class RobotCopy:
    """Two arms and their table.

    Attributes:
        model: `mujoco.MjModel`.
        data: `mujoco.MjData`; holds the last command that was asked about.
        indices: Where its parts are.
        owners: Side of each geom, or the table's name.
        smallest: Smallest distance that each pair of geoms keeps, (n, n), m.
    """

    def __init__(self, bench: DualArmBench) -> None:
        """Compile the model."""
        import mujoco

        self._mj, self._bench = mujoco, bench
        self.model: Any = build_robot(bench)
        self.data: Any = mujoco.MjData(self.model)
        self.indices = Indices(self.model)
        limits = bench.limits
        largest = max(limits.arm_distance, limits.self_distance, limits.table_distance)
        # Pairs that are nearer than this are reported by the collision detection.
        self.model.geom_margin[:] = largest
        self._parts = [self._name_of(body) for body in self.model.geom_bodyid.tolist()]
        self.owners = [part.partition("_")[0] for part in self._parts]
        self._qpos = np.array(self.indices.qpos)
        self._tips = np.array([self.indices.tip[side] for side in SIDES])
        self.smallest = np.array(
            [[self._limit_between(one, two) for two in self.owners] for one in self.owners]
        )
        self._at: bytes = b""

    def move_to(self, command: FloatArray) -> None:
        """Put both arms where a command, (14,), wants them."""
        key = np.asarray(command, np.float64).tobytes()
        if key == self._at:
            return
        self.data.qpos[self._qpos] = to_positions(command, self._bench.arms.gripper.stroke)
        self._mj.mj_kinematics(self.model, self.data)
        self._at = key

    def wrist_pose(self, command: FloatArray, side: str) -> FloatArray:
        """Pose of an arm's ``link6`` at a command: x, y, z, qw, qx, qy, qz; world frame."""
        self.move_to(command)
        body = self.indices.wrist[side]
        return np.concatenate([self.data.xpos[body], self.data.xquat[body]])

    def tip(self, command: FloatArray, side: str) -> list[float]:
        """Place of an arm's gripper tip at a command, (3,), m, world frame."""
        self.move_to(command)
        place: list[float] = self.data.site_xpos[self.indices.tip[side]].tolist()
        return place

    def breaches(self, command: FloatArray) -> tuple[str, ...]:
        """What of the workspace and the smallest distances a command would not keep.

        Args:
            command: (14,).

        Returns:
            A line for each tip outside the workspace and each pair of parts that is too near;
            empty where all is kept.
        """
        self.move_to(command)
        self._mj.mj_collision(self.model, self.data)
        near = self._too_near() if self.data.ncon else ()
        return (*self._outside(), *near)

    def _outside(self) -> Iterator[str]:
        low, high = self._bench.limits.workspace_low, self._bench.limits.workspace_high
        for side, tip in zip(SIDES, self.data.site_xpos[self._tips].tolist()):
            for axis, value, least, most in zip("xyz", tip, low, high):
                if not least <= value <= most:
                    yield f"{side} tip {axis} = {value:.4f} m, outside [{least}, {most}]"

    def _too_near(self) -> Iterator[str]:
        contact = self.data.contact
        smallest = self.smallest[contact.geom1, contact.geom2]
        found = zip(*(values.tolist() for values in (contact.geom1, contact.geom2, contact.dist)))
        for (first, second, distance), least in zip(found, smallest.tolist()):
            if distance < least:
                one, two = self.owners[first], self.owners[second]
                who = one if one != TABLE else two
                what = "the other arm" if one != two else "itself"
                if TABLE in (one, two):
                    what = "the table"
                parts = f"{self._parts[first]} and {self._parts[second]}"
                yield f"{who} arm {distance:.4f} m from {what} ({parts}), expected {least}"

    def _limit_between(self, one: str, two: str) -> float:
        limits = self._bench.limits
        if TABLE in (one, two):
            return limits.table_distance
        return limits.self_distance if one == two else limits.arm_distance

    def _name_of(self, body: int) -> str:
        return str(self._mj.mj_id2name(self.model, self._mj.mjtObj.mjOBJ_BODY, body))
