"""`robogate doctor`: check the machine, and say what to type where something is not there."""

from __future__ import annotations

import argparse
import dataclasses
import json
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from robogate.printable import printable
from robogate.reports.figures import number_of
from robogate.runs.doctor import Finding, examine

DOCTOR_SCHEMA = "robogate.doctor/1"

_LABELS = {"ok": "ok", "note": "note", "fault": "FAULT"}
_WIDTH = 80
_INDENT = " " * 20


def main(argv: Sequence[str]) -> int:
    """Run the verb.

    Returns:
        0 where nothing is broken, 3 where something is.
    """
    args = _parser().parse_args(argv)
    findings: list[Finding] = []
    for finding in examine(args.outputs):
        findings.append(finding)
        if not args.json:
            print("\n".join(_lines(finding)), flush=True)
    faults = sum(finding.level == "fault" for finding in findings)
    if args.json:
        document = {
            "schema": DOCTOR_SCHEMA,
            "healthy": not faults,
            "checks": [dataclasses.asdict(finding) for finding in findings],
        }
        print(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        print(f"\n{number_of(faults, 'fault')}" if faults else "\nready to evaluate")
    return 3 if faults else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="robogate doctor",
        description="Check this machine: Python, packages, rendering, GPU, disk, assets, DVC, W&B "
        "and the signing key. What is broken or missing says what to type.",
        epilog="Exit status: 0 nothing is broken (notes are optional), 3 something is.",
    )
    parser.add_argument(
        "--outputs", type=Path, default=Path("outputs"), metavar="DIR", help="folder of the runs"
    )
    parser.add_argument("--json", action="store_true", help="print the checks as JSON")
    return parser


def _lines(finding: Finding) -> Iterator[str]:
    head = f"{_LABELS[finding.level]:<7}{finding.name:<13}"
    text = printable(finding.text)
    yield from textwrap.wrap(
        text, _WIDTH, initial_indent=head, subsequent_indent=_INDENT, break_on_hyphens=False
    )
    if finding.command:
        yield from textwrap.wrap(
            printable(finding.command),
            _WIDTH,
            initial_indent=f"{'':<13}type:  ",
            subsequent_indent=_INDENT,
            break_on_hyphens=False,
            break_long_words=False,
        )
