"""A GR00T checkpoint's feature, processor and action-decode files, checked before any weight."""

from __future__ import annotations

from pathlib import Path

from robogate.adapters.checkpoint_files import require_folder
from robogate.adapters.groot_files import GrootCheckpoint
from robogate.adapters.groot_metadata import read_metadata
from robogate.adapters.groot_processor import read_processor
from robogate.contract.adapter_schema import GrootAdapter


def read_checkpoint(folder: Path | None, adapter: GrootAdapter) -> GrootCheckpoint:
    """Check a checkpoint's files field by field; no weight is read.

    Args:
        folder: ``adapter.checkpoint``.
        adapter: Of the contract.

    Raises:
        RunError: ``checkpoint``: what is wrong, in which file and field, and what to do.
    """
    found = require_folder(folder)
    read = read_metadata if adapter.layout == "n1.5" else read_processor
    return read(found, adapter)
