"""``robogate train dataset``: export demonstrations as a LeRobotDataset v3."""

from __future__ import annotations

import argparse
from pathlib import Path

#: Component of each action of the pick-and-place bench.
ACTION_NAMES = ("dx", "dy", "dz", "rx", "ry", "rz", "gripper")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--demos", type=Path, required=True, metavar="DIR", help="recorded")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to fill")
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="stop after this long; run again to go on"
    )


def main(args: argparse.Namespace) -> int:
    """Export, read back, compare.

    Returns:
        0 where the export is complete, 3 where ``--seconds`` ended it before.
    """
    from robogate.training import dataset

    index = dataset.write(args.demos, args.out, ACTION_NAMES, args.seconds)
    if index is None:
        print(f"{args.out}: not complete; run again to go on")
        return 3
    print(
        f"{args.out}: LeRobotDataset {dataset.codebase_version(args.out)}, {index.recorded} "
        f"episodes, {index.frames} frames, read back and equal"
    )
    return 0
