"""How a worker process ends: when asked to, in order; when it cannot, all the same."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_ENDED_ANYWAY = 1


@contextlib.contextmanager
def asked_to_end(stop: Callable[[], None], grace_s: float) -> Iterator[None]:
    """While inside, SIGTERM and SIGINT call ``stop`` from another thread.

    Native code may hold the main thread for as long as it likes, so Python's own handlers may never
    run; the byte that the C-level handler writes is read by a thread that always does. Whatever
    has not ended ``grace_s`` after the first signal is ended by force, with status 1.
    """
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)

    def watch() -> None:
        numbers = {int(number) for number in _SIGNALS}
        while True:
            data = ours.recv(64)
            if not data:
                return
            if numbers & set(data):
                break
        stop()
        ours.settimeout(grace_s)
        with contextlib.suppress(OSError):
            if not ours.recv(1) or ours.recv(1):  # the end of this context, or another signal
                return
        force_end("it did not end when asked to")

    before = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
    wakeup = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=watch, name="robogate-signals", daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        theirs.close()


class StartWatch:
    """Ends the process by force where something has not happened in time.

    Args:
        limit_s: Until `done` must have been called, s.
        what: For the message.
    """

    def __init__(self, limit_s: float, what: str) -> None:
        self._timer = threading.Timer(
            limit_s, force_end, args=(f"{what} took more than {limit_s:g} s",)
        )
        self._timer.daemon = True
        self._timer.start()

    def done(self) -> None:
        """It has happened."""
        self._timer.cancel()


def force_end(why: str) -> NoReturn:
    """End this process and its children at once, from any thread; say why, and where it was."""
    print(f"robogate serve: ended by force: {why}", file=sys.stderr, flush=True)
    with contextlib.suppress(OSError, ValueError):
        faulthandler.dump_traceback(sys.stderr, all_threads=True)
    end_children()
    os._exit(_ENDED_ANYWAY)


def leave(status: int) -> NoReturn:
    """End this process after everything was said.

    Native libraries may hang or crash while they are torn down, which no client should wait for.
    """
    end_children()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def end_children() -> None:
    """Kill every process that descends from this one; where there is no /proc, none is found."""
    for _ in range(3):  # a child may have had children in between
        found = _descendants()
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in found:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if not found:
            return
        time.sleep(0.01)


def _descendants() -> list[int]:
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                parents[int(folder.name)] = int(fields[1])
    found: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        parent = waiting.pop()
        children = [pid for pid, its in parents.items() if its == parent]
        found += children
        waiting += children
    return found
