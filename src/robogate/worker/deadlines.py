"""How long the runner waits for an environment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Deadlines:
    """Longest accepted duration of each kind of call, s. Passing one ends the child.

    Attributes:
        start: Until the environment is built.
        reset: Of a reset.
        step: Of any other call.
        close: Of a friendly end, before the child is killed.
    """

    start: float = 180.0
    reset: float = 120.0
    step: float = 60.0
    close: float = 5.0
