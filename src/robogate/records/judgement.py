"""What every success state machine reports, whatever it judges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from robogate.records.result import Transition

if TYPE_CHECKING:
    # A contract is composed without numpy.
    from robogate.records.observation import FloatArray


@dataclass(frozen=True)
class Judgement:
    """How an episode stands, judged from its task facts alone.

    Attributes:
        success: Every stage was reached, in order.
        transitions: Every change, in order of the actions.
        failure_stage: The earliest stage that was never reached; None on success.
        success_at_reset: The goal already held at observation 0: the scene is not a task.
    """

    success: bool
    transitions: tuple[Transition, ...]
    failure_stage: str | None
    success_at_reset: bool


class Tracker(Protocol):
    """A state machine that is fed one row of task facts an observation."""

    @property
    def success(self) -> bool:
        """Whether every stage was reached."""
        ...

    def update(self, facts: FloatArray) -> None:
        """Take the next row of facts, (k,).

        Raises:
            EvidenceError: The row has the wrong length, or a value that no fact can have.
        """
        ...

    def judgement(self) -> Judgement:
        """How the episode stands after the rows so far."""
        ...


def judge_all(tracker: Tracker, facts: Any) -> Judgement:
    """Feed every row of ``facts``, (T+1, k), to a fresh tracker."""
    for row in facts:
        tracker.update(row)
    return tracker.judgement()
