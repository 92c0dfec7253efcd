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
        # Views of the columns: a row of a structured array is an expensive thing to make.
        self._columns = {name: self._rows[name] for name in self._rows.dtype.names or ()}
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
        columns, place = self._columns, self._count
        columns["images"][place] = np.frombuffer(images, "u1")
        columns["state"][place] = state
        columns["facts"][place] = facts
        columns["readback"][place] = np.frombuffer(readback, "u1")
        self._count += 1

    def called(self, number: int) -> None:
        """The last observation was answered by inference call ``number``, from 1."""
        self._columns["inference"][self._count - 1] = number

    def acted(self, action: FloatArray) -> None:
        """The action was executed after the last observation; another follows."""
        self._put(action, EXECUTED)

    def refused(self, action: FloatArray) -> None:
        """The controller refused the action; nothing moved, and nothing follows."""
        self._put(action, REFUSED)

    def stopped(self) -> None:
        """The policy stopped after the last observation; nothing follows."""
        self._columns["has_action"][self._count - 1] = STOPPED

    def _put(self, action: FloatArray, mark: int) -> None:
        self._columns["action"][self._count - 1] = action
        self._columns["has_action"][self._count - 1] = mark
