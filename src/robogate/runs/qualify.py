"""`robogate qualify`: four control runs in, a qualification and its raw runs out."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str]) -> int:
    """Run the verb.

    Returns:
        0 where the qualification has passed, 3 where it has failed; it is written either way.

    Raises:
        UsageError: A wrong number of runs, or the folder cannot be written.
        Unreadable: A control run cannot be read.
    """
    args = _parser().parse_args(argv)

    from robogate.evidence.qualification_bundle import write_qualification

    document = write_qualification(args.zero, args.oracle, args.out)
    if args.json:
        print(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        print(qualification_text(document))
    return 0 if document["status"] == "passed" else 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="robogate qualify",
        description="Qualify a harness contract: the zero-action control passes nothing, the "
        "oracle passes everything in three semantically identical runs.",
    )
    parser.add_argument("--zero", type=Path, required=True, metavar="DIR", help="its run folder")
    parser.add_argument(
        "--oracle", type=Path, required=True, nargs=3, metavar="DIR", help="three run folders"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="where it is written"
    )
    parser.add_argument("--json", action="store_true", help="print the document")
    return parser


def qualification_text(document: dict[str, object]) -> str:
    """A qualification for people: each check, then what it comes to."""
    checks: list[dict[str, object]] = document["checks"]  # type: ignore[assignment]
    width = max(len(str(check["name"])) for check in checks)
    lines = [
        f"  {check['name']!s:<{width}}  {'holds' if check['holds'] else 'FAILS'}  {check['detail']}"
        for check in checks
    ]
    lines.append(f"{document['status']}: {document['harness_id']}")
    lines.append(f"qualification {document['qualification_id']}")
    return "\n".join(lines)
