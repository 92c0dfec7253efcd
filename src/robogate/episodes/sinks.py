"""Who else sees an episode: recorders, progress displays, mirrors. None of them can change it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from robogate.records.observation import FloatArray, Observation
from robogate.records.result import Episode
from robogate.scenes.manifest import Scenario

log = logging.getLogger(__name__)


class EpisodeSink(Protocol):
    """Watches episodes, which may overlap. Calls come from any thread, one at a time.

    A sink is on the critical path: what takes long belongs in a thread of its own.
    """

    def started(self, scenario: Scenario) -> None:
        """Its ``started`` record is on disk; nothing has been reset yet."""
        ...

    def observed(
        self, scenario: Scenario, observation: Observation, action: FloatArray | None
    ) -> None:
        """A verified observation.

        Args:
            scenario: Of the episode.
            observation: May be kept; its arrays are not to be written.
            action: That led to it; None for observation 0.
        """
        ...

    def finished(self, episode: Episode) -> None:
        """Its terminal record is on disk."""
        ...


class SinkFanOut:
    """Several sinks behind one, none of which can harm the run or another sink.

    A sink that raises is told nothing more, and the failure is reported once.

    Args:
        sinks: Told in this order.
        warn: Takes one line for the user; besides, it is logged.
    """

    def __init__(
        self, sinks: Sequence[EpisodeSink], warn: Callable[[str], None] | None = None
    ) -> None:
        self._sinks = list(sinks)
        self._warn = warn
        self._warnings: list[str] = []
        self._lock = threading.Lock()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong so far, one line each."""
        with self._lock:
            return tuple(self._warnings)

    def started(self, scenario: Scenario) -> None:
        """Tell every sink."""
        self._tell("started", lambda sink: sink.started(scenario))

    def observed(
        self, scenario: Scenario, observation: Observation, action: FloatArray | None
    ) -> None:
        """Tell every sink."""
        self._tell("observed", lambda sink: sink.observed(scenario, observation, action))

    def finished(self, episode: Episode) -> None:
        """Tell every sink."""
        self._tell("finished", lambda sink: sink.finished(episode))

    def _tell(self, what: str, call: Callable[[EpisodeSink], None]) -> None:
        with self._lock:
            for sink in tuple(self._sinks):
                try:
                    call(sink)
                except Exception as exc:
                    self._sinks.remove(sink)
                    self._report(sink, what, exc)

    def _report(self, sink: EpisodeSink, what: str, exc: Exception) -> None:
        text = (
            f"{type(sink).__name__} failed at '{what}' and is told nothing more "
            f"({type(exc).__name__}: {exc}); the run itself is not affected"
        )
        self._warnings.append(text)
        log.warning("%s", text, exc_info=exc)
        if self._warn is not None:
            try:
                self._warn(text)
            except Exception:
                log.exception("the warning could not be shown")
