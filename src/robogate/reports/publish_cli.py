"""`robogate publish BOARD --out PUBLIC`: verify a board and replace its public tree."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from robogate.episodes.clock import utc_now
from robogate.errors import UsageError
from robogate.evidence.board import Trust
from robogate.evidence.keys import load_public_key
from robogate.evidence.signing import key_id
from robogate.printable import printable
from robogate.reports.figures import number_of, percent
from robogate.reports.index_records import Index
from robogate.reports.publish import PAGE, publish


def main(argv: Sequence[str]) -> int:
    """Run the verb.

    Returns:
        0 where every bundle holds, 3 where one does not: the rest is published all the same.

    Raises:
        UsageError: No key and no leave to go without; something cannot be read or written.
        EvidenceError: The board's log does not hold, or lacks what was published last.
    """
    args = _parser().parse_args(argv)
    trust = trust_of(args.key, args.allow_unsigned, "publish")

    def progress(text: str) -> None:
        print(f"robogate: {text}", file=sys.stderr, flush=True)

    index = publish(args.board, args.out, trust, now=utc_now(), progress=progress)
    for refused in index.refused:
        text = f"{refused.state.upper()} {refused.name}: {refused.reasons[0]}"
        print(printable(text), file=sys.stderr)
    if args.json:
        print(json.dumps(_summary(index, args.out), indent=1, ensure_ascii=False))
    else:
        print("\n".join(_lines(index, args.out)))
    return 3 if index.refused else 0


def add_trust(parser: argparse.ArgumentParser) -> None:
    """The options by which a user says whose bundles are accepted."""
    parser.add_argument(
        "--key",
        type=Path,
        action="append",
        default=[],
        metavar="PUB",
        help="trusted public key of a signer; may be given several times",
    )
    parser.add_argument(
        "--allow-unsigned",
        action="store_true",
        help="accept missing and unchecked signatures; shown as such",
    )


def trust_of(keys: Sequence[Path], allow_unsigned: bool, verb: str) -> Trust:
    """What the user trusts.

    Args:
        keys: Files of public keys.
        allow_unsigned: Whether missing and unchecked signatures are accepted.
        verb: For the message.

    Raises:
        UsageError: A key cannot be read, or there is none and no leave to go without.
    """
    if not keys and not allow_unsigned:
        raise UsageError(
            f"{verb}: no key; give the signers' public keys with --key FILE, or go without "
            "signatures with --allow-unsigned",
            code="key",
        )
    loaded = [load_public_key(path) for path in keys]
    return Trust({key_id(key): key for key in loaded}, allow_unsigned)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="robogate publish",
        description="Verify every bundle of a board and replace its public tree at once: a static "
        "page, an index for programs, the log and the bundles.",
        epilog="Exit status: 0 every bundle holds, 3 one does not (it is shown without a number), "
        "2 it cannot be published; what readers see is whole at any time.",
    )
    parser.add_argument("board", type=Path, metavar="BOARD", help="folder that promote writes to")
    parser.add_argument("--out", type=Path, required=True, metavar="PUBLIC", help="public folder")
    add_trust(parser)
    parser.add_argument("--json", action="store_true", help="print what was published as JSON")
    return parser


def _summary(index: Index, out: Path) -> dict[str, object]:
    return {
        "page": str(out / PAGE),
        "ranked": sum(len(r.rows) for a in index.arenas for r in a.rankings),
        "controls": sum(len(a.controls) for a in index.arenas),
        "ended": len(index.ended),
        "refused": [
            {"state": r.state, "name": r.name, "reasons": list(r.reasons)} for r in index.refused
        ],
        "head": {"entries": index.head.entries, "sha256": index.head.sha256},
    }


def _lines(index: Index, out: Path) -> list[str]:
    lines = []
    for arena in index.arenas:
        for ranking in arena.rankings:
            lines.append(printable(f"{arena.harness_id}, {arena.track}, {ranking.transfer}"))
            for row in ranking.rows:
                rate = "" if row.success_rate is None else f"  {percent(row.success_rate)} %"
                unsigned = "" if row.signature == "valid" else f"  {row.signature.upper()}"
                name = f"  {row.rank}. {printable(row.label)}"
                lines.append(f"{name}  {row.successes}/{row.scored}{rate}{unsigned}")
    controls = sum(len(a.controls) for a in index.arenas)
    lines.append(
        f"{number_of(controls, 'control')}, {len(index.ended)} withdrawn or superseded, "
        f"{len(index.refused)} not accepted"
    )
    entries = number_of(index.head.entries, "entry", "entries")
    lines.append(f"log head {index.head.sha256} ({entries})")
    lines.append(f"published: {out / PAGE}")
    return lines
