"""`robogate verify PATH`: recompute what is derived, compare what is bound, name the rest."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from robogate.errors import UsageError
from robogate.evidence.files import RESULT, Unreadable
from robogate.evidence.qualification import DOCUMENT, verify_qualification
from robogate.evidence.report import Means, Report
from robogate.evidence.validator import validate_run

#: Looked up by name when asked for: replay drives a simulator, and this floor imports none.
REPLAY = "robogate.runs.replay"


def main(argv: Sequence[str]) -> int:
    """Run the verb.

    Returns:
        0 where everything holds, 3 where something does not.

    Raises:
        Unreadable: There is nothing that could be verified; exit status 2.
        UsageError: ``--replay`` of something that is not a run, or without a simulator.
    """
    args = _parser().parse_args(argv)
    path = Path(args.path)
    kind, folder = locate(path)
    if args.replay and kind != "run":
        raise UsageError(f"{path}: --replay re-executes a run, this is a {kind}")
    verify = validate_run if kind == "run" else verify_qualification
    report = verify(folder)
    replayed = _replay(folder) if args.replay and report.holds else None
    if args.json:
        print(json.dumps(as_json(report, replayed), indent=1, ensure_ascii=False))
    else:
        print(as_text(report))
        if replayed is not None:
            print(_replay_text(replayed))
        for fault in report.faults:
            print(str(fault), file=sys.stderr)
    if args.replay and not report.holds:
        print("robogate: not replayed: the recorded run does not hold", file=sys.stderr)
    return report.exit_code or (replayed.exit_code if replayed is not None else 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="robogate verify",
        description="Verify a run or a qualification from its files alone.",
        epilog="Exit status: 0 everything holds, 3 something does not, 2 it cannot be read.",
    )
    parser.add_argument("path", metavar="PATH", help="run folder, result.json or qualification")
    parser.add_argument(
        "--replay",
        action="store_true",
        help="besides, execute the recorded actions again and compare the chains (bitwise benches)",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    return parser


def locate(path: Path) -> tuple[str, Path]:
    """What lies at a path: ``run`` or ``qualification``, and its folder.

    Raises:
        Unreadable: Neither.
    """
    if not path.exists():
        dangling = "a link to nothing" if path.is_symlink() else "no such file or folder"
        raise Unreadable(f"{path}: {dangling}")
    if path.is_file():
        if path.name not in (RESULT, DOCUMENT):
            raise Unreadable(f"{path}: expected a folder, {RESULT} or {DOCUMENT}")
        return ("run" if path.name == RESULT else "qualification"), path.parent
    if (path / DOCUMENT).exists():
        return "qualification", path
    return "run", path


def _replay(folder: Path) -> Any:
    try:
        replay = importlib.import_module(REPLAY).replay
    except ModuleNotFoundError as exc:
        raise UsageError(
            f"--replay needs the simulator of the run ({exc.name} is not installed); "
            "pip install 'robogate-harness[full]'",
            code="replay",
        ) from exc
    return replay(folder)


def _replay_text(replayed: Any) -> str:
    return str(replayed)


def as_json(report: Report, replayed: Any = None) -> dict[str, Any]:
    """The report as plain JSON values."""
    return {
        "kind": report.kind,
        "subject": report.subject,
        "holds": report.holds,
        "about": report.about,
        "checks": [
            {
                "name": check.name,
                "means": check.means.value,
                "count": check.count,
                "holds": check.holds,
            }
            for check in report.checks
        ],
        "faults": [{"path": fault.path, "message": fault.message} for fault in report.faults],
        "replay": None if replayed is None else replayed.as_json(),
    }


def as_text(report: Report) -> str:
    """The report for people: a line for each check, then what it comes to."""
    width = max((len(check.name) for check in report.checks), default=0)
    lines = [f"{report.kind} {report.subject}"]
    for check in report.checks:
        verdict = "holds" if check.holds else f"{len(check.faults)} FAULTS"
        if check.holds and check.means is Means.HASHED:
            verdict = "present"
        lines.append(
            f"  {check.name:<{width}}  {check.means.value:<10}  {check.count:>6}  {verdict}"
        )
    lines.extend(_headline(report))
    hashed = [check.name for check in report.checks if check.means is Means.HASHED]
    if report.holds and hashed:
        lines.append(
            "'hash only': observed once; its hash shows a later change, nothing here recomputes it"
        )
    count = len(report.faults)
    lines.append("holds" if report.holds else f"does not hold: {count} fault{'s' * (count != 1)}")
    return "\n".join(lines)


def _headline(report: Report) -> list[str]:
    about = report.about
    if not about:
        return ["  not decoded any further"]
    if report.kind == "qualification":
        runs = ", ".join(f"{name} {score}" for name, score in about["controls"].items())
        return [f"status {about['status']}: {runs}", f"qualification {about['qualification_id']}"]
    counts = (
        f"status {about['status']}: {about['successes']} successes of {about['scored']} scored, "
        f"{about['errored']} errored, {about['not_started']} not started"
    )
    return [counts, f"contract {about['contract_sha256']}", about["scope"]]
