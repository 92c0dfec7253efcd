"""A run's journal, begun anew or gone on with.

Going on takes the same contract and identity, and starts nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from robogate.episodes.journal import Header
from robogate.episodes.journal_writer import Journal, create_journal, resume_journal
from robogate.episodes.resume import settle
from robogate.evidence.files import JOURNAL
from robogate.records.result import Episode
from robogate.scenes.manifest import Scenario


@dataclass(frozen=True)
class JournalledRun:
    """A run whose journal is open.

    Attributes:
        journal: Open.
        run_id: Of the run's beginning.
        started_at: Of the run's beginning, UTC.
        recorded: Terminal records that the journal holds, in manifest order; none in a new run.
        remaining: Scenarios that were never started, in manifest order.
    """

    journal: Journal
    run_id: str
    started_at: str
    recorded: tuple[Episode, ...]
    remaining: tuple[Scenario, ...]


def begin_run(folder: Path, header: Header, scenarios: Sequence[Scenario]) -> JournalledRun:
    """Create the journal of a new run.

    Args:
        folder: Its run folder.
        header: Of the run.
        scenarios: The declared set, in manifest order.
    """
    journal = create_journal(folder / JOURNAL, header)
    return JournalledRun(journal, header.run_id, header.at, (), tuple(scenarios))


def resume_run(
    folder: Path, header: Header, scenarios: Sequence[Scenario], warn: Callable[[str], None]
) -> JournalledRun:
    """Open an interrupted run's journal and sort out what is left.

    Args:
        folder: Its run folder.
        header: Of the run as it would be begun now.
        scenarios: The declared set, in manifest order.
        warn: Takes one line about what the interruption cost.

    Raises:
        UsageError: Another contract, manifest or fingerprint, or another process writes it.
        EvidenceError: The journal does not hold.
    """
    journal, contents = resume_journal(folder / JOURNAL, header)
    begun = contents.header or header
    rest = settle(journal, contents, scenarios, folder)
    if contents.torn_bytes:
        warn(f"the journal's last line was torn ({contents.torn_bytes} bytes) and was dropped")
    if rest.interrupted:
        warn(
            f"{len(rest.interrupted)} scenario(s) were under way when the run was interrupted and "
            f"are errors now: {', '.join(rest.interrupted[:3])}"
        )
    return JournalledRun(journal, begun.run_id, begun.at, rest.recorded, rest.remaining)
