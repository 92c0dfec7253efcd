"""Prints the tables of the last measurements, or puts them into docs/benchmarks.md.

.venv/bin/python benchmarks/report.py [--write | --check]
"""

from __future__ import annotations

import argparse
import json
import re
import sys

from common import RESULTS, ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
_BLOCK = re.compile(r"(<!-- results: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def tables(name: str) -> str:
    """What a benchmark printed last."""
    path = RESULTS / f"{name}.json"
    if not path.is_file():
        sys.exit(f"{path} is missing: run benchmarks/{name}.py first")
    return "\n".join(json.loads(path.read_text(encoding="utf-8"))["tables"])


def filled(page: str) -> str:
    """The page with every block replaced by what was measured."""
    return _BLOCK.sub(lambda m: f"{m[1]}{tables(m[2])}\n{m[4]}", page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    choice.add_argument("--check", action="store_true", help="whether the page holds them")
    args = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    if args.write:
        PAGE.write_text(filled(page), encoding="utf-8")
    elif args.check:
        if filled(page) != page:
            sys.exit("docs/benchmarks.md does not hold the results: benchmarks/report.py --write")
    else:
        for path in sorted(RESULTS.glob("*.json")):
            print(f"## {path.stem}\n\n{tables(path.stem)}\n")


if __name__ == "__main__":
    main()
