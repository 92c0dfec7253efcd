"""`robogate sync BOARD DEST`: every episode of every bundle as rows for analysis elsewhere.

Each bundle is verified first, and the first that does not hold ends it: nothing is exported that
was not recomputed, and DEST is replaced at once or not at all.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robogate.errors import EvidenceError, UsageError
from robogate.evidence.board import BoardItem, Progress, Trust, read_board
from robogate.evidence.episode_rows import COLUMNS, COLUMNS_VERSION, Column, episode_rows
from robogate.evidence.log_files import board_lock, trusted_log
from robogate.evidence.public_tree import outside_bundles, replacing
from robogate.evidence.publication_fs import PublicationFiles
from robogate.reports.figures import number_of
from robogate.reports.publish_cli import add_trust, trust_of

ROWS = "episodes"
COLUMNS_FILE = "columns.json"
FORMATS = ("parquet", "jsonl")


def main(argv: Sequence[str]) -> int:
    """Run the verb.

    Returns:
        0; whatever does not hold raises.

    Raises:
        UsageError: No key and no leave to go without, no parquet library, no write access.
        EvidenceError: A bundle does not hold.
    """
    args = _parser().parse_args(argv)
    trust = trust_of(args.key, args.allow_unsigned, "sync")
    formats = FORMATS if args.format == "both" else (args.format,)

    def progress(text: str) -> None:
        print(f"robogate: {text}", file=sys.stderr, flush=True)

    count = sync(args.board, args.dest, trust, formats=formats, progress=progress)
    for name in formats:
        print(args.dest / f"{ROWS}.{name}")
    print(number_of(count, "row"))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="robogate sync",
        description="Verify every bundle of a board and export one row per episode.",
        epilog="Exit status: 0 exported, 3 a bundle does not hold, 2 it cannot be written; then "
        "DEST is as it was.",
    )
    parser.add_argument("board", type=Path, metavar="BOARD", help="folder that promote writes to")
    parser.add_argument("dest", type=Path, metavar="DEST", help="folder of the export")
    parser.add_argument(
        "--format", choices=("both", *FORMATS), default="both", help="files to write (both)"
    )
    add_trust(parser)
    return parser


def sync(
    board: Path,
    dest: Path,
    trust: Trust,
    *,
    formats: Sequence[str] = FORMATS,
    files: PublicationFiles | None = None,
    progress: Progress = lambda text: None,
) -> int:
    """Export a board.

    Args:
        board: The board.
        dest: Folder that gets the files; a link that is swapped, as a published tree is.
        trust: Whose bundles are accepted.
        formats: Of `FORMATS`.
        files: Operations on the disk.
        progress: Told which bundle comes next.

    Returns:
        Number of rows.

    Raises:
        EvidenceError: A bundle does not hold, or the board's log does not.
        UsageError: No such board, no parquet library, or something cannot be written.
    """
    if not board.is_dir():
        raise UsageError(f"{board}: no such board; robogate promote makes one", code="board")
    if "parquet" in formats:
        _require_pyarrow()
    files = files or PublicationFiles()
    try:
        with board_lock(board), replacing(outside_bundles(dest, board), files) as staged:
            if staged.previous is not None and not (staged.previous / COLUMNS_FILE).is_file():
                raise UsageError(
                    f"{dest}: shows something else than an export; give another folder",
                    code="output",
                )
            items = read_board(board, trust, trusted_log(board), progress, _require)
            rows = [row for item in items for row in episode_rows(item)]
            for name in formats:
                _WRITERS[name](staged.folder / f"{ROWS}.{name}", rows, files)
            files.write(staged.folder / COLUMNS_FILE, _columns_text().encode("utf-8"))
    except OSError as exc:
        raise UsageError(
            f"{dest}: cannot be written ({exc.strerror or exc}: {exc.filename or dest}); it is "
            "whole, as it was before or as it was to be",
            code="output",
        ) from exc
    return len(rows)


def _require(item: BoardItem) -> None:
    if not item.holds:
        raise EvidenceError(
            f"{item.folder}: {item.state}: {item.reasons[0]}; nothing was exported", code="sync"
        )


def _require_pyarrow() -> None:
    try:
        import pyarrow.parquet  # noqa: F401
    except ModuleNotFoundError as exc:
        raise UsageError(
            "sync: parquet needs pyarrow, which is not installed; pip install "
            "'robogate-harness[media]', or export with --format jsonl",
            code="pyarrow",
        ) from exc


def _columns_text() -> str:
    document = {
        "schema": "robogate.episode-rows/1",
        "version": COLUMNS_VERSION,
        "columns": [
            {"name": c.name, "type": c.kind, "nullable": c.nullable, "text": c.text}
            for c in COLUMNS
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _write_jsonl(path: Path, rows: Sequence[dict[str, Any]], files: PublicationFiles) -> None:
    lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    files.write(path, "".join(lines).encode("utf-8"))


def _write_parquet(path: Path, rows: Sequence[dict[str, Any]], files: PublicationFiles) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {
        "string": pa.string(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        "bool": pa.bool_(),
    }

    def field(column: Column) -> Any:
        return pa.field(
            column.name, kinds[column.kind], column.nullable, metadata={"text": column.text}
        )

    schema = pa.schema(
        [field(column) for column in COLUMNS],
        metadata={"robogate.episode-rows": str(COLUMNS_VERSION)},
    )
    buffer = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), buffer)
    files.write(path, buffer.getvalue().to_pybytes())


_WRITERS = {"parquet": _write_parquet, "jsonl": _write_jsonl}
