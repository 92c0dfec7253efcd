"""The log's files: `log.jsonl`, and `head.json` with the head that was last published."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from robogate.contract.canonical import loads_strict, self_hash
from robogate.contract.files import read_bounded
from robogate.contract.strict import StrictError, decode, encode
from robogate.errors import EvidenceError
from robogate.evidence.files import read_document
from robogate.evidence.publication_fs import PublicationFiles
from robogate.evidence.publication_log import GENESIS, Log, LogEntry, LogHead, require_sense

LOG = "log.jsonl"
HEAD = "head.json"

HEAD_SCHEMA = "robogate.board-head/1"


def read_log(folder: Path) -> Log:
    """Read a log and recompute its chain.

    Args:
        folder: The board, or a published tree; a folder without a log has an empty one.

    Raises:
        EvidenceError: It cannot be read, an entry is not exactly of the schema, the chain does not
            hold, or an entry contradicts the ones before.
    """
    path = folder / LOG
    if not os.path.lexists(path):
        return Log(())
    entries: list[LogEntry] = []
    text = read_bounded(path)
    if text and not text.endswith(b"\n"):
        raise EvidenceError(f"{path}: the last line is torn", code="log")
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}:{number}"
        document = loads_strict(line, source=where)
        try:
            entry = decode(LogEntry, document)
        except StrictError as exc:
            raise EvidenceError(f"{where}: {exc.message}", code="log") from exc
        previous = entries[-1].sha256 if entries else GENESIS
        for name, actual, expected in (
            ("sequence", entry.sequence, len(entries)),
            ("previous", entry.previous, previous),
            ("sha256", entry.sha256, self_hash(document)),
        ):
            if actual != expected:
                raise EvidenceError(
                    f"{where}: $.{name} is {actual!r:.80}, expected {expected!r}: the log was "
                    "changed after it was written; restore it",
                    code="log",
                )
        entries.append(entry)
    log = Log(tuple(entries))
    require_sense(log, str(path))
    return log


def require_descends(log: Log, head: LogHead, source: str, board: Path) -> None:
    """Refuse a log from which something is missing that was published.

    Args:
        log: The board's, its chain recomputed.
        head: The head that was published.
        source: Where that head stands.
        board: The log's board, for the message.

    Raises:
        EvidenceError: The log does not contain that head.
    """
    known = (GENESIS, *(entry.sha256 for entry in log.entries))
    if head.entries < len(known) and known[head.entries] == head.sha256:
        return
    what = (
        f"has {len(log.entries)} entries, {head.entries} were published"
        if head.entries >= len(known)
        else f"has another entry {head.entries - 1} than was published"
    )
    raise EvidenceError(
        f"{board / LOG}: {what} ({source}, head {head.sha256[:16]}): its tail was cut off or "
        "rewritten, or this is another board's; restore the log from the published copy",
        code="log_head",
    )


def read_head(board: Path) -> LogHead | None:
    """The last published head as the board remembers it; None where nothing was published.

    Raises:
        EvidenceError: The file is there and not exactly of its schema.
    """
    path = board / HEAD
    if not os.path.lexists(path):
        return None
    document = read_document(path)
    if type(document) is not dict or document.get("schema") != HEAD_SCHEMA:
        raise EvidenceError(f"{path}: $.schema is not {HEAD_SCHEMA!r}", code="log_head")
    return decode(LogHead, {k: v for k, v in document.items() if k != "schema"})


def trusted_log(board: Path) -> Log:
    """A board's log, if nothing of it is missing that was published.

    Raises:
        EvidenceError: It does not hold, or lacks the head that the board remembers.
    """
    log = read_log(board)
    head = read_head(board)
    if head is not None:
        require_descends(log, head, str(board / HEAD), board)
    return log


@contextmanager
def board_lock(board: Path) -> Iterator[None]:
    """Be the only one who changes a board's log or publishes it.

    The kernel lets go of the lock when the process ends, however that happens.

    Raises:
        OSError: There is no such board.
    """
    descriptor = os.open(board, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_log(board: Path, log: Log, files: PublicationFiles) -> None:
    """Replace the board's log by a longer one; only under `board_lock`.

    Raises:
        OSError: It cannot be written; the old one is as it was.
    """
    files.replace_file(board / LOG, log.text().encode("utf-8"))


def write_head(board: Path, head: LogHead, files: PublicationFiles) -> None:
    """Remember the head that is about to be published; only under `board_lock`.

    Raises:
        OSError: It cannot be written; the old one is as it was.
    """
    document = {"schema": HEAD_SCHEMA, **encode(head)}
    files.replace_file(board / HEAD, (json.dumps(document, indent=1) + "\n").encode("ascii"))
