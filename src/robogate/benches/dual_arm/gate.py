"""The one place that every command passes before the robot: shape, type, numbers, then the shield.

A command of another dimension or with a value that is not finite is an error of the episode in
every shield mode. What else a command must keep is the shield's business; `CommandGate` is what the
environment asks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from robogate.benches.actions import ActionCheck
from robogate.contract.schema import ActionSpace
from robogate.records.observation import FloatArray


@dataclass(frozen=True)
class Decision:
    """What became of a requested command.

    Attributes:
        verdict: ``accept``, ``limit`` (another command is executed) or ``reject`` (none is).
        command: What is executed, (14,); the requested one where nothing is.
        reasons: Why it was limited or rejected; empty for ``accept``.
    """

    verdict: Literal["accept", "limit", "reject"]
    command: FloatArray
    reasons: tuple[str, ...]


class CommandGate(Protocol):
    """Decides on every command before it reaches the robot; knows the commands before it."""

    def reset(self, command: FloatArray) -> None:
        """An episode begins with this command in force, (14,)."""
        ...

    def check(self, command: Any) -> Decision:
        """Decide on the next command; an accepted or limited one is taken as executed.

        Raises:
            EpisodeError: Not a float64 array, another dimension, a value that is not finite.
        """
        ...


class RangeGate:
    """Refuses what the action space does not hold, and accepts everything else."""

    def __init__(self, space: ActionSpace) -> None:
        """Take the space's names and bounds."""
        self._check = ActionCheck(space)

    def reset(self, command: FloatArray) -> None:
        """Remember nothing: a range knows no past."""

    def check(self, command: Any) -> Decision:
        """Accept a command within range.

        Raises:
            EpisodeError: Another type, shape, a value that is not finite or out of range.
        """
        return Decision("accept", np.array(self._check.require(command)), ())
