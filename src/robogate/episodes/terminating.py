"""SIGTERM as an exception of the main thread, so that a run can end in order."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from robogate.errors import Terminated


@contextmanager
def terminate_in_order() -> Iterator[None]:
    """Let SIGTERM end the run in order: its children too, and the journal between two lines.

    Raises:
        Terminated: The process was asked to terminate.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    owner = os.getpid()

    def terminate(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:  # a policy's forked helper, which inherits this handler
            os._exit(128 + number)
        raise Terminated(number)

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
