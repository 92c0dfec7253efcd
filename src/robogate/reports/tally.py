"""Where a run stands while it is going on: counts, pace and what is left."""

from __future__ import annotations

import time

from robogate.records.result import Episode
from robogate.runs.progress import RunPlan


class Tally:
    """Counts the episodes of one run as they end.

    Args:
        plan: Of the run; episodes recorded before a resume count, but not towards the pace.
        clock: Monotonic time, s.
    """

    def __init__(self, plan: RunPlan, clock: float | None = None) -> None:
        self.total = len(plan.scenarios)
        self.done = self.scored = self.errored = self.successes = 0
        for episode in plan.recorded:
            self.add(episode)
        self._already = self.done
        self._start = self._last = time.monotonic() if clock is None else clock
        self.running: dict[str, float] = {}

    def start(self, scenario_id: str) -> None:
        """A scenario begins."""
        self.running[scenario_id] = time.monotonic()

    def add(self, episode: Episode) -> None:
        """An episode ended; an error is neither a success nor a failure."""
        self.done += 1
        if episode.outcome == "error":
            self.errored += 1
        else:
            self.scored += 1
            self.successes += episode.outcome == "success"

    def finish(self, episode: Episode, clock: float | None = None) -> None:
        """An episode of this process ended."""
        self.running.pop(episode.scenario_id, None)
        self.add(episode)
        self._last = time.monotonic() if clock is None else clock

    def elapsed(self, clock: float | None = None) -> float:
        """Seconds since the start."""
        return (time.monotonic() if clock is None else clock) - self._start

    def per_minute(self) -> float | None:
        """Episodes per minute until the last one that ended; None before the first."""
        finished, spent = self.done - self._already, self._last - self._start
        return 60.0 * finished / spent if finished and spent > 0.0 else None

    def remaining(self, clock: float | None = None) -> float | None:
        """Estimated seconds until the end; None before the first episode ended."""
        pace = self.per_minute()
        if pace is None:
            return None
        now = time.monotonic() if clock is None else clock
        return max(0.0, 60.0 * (self.total - self.done) / pace - (now - self._last))
