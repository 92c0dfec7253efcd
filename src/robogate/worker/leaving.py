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
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NoReturn

from robogate.errors import Terminated

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_ENDED_ANYWAY = 1


class Ending:
    """What SIGTERM and SIGINT do to a worker; `asked_to_end` makes one.

    The first of them counts, however many come. While the robot is built it raises `Terminated` in
    the main thread; once the robot is served it calls a function from another thread: native code
    may hold the main thread for as long as it likes, so Python's own handlers may never run, and
    the byte that the C-level handler writes is read by a thread that always does.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: int | None = None
        self._stop: Callable[[], None] | None = None
        self._interrupts = False
        self._installed = False
        self._masks = threading.local()
        self._before: dict[signal.Signals, Any] = {}
        self._wakeup = -1
        self._thread: threading.Thread | None = None
        self._ours, self._theirs = socket.socketpair()
        self._theirs.setblocking(False)

    def watch(self, grace_s: float) -> None:
        """Start the thread that looks out for signals, those that have come before included.

        Args:
            grace_s: What has not ended this long after the first signal is ended by force, s.
        """
        self._thread = threading.Thread(
            target=self._watch, args=(grace_s,), name="robogate-signals", daemon=True
        )
        self._thread.start()

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """While inside, the first signal raises; one that has come before raises at once.

        Raises:
            Terminated: The process was asked to end, also where what ran inside made another
                exception of that.
        """
        self._interrupts = True
        try:
            self.check()
            yield
        except BaseException:
            self.check()
            raise
        finally:
            self._interrupts = False

    def serving(self, stop: Callable[[], None]) -> None:
        """From now on the first signal calls ``stop``; one that has come before does at once.

        The handlers are set again: a simulator may have set its own.
        """
        self._install()
        with self._lock:
            self._stop = stop
            asked = self._asked is not None
        if asked:
            stop()

    def check(self) -> None:
        """Go on only where nobody has asked for the end.

        Raises:
            Terminated: Somebody has.
        """
        if self._asked is not None:
            self._interrupts = False
            raise Terminated(self._asked)

    def _handle(self, number: int, _frame: Any) -> None:
        """In the main thread, between two of its instructions."""
        if self._asked is None:
            self._asked = number
        if self._interrupts:
            self.check()

    def _install(self) -> None:
        before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        wakeup = signal.set_wakeup_fd(self._theirs.fileno(), warn_on_full_buffer=False)
        if not self._installed:
            self._before, self._wakeup, self._installed = before, wakeup, True

    def _end(self) -> None:
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            if handler is not None:  # one that native code has set cannot be put back
                signal.signal(number, handler)
        self._installed = False
        self._theirs.close()
        if self._thread is not None:
            self._thread.join()
        self._ours.close()

    def _before_fork(self) -> None:
        """A signal to a process that the robot forks is not one to the worker.

        A child shares the worker's handlers and its socket until it has put both aside.
        """
        self._masks.old = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)

    def _after_fork(self) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._masks.old)

    def _in_forked_child(self) -> None:
        if self._installed:
            signal.set_wakeup_fd(-1)
            for number in _SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            self._installed = False
        self._after_fork()

    def _watch(self, grace_s: float) -> None:
        asked: set[int] = set()
        while not asked:
            data = self._ours.recv(64)
            if not data:
                return  # the end of the context
            asked = {int(number) for number in _SIGNALS} & set(data)
        with self._lock:
            if self._asked is None:
                self._asked = min(asked)
            stop, number = self._stop, self._asked
        if stop is not None:
            stop()
        deadline = time.monotonic() + grace_s
        while (left := deadline - time.monotonic()) > 0:
            self._ours.settimeout(left)
            with contextlib.suppress(TimeoutError):
                if not self._ours.recv(64):
                    return
        if self._stop is None:  # nothing is wrong with a robot that takes its time to be built
            say("ended by force: its robot was still being built")
            end_children()
            os._exit(128 + number)
        force_end("it did not end when asked to")


@contextlib.contextmanager
def asked_to_end() -> Iterator[Ending]:
    """While inside, SIGTERM and SIGINT end this process in order; for the main thread alone."""
    ending = Ending()
    os.register_at_fork(
        before=ending._before_fork,
        after_in_parent=ending._after_fork,
        after_in_child=ending._in_forked_child,
    )
    ending._install()
    try:
        yield ending
    finally:
        ending._end()


@contextlib.contextmanager
def bounded(limit_s: float, what: str) -> Iterator[None]:
    """End the process by force where the inside takes too long: nothing can interrupt native code.

    Args:
        limit_s: s.
        what: For the message.
    """
    text = f"{what} took more than {limit_s:g} s"
    timer = threading.Timer(limit_s, force_end, args=(text,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def force_end(why: str) -> NoReturn:
    """End this process and its children at once, from any thread; say why, and where it was."""
    say(f"ended by force: {why}")
    with contextlib.suppress(OSError, ValueError):
        faulthandler.dump_traceback(sys.stderr, all_threads=True)
    end_children()
    os._exit(_ENDED_ANYWAY)


def leave(status: int) -> NoReturn:
    """End this process after everything was said.

    Native libraries may hang or crash while they are torn down, which no client should wait for.
    """
    end_children()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # whoever read it may be gone
            stream.flush()
    os._exit(status)


def say(text: str) -> None:
    """Tell on stderr what becomes of the worker."""
    with contextlib.suppress(OSError, ValueError):  # whoever read it may be gone
        print(f"robogate serve: {text}", file=sys.stderr, flush=True)


def end_children(spared: Collection[int] = ()) -> None:
    """Kill every process that descends from this one; where there is no /proc, none is found.

    Args:
        spared: Process ids of those that live on.
    """
    for _ in range(3):  # a child may have had children in between
        found = [pid for pid in descendants() if pid not in spared]
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in found:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if not found:
            return
        time.sleep(0.01)


def descendants() -> list[int]:
    """Process ids of the living processes that this one has started, directly or not."""
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
