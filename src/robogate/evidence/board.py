"""A board: every bundle on it, verified, and what that makes of each.

Nothing is left out and nothing is deleted. What cannot be verified at all is an ``error``, what was
verified and does not hold is ``quarantined``; neither carries a number, only its reasons.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from robogate.contract.canonical import self_hash
from robogate.contract.strict import Fault, encode
from robogate.errors import RobogateError
from robogate.evidence.bundle import BUNDLES, NAME, Bundle, read_bundle
from robogate.evidence.files import Unreadable
from robogate.evidence.publication_log import Log, LogEntry
from robogate.evidence.verify_bundle import verify_bundle
from robogate.printable import printable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

State = Literal["ranked", "control", "withdrawn", "superseded", "error", "quarantined"]

#: Reasons that are kept of a bundle that does not hold.
_REASONS = 5

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Trust:
    """Whose bundles are accepted.

    Attributes:
        keys: Trusted public keys by their ID.
        allow_unsigned: Whether a missing or unchecked signature is accepted, and shown as such.
    """

    keys: Mapping[str, Ed25519PublicKey]
    allow_unsigned: bool = False

    def key_for(self, signed_by: str | None) -> Ed25519PublicKey | None:
        """The trusted key that a bundle names, else any trusted one, so that it is refused."""
        if signed_by is None:
            return None
        return self.keys.get(signed_by) or next(iter(self.keys.values()), None)


@dataclass(frozen=True)
class BoardItem:
    """One thing that lies on a board, or that once lay there.

    Attributes:
        name: Of the folder: the bundle's hash; fit to be shown where it is something else.
        folder: Where it lies, or lay.
        state: What is made of it.
        reasons: Why it is an error or quarantined, at most a few, fit to be shown; else empty.
        signature: ``valid``, ``unsigned``, ``not checked``; None where nothing holds.
        bundle: The verified bundle; None where nothing holds.
        ended: The log entry that withdrew or superseded it, else None.
        also: Names of other bundles of the same result, which are shown with this one.
    """

    name: str
    folder: Path
    state: State
    reasons: tuple[str, ...] = ()
    signature: str | None = None
    bundle: Bundle | None = None
    ended: LogEntry | None = None
    also: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether it was verified and holds."""
        return self.state not in ("error", "quarantined")


def board_names(board: Path) -> list[str]:
    """Names of everything among a board's bundles, sorted; hidden files are nobody's evidence.

    Raises:
        OSError: The board cannot be read.
    """
    folder = board / BUNDLES
    if not os.path.lexists(folder):
        return []
    return sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith("."))


def read_board(
    board: Path,
    trust: Trust,
    log: Log,
    progress: Progress = lambda text: None,
    judged: Callable[[BoardItem], None] = lambda item: None,
) -> tuple[BoardItem, ...]:
    """Verify every bundle of a board, and find those that the log knows and the board has lost.

    Args:
        board: The board.
        trust: Whose bundles are accepted.
        log: The board's log.
        progress: Told which bundle comes next.
        judged: Told what was found of each, at once; whatever it raises ends the reading.

    Returns:
        One item for each name, sorted by name; bundles of one result are one item.

    Raises:
        OSError: The board itself cannot be read.
    """
    names = board_names(board)
    items: list[BoardItem] = []
    for number, name in enumerate(names, 1):
        progress(f"verifying {number} of {len(names)}: {printable(name[:16])}")
        items.append(judge(board / BUNDLES / name, trust))
        judged(items[-1])
    for name, entry in log.listed.items():
        if name not in names:
            reason = f"missing: it was listed on {entry.at[:10]}, and its folder is gone"
            items.append(BoardItem(name, board / BUNDLES / name, "error", (reason,)))
            judged(items[-1])
    return tuple(sorted(_merged(_ended(items, log)), key=lambda item: item.name))


def judge(folder: Path, trust: Trust) -> BoardItem:
    """Verify one bundle, whatever lies there.

    Args:
        folder: Its folder on the board.
        trust: Whose bundles are accepted.
    """
    item = _judged(folder, trust)
    return replace(item, reasons=tuple(printable(reason) for reason in item.reasons))


