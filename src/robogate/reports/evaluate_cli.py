"""Evaluations of the command line: who watches them, and what is shown of all of them together."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from robogate.config.compose import Point
from robogate.reports.standard_output import summary_alone
from robogate.reports.tables import Point as Row
from robogate.reports.tables import point_of
from robogate.reports.terminal import TerminalReporter
from robogate.reports.wandb_mirror import WandbMirror
from robogate.runs.evaluate import evaluate
from robogate.runs.progress import NullReporter, RunReporter


class _Results(NullReporter):
    """Collects a row of the multirun table from each run that ended with a result."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def run_finished(self, result: Mapping[str, Any], folder: Path) -> None:
        """Note it."""
        self.rows.append(point_of(result, folder))


def main(points: Sequence[Point], *, json_output: bool) -> int:
    """Evaluate every point and show it; what the front door calls.

    Args:
        points: Composed and frozen; more than one is a multirun.
        json_output: Print the summary alone on standard output, one line per point.

    Returns:
        The worst exit status: 0 valid and nothing errored, 3 anything errored or not started.

    Raises:
        UsageError: A point cannot be run as asked. Points that were run before are shown first.
    """
    if json_output:
        with summary_alone() as stream:
            return _evaluate(points, TerminalReporter(json_only=True, stdout=stream))
    return _evaluate(points, TerminalReporter())


def _evaluate(points: Sequence[Point], terminal: TerminalReporter) -> int:
    results = _Results()
    many = len(points) > 1
    group = f"multirun-{secrets.token_hex(4)}" if many else None

    def watchers(point: Point) -> Sequence[RunReporter]:
        mirror = WandbMirror(point.runtime.wandb, terminal.warning, group=group)
        # The terminal first: nobody waits for a mirror to see a result.
        return (terminal, results, mirror)

    try:
        outcomes = evaluate(points, watchers)
    finally:
        if many and results.rows:
            terminal.multirun_finished(results.rows)
    return max((outcome.exit_code for outcome in outcomes), default=0)
