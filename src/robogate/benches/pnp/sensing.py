"""Proprioception and task facts, measured from the simulation after its last physics step."""

from __future__ import annotations

from typing import Any

import numpy as np

from robogate.benches.pnp.robot import ARM_JOINTS, FINGER_JOINTS, GRIP_SITE, HAND
from robogate.benches.pnp.scene_model import BLOCK
from robogate.records.observation import FloatArray


class Sensors:
    """Reads one simulation; call `refresh` after the last physics step of an action."""

    def __init__(self, model: Any, data: Any) -> None:
        """Look up where everything lies."""
        import mujoco

        self._mj, self._model, self._data = mujoco, model, data

        def find(kind: Any, name: str) -> int:
            return int(mujoco.mj_name2id(model, kind, name))

        kinds = mujoco.mjtObj
        self._arm = [int(model.jnt_qposadr[find(kinds.mjOBJ_JOINT, n)]) for n in ARM_JOINTS]
        self._fingers = [int(model.jnt_qposadr[find(kinds.mjOBJ_JOINT, n)]) for n in FINGER_JOINTS]
        block = find(kinds.mjOBJ_JOINT, BLOCK)
        self._block = int(model.jnt_qposadr[block])
        self._block_velocity = int(model.jnt_dofadr[block])
        self._hand = find(kinds.mjOBJ_BODY, HAND)
        self._site = find(kinds.mjOBJ_SITE, GRIP_SITE)

    def refresh(self) -> None:
        """Bring body, site, camera and light poses up to the present joint positions.

        A MuJoCo step leaves them as they were at its start.
        """
        mj = self._mj
        mj.mj_kinematics(self._model, self._data)
        mj.mj_comPos(self._model, self._data)
        mj.mj_camlight(self._model, self._data)

    def finite(self) -> bool:
        """Whether positions and velocities are numbers."""
        data = self._data
        return bool(np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all())

    def joints(self) -> FloatArray:
        """Arm joint positions, (7,), rad."""
        return np.array(self._data.qpos[self._arm])

    def grip_position(self) -> FloatArray:
        """Grip site, world frame, (3,), m."""
        return np.array(self._data.site_xpos[self._site])

    def hand_orientation(self) -> FloatArray:
        """``panda_hand``, WXYZ, with the sign of the forward-kinematics chain product."""
        return np.array(self._data.xquat[self._hand])

    def fingers(self) -> FloatArray:
        """Finger positions, (2,), m; solver noise below the fingers' stop at 0 is 0."""
        positions: FloatArray = np.maximum(self._data.qpos[self._fingers], 0.0)
        return positions

    def state(self) -> dict[str, FloatArray]:
        """What a policy may feel; every array is new."""
        return {
            "joint_position": self.joints(),
            "finger_position": self.fingers(),
            "ee_position": self.grip_position(),
            "ee_orientation": self.hand_orientation(),
        }

    def facts(self, held: bool, push_steps: int) -> FloatArray:
        """The fact vector of `robogate.records.facts.PNP_FACTS`."""
        mj, data = self._mj, self._data
        pose = data.qpos[self._block : self._block + 7]
        velocity = data.qvel[self._block_velocity : self._block_velocity + 3]
        reach = np.zeros(3)
        mj.mju_sub3(reach, pose[:3], data.site_xpos[self._site])
        fingers = self.fingers()
        return np.array(
            [
                *pose,
                mj.mju_norm3(velocity),
                mj.mju_norm3(reach),
                fingers[0] + fingers[1],
                float(held),
                float(push_steps),
            ],
            np.float64,
        )
