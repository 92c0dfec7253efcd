"""`robogate promote RESULT --qualification DIR --board DIR`: a run becomes a bundle."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from robogate.errors import UsageError
from robogate.evidence.files import RESULT
from robogate.evidence.keys import load_private_key
from robogate.evidence.promotion import promote


def main(argv: Sequence[str]) -> int:
    """Run the verb.

    Returns:
        0; whatever is not promoted raises.

    Raises:
        UsageError: No key and no leave to go without; the board cannot be written.
        Unreadable: Run or qualification cannot be read.
        NotPromotable: They do not hold, or a rule is not met.
    """
    args = _parser().parse_args(argv)
    if args.key is None and not args.allow_unsigned:
        raise UsageError(
            "promote: no key; sign with --key FILE (robogate keygen makes one), or promote an "
            "unsigned bundle with --allow-unsigned",
            code="key",
        )
    if args.key is not None and args.allow_unsigned:
        raise UsageError("promote: --key and --allow-unsigned exclude each other", code="key")
    run = args.result.parent if args.result.name == RESULT else args.result
    qualification = args.qualification
    if qualification.name == "qualification.json":
        qualification = qualification.parent
    done = promote(
        run,
        qualification,
        args.board,
        key=None if args.key is None else load_private_key(args.key),
        allow_declared=args.allow_declared,
    )
    about = done.report.about
    if args.json:
        print(
            json.dumps(
                {"bundle": str(done.folder), "created": done.created, **about},
                indent=1,
                ensure_ascii=False,
            )
        )
        return 0
    print(f"{'promoted' if done.created else 'already promoted'}: {done.folder}")
    print(
        f"{about['role']}, {about['successes']} successes of {about['scored']} scored, "
        f"qualification {about['qualification_id'][:16]}"
    )
    if about["declared"]:
        print(f"DECLARED, not measured: {', '.join(about['declared'])}")
    print(
        "UNSIGNED" if about["signed_by"] is None else f"signed with key {about['signed_by'][:16]}"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="robogate promote",
        description="Verify a complete, qualified run, and put it on a board as one immutable, "
        "content-addressed bundle with everything that proves it.",
        epilog="Exit status: 0 promoted, 3 something does not hold, 2 cannot be read or written.",
    )
    parser.add_argument("result", type=Path, metavar="RESULT", help="run folder or its result.json")
    parser.add_argument(
        "--qualification", type=Path, required=True, metavar="DIR", help="that the run names"
    )
    parser.add_argument("--board", type=Path, required=True, metavar="DIR", help="holds bundles")
    parser.add_argument("--key", type=Path, metavar="FILE", help="private key that signs")
    parser.add_argument(
        "--allow-unsigned", action="store_true", help="promote without a signature; shown as such"
    )
    parser.add_argument(
        "--allow-declared",
        action="store_true",
        help="promote an identity that a policy server declared; shown as such",
    )
    parser.add_argument("--json", action="store_true", help="print what was promoted as JSON")
    return parser
