"""From many clients to one environment: one request at a time, first come first served, bounded.

The environment's thread runs `Jobs.run`; any other thread submits. A job whose client has left
before its turn is dropped: nobody would learn what it did.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from robogate.worker.call_error import CallError, from_environment
from robogate.worker.requests import Request

#: Called with the result or the error, in the environment's thread or the watching one.
Done = Callable[[Any, "CallError | None"], None]


@dataclass
class Job:
    """One request on its way.

    Attributes:
        request: What to do.
        done: Told how it ended, once.
        abandoned: Set by whoever submitted it when the client has left.
        answered: Set by whoever submitted it once the client has been answered.
    """

    request: Request
    done: Done
    abandoned: bool = False
    answered: threading.Event = field(default_factory=threading.Event, repr=False)
    _settled: bool = field(default=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def settle(self, result: Any, error: CallError | None) -> bool:
        """Tell how it ended, unless that has been told; return whether this was it."""
        with self._lock:
            if self._settled:
                return False
            self._settled = True
        self.done(result, error)
        return True


class Jobs:
    """The bounded queue in front of an environment.

    Args:
        perform: Does what a request asks for.
        limit: Requests that may wait; one more is refused.
        reset_s: How long a reset may take, s.
        step_s: How long anything else may take, s.
    """

    def __init__(
        self, perform: Callable[[Request], Any], limit: int, reset_s: float, step_s: float
    ) -> None:
        self._perform, self._limit = perform, limit
        self._reset_s, self._step_s = reset_s, step_s
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._stopping = False
        self._running: tuple[Job, float, float] | None = None

    def submit(self, request: Request, done: Done) -> Job:
        """Queue a request.

        Raises:
            CallError: 429 where too many wait, 503 where the worker is stopping.
        """
        job = Job(request, done)
        with self._lock:
            if self._stopping:
                raise _stopping()
            if self._waiting >= self._limit:
                raise CallError(
                    429, "queue_full", f"{self._limit} requests are waiting; one robot, one client"
                )
            self._waiting += 1
            self._queue.put(job)
        return job

    def run(self) -> None:
        """Do the jobs, until `stop`; what waits then is refused."""
        while True:
            job = self._queue.get()
            if job is None:
                break
            with self._lock:
                self._waiting -= 1
            if self._stopping:
                job.settle(None, _stopping())
            elif not job.abandoned:
                self._do(job)

    def stop(self) -> None:
        """Let `run` return after the present job, from any thread."""
        with self._lock:
            self._stopping = True
            self._queue.put(None)

    def overdue(self) -> tuple[Job, float] | None:
        """The present job and its limit in s, where it has taken too long."""
        running = self._running
        if running is None or time.monotonic() < running[1]:
            return None
        return running[0], running[2]

    def _do(self, job: Job) -> None:
        limit = self._reset_s if job.request.name == "reset" else self._step_s
        self._running = (job, time.monotonic() + limit, limit)
        try:
            result, error = self._perform(job.request), None
        except CallError as exc:
            result, error = None, exc
        except Exception as exc:
            result, error = None, from_environment(exc)
        self._running = None
        job.settle(result, error)


def _stopping() -> CallError:
    return CallError(503, "stopping", "the worker is stopping")
