"""A run's journal, begun anew or gone on with.

Going on takes the same contract and identity, and starts nothing twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from robogate.contract.files import read_bounded
from robogate.episodes.journal import Header
from robogate.episodes.journal_writer import Journal, create_journal, resume_journal
from robogate.episodes.resume import settle
from robogate.errors import EvidenceError, UsageError
from robogate.evidence.files import JOURNAL, RESULT, TRACES
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


def require_resumable(folder: Path) -> None:
    """Refuse to resume what never started or has ended.

    Raises:
        UsageError: No journal, or a result is there already.
    """
    if not (folder / JOURNAL).is_file():
        raise UsageError(
            f"runtime.resume={folder}: no {JOURNAL} in it; give the folder of a run that was "
            "interrupted",
            code="resume",
        )
    if (folder / RESULT).exists():
        raise UsageError(
            f"runtime.resume={folder}: the run has ended and {RESULT} is written; nothing is left "
            "to do",
            code="resume",
        )


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
        UsageError: Another contract, manifest or fingerprint, another process writes it, or the
            run has ended.
        EvidenceError: The journal does not hold, or a trace is not the one that it names.
    """
    journal, contents = resume_journal(folder / JOURNAL, header)
    begun = contents.header or header
    try:
        # Only now is it certain that no other process is ending this very run.
        require_resumable(folder)
        _require_traces(folder, contents.episodes.values())
        rest = settle(journal, contents, scenarios, folder)
    except BaseException:
        journal.close()
        raise
    if contents.torn_bytes:
        warn(f"the journal's last line was torn ({contents.torn_bytes} bytes) and was dropped")
    if rest.interrupted:
        warn(
            f"{len(rest.interrupted)} scenario(s) were under way when the run was interrupted and "
            f"are errors now: {', '.join(rest.interrupted[:3])}"
        )
    return JournalledRun(journal, begun.run_id, begun.at, rest.recorded, rest.remaining)


def _require_traces(folder: Path, episodes: Iterable[Episode]) -> None:
    """Find a lost or changed trace now, not after everything else was run."""
    for episode in episodes:
        attestation = episode.attestation
        if attestation is None:
            continue
        try:
            data = read_bounded(folder / TRACES / f"{episode.scenario_id}.npy")
            what = "is not the one that the journal names"
            lost = hashlib.sha256(data).hexdigest() != attestation.trace_sha256
        except EvidenceError as exc:
            what, lost = exc.message, True
        if lost:
            raise EvidenceError(
                f"runtime.resume={folder}: trace of scenario '{episode.scenario_id}': {what}; "
                "restore the file, or start a new run",
                code="trace",
            )
