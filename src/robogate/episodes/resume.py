"""What is left to do of a run that another process began."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from robogate.episodes.journal import Contents
from robogate.episodes.journal_writer import Journal
from robogate.episodes.record import TRACES, unfinished
from robogate.errors import EpisodeError, EvidenceError
from robogate.records.result import Episode
from robogate.scenes.manifest import Scenario

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Remainder:
    """A resumed run, sorted out.

    Attributes:
        recorded: Terminal records that the journal holds now, in manifest order.
        remaining: Scenarios that were never started, in manifest order.
        interrupted: Ids of those that were started and never ended; errors from now on.
    """

    recorded: tuple[Episode, ...]
    remaining: tuple[Scenario, ...]
    interrupted: tuple[str, ...]


def settle(
    journal: Journal, contents: Contents, scenarios: Sequence[Scenario], folder: Path
) -> Remainder:
    """Give every interrupted scenario its terminal record and say what remains.

    A scenario that was started may have moved the robot: it is never started again.

    Args:
        journal: Open, from `resume_journal`.
        contents: What it said before.
        scenarios: The declared set, in manifest order.
        folder: Run folder.

    Raises:
        EvidenceError: The journal knows a scenario that was never declared.
        RunError: The journal cannot be written.
    """
    declared = {scenario.id: scenario for scenario in scenarios}
    unknown = [name for name in contents.started if name not in declared]
    if unknown:
        raise EvidenceError(
            f"the journal has started scenario {unknown[0]!r:.80}, which is not declared",
            code="journal",
        )
    _remove_unrecorded(folder / TRACES, contents)
    recorded = dict(contents.episodes)
    for name in contents.interrupted:
        error = EpisodeError(
            "the run was interrupted while this scenario was under way; it is not started again",
            code="interrupted",
        )
        recorded[name] = unfinished(declared[name], error)
        journal.finished(recorded[name])
    return Remainder(
        recorded=tuple(recorded[s.id] for s in scenarios if s.id in recorded),
        remaining=tuple(s for s in scenarios if s.id not in contents.started),
        interrupted=contents.interrupted,
    )


def _remove_unrecorded(traces: Path, contents: Contents) -> None:
    """Remove traces that no record names: written just before the end, or half written."""
    stale = [traces / f"{name}.npy" for name in contents.interrupted]
    for path in (*stale, *traces.glob(".*.tmp")):
        if path.is_file():
            log.warning("%s: removed; the run ended before the record that names it", path)
            path.unlink()
