"""One episode's simulation: a model compiled from its scene, and the clock that moves it.

An action's targets move in equal parts from the command before it: over the first
``interpolation_steps`` physics steps, arriving in the next one, and are held for the rest. Gravity
is compensated on every link; the servos are those of the contract. No other time passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robogate.benches.dual_arm.commands import to_command, to_positions
from robogate.benches.dual_arm.names import Indices
from robogate.benches.dual_arm.scene_model import build_model
from robogate.benches.dual_arm.task_watch import TaskWatch
from robogate.contract.schema import Renderer
from robogate.records.observation import FloatArray
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_spec import SIDES, DualArmScene


class DualArmSimulation:
    """A scene at its start, ready to execute commands.

    Attributes:
        model: `mujoco.MjModel`.
        data: `mujoco.MjData`.
        indices: Where its parts are.
        watch: Watches the task.
        command: The command in force, (14,).
    """

    def __init__(self, scene: DualArmScene, bench: DualArmBench, renderer: Renderer) -> None:
        """Compile the scene and put both arms into the pose of the reset command."""
        import mujoco

        self._mj, self._bench = mujoco, bench
        self._stroke = bench.arms.gripper.stroke
        self.model: Any = build_model(scene, bench, renderer)
        self.data: Any = mujoco.MjData(self.model)
        self.indices = Indices(self.model)
        self.command: FloatArray = np.array(bench.reset_command, np.float64)
        self._targets = to_positions(self.command, self._stroke)
        self.data.qpos[self.indices.qpos] = self._targets
        self.data.ctrl[self.indices.servo] = self._targets
        self.watch = TaskWatch(self.model, self.data, self.indices, bench, scene)
        mujoco.mj_forward(self.model, self.data)
        for _ in range(bench.timing.reset_physics_steps):
            self._physics_step(self._targets)
        self.refresh()

    def execute(self, command: FloatArray) -> None:
        """Let one action's time pass.

        Args:
            command: (14,), checked.
        """
        start, goal = self._targets, to_positions(command, self._stroke)
        moving = self._bench.interpolation_steps
        for i in range(self._bench.timing.physics_steps_per_action):
            share = (i + 1) / (moving + 1)
            self._physics_step(goal if share >= 1.0 else start + share * (goal - start))
        self._targets = goal
        self.command = np.array(command)
        self.refresh()

    def _physics_step(self, targets: FloatArray) -> None:
        self.data.ctrl[self.indices.servo] = targets
        self._mj.mj_step(self.model, self.data)
        self.watch.after_step()

    def refresh(self) -> None:
        """Bring body, site, camera and light poses up to the present joint positions.

        A MuJoCo step leaves them as they were at its start.
        """
        self._mj.mj_kinematics(self.model, self.data)
        self._mj.mj_comPos(self.model, self.data)
        self._mj.mj_camlight(self.model, self.data)

    def finite(self) -> bool:
        """Whether positions and velocities are numbers."""
        return bool(np.isfinite(self.data.qpos).all() and np.isfinite(self.data.qvel).all())

    def joint_position(self) -> FloatArray:
        """Measured joints and gripper openings, in the order of a command, (14,)."""
        return to_command(self.data.qpos[self.indices.qpos], self._stroke)

    def state(self) -> dict[str, FloatArray]:
        """What a policy may feel; every array is new."""
        state = {"joint_position": self.joint_position()}
        for side in SIDES:
            body = self.indices.wrist[side]
            state[f"{side}_ee_pose"] = np.concatenate([self.data.xpos[body], self.data.xquat[body]])
        return state
