"""``robogate train``: demonstrations, their export, training, checkpoints."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Any, cast

#: Stage: the module that has ``add_arguments`` and ``main``, and a line of help.
STAGES: dict[str, tuple[str, str]] = {
    "demos": ("robogate.training.record_cli", "record demonstrations of the scripted control"),
    "dataset": ("robogate.training.dataset_cli", "export them as a LeRobotDataset v3"),
    "fit": ("robogate.training.fit_cli", "train the network on the data set"),
    "checkpoints": ("robogate.training.export_cli", "make checkpoints of the kept weights"),
}


def main(argv: Sequence[str]) -> int:
    """Run the verb; what it returns and raises is the stage's."""
    parser = argparse.ArgumentParser(
        prog="robogate train", description="Train the harness's own small policy."
    )
    parts = parser.add_subparsers(dest="stage", required=True, metavar="STAGE")
    modules = {}
    for name, (module, text) in STAGES.items():
        modules[name] = cast(Any, importlib.import_module(module))
        modules[name].add_arguments(parts.add_parser(name, help=text, description=text))
    args = parser.parse_args(argv)
    return int(modules[args.stage].main(args))