def _judged(folder: Path, trust: Trust) -> BoardItem:
    item = BoardItem(printable(folder.name), folder, "error")
    if not NAME.fullmatch(folder.name):
        return replace(item, reasons=("not a bundle: its name is not a SHA-256",))
    if folder.is_symlink():
        return replace(item, state="quarantined", reasons=("is a symbolic link, not a folder",))
    if not folder.is_dir():
        return replace(item, reasons=("is not a folder",))
    try:
        return _verified(item, trust)
    except (RobogateError, OSError) as exc:
        text = exc.message if isinstance(exc, RobogateError) else f"cannot be read: {exc}"
        return replace(item, reasons=(_local(text, folder),))
    except Exception as exc:
        # One artifact that the verifier was not made for must not keep the others from being
        # published, and must not carry a number either.
        return replace(item, reasons=(f"the verification broke off: {type(exc).__name__}: {exc}",))


def _verified(item: BoardItem, trust: Trust) -> BoardItem:
    try:
        signed_by = read_bundle(item.folder).record.signed_by
    except Unreadable:
        raise
    except RobogateError:
        signed_by = None  # the verification says, with the fields' paths, what is wrong
    report = verify_bundle(
        item.folder, key=trust.key_for(signed_by), allow_unsigned=trust.allow_unsigned
    )
    if not report.holds:
        faults = [_local(_reason(fault), item.folder) for fault in report.faults]
        more = [f"and {len(faults) - _REASONS} more"] if len(faults) > _REASONS else []
        return replace(item, state="quarantined", reasons=(*faults[:_REASONS], *more))
    bundle = read_bundle(item.folder)
    # What is shown is read once more, and somebody may have written to the board in between.
    document = encode(bundle.record)
    if (
        self_hash(document) != report.about["bundle"]
        or self_hash(bundle.result) != bundle.record.result_sha256
    ):
        return replace(item, state="quarantined", reasons=("was changed while it was verified",))
    return replace(
        item,
        state="control" if bundle.record.role == "control" else "ranked",
        signature=str(report.about["signature"]),
        bundle=bundle,
    )


def _reason(fault: Fault) -> str:
    """A fault as a public reason: neither a score that does not hold is told, nor the right one."""
    if any(part in fault.path for part in ("$.summary", "$.episodes")):
        return f"{fault.path}: does not hold (robogate verify says more)"
    return str(fault)


def _local(text: str, folder: Path) -> str:
    """A message without the place of the board, which is nobody's business on a public page."""
    return text.replace(f"{folder}/", "").replace(str(folder), folder.name[:16])


def _ended(items: Sequence[BoardItem], log: Log) -> list[BoardItem]:
    """Apply withdrawals: they hold for a result, in whichever bundle it lies."""
    by_result = {e.result_sha256: e for e in log.ended.values() if e.result_sha256 is not None}
    found: list[BoardItem] = []
    for item in items:
        entry = log.ended.get(item.name)
        if entry is None and item.bundle is not None:
            entry = by_result.get(item.bundle.record.result_sha256)
        if entry is not None:
            state = entry.event if item.holds else item.state
            item = replace(item, state=state, ended=entry)  # type: ignore[arg-type]
        found.append(item)
    return found


_SIGNATURES = ("valid", "not checked", "unsigned")


def _merged(items: Sequence[BoardItem]) -> list[BoardItem]:
    """One item for all bundles of a result: the best signed, then that with the most media."""

    def worth(item: BoardItem) -> tuple[int, int, str]:
        assert item.bundle is not None
        return (
            _SIGNATURES.index(item.signature or "unsigned"),
            -len(item.bundle.record.files),
            item.name,
        )

    groups: dict[str, list[BoardItem]] = {}
    rest: list[BoardItem] = []
    for item in items:
        if item.bundle is None:
            rest.append(item)
        else:
            groups.setdefault(item.bundle.record.result_sha256, []).append(item)
    for group in groups.values():
        best, *others = sorted(group, key=worth)
        rest.append(replace(best, also=tuple(item.name for item in others)))
    return rest
