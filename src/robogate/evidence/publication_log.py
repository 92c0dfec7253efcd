"""The board's log: what was ever shown, withdrawn or superseded. Append-only and hash-chained.

One JSON object a line, each with the hash of the one before. A changed, removed or inserted line
breaks the chain; a cut tail does not, so the head that was last published is kept too, in
`head.json` on the board and in every published index, and a log that lacks it is refused. The chain
is not keyed: who can rewrite the board, its head file and every published copy can rewrite history.
What shows that is a copy of a published head in somebody else's hands.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from robogate.contract.canonical import self_hash
from robogate.contract.strict import decode, encode
from robogate.errors import EvidenceError
from robogate.evidence.bundle import NAME

LOG_SCHEMA = "robogate.board-log/1"

#: ``previous`` of the first entry, and the head of a log without any.
GENESIS = "0" * 64

#: Longest accepted reason, characters.
MAX_REASON = 2000

Event = Literal["listed", "withdrawn", "superseded"]


@dataclass(frozen=True)
class LogEntry:
    """One line of the log.

    Attributes:
        schema: `LOG_SCHEMA`.
        sequence: From 0.
        previous: Hash of the entry before, or `GENESIS`.
        at: When, UTC, ISO 8601, by the clock of the machine that wrote it.
        event: ``listed``: shown for the first time, in whatever state; ``withdrawn``;
            ``superseded``: withdrawn in favour of another bundle.
        bundle: The bundle.
        result_sha256: Its result, so that the same result in another bundle is known; null where it
            could not be read.
        by: The bundle that supersedes it, else null.
        reason: Why it was withdrawn or superseded, else null.
        sha256: Of the entry without this field.
    """

    schema: Literal["robogate.board-log/1"]
    sequence: int
    previous: str
    at: str
    event: Event
    bundle: str
    result_sha256: str | None
    by: str | None
    reason: str | None
    sha256: str


@dataclass(frozen=True)
class LogHead:
    """What pins a log: how long it was, and its last entry's hash.

    Attributes:
        entries: Number of entries.
        sha256: Of the last one, or `GENESIS`.
    """

    entries: int
    sha256: str


@dataclass(frozen=True)
class Draft:
    """An entry that is not in the log yet; fields as in `LogEntry`."""

    event: Event
    bundle: str
    result_sha256: str | None = None
    by: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Log:
    """A log whose chain holds.

    Attributes:
        entries: In order.
    """

    entries: tuple[LogEntry, ...]

    @property
    def head(self) -> LogHead:
        """Its end."""
        return LogHead(len(self.entries), self.entries[-1].sha256 if self.entries else GENESIS)

    @property
    def listed(self) -> Mapping[str, LogEntry]:
        """Entry that first listed each bundle."""
        return MappingProxyType({e.bundle: e for e in self.entries if e.event == "listed"})

    @property
    def ended(self) -> Mapping[str, LogEntry]:
        """Entry that withdrew or superseded each bundle that is."""
        return MappingProxyType({e.bundle: e for e in self.entries if e.event != "listed"})

    def extended(self, drafts: Sequence[Draft], at: str) -> Log:
        """This log with further entries.

        Args:
            drafts: What they say.
            at: Their time, UTC, ISO 8601.

        Raises:
            EvidenceError: An entry contradicts the ones before.
        """
        entries = list(self.entries)
        for draft in drafts:
            document: dict[str, Any] = {
                "schema": LOG_SCHEMA,
                "sequence": len(entries),
                "previous": entries[-1].sha256 if entries else GENESIS,
                "at": at,
                **encode(draft),
            }
            order = ("schema", "sequence", "previous", "at", "event")
            document = {k: document[k] for k in (*order, *(k for k in document if k not in order))}
            document["sha256"] = self_hash(document)
            entries.append(decode(LogEntry, document))
        log = Log(tuple(entries))
        require_sense(log, "the log")
        return log

    def text(self) -> str:
        """The file's text."""
        return "".join(
            json.dumps(encode(entry), ensure_ascii=False, allow_nan=False) + "\n"
            for entry in self.entries
        )


def require_sense(log: Log, source: str) -> None:
    """Each bundle is listed once and ends once; who supersedes is another, and has not ended."""
    listed: set[str] = set()
    ended: set[str] = set()
    for entry in log.entries:
        where = f"{source}: entry {entry.sequence}"
        names = [entry.bundle, *([entry.by] if entry.by is not None else [])]
        for name in names:
            if not NAME.fullmatch(name):
                raise EvidenceError(f"{where}: {name!r:.80} is no bundle's name", code="log")
        done = listed if entry.event == "listed" else ended
        if entry.bundle in done:
            what = "listed" if entry.event == "listed" else "withdrawn or superseded"
            raise EvidenceError(f"{where}: {entry.bundle} was {what} before", code="log")
        done.add(entry.bundle)
        if (entry.event == "superseded") != (entry.by is not None):
            raise EvidenceError(f"{where}: 'by' and event {entry.event!r} disagree", code="log")
        if (entry.event == "listed") != (entry.reason is None):
            raise EvidenceError(f"{where}: 'reason' and event {entry.event!r} disagree", code="log")
        if entry.by is not None and entry.by in ended:
            raise EvidenceError(f"{where}: superseded by a bundle that is withdrawn", code="log")
