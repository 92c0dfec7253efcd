"""The run's log file."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from robogate.runs.folder import LOG


@contextmanager
def logging_to(folder: Path) -> Iterator[None]:
    """Write what robogate logs to ``run.log`` in a run folder, while the run lasts.

    Raises:
        OSError: The file cannot be opened.
    """
    logger = logging.getLogger("robogate")
    handler = logging.FileHandler(folder / LOG, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    before, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
        logger.setLevel(before)
        logger.propagate = propagate
