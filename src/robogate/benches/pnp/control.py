"""From a normalised OSC_POSE command to joint targets, by damped least squares.

The arithmetic is MuJoCo's own (`mj_jac`, `mju_*`): no BLAS or LAPACK, whose kernels differ between
CPUs. Translation is added to the measured grip position; a rotation is pre-multiplied, in the world
frame, to the measured orientation, and an exactly zero rotation keeps the last orientation goal, so
that the hand does not creep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robogate.benches.pnp.robot import ARM_JOINTS, GRIP_SITE, HAND
from robogate.errors import RunError
from robogate.records.observation import FloatArray
from robogate.scenes.pnp_config import OscPose

_ARM = len(ARM_JOINTS)


@dataclass(frozen=True)
class ArmCommand:
    """What one action asks of the arm.

    Attributes:
        joints: Joint targets, (7,), rad.
        orientation: The orientation goal that the next zero rotation keeps, WXYZ, world frame.
        iterations: Of the solver.
    """

    joints: FloatArray
    orientation: FloatArray
    iterations: int


class ArmControl:
    """Solves commands on a kinematic copy of the model; the simulation itself is not touched."""

    def __init__(self, model: Any, control: OscPose) -> None:
        """Prepare for one compiled model.

        Raises:
            RunError: The model has no arm that the solver could move (``ik_solver``).
        """
        import mujoco

        self._mj = mujoco
        self._model = model
        self._control = control
        self._data = mujoco.MjData(model)
        joints = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, n) for n in ARM_JOINTS]
        self._hand = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, HAND)
        self._site = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SITE, GRIP_SITE)
        first = list(range(_ARM))
        if (
            min(*joints, self._hand, self._site) < 0
            or [int(model.jnt_qposadr[j]) for j in joints] != first
            or [int(model.jnt_dofadr[j]) for j in joints] != first
        ):
            raise RunError("the model's first seven joints are not the arm's", code="ik_solver")
        self._low = model.jnt_range[joints, 0].copy()
        self._high = model.jnt_range[joints, 1].copy()
        self._jacobian = np.zeros((6, model.nv))

    def command(
        self,
        joints: FloatArray,
        position: FloatArray,
        orientation: FloatArray,
        orientation_goal: FloatArray,
        motion: FloatArray,
    ) -> ArmCommand | None:
        """Solve one command.

        Args:
            joints: Measured joint positions, (7,), rad; where the solver starts.
            position: Measured grip position, world frame, (3,), m.
            orientation: Measured orientation of the hand, WXYZ.
            orientation_goal: The last orientation goal, WXYZ.
            motion: Normalised translation and axis-angle, (6,), each in [-1, 1].

        Returns:
            The joint targets, or None where no admissible configuration was found.

        Raises:
            RunError: The solver itself broke down (``ik_solver``).
        """
        mj, control = self._mj, self._control
        goal = position + control.translation_scale * motion[:3]
        turn = control.rotation_scale * motion[3:]
        quat = np.array(orientation_goal)
        if turn.any():
            angle = mj.mju_normalize3(turn)
            delta = np.zeros(4)
            mj.mju_axisAngle2Quat(delta, turn, angle)
            mj.mju_mulQuat(quat, delta, orientation)
        solved = self._solve(np.array(joints), goal, quat)
        return None if solved is None else ArmCommand(solved[0], quat, solved[1])

    def _solve(
        self, joints: FloatArray, goal: FloatArray, quat: FloatArray
    ) -> tuple[FloatArray, int] | None:
        mj, control, data = self._mj, self._control, self._data
        error, rotation = np.zeros(6), np.zeros(3)
        for iteration in range(control.ik_iterations + 1):
            data.qpos[:_ARM] = joints
            mj.mj_kinematics(self._model, data)
            hand = data.xquat[self._hand]
            mj.mju_sub3(error[:3], goal, data.site_xpos[self._site])
            mj.mju_subQuat(rotation, quat, hand)
            mj.mju_rotVecQuat(error[3:], rotation, hand)
            if (
                mj.mju_norm3(error[:3]) <= control.ik_position_tolerance
                and mj.mju_norm3(error[3:]) <= control.ik_rotation_tolerance
            ):
                return joints, iteration
            if iteration < control.ik_iterations:
                joints = self._step(joints, error)
        return None

    def _step(self, joints: FloatArray, error: FloatArray) -> FloatArray:
        """One damped step; a joint at its limit that would be pushed further stays where it is."""
        mj, data, full = self._mj, self._data, self._jacobian
        mj.mj_comPos(self._model, data)
        mj.mj_jac(self._model, data, full[:3], full[3:], data.site_xpos[self._site], self._hand)
        jacobian = np.ascontiguousarray(full[:, :_ARM])
        normal, solution, delta = np.zeros((6, 6)), np.zeros(6), np.zeros(_ARM)
        for _ in range(_ARM):
            mj.mju_mulMatMatT(normal, jacobian, jacobian)
            normal.flat[::7] += self._control.ik_damping**2
            if mj.mju_cholFactor(normal, 0.0) < 6:
                raise RunError("inverse kinematics: singular normal equations", code="ik_solver")
            mj.mju_cholSolve(solution, normal, error)
            mj.mju_mulMatTVec(delta, jacobian, solution)
            blocked = ((joints >= self._high) & (delta > 0.0)) | (
                (joints <= self._low) & (delta < 0.0)
            )
            if not blocked.any():
                break
            jacobian[:, blocked] = 0.0
        moved: FloatArray = np.minimum(np.maximum(joints + delta, self._low), self._high)
        return moved
