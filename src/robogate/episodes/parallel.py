"""All episodes of a run, on one worker or several, with the same records either way.

Each worker is a thread that drives one environment and takes scenarios from one queue. Nothing is
shared between episodes but the policy, which is called by one worker at a time, or by one for all
that wait. What is wrong with the run stops all of them; what is wrong with a worker costs the
episode that it was in.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from robogate.contract.files import write_atomic
from robogate.episodes.context import EpisodeContext, SessionSource
from robogate.episodes.inference import Cancelled, InferenceThread
from robogate.episodes.journal_writer import Journal
from robogate.episodes.loop import run_episode
from robogate.episodes.record import TRACES, EpisodeRun
from robogate.episodes.serving import serving_of
from robogate.episodes.sinks import SinkFanOut
from robogate.episodes.terminating import terminate_in_order
from robogate.errors import RunError
from robogate.records.benches import bench_rules
from robogate.records.contract import FrozenContract
from robogate.records.digests import registration_sha256
from robogate.records.environment import Environment, Registration
from robogate.records.policy import BatchedPolicy
from robogate.records.result import Episode, ErrorInfo
from robogate.scenes.manifest import Scenario
from robogate.scenes.readback import compare
from robogate.worker.memory import keep_freed_memory

log = logging.getLogger(__name__)

_POLL_S = 0.2
_STOP_S = 10.0


@runtime_checkable
class Killable(Protocol):
    """An environment that another thread can end at once."""

    def kill(self) -> None:
        """End it; a call in progress fails."""
        ...


@dataclass(frozen=True)
class RunSetup:
    """What all episodes of a run are made with.

    Attributes:
        frozen: The contract.
        registration: Who acts; bound in every environment.
        identity: That every environment must report, or None: that of the first worker.
        policy: The loaded policy.
        make_environment: Called once per worker with its number, from 0.
        folder: Run folder; it holds ``traces/``.
        journal: Open.
        sinks: Who else sees the episodes.
        batched: The policy, where it answers several episodes at once.
        batch_window_s: Longest wait of an episode for others to ask together, s.
    """

    frozen: FrozenContract
    registration: Registration
    identity: Mapping[str, Any] | None
    policy: SessionSource
    make_environment: Callable[[int], Environment]
    folder: Path
    journal: Journal
    sinks: SinkFanOut
    batched: BatchedPolicy | None = None
    batch_window_s: float = 0.0


def run_episodes(
    scenarios: Sequence[Scenario], setup: RunSetup, *, workers: int = 1
) -> list[Episode]:
    """Run scenarios, each once.

    Args:
        scenarios: To be run, in the order in which they are started.
        setup: Of the run.
        workers: Number of environments at the same time.

    Returns:
        Their records, in the order of ``scenarios``.

    Raises:
        RunError: The run is invalid; whatever was running has been stopped.
        KeyboardInterrupt: As it came; the journal can be resumed.
        Terminated: The process was asked to terminate; likewise.
    """
    if not scenarios:
        return []
    if setup.policy.privileged and setup.frozen.adapter.role != "control":
        raise RunError(
            f"adapter '{setup.frozen.adapter.kind}' is a {setup.frozen.adapter.role}: it may not "
            "see the scene",
            code="contract_mismatch",
        )
    keep_freed_memory()
    crew = _Crew(scenarios, setup, min(workers, len(scenarios)))
    with terminate_in_order():
        try:
            crew.run()
        finally:
            crew.stop()
    return [crew.episodes[scenario.id] for scenario in scenarios]


class _Crew:
    """The workers of one run."""

    def __init__(self, scenarios: Sequence[Scenario], setup: RunSetup, workers: int) -> None:
        self._setup = setup
        self._queue: queue.SimpleQueue[Scenario] = queue.SimpleQueue()
        for scenario in scenarios:
            self._queue.put(scenario)
        self.episodes: dict[str, Episode] = {}
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self._environments: list[Environment] = []
        self._identity = setup.identity
        # All environments are ready, and report one identity, before the first scenario starts.
        self._ready = threading.Barrier(workers)
        gate, batcher = serving_of(
            setup.frozen,
            setup.batched,
            workers=workers,
            window_s=setup.batch_window_s,
            cancelled=self._stopping.is_set,
        )
        self._context = EpisodeContext(
            frozen=setup.frozen,
            rules=bench_rules(setup.frozen.bench.kind),
            policy=setup.policy,
            registration_sha256=registration_sha256(setup.registration),
            sinks=setup.sinks,
            cancelled=self._stopping.is_set,
            gate=gate,
            batcher=batcher,
        )
        self._threads = [
            threading.Thread(target=self._work, args=(i,), name=f"robogate-worker-{i}", daemon=True)
            for i in range(workers)
        ]

    def run(self) -> None:
        """Run everything; raise what stopped it."""
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            while thread.is_alive():
                thread.join(_POLL_S)  # in slices, so that signals are handled in between
        if isinstance(self._error, RunError) and self._error.scenario_id is not None:
            # It happened in an episode: what was recorded so far is not to be scored.
            self._setup.journal.failed(
                ErrorInfo(
                    code=self._error.code,
                    message=self._error.message,
                    scenario_id=self._error.scenario_id,
                    step=self._error.step,
                )
            )
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """End whatever still runs; does nothing after a run that came to its end."""
        self._halt()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_STOP_S)

    def _halt(self) -> None:
        """Ask every worker to end; a process that simulates is ended at once."""
        self._stopping.set()
        self._ready.abort()
        with self._lock:
            environments = list(self._environments)
        for environment in environments:
            if isinstance(environment, Killable):
                environment.kill()

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            # What fails because the run is being stopped is not why it stops.
            if not self._stopping.is_set() and self._error is None:
                self._error = error
        self._halt()

    def _work(self, number: int) -> None:
        try:
            self._drive(number)
        except (Cancelled, threading.BrokenBarrierError):
            return  # somebody else's error, or a signal, stops the run
        except BaseException as exc:
            self._fail(exc)

    def _drive(self, number: int) -> None:
        environment = self._setup.make_environment(number)
        with self._lock:
            self._environments.append(environment)
        inference = InferenceThread(self._context.cancelled)
        try:
            self._prepare(environment)
            self._ready.wait()
            while not self._stopping.is_set():
                try:
                    scenario = self._queue.get_nowait()
                except queue.Empty:
                    return
                self._one(scenario, environment, inference)
        finally:
            inference.close()
            self._release(environment)

    def _release(self, environment: Environment) -> None:
        try:
            environment.close()
        except Exception:
            # Every record of it is on disk; a simulator that cannot end is no reason to lose them.
            log.exception("an environment could not be closed")
        with self._lock:
            self._environments.remove(environment)

    def _prepare(self, environment: Environment) -> None:
        echo = environment.register(self._setup.registration)
        expected = self._context.registration_sha256
        if echo != expected:
            raise RunError(
                f"the environment bound registration {echo:.64}, expected {expected}",
                code="registration_mismatch",
            )
        identity = environment.identity()
        with self._lock:
            if self._identity is None:
                self._identity = identity
            faults = compare(dict(identity), dict(self._identity))
        if faults:
            raise RunError(
                f"a worker reports another identity: {faults[0]}", code="identity_mismatch"
            )

    def _one(
        self, scenario: Scenario, environment: Environment, inference: InferenceThread
    ) -> None:
        setup = self._setup
        setup.journal.started(scenario)
        setup.sinks.started(scenario)
        run = run_episode(scenario, environment, self._context, inference)
        if self._stopping.is_set() and run.episode.outcome == "error":
            raise Cancelled  # its worker was killed to stop the run
        self._keep(run)
        self.episodes[scenario.id] = run.episode
        setup.sinks.finished(run.episode)

    def _keep(self, run: EpisodeRun) -> None:
        """Put the trace on disk, then the record that names it."""
        if run.trace is not None:
            path = self._setup.folder / TRACES / f"{run.episode.scenario_id}.npy"
            try:
                write_atomic(path, run.trace)
            except OSError as exc:
                raise RunError(
                    f"{path}: cannot be written ({exc.strerror}); nothing more is run. Make room "
                    "and go on with runtime.resume=DIR",
                    code="journal",
                ) from exc
        self._setup.journal.finished(run.episode)
