"""Withdraw a bundle from a board: its number goes, its evidence and its history stay."""

from __future__ import annotations

from pathlib import Path

from robogate.errors import UsageError, nearest
from robogate.evidence.board import Trust, board_names, judge
from robogate.evidence.bundle import BUNDLES, NAME
from robogate.evidence.log_files import board_lock, trusted_log, write_log
from robogate.evidence.publication_fs import PublicationFiles
from robogate.evidence.publication_log import MAX_REASON, Draft, Log, LogEntry

#: Fewest characters by which a bundle may be named.
SHORTEST = 8


def withdraw(
    board: Path,
    bundle: str,
    *,
    reason: str,
    superseded_by: str | None = None,
    now: str,
    files: PublicationFiles | None = None,
) -> LogEntry:
    """Add a withdrawal to a board's log.

    Args:
        board: The board.
        bundle: Name of a bundle, or the unique beginning of one.
        reason: Why; one line for the public.
        superseded_by: Name of the bundle that stands in its place, or None.
        now: UTC, ISO 8601.
        files: Operations on the disk.

    Returns:
        The new entry.

    Raises:
        UsageError: No such board or bundle, no reason, or the log cannot be written.
        EvidenceError: The log does not hold.
    """
    text = " ".join(reason.split())
    if not text or len(text) > MAX_REASON or not text.isprintable():
        raise UsageError(
            f"--reason: give a line of 1 to {MAX_REASON} printable characters", code="reason"
        )
    if not board.is_dir():
        raise UsageError(f"{board}: no such board", code="board")
    files = files or PublicationFiles()
    try:
        with board_lock(board):
            log = trusted_log(board)
            known = {*filter(NAME.fullmatch, board_names(board)), *log.listed}
            name = _resolve(bundle, known, "bundle")
            by = None
            if superseded_by is not None:
                by = _resolve(superseded_by, known, "--superseded-by")
                _require_successor(name, by, log)
            _require_present(name, log)
            draft = Draft(
                event="withdrawn" if by is None else "superseded",
                bundle=name,
                result_sha256=_result_of(board, name, log),
                by=by,
                reason=text,
            )
            longer = log.extended([draft], now)
            write_log(board, longer, files)
    except OSError as exc:
        raise UsageError(
            f"{board}: the log cannot be written ({exc.strerror or exc}); it is as it was",
            code="board",
        ) from exc
    return longer.entries[-1]


def _resolve(text: str, known: set[str], what: str) -> str:
    """The one known bundle that a text names."""
    found = sorted(name for name in known if name.startswith(text))
    if text in known:
        return text
    if len(found) == 1 and len(text) >= SHORTEST:
        return found[0]
    if found:
        raise UsageError(
            f"{what} {text}: give at least {SHORTEST} characters, and as many as name only one "
            f"bundle ({_few(found)})",
            code="bundle",
        )
    raise UsageError(f"{what} {text}: no such bundle on the board; {nearest(text, known)}")


def _few(names: list[str]) -> str:
    """The first few of some names, for a message."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(name[:16] for name in names[:3]) + more


def _require_present(name: str, log: Log) -> None:
    entry = log.ended.get(name)
    if entry is not None:
        raise UsageError(
            f"bundle {name[:16]} was {entry.event} on {entry.at[:10]} already: {entry.reason}",
            code="bundle",
        )


def _require_successor(name: str, by: str, log: Log) -> None:
    if by == name:
        raise UsageError("--superseded-by: a bundle does not supersede itself", code="bundle")
    if by in log.ended:
        raise UsageError(
            f"--superseded-by {by[:16]}: that bundle was {log.ended[by].event} itself",
            code="bundle",
        )


def _result_of(board: Path, name: str, log: Log) -> str | None:
    """The result of a bundle, so that its withdrawal holds in whichever bundle it lies."""
    listed = log.listed.get(name)
    if listed is not None and listed.result_sha256 is not None:
        return listed.result_sha256
    # A bundle that does not hold may name any result, so its withdrawal ends no other bundle. Who
    # signed it matters less: whatever holds does contain the result that it names.
    bundle = judge(board / BUNDLES / name, Trust({}, allow_unsigned=True)).bundle
    return None if bundle is None else bundle.record.result_sha256
