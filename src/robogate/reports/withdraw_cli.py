"""`robogate withdraw BOARD BUNDLE --reason TEXT`: take a number back, and keep its history."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from robogate.episodes.clock import utc_now
from robogate.evidence.withdrawal import withdraw
from robogate.reports.figures import number_of


def main(argv: Sequence[str]) -> int:
    """Run the verb.

    Returns:
        0; whatever cannot be withdrawn raises.

    Raises:
        UsageError: No such board or bundle, no reason, or the log cannot be written.
        EvidenceError: The board's log does not hold.
    """
    args = _parser().parse_args(argv)
    entry = withdraw(
        args.board,
        args.bundle,
        reason=args.reason,
        superseded_by=args.superseded_by,
        now=utc_now(),
    )
    by = "" if entry.by is None else f" by {entry.by}"
    print(f"{entry.event}: {entry.bundle}{by}")
    print(f"log head {entry.sha256} ({number_of(entry.sequence + 1, 'entry', 'entries')})")
    print(f"to show it: robogate publish {args.board} --out PUBLIC --key PUB")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="robogate withdraw",
        description="Withdraw a bundle from a board's ranking. The bundle stays, and page and "
        "index keep its history; the next publish shows it.",
        epilog="Exit status: 0 withdrawn, 2 no such bundle, 3 the board's log does not hold.",
    )
    parser.add_argument("board", type=Path, metavar="BOARD", help="folder that promote writes to")
    parser.add_argument(
        "bundle", metavar="BUNDLE", help="its name, or at least its first 8 characters"
    )
    parser.add_argument("--reason", required=True, metavar="TEXT", help="one line for the public")
    parser.add_argument(
        "--superseded-by", metavar="BUNDLE", help="the bundle that stands in its place"
    )
    return parser
