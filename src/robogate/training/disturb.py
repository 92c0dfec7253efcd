"""Disturbed demonstrations: something pushes, and the control's answer is what is learned.

A policy that only ever saw undisturbed demonstrations has no idea what to do after its first small
mistake. So noise is added to what is executed, while what is recorded is what the control wanted in
the state that it found itself in (Laskey et al., DART, CoRL 2017).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robogate.records.observation import FloatArray

#: Of the demonstrations, one in this many is undisturbed.
UNDISTURBED = 5


@dataclass(frozen=True)
class Disturbances:
    """How strong they are; translations and rotations in units of the action.

    Attributes:
        tremble: Largest standard deviation of a translation that is drawn anew for every action.
        start_actions: Most actions of a constant translation at the beginning.
        start: Largest component of that.
        push_rate: Chance per action that a constant translation begins.
        push: Largest component of that.
        turn_rate: Chance per action that a turn begins.
        turn: Largest component about z; about x and y, a tenth of it.
        grip_rate: Chance per action that the gripper is commanded the other way.
        burst: Actions that a push, a turn or a wrong gripper command lasts.
    """

    tremble: float = 0.1
    start_actions: int = 6
    start: float = 0.6
    push_rate: float = 0.05
    push: float = 0.5
    turn_rate: float = 0.02
    turn: float = 0.5
    grip_rate: float = 0.005
    burst: int = 3


class Disturber:
    """Disturbs one demonstration; what it does follows from the seed alone."""

    def __init__(self, seed: int, index: int, strength: Disturbances) -> None:
        """Draw what holds for the whole demonstration.

        Args:
            seed: Of the scene.
            index: Place in the stream; every `UNDISTURBED`-th is left alone.
            strength: How strong.
        """
        self._random = np.random.default_rng([seed, 0x626364])
        self._strength = strength
        self.active = index % UNDISTURBED != 0
        self._tremble = strength.tremble * self._random.random()
        self._pushing = int(self._random.integers(0, strength.start_actions + 1))
        self._push = self._random.uniform(-strength.start, strength.start, 3)
        self._turning, self._gripping = 0, 0
        self._turn = np.zeros(3)

    def disturb(self, action: FloatArray) -> FloatArray:
        """What is executed in place of the control's action, (7,), within the action space."""
        if not self.active:
            return action
        self._begin()
        executed = action.copy()
        executed[:3] += self._tremble * self._random.standard_normal(3)
        if self._pushing:
            self._pushing -= 1
            executed[:3] += self._push
        if self._turning:
            self._turning -= 1
            executed[3:6] += self._turn
        if self._gripping:
            self._gripping -= 1
            executed[6] = -executed[6]
        return np.clip(executed, -1.0, 1.0)

    def _begin(self) -> None:
        """Let chance begin what is not under way."""
        random, strength = self._random, self._strength
        if not self._pushing and random.random() < strength.push_rate:
            self._pushing = strength.burst
            self._push = random.uniform(-strength.push, strength.push, 3)
        if not self._turning and random.random() < strength.turn_rate:
            self._turning = strength.burst
            self._turn = strength.turn * random.uniform(-1.0, 1.0, 3) * (0.1, 0.1, 1.0)
        if not self._gripping and random.random() < strength.grip_rate:
            self._gripping = strength.burst
