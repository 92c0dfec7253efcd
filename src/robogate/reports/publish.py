"""Publication: a verified board becomes a public tree, replaced at once or not at all.

::

    PUBLIC/index.html      the page
    PUBLIC/index.json      the same for programs
    PUBLIC/log.jsonl       the board's log
    PUBLIC/bundles/        every bundle that holds, as it lies on the board
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from robogate.contract.strict import decode
from robogate.errors import EvidenceError, UsageError
from robogate.evidence.board import BoardItem, Progress, Trust, read_board
from robogate.evidence.bundle import BUNDLES, NAME, UNLISTED, read_bundle
from robogate.evidence.files import MAX_DOCUMENT_BYTES, read_document
from robogate.evidence.log_files import (
    LOG,
    board_lock,
    read_head,
    require_descends,
    trusted_log,
    write_head,
    write_log,
)
from robogate.evidence.public_tree import outside_bundles, replacing
from robogate.evidence.publication_fs import PublicationFiles
from robogate.evidence.publication_log import Draft, Log, LogHead
from robogate.reports.board_index import assemble_index, index_document
from robogate.reports.index_records import Index
from robogate.reports.page import page_text

INDEX = "index.json"
PAGE = "index.html"


def publish(
    board: Path,
    public: Path,
    trust: Trust,
    *,
    now: str,
    files: PublicationFiles | None = None,
    progress: Progress = lambda text: None,
) -> Index:
    """Verify every bundle of a board and replace the public tree.

    Args:
        board: The board.
        public: The folder that readers see; a link that is swapped.
        trust: Whose bundles are accepted.
        now: UTC, ISO 8601.
        files: Operations on the disk.
        progress: Told how far it is.

    Returns:
        The index that was published.

    Raises:
        EvidenceError: The board's log does not hold, or does not contain what was published last.
        UsageError: No such board, or something cannot be written; readers see a whole tree still.
    """
    files = files or PublicationFiles()
    if not board.is_dir():
        raise UsageError(f"{board}: no such board; robogate promote makes one", code="board")
    try:
        with board_lock(board):
            log = trusted_log(board)
            with replacing(outside_bundles(public, board), files) as staged:
                if staged.previous is not None:
                    source = f"{public / INDEX}"
                    require_descends(log, _published_head(staged.previous), source, board)
                items = read_board(board, trust, log, progress)
                longer = log.extended(_unlisted(items, log), now)
                index = assemble_index(items, longer, published_at=now, trusted_keys=trust.keys)
                _fill(staged.folder, board, items, index, longer, files)
                if longer != log:
                    write_log(board, longer, files)
                if read_head(board) != longer.head:
                    write_head(board, longer.head, files)
    except OSError as exc:
        raise UsageError(
            f"cannot be published ({exc.strerror or exc}: {exc.filename or public}); {public} is "
            "whole, as it was before or as it was to be; publish again",
            code="publish",
        ) from exc
    return index


def _published_head(tree: Path) -> LogHead:
    """The log's head in a published tree."""
    path = tree / INDEX
    try:
        document = read_document(path)
        head = document.get("head") if type(document) is dict else None
        return decode(LogHead, head)
    except EvidenceError as exc:
        raise EvidenceError(
            f"{path}: holds no head of a log ({exc.message}); restore the published tree, or "
            "publish to a new folder",
            code="log_head",
        ) from exc


def _unlisted(items: Sequence[BoardItem], log: Log) -> list[Draft]:
    """What the log does not know yet: from now on, its absence is noticed."""
    drafts: list[Draft] = []
    for item in items:
        result = None if item.bundle is None else item.bundle.record.result_sha256
        for name in sorted((item.name, *item.also)):
            if NAME.fullmatch(name) and name not in log.listed:
                drafts.append(Draft("listed", name, result))
    return sorted(drafts, key=lambda draft: draft.bundle)


def _fill(
    tree: Path,
    board: Path,
    items: Sequence[BoardItem],
    index: Index,
    log: Log,
    files: PublicationFiles,
) -> None:
    files.make_folder(tree / BUNDLES)
    for item in items:
        if item.holds:
            for name in (item.name, *item.also):
                _link_bundle(board / BUNDLES / name, tree / BUNDLES / name, files)
    text = json.dumps(index_document(index), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    files.write(tree / INDEX, text.encode("utf-8"))
    files.write(tree / PAGE, page_text(index).encode("utf-8"))
    files.write(tree / LOG, log.text().encode("utf-8"))


def _link_bundle(source: Path, target: Path, files: PublicationFiles) -> None:
    """A verified bundle at its second place; its files never change, so they may be shared."""
    record = read_bundle(source).record
    files.make_folder(target)
    made = {target}
    for path in (*UNLISTED, *(file.path for file in record.files)):
        place = target / path
        for folder in reversed(place.relative_to(target).parents[:-1]):
            if target / folder not in made:
                files.make_folder(target / folder)
                made.add(target / folder)
        files.link(source / path, place, MAX_DOCUMENT_BYTES)
