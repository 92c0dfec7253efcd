"""The positive control of the dual-arm tasks: it sees the scene, and acts like any policy.

It reads the object's pose from the evaluator's facts and sends nothing but the contract's 14
absolute values. A task is a list of phases; each makes its motion from the command in force when
it begins, and an attempt that did not succeed is begun anew from above. No seed is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from robogate.adapters.dual_arm_motion import Command, Motions
from robogate.records.facts import DUAL_ARM_FACTS
from robogate.records.policy import Chunk, Privileged, Stop
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_spec import SIDES, DualArmScene, PotSpec, button_top
from robogate.scenes.rotations import rotate
from robogate.scenes.spec import Quat, Vec3

#: Height above the goal at which a gripper stops before it goes straight down, m.
HOVER = 0.07
#: How far past the depth that counts the button is pushed, m.
BEYOND = 0.002
#: How far past the height that counts the pot is lifted, m.
HIGHER = 0.012
#: Actions that a closed gripper is given to settle, and that the last command is kept.
SETTLE, KEEP = 6, 25

Phase = Callable[[Command, Mapping[str, float]], "list[Command] | None"]


class DualArmOracleSession:
    """One episode of the control."""

    def __init__(self, bench: DualArmBench) -> None:
        """Start from the command that the reset leaves."""
        self._bench = bench
        self._motions = Motions(bench)
        self._command: Command = tuple(bench.reset_command)
        self._queue: list[Command] = []
        self._phases: list[Phase] = []

    def infer_privileged(self, view: Privileged) -> Chunk | Stop:
        """Return the next command, or stop where a phase cannot be carried out."""
        evaluator = view.observation.evaluator
        assert evaluator is not None
        facts = dict(zip(DUAL_ARM_FACTS, evaluator.facts.tolist()))
        while not self._queue:
            if not self._phases:
                self._phases = self._attempt(view.scene)
            motion = self._phases.pop(0)(self._command, facts)
            if motion is None:
                return Stop("no joint configuration follows the planned motion")
            self._queue = list(motion)
        self._command = self._queue.pop(0)
        return [np.array(self._command, np.float64)]

    def close(self) -> None:
        """Nothing to release."""

    def _attempt(self, scene: DualArmScene) -> list[Phase]:
        if scene.pot is None:
            return self._press(scene)
        return self._lift(scene.pot)

    def _press(self, scene: DualArmScene) -> list[Phase]:
        """Close a gripper, put it above the button, push straight down, and come up again."""
        assert scene.bell is not None
        top = button_top(scene.bell)
        side = self._nearer(top)
        down = HOVER + self._bench.tasks.click_bell.press_depth + BEYOND
        motions = self._motions
        # The fingers' axis across the arm: the wrist is not turned.
        azimuth = motions.facing(side, top) + math.pi / 2.0
        # The fingertips end beyond the tip by which the gripper is moved.
        over = _above(top, HOVER + self._beyond_tip())

        def hover(command: Command, facts: Mapping[str, float]) -> list[Command] | None:
            joints = motions.reach_down(side, over, azimuth)
            return None if joints is None else motions.joint_move(command, {side: joints})

        return [
            lambda command, facts: motions.grip(command, 0.0, [side]),
            hover,
            lambda command, facts: motions.straight(command, {side: (0.0, 0.0, -down)}),
            lambda command, facts: motions.hold(command, SETTLE),
            lambda command, facts: motions.straight(command, {side: (0.0, 0.0, down)}),
        ]

    def _lift(self, pot: PotSpec) -> list[Phase]:
        """Straddle both bars, close on them, lift both by the same."""
        motions = self._motions
        height = self._bench.tasks.lift_pot.lift_height + HIGHER
        opening = self._straddle(pot)

        def hover(command: Command, facts: Mapping[str, float]) -> list[Command] | None:
            goals = {}
            for side in SIDES:
                bar, azimuth = _bar(pot, side, facts)
                joints = motions.reach_down(side, _above(bar, HOVER), azimuth)
                if joints is None:
                    return None
                goals[side] = joints
            return motions.joint_move(command, goals)

        def both(z: float) -> Phase:
            return lambda command, facts: motions.straight(
                command, {side: (0.0, 0.0, z) for side in SIDES}
            )

        return [
            lambda command, facts: motions.grip(command, opening, SIDES),
            hover,
            both(-HOVER),
            lambda command, facts: motions.grip(command, 0.0, SIDES),
            lambda command, facts: motions.hold(command, SETTLE),
            both(height),
            lambda command, facts: motions.hold(command, KEEP),
            both(-height),
            lambda command, facts: motions.grip(command, opening, SIDES),
            both(HOVER),
        ]

    def _straddle(self, pot: PotSpec) -> float:
        """Opening at which the inner finger goes down midway between bar and pot."""
        gap = pot.bar_distance - pot.bar_size[0] / 2.0 - pot.radius
        room = (gap - self._bench.arms.gripper.finger_size[1]) / 2.0
        return (pot.bar_size[0] + 2.0 * room) / self._bench.arms.gripper.stroke

    def _beyond_tip(self) -> float:
        gripper = self._bench.arms.gripper
        return gripper.finger_middle + gripper.finger_size[0] / 2.0 - gripper.tip[0]

    def _nearer(self, place: Vec3) -> str:
        return min(
            SIDES, key=lambda side: abs(getattr(self._bench.arms, side).position[0] - place[0])
        )


def _above(place: Vec3, height: float) -> Vec3:
    return (place[0], place[1], place[2] + height)


def _bar(pot: PotSpec, side: str, facts: Mapping[str, float]) -> tuple[Vec3, float]:
    """Middle of a handle's bar where the pot is now, and the azimuth across it."""
    position = (facts["object_x"], facts["object_y"], facts["object_z"])
    orientation: Quat = (
        facts["object_qw"], facts["object_qx"], facts["object_qy"], facts["object_qz"],
    )  # fmt: skip
    sign = -1.0 if side == "left" else 1.0
    offset = rotate(orientation, (sign * pot.bar_distance, 0.0, pot.bar_height))
    along = rotate(orientation, (1.0, 0.0, 0.0))
    place = (position[0] + offset[0], position[1] + offset[1], position[2] + offset[2])
    return place, math.atan2(along[1], along[0])
