"""Standard output for the summary alone: what anything else prints there goes to standard error.

A policy shares our process. Its prints, those of its native libraries and of its children would
stand between the lines that a program is about to parse.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TextIO

_STDOUT, _STDERR = 1, 2


@contextmanager
def summary_alone() -> Iterator[TextIO]:
    """Keep standard output to oneself.

    The descriptor stays turned away for the rest of the process: a library may print at its exit.

    Yields:
        The stream that leads to where standard output led before.
    """
    before = sys.stdout
    with redirect_stdout(sys.stderr):
        if not _is_descriptor(before):
            yield before  # captured by a caller in this process; no descriptor leads there
            return
        before.flush()
        kept = os.dup(_STDOUT)  # not inherited by children
        os.dup2(_STDERR, _STDOUT)
        with open(kept, "w", encoding=before.encoding, errors=before.errors) as stream:
            yield stream


def _is_descriptor(stream: TextIO) -> bool:
    try:
        return stream.fileno() == _STDOUT
    except (OSError, ValueError):
        return False  # in memory, or closed
