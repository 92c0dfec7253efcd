"""What a run tells those who watch it; the watchers themselves live above, in reports.

Watching can never change a run: `Reporters` drops a watcher that raises, says so once to the rest,
and goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from robogate.records.result import Episode
from robogate.scenes.manifest import Scenario


@dataclass(frozen=True)
class RunPlan:
    """What is about to be run.

    Attributes:
        run_id: Of the run.
        folder: Its absolute run folder.
        contract: The frozen contract document.
        contract_sha256: Its hash.
        scenarios: The declared set, in manifest order: the whole manifest or a named subset.
        recorded: Episodes that the journal of a resumed run already holds; else empty.
        workers: Number of simulator processes.
    """

    run_id: str
    folder: Path
    contract: Mapping[str, Any]
    contract_sha256: str
    scenarios: tuple[Scenario, ...]
    recorded: tuple[Episode, ...]
    workers: int

    @property
    def bench(self) -> str:
        """Harness ID of the bench, as in the contract."""
        return str(self.contract["bench"]["harness_id"])

    @property
    def adapter(self) -> str:
        """Kind of the adapter, as in the contract."""
        return str(self.contract["adapter"]["kind"])


class RunReporter(Protocol):
    """Watches one run. Every call may come from any thread, one at a time, and returns at once."""

    def run_started(self, plan: RunPlan) -> None:
        """The run folder exists, and nothing has been reset yet."""
        ...

    def episode_started(self, scenario: Scenario) -> None:
        """A scenario is journalled as started."""
        ...

    def episode_finished(self, episode: Episode) -> None:
        """Its terminal record is journalled."""
        ...

    def warning(self, text: str) -> None:
        """Something needs attention: one line that says what to do. The run goes on."""
        ...

    def run_finished(self, result: Mapping[str, Any], folder: Path) -> None:
        """The validated result document is written, and so is every other file of the folder."""
        ...

    def close(self) -> None:
        """The run is over, with or without a result; may be called twice."""
        ...


class NullReporter:
    """Watches nothing."""

    def run_started(self, plan: RunPlan) -> None:
        """Do nothing."""

    def episode_started(self, scenario: Scenario) -> None:
        """Do nothing."""

    def episode_finished(self, episode: Episode) -> None:
        """Do nothing."""

    def warning(self, text: str) -> None:
        """Do nothing."""

    def run_finished(self, result: Mapping[str, Any], folder: Path) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Reporters:
    """Several watchers behind one, none of which can harm the run or another watcher.

    Args:
        watchers: Told in this order.
    """

    def __init__(self, watchers: Sequence[RunReporter]) -> None:
        self._watchers = list(watchers)
        # Reentrant: a watcher may itself warn while it is being told something.
        self._lock = threading.RLock()

    def _tell(self, what: str, call: Callable[[RunReporter], None]) -> None:
        with self._lock:
            for watcher in list(self._watchers):
                try:
                    call(watcher)
                except Exception as exc:
                    self._watchers.remove(watcher)
                    self.warning(
                        f"{type(watcher).__name__} failed at {what} and reports nothing more "
                        f"({type(exc).__name__}: {exc}); the run itself is not affected"
                    )

    def run_started(self, plan: RunPlan) -> None:
        """Tell every watcher."""
        self._tell("run_started", lambda watcher: watcher.run_started(plan))

    def episode_started(self, scenario: Scenario) -> None:
        """Tell every watcher."""
        self._tell("episode_started", lambda watcher: watcher.episode_started(scenario))

    def episode_finished(self, episode: Episode) -> None:
        """Tell every watcher."""
        self._tell("episode_finished", lambda watcher: watcher.episode_finished(episode))

    def warning(self, text: str) -> None:
        """Tell every watcher."""
        self._tell("warning", lambda watcher: watcher.warning(text))

    def run_finished(self, result: Mapping[str, Any], folder: Path) -> None:
        """Tell every watcher."""
        self._tell("run_finished", lambda watcher: watcher.run_finished(result, folder))

    def close(self) -> None:
        """Tell every watcher."""
        self._tell("close", lambda watcher: watcher.close())
