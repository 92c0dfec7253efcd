"""Who watches an evaluation of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from robogate.config.compose import Point
from robogate.reports.tables import Point as Row
from robogate.reports.tables import point_of
from robogate.reports.terminal import TerminalReporter
from robogate.reports.wandb_mirror import WandbMirror
from robogate.runs.progress import NullReporter, RunReporter


class Results(NullReporter):
    """Collects a row of the multirun table from each run that ended with a result."""

    def __init__(self) -> None:
        """Begin with none."""
        self.rows: list[Row] = []

    def run_finished(self, result: Mapping[str, Any], folder: Path) -> None:
        """Note it."""
        self.rows.append(point_of(result, folder))


def watchers(
    terminal: TerminalReporter, results: Results, group: str | None
) -> Callable[[Point], Sequence[RunReporter]]:
    """Make what makes the watchers of a point.

    Args:
        terminal: Shows the runs.
        results: Collects their rows.
        group: That the mirrors of a multirun share.
    """

    def of(point: Point) -> Sequence[RunReporter]:
        mirror = WandbMirror(point.runtime.wandb, terminal.warning, group=group)
        # The terminal first: nobody waits for a mirror to see a result.
        return (terminal, results, mirror)

    return of
