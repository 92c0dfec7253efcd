"""The growing trace of one episode."""

from __future__ import annotations

import numpy as np

from robogate.records.benches import BenchRules
from robogate.records.contract import FrozenContract
from robogate.records.digests import EXECUTED, REFUSED, STOPPED, Trace, trace_row
from robogate.records.observation import FloatArray, Observation


class TraceBuilder:
    """Collects a row per verified observation.

    An action stands in a row once the observation after it has been verified, or once the
    controller has refused it; what was lost on the way is not in the trace.

    Args:
        frozen: The contract; its budget bounds the number of rows.
        rules: Rules of its bench.
    """

    def __init__(self, frozen: FrozenContract, rules: BenchRules) -> None:
        rows = frozen.budget.max_actions + 1
        self._rows: Trace = np.zeros(rows, rules.trace_dtype(frozen.bench))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> Trace:
        """The rows so far."""
        return self._rows[: self._count]

    def observe(self, observation: Observation) -> None:
        """Add a verified observation."""
        images, state, facts, readback = trace_row(observation)
        row = self._rows[self._count]
        row["images"] = np.frombuffer(images, "u1")
        row["state"] = state
        row["facts"] = facts
        row["readback"] = np.frombuffer(readback, "u1")
        self._count += 1

    def called(self, number: int) -> None:
        """The last observation was answered by inference call ``number``, from 1."""
        self._rows[self._count - 1]["inference"] = number

    def acted(self, action: FloatArray) -> None:
        """The action was executed after the last observation; another follows."""
        self._put(action, EXECUTED)

    def refused(self, action: FloatArray) -> None:
        """The controller refused the action; nothing moved, and nothing follows."""
        self._put(action, REFUSED)

    def stopped(self) -> None:
        """The policy stopped after the last observation; nothing follows."""
        self._rows[self._count - 1]["has_action"] = STOPPED

    def _put(self, action: FloatArray, mark: int) -> None:
        row = self._rows[self._count - 1]
        row["action"] = action
        row["has_action"] = mark
