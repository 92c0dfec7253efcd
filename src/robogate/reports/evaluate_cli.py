"""An evaluation from the command line: the run, and those who watch it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from robogate.config.compose import Point
from robogate.reports.tables import point_of
from robogate.reports.terminal import TerminalReporter
from robogate.reports.wandb_mirror import WandbMirror
from robogate.runs.evaluate import evaluate
from robogate.runs.progress import RunReporter


def main(points: Sequence[Point], *, json_output: bool) -> int:
    """Evaluate the points and show what comes of them.

    Args:
        points: Composed and frozen.
        json_output: Print the summary alone on standard output.

    Returns:
        The worst exit code of all points.
    """
    terminal = TerminalReporter(json_only=json_output)
    group = f"multirun-{secrets.token_hex(4)}" if len(points) > 1 else None

    def watchers(point: Point) -> Sequence[RunReporter]:
        mirror = WandbMirror(point.runtime.wandb, terminal.warning, group=group)
        return [terminal, mirror]

    outcomes = evaluate(points, watchers)
    if len(outcomes) > 1:
        terminal.multirun_finished([point_of(o.result, o.folder) for o in outcomes])
    return max(outcome.exit_code for outcome in outcomes)
