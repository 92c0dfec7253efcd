"""How long a mirror lives: it sees that its run is over, and ends soon after, come what may."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

from robogate.evidence.files import RESULT

POLL_S = 0.25
#: How long it may go on after the run, offline and online; without a result, and when the run's
#: process is gone, no longer than that.
FINISH_S = {"offline": 120.0, "online": 300.0}
ABANDONED_S = 2.0


class Follower:
    """Knows when the run is over, and makes sure that this process ends soon after.

    Args:
        folder: The run folder.
        mode: ``offline`` or ``online``.
        scratch: Temporary folder of this process, removed with it.
    """

    def __init__(self, folder: Path, mode: str, scratch: Path) -> None:
        self._folder = folder
        self._mode = mode
        self._scratch = scratch
        self._parent = os.getppid()
        self._told = threading.Event()
        self._hung_up = False
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    def _listen(self) -> None:
        """The run's process says that it is over, or its end of the pipe closes with it."""
        self._hung_up = not sys.stdin.buffer.read(1)
        self._told.set()

    def over(self) -> bool:
        """Whether the run is over or its process is gone."""
        return self._told.is_set() or self._is_orphan()

    def has_result(self) -> bool:
        """Whether the run ended with a result."""
        return (self._folder / RESULT).is_file()

    def _watch(self) -> None:
        while not self.over():
            time.sleep(POLL_S)
        end = time.monotonic() + FINISH_S[self._mode]
        while time.monotonic() < end and (self.has_result() or not self._is_orphan()):
            time.sleep(POLL_S)
        if not self.has_result():
            time.sleep(ABANDONED_S)
        end_now(13, self._scratch)

    def _is_orphan(self) -> bool:
        """Whether the run's process is gone, even since before this one looked for it."""
        return self._hung_up or os.getppid() != self._parent


def clear(scratch: Path) -> None:
    """End the processes that this one started, and remove its and their temporary files."""
    try:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    except OSError:
        children = []  # they watch this process, and follow it a moment later
    for child in children:
        try:
            os.kill(int(child), signal.SIGKILL)
        except ProcessLookupError:
            continue
    shutil.rmtree(scratch, ignore_errors=True)


def end_now(status: int, scratch: Path) -> None:
    """End this process without waiting for anything."""
    clear(scratch)
    os._exit(status)
