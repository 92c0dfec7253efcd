"""Waiting for what is sure to come: no test hopes that a while is long enough, or says how fast.

A limit is there for the case that something is broken. It is far beyond what a loaded machine
needs, and a test that passes does not spend it.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

#: How long a test waits for what is sure to come, s.
PATIENCE_S = 60.0
#: What is promised to have ended within 5 s of its parent is looked for this long, s.
ORPHAN_S = 5 * 5.0


def until(condition: Callable[[], object], limit_s: float = PATIENCE_S) -> bool:
    """Wait for a condition; return whether it has come true."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def alive(pid: int) -> bool:
    """Whether a process still runs; one that waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pids: Iterable[int], limit_s: float = PATIENCE_S) -> bool:
    """Wait for the end of processes; return whether all have ended.

    A process that was killed may need a moment to be gone.
    """
    waiting = list(pids)
    return until(lambda: not any(map(alive, waiting)), limit_s)


class Barrier:
    """Where another process stops until the test lets it go on: a named pipe.

    Attributes:
        path: For `stop_at`, in the other process.
    """

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "barrier")
        os.mkfifo(self.path)
        self._writer: int | None = None

    def reached(self) -> None:
        """Return when the other process is there."""
        assert until(self._is_read), "nobody has come to the barrier"

    def _is_read(self) -> bool:
        try:
            self._writer = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as exc:
            assert exc.errno == errno.ENXIO, exc  # nobody reads yet
            return False
        return True

    def lift(self) -> None:
        """Let whoever is there go on; there is no barrier any more."""
        os.unlink(self.path)
        if self._writer is not None:
            os.close(self._writer)
            self._writer = None


def stop_at(path: str | None) -> None:
    """Stop at a barrier, where there is one."""
    if path and os.path.exists(path):
        with open(path) as stream:
            stream.read()
