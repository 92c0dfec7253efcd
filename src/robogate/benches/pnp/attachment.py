"""The one kinematic grasp attachment, the same for every controller.

When the closing gripper has the block between its fingers, the block's pose and velocity are
written relative to the hand before every simulator step, and its collision with the robot is off.
It ends when the gripper opens past the width that it had plus a declared margin. No grip force,
payload or friction is modelled, and none may be claimed (protocol section 1): what a held block
touches pushes neither the block nor the arm, while hand and fingers themselves still collide.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robogate.benches.pnp.robot import FINGER_JOINTS, GRIP_SITE, HAND, ROBOT_BIT
from robogate.benches.pnp.scene_model import BLOCK
from robogate.scenes.pnp_config import Attachment

#: The fingers slide along the hand's y axis.
_FINGER_AXIS = 1
#: Farther than the hand moves in a simulator step, m.
_FAR_MARGIN = 0.05


class GraspAttachment:
    """Watches one simulation and carries its block."""

    def __init__(self, model: Any, data: Any, config: Attachment) -> None:
        """Bind to a compiled model and its state."""
        import mujoco

        self._mj, self._model, self._data, self._config = mujoco, model, data, config
        kinds = mujoco.mjtObj
        self._hand = mujoco.mj_name2id(model, kinds.mjOBJ_BODY, HAND)
        self._site = mujoco.mj_name2id(model, kinds.mjOBJ_SITE, GRIP_SITE)
        self._block = mujoco.mj_name2id(model, kinds.mjOBJ_BODY, BLOCK)
        self._geom = mujoco.mj_name2id(model, kinds.mjOBJ_GEOM, BLOCK)
        joint = mujoco.mj_name2id(model, kinds.mjOBJ_JOINT, BLOCK)
        self._qpos, self._qvel = int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint])
        fingers = [mujoco.mj_name2id(model, kinds.mjOBJ_JOINT, n) for n in FINGER_JOINTS]
        self._fingers = [int(model.jnt_qposadr[j]) for j in fingers]
        self._near = config.across_tolerance + 2.0 * config.along_tolerance + _FAR_MARGIN
        self._offset, self._turn = np.zeros(3), np.zeros(4)
        self.width: float | None = None

    @property
    def held(self) -> bool:
        """Whether the block is attached."""
        return self.width is not None

    def opening(self) -> float:
        """Distance between the finger pads, m."""
        qpos = self._data.qpos
        return float(qpos[self._fingers[0]] + qpos[self._fingers[1]])

    def before_step(self, closing: bool) -> None:
        """Attach, release or carry; call it before every simulator step.

        Args:
            closing: Whether the present action closes the gripper.
        """
        if self.width is not None and self.opening() > self.width + self._config.release_width:
            self._release()
        elif self.width is None and closing:
            self._try_attach()
        self.carry()

    def carry(self) -> None:
        """Write the held block's pose and velocity from the hand's."""
        if self.width is None:
            return
        mj, data = self._mj, self._data
        mj.mj_kinematics(self._model, data)
        mj.mj_comPos(self._model, data)
        mj.mj_comVel(self._model, data)
        hand_quat, hand_pos = data.xquat[self._hand], data.xpos[self._hand]
        arm, quat, velocity = np.zeros(3), np.zeros(4), np.zeros(6)
        mj.mju_rotVecQuat(arm, self._offset, hand_quat)
        mj.mju_mulQuat(quat, hand_quat, self._turn)
        pose = data.qpos[self._qpos : self._qpos + 7]
        mj.mju_add3(pose[:3], hand_pos, arm)
        pose[3:] = quat
        mj.mj_objectVelocity(
            self._model, data, mj.mjtObj.mjOBJ_XBODY.value, self._hand, velocity, 0
        )
        twist = data.qvel[self._qvel : self._qvel + 6]
        mj.mju_cross(twist[:3], velocity[:3], arm)
        mj.mju_addTo3(twist[:3], velocity[3:])
        # A free joint's angular velocity is in the body's own frame.
        mj.mju_negQuat(quat, quat)
        mj.mju_rotVecQuat(twist[3:], velocity[:3], quat)

    def _try_attach(self) -> None:
        mj, data, config = self._mj, self._data, self._config
        # Poses are one simulator step old here: good enough to tell that nothing is near.
        if mj.mju_dist3(data.xpos[self._block], data.site_xpos[self._site]) > self._near:
            return
        mj.mj_kinematics(self._model, data)
        size = 2.0 * self._model.geom_size[self._geom]
        inverse, offset, turn, rotation = np.zeros(4), np.zeros(3), np.zeros(4), np.zeros(9)
        mj.mju_negQuat(inverse, data.xquat[self._hand])
        mj.mju_mulQuat(turn, inverse, data.xquat[self._block])
        mj.mju_quat2Mat(rotation, turn)
        # The row of the finger axis: how much of each edge of the block lies along it.
        across = rotation[3 * _FINGER_AXIS : 3 * _FINGER_AXIS + 3]
        width = mj.mju_dot3(abs(across), size)
        opening = self.opening()
        if opening > width + config.closing_margin:
            return
        mj.mju_sub3(offset, data.xpos[self._block], data.site_xpos[self._site])
        mj.mju_rotVecQuat(offset, offset.copy(), inverse)
        along = (offset[0], offset[2])
        if abs(offset[_FINGER_AXIS]) > config.across_tolerance or any(
            abs(value) > config.along_tolerance for value in along
        ):
            return
        mj.mju_sub3(offset, data.xpos[self._block], data.xpos[self._hand])
        mj.mju_rotVecQuat(self._offset, offset, inverse)
        self._turn[:] = turn
        self.width = opening
        self._model.geom_conaffinity[self._geom] = 0

    def _release(self) -> None:
        self.width = None
        self._model.geom_conaffinity[self._geom] = ROBOT_BIT
