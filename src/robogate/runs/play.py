"""Playing the scenarios of one run: who watches, who records, and how many simulate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robogate.adapters.loaded import LoadedPolicy
from robogate.contract.identity import Identity
from robogate.episodes.parallel import RunSetup, run_episodes
from robogate.episodes.sinks import EpisodeSink, SinkFanOut
from robogate.errors import RunError
from robogate.records.benches import bench_rules
from robogate.records.environment import Environment
from robogate.records.registration import registration_of
from robogate.records.result import Episode, ErrorInfo
from robogate.runs.environment import Place
from robogate.runs.measure import require_unchanged
from robogate.runs.preflight import Prepared
from robogate.runs.progress import Reporters, RunPlan
from robogate.runs.recording import Recorder
from robogate.runs.resume import JournalledRun
from robogate.scenes.manifest import Scenario


@dataclass(frozen=True)
class Players:
    """Who acts and where, measured before the first reset.

    Attributes:
        policy: Loaded.
        identity: Of the run.
        place: Builds environments.
        launched: The first workers' environments; number 0 has reported its identity.
        worker: What it reported of its own process.
    """

    policy: LoadedPolicy
    identity: Identity
    place: Place
    launched: tuple[Environment, ...]
    worker: dict[str, Any]

    def environment(self, number: int) -> Environment:
        """The environment of a worker."""
        if number < len(self.launched):
            return self.launched[number]
        return self.place.create(number)


def play(
    prepared: Prepared,
    run: JournalledRun,
    scenarios: tuple[Scenario, ...],
    players: Players,
    *,
    folder: Path,
    reporters: Reporters,
) -> list[Episode]:
    """Run what remains of a run's scenarios, and measure again who acted.

    Args:
        prepared: What is run.
        run: Its journal, which is closed at the end.
        scenarios: The declared set, in manifest order.
        players: Who acts and where.
        folder: Run folder.
        reporters: Told of everything.

    Returns:
        The episodes that were recorded before, then those of this call.

    Raises:
        RunError: Nothing is scored: the environment or the policy is not what was declared.
    """
    frozen, runtime = prepared.point.frozen, prepared.point.runtime
    workers = min(runtime.workers, max(len(run.remaining), 1))
    reporters.run_started(
        RunPlan(
            run_id=run.run_id,
            folder=folder,
            contract=frozen.document,
            contract_sha256=frozen.sha256,
            scenarios=scenarios,
            recorded=run.recorded,
            workers=workers,
        )
    )
    sinks: list[EpisodeSink] = [_Progress(reporters)]
    recorder: Recorder | None = None
    if runtime.media:
        facts = bench_rules(frozen.bench.kind).facts
        recorder = Recorder(folder, frozen.bench, facts, reporters.warning)
        sinks.append(recorder)
    identity = players.identity
    setup = RunSetup(
        frozen=frozen,
        registration=registration_of(frozen, identity.adapter, identity.policy, identity.server),
        identity=players.worker,
        policy=players.policy,
        make_environment=players.environment,
        folder=folder,
        journal=run.journal,
        sinks=SinkFanOut(sinks, reporters.warning),
        batched=players.policy.batched,
        batch_window_s=runtime.batch_window_s,
    )
    try:
        done = run_episodes(run.remaining, setup, workers=workers)
        try:
            require_unchanged(prepared.point, players.policy, identity)
        except RunError as exc:
            # What was changed under way is over, and cannot be resumed.
            run.journal.failed(error_info(exc))
            raise
    finally:
        run.journal.close()
        if recorder is not None:
            recorder.close()
    return [*run.recorded, *done]


def error_info(error: RunError) -> ErrorInfo:
    """A run-level error as it stands in journal and result."""
    return ErrorInfo(
        code=error.code, message=error.message, scenario_id=error.scenario_id, step=error.step
    )


class _Progress:
    """Passes starts and ends of episodes on to the reporters."""

    def __init__(self, reporters: Reporters) -> None:
        self._reporters = reporters

    def started(self, scenario: Scenario) -> None:
        """Tell the reporters."""
        self._reporters.episode_started(scenario)

    def observed(self, scenario: Scenario, observation: Any, action: Any) -> None:
        """Observations are the recorder's business."""

    def finished(self, episode: Episode) -> None:
        """Tell the reporters."""
        self._reporters.episode_finished(episode)
