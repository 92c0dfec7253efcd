"""The journal: what a run has done so far, one fsynced line each, readable after any crash.

A line is ``{"sha256":"…","record":{…}}``; the hash covers the record's bytes as they stand, and
each record names the hash of the line before it, so that an edited, removed or moved line is found.
Kinds of records:

* ``header``: under which contract and identity; the first line.
* ``started``: on disk before the scenario's reset. From then on it is never started again.
* ``finished``: the episode's record; on disk, after its trace, before the next scenario starts.
* ``failed``: the run-level error that ended the run.
* ``resumed``: another process went on from here.

Only the end of the file can be torn: what stands after the last line break was not acknowledged to
anybody. It is reported and dropped.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from robogate.contract.canonical import loads_strict
from robogate.contract.strict import StrictError, decode, encode
from robogate.errors import EvidenceError
from robogate.records.result import Episode, ErrorInfo

FIRST_PREVIOUS = "0" * 64
MAX_BYTES = 1 << 30

_LINE = re.compile(rb'\{"sha256":"([0-9a-f]{64})","record":(\{.*\})\}', re.DOTALL)


@dataclass(frozen=True)
class Header:
    """Under what the run is made; equal when it is resumed, but for ``run_id`` and ``at``.

    Attributes:
        run_id: Of the run.
        contract_sha256: Of its contract.
        fingerprint_sha256: Of what it runs on.
        manifest_sha256: Of its scenarios.
        at: UTC, ISO 8601.
    """

    run_id: str
    contract_sha256: str
    fingerprint_sha256: str
    manifest_sha256: str
    at: str
    schema: Literal["robogate.journal/1"] = "robogate.journal/1"


@dataclass(frozen=True)
class Started:
    """A scenario is about to be reset.

    Attributes:
        index: In the manifest.
        scenario_id: Of the scenario.
        at: UTC, ISO 8601.
    """

    index: int
    scenario_id: str
    at: str


@dataclass(frozen=True)
class Finished:
    """The terminal record of a scenario."""

    episode: Episode


@dataclass(frozen=True)
class Failed:
    """The run-level error that ended the run."""

    error: ErrorInfo


@dataclass(frozen=True)
class Resumed:
    """Another process goes on.

    Attributes:
        at: UTC, ISO 8601.
        dropped_bytes: Torn bytes that it removed from the end.
    """

    at: str
    dropped_bytes: int


Entry = Header | Started | Finished | Failed | Resumed

_KINDS: dict[str, type[Any]] = {
    "header": Header,
    "started": Started,
    "finished": Finished,
    "failed": Failed,
    "resumed": Resumed,
}
_NAMES = {cls: kind for kind, cls in _KINDS.items()}


@dataclass
class Contents:
    """What a journal says.

    Attributes:
        header: None where not even the first line is whole: nothing had started.
        started: Scenario id to its record, in the order of the starts.
        episodes: Scenario id to its terminal record, in the order of the ends.
        failed: The run-level error that ended the run, or None.
        resumes: How often the run was resumed.
        whole_bytes: Length of the whole lines.
        torn_bytes: What stands after them.
        lines: Number of whole lines.
        last_sha256: Hash of the last whole line.
    """

    header: Header | None = None
    started: dict[str, Started] = field(default_factory=dict)
    episodes: dict[str, Episode] = field(default_factory=dict)
    failed: ErrorInfo | None = None
    resumes: int = 0
    whole_bytes: int = 0
    torn_bytes: int = 0
    lines: int = 0
    last_sha256: str = FIRST_PREVIOUS

    @property
    def interrupted(self) -> tuple[str, ...]:
        """Ids of the scenarios that had started and have no terminal record."""
        return tuple(name for name in self.started if name not in self.episodes)


def encode_line(entry: Entry, sequence: int, previous: str) -> tuple[bytes, str]:
    """Make a line.

    Args:
        entry: What to record.
        sequence: Number of the line, from 0.
        previous: Hash of the line before; `FIRST_PREVIOUS` for the first.

    Returns:
        The line with its line break, and its hash.
    """
    kind = _NAMES[type(entry)]
    record = {"kind": kind, "sequence": sequence, "previous": previous, "body": encode(entry)}
    text = json.dumps(record, separators=(",", ":"), allow_nan=False).encode("ascii")
    sha256 = hashlib.sha256(text).hexdigest()
    return b'{"sha256":"%s","record":%s}\n' % (sha256.encode("ascii"), text), sha256


def read_journal(path: Path) -> Contents:
    """Read a journal, also one that is being written or was left by a crash.

    Raises:
        EvidenceError: It cannot be read, or a whole line does not hold.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as exc:
        raise EvidenceError(f"{path}: cannot be read ({exc.strerror})", code="unreadable") from exc
    if len(data) > MAX_BYTES:
        raise EvidenceError(f"{path}: larger than {MAX_BYTES} bytes", code="journal")
    return parse_journal(data, str(path))


def parse_journal(data: bytes, source: str) -> Contents:
    """Parse the bytes of a journal, as `read_journal`."""
    contents = Contents(whole_bytes=data.rfind(b"\n") + 1)
    contents.torn_bytes = len(data) - contents.whole_bytes
    for number, line in enumerate(data[: contents.whole_bytes].split(b"\n")[:-1]):
        _take(contents, _parse_line(line, number, contents, f"{source}:{number + 1}"), source)
        contents.lines += 1
    return contents


def _parse_line(line: bytes, number: int, contents: Contents, where: str) -> Entry:
    match = _LINE.fullmatch(line)
    if match is None:
        raise EvidenceError(f"{where}: not a journal line", code="journal")
    stated, text = match.group(1).decode("ascii"), match.group(2)
    if hashlib.sha256(text).hexdigest() != stated:
        raise EvidenceError(
            f"{where}: the line's hash does not hold; it was edited or damaged", code="journal"
        )
    record = loads_strict(text, source=where)
    if set(record) != {"kind", "sequence", "previous", "body"} or record["kind"] not in _KINDS:
        raise EvidenceError(f"{where}: not a journal record", code="journal")
    if record["sequence"] != number or record["previous"] != contents.last_sha256:
        raise EvidenceError(
            f"{where}: does not follow the line before it; lines were removed or moved",
            code="journal",
        )
    contents.last_sha256 = stated
    try:
        entry: Entry = decode(_KINDS[record["kind"]], record["body"], "$.record.body")
    except StrictError as exc:
        raise EvidenceError(f"{where}: {exc.message}", code="journal") from exc
    return entry


def _take(contents: Contents, entry: Entry, source: str) -> None:
    """Add an entry, in an order that a run can have written."""
    where = f"{source}:{contents.lines + 1}"
    if isinstance(entry, Header):
        _require(contents.lines == 0, where, "a second header")
        contents.header = entry
        return
    _require(contents.header is not None, where, "the first line is not the header")
    _require(contents.failed is None, where, "a record after the one that ended the run")
    if isinstance(entry, Started):
        name = entry.scenario_id
        _require(name not in contents.started, where, f"scenario '{name}' started twice")
        contents.started[name] = entry
    elif isinstance(entry, Finished):
        name = entry.episode.scenario_id
        _require(name in contents.started, where, f"scenario '{name}' ended without a start")
        _require(name not in contents.episodes, where, f"scenario '{name}' ended twice")
        contents.episodes[name] = entry.episode
    elif isinstance(entry, Failed):
        contents.failed = entry.error
    else:
        contents.resumes += 1


def _require(holds: bool, where: str, fault: str) -> None:
    if not holds:
        raise EvidenceError(f"{where}: {fault}", code="journal")
