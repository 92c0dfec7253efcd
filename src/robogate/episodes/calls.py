"""The growing record of an episode's inference calls."""

from __future__ import annotations

import numpy as np

from robogate.episodes.answers import Answer
from robogate.records.calls import CHUNK, STOP, Calls, prompt_digest
from robogate.records.contract import FrozenContract
from robogate.records.policy import Stop
from robogate.records.trace_file import trace_kinds


class CallsBuilder:
    """Collects a row per inference call, and how long each took.

    A call is counted when it begins; what it answered is added when it has been checked, so that a
    call which failed stays without an answer.

    Args:
        frozen: The contract.
    """

    def __init__(self, frozen: FrozenContract) -> None:
        self._kind = trace_kinds(frozen).calls
        self._stored = self._kind["chunk"].shape[0]
        # Every answer that was accepted had this prompt.
        self._prompt = np.frombuffer(prompt_digest(frozen.bench.instruction), "u1")
        self._made: list[int] = []
        self._answers: list[Answer | Stop | None] = []
        self._microseconds: list[int] = []

    def __len__(self) -> int:
        return len(self._made)

    @property
    def rows(self) -> Calls:
        """The rows so far; put together when they are asked for, not along the way."""
        rows = np.zeros(len(self._made), self._kind)
        rows["row"] = self._made
        for row, answer in zip(rows, self._answers):
            if isinstance(answer, Stop):
                row["answer"] = STOP
            elif answer is not None:
                row["answer"] = CHUNK
                row["backend_calls"] = answer.backend_calls
                row["prompt"] = self._prompt
                row["length"] = len(answer.chunk)
                kept = answer.chunk[: self._stored]
                row["chunk"][: len(kept)] = kept
        return rows

    @property
    def microseconds(self) -> tuple[int, ...]:
        """How long each call took, µs."""
        return tuple(self._microseconds)

    def begin(self, row: int) -> int:
        """A call is made for the observation in a row of the trace; returns its number, from 1."""
        self._made.append(row)
        self._answers.append(None)
        return len(self._made)

    def took(self, seconds: float) -> None:
        """The last call is over, whatever came of it."""
        self._microseconds.append(max(round(seconds * 1e6), 0))

    def answered(self, answer: Answer | Stop) -> None:
        """The last call came back with actions, or with the policy's wish to stop."""
        self._answers[-1] = answer
