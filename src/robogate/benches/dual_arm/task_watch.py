"""What the judge needs to know of every physics step: measured after each, latched in the facts."""

from __future__ import annotations

from typing import Any

import numpy as np

from robogate.benches.dual_arm.names import Indices
from robogate.records.dual_arm_judge import is_lifted
from robogate.records.observation import FloatArray
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_spec import SIDES, DualArmScene


class TaskWatch:
    """Watches one episode's task.

    Attributes:
        tick: Physics steps since the reset.
        success_tick: The step after which the task was done, 0 where it is not.
    """

    def __init__(
        self, model: Any, data: Any, indices: Indices, bench: DualArmBench, scene: DualArmScene
    ) -> None:
        """Bind to a simulation at its start."""
        self._model, self._data, self._indices = model, data, indices
        self._bench, self._scene = bench, scene
        self.tick = 0
        self.success_tick = 0
        self._peak_depth = 0.0
        self._held_steps = 0

    def after_step(self) -> None:
        """Take notice of one physics step."""
        self.tick += 1
        if self._scene.bell is not None:
            self._watch_bell()
        else:
            self._watch_pot()

    def _watch_bell(self) -> None:
        depth = self._depth()
        if depth > self._peak_depth and any(self._touches()):
            self._peak_depth = depth
            enough = depth >= self._bench.tasks.click_bell.press_depth
            if enough and self.success_tick == 0:
                self.success_tick = self.tick

    def _watch_pot(self) -> None:
        _, _, z, *orientation = self._pot_pose()
        w, i, j, k = orientation
        if is_lifted(self._bench, self._scene, z, (w, i, j, k)) and all(self._touches()):
            self._held_steps += 1
        else:
            self._held_steps = 0
        enough = self._held_steps >= self._bench.tasks.lift_pot.hold_steps
        if enough and self.success_tick == 0:
            self.success_tick = self.tick

    def facts(self) -> FloatArray:
        """The fact vector of `robogate.records.facts.DUAL_ARM_FACTS`; poses must be fresh."""
        left, right = self._touches()
        return np.array(
            [
                float(self.tick),
                *self._object_pose(),
                *(self._distance(side) for side in SIDES),
                float(left),
                float(right),
                self._depth() if self._scene.bell is not None else 0.0,
                self._peak_depth,
                float(self._held_steps),
                float(self.success_tick),
            ],
            np.float64,
        )

    def _touches(self) -> tuple[bool, bool]:
        """Whether each gripper touches what it has to, in the last physics step."""
        contact = self._data.contact
        first, second = contact.geom1, contact.geom2
        left, right = (self._touches_with(side, first, second) for side in SIDES)
        return left, right

    def _touches_with(self, side: str, first: Any, second: Any) -> bool:
        fingers = self._indices.fingers[side]
        bell = self._scene.bell is not None
        goal = self._indices.button if bell else self._indices.bars[side]
        touching = [
            bool((((first == f) & (second == goal)) | ((first == goal) & (second == f))).any())
            for f in fingers
        ]
        return any(touching) if bell else all(touching)

    def _depth(self) -> float:
        """How far the button is pressed, m; solver noise above its stop at 0 is 0."""
        return max(float(self._data.qpos[self._indices.button_qpos]), 0.0)

    def _pot_pose(self) -> tuple[float, ...]:
        address = self._indices.pot_qpos
        return tuple(float(v) for v in self._data.qpos[address : address + 7])

    def _object_pose(self) -> tuple[float, ...]:
        if self._scene.bell is None:
            return self._pot_pose()
        body = self._indices.bell
        return (*self._data.xpos[body].tolist(), *self._data.xquat[body].tolist())

    def _distance(self, side: str) -> float:
        """From a gripper's tip to the button's top, or to the middle of its own handle's bar."""
        import mujoco

        tip = self._data.site_xpos[self._indices.tip[side]]
        if self._scene.bell is not None:
            goal = np.array(self._data.geom_xpos[self._indices.button])
            goal[2] += self._model.geom_size[self._indices.button, 1]
        else:
            goal = self._data.geom_xpos[self._indices.bars[side]]
        away = np.zeros(3)
        mujoco.mju_sub3(away, tip, goal)
        return float(mujoco.mju_norm3(away))
