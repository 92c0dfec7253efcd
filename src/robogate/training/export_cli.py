"""``robogate train checkpoints``: make a checkpoint of every set of weights that was kept."""

from __future__ import annotations

import argparse
from pathlib import Path

from robogate.contract.canonical import read_json
from robogate.contract.strict import decode
from robogate.errors import UsageError
from robogate.training.fit_cli import LOG, weights_name
from robogate.training.recipe import Recipe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--training", type=Path, required=True, metavar="DIR", help="of 'fit'")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to fill")


def main(args: argparse.Namespace) -> int:
    """Export every checkpoint, and run each of them once.

    Raises:
        UsageError: The training is not complete.
    """
    if not (args.training / LOG).is_file():
        raise UsageError(
            f"{args.training}: has no {LOG}: the training is not complete; 'robogate train fit' "
            "goes on with it",
            code="training",
        )
    log = read_json(args.training / LOG)
    from robogate.training.export import export

    for step in decode(Recipe, log["recipe"], f"{LOG}:$.recipe").checkpoints:
        folder = args.out / f"{step:05d}"
        folder.mkdir(parents=True, exist_ok=True)
        size = export(args.training / weights_name(step), log, step, folder)
        print(f"{folder}: {size} bytes")
    return 0
