"""A process that ends with its parent, and takes along whatever a simulator has started."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1
_WATCH_S = 0.5


def die_with(parent: int) -> None:
    """End this process when its parent ends, and its own processes when it ends.

    The kernel ends this process even while native code holds the main thread. A simulator's own
    processes would survive that, so a guard is forked that ends the process group; it does so only
    where this process leads one, as those that `ChildProcess` starts do.

    Call it before any thread is started.

    Args:
        parent: Process id of the parent.
    """
    if os.getpgid(0) == os.getpid():
        _fork_guard()
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_S)
        os._exit(1)

    if os.getppid() != parent:  # it ended before the request above
        os._exit(1)
    threading.Thread(target=watch, name="robogate-parent-watch", daemon=True).start()


def _fork_guard() -> None:
    """Fork a process that ends this one's group as soon as this one is gone, however it went."""
    guarded = os.getpid()
    if os.fork():
        return
    # It must not keep the connection to the runner open, or outlive the group it guards.
    for name in os.listdir("/proc/self/fd" if sys.platform == "linux" else "/dev/fd"):
        with contextlib.suppress(OSError):  # the listing's own descriptor is gone by now
            os.close(int(name))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while os.getppid() == guarded:
        time.sleep(_WATCH_S)
    os.killpg(guarded, signal.SIGKILL)
    os._exit(0)
