"""The composition root: a frozen contract in, a validated result out.

The order is fixed. What is asked is checked for all points first; who runs is measured before the
first reset and again after the last episode; a result is written only after the validator that
everyone else uses has accepted it.
"""

from __future__ import annotations

import datetime
import logging
import secrets
import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robogate.adapters.loaded import LoadedPolicy
from robogate.adapters.registry import load_policy
from robogate.config.compose import Point
from robogate.contract.files import write_atomic, write_json
from robogate.contract.identity import Identity
from robogate.contract.strict import encode
from robogate.episodes.clock import utc_now
from robogate.episodes.journal import Header
from robogate.episodes.journal_writer import Journal, create_journal
from robogate.episodes.parallel import RunSetup, run_episodes
from robogate.episodes.sinks import EpisodeSink, SinkFanOut
from robogate.errors import EvidenceError, RunError, UsageError
from robogate.evidence.assemble import assemble_result, write_result
from robogate.evidence.files import CONTRACT, IDENTITY, JOURNAL, MANIFEST
from robogate.evidence.qualification import require_qualification
from robogate.records.benches import bench_rules
from robogate.records.registration import registration_of
from robogate.records.result import Episode, ErrorInfo
from robogate.runs.environment import Place
from robogate.runs.folder import (
    create_run_folder,
    link_latest,
    run_folder_name,
    unwritable,
)
from robogate.runs.logs import logging_to
from robogate.runs.measure import measure, require_same_identity, require_unchanged
from robogate.runs.preflight import Prepared, prepare
from robogate.runs.progress import Reporters, RunPlan, RunReporter
from robogate.runs.recording import Recorder
from robogate.runs.resume import resume_run
from robogate.scenes.manifest import Scenario, manifest_text, select
from robogate.worker.pipe import ChildEnvironment, Deadlines

log = logging.getLogger(__name__)

WatcherFactory = Callable[[Point], Sequence[RunReporter]]
OUTPUTS = Path("outputs")


@dataclass(frozen=True)
class RunOutcome:
    """What became of one evaluation.

    Attributes:
        folder: Its run folder.
        result: The validated result document.
    """

    folder: Path
    result: dict[str, Any]

    @property
    def exit_code(self) -> int:
        """0 where nothing errored, 3 where anything errored or was not started."""
        counts = self.result["summary"]
        lost = self.result["error"] is not None or counts["errored"] or counts["not_started"]
        return 3 if lost else 0


def evaluate(points: Sequence[Point], watchers: WatcherFactory) -> list[RunOutcome]:
    """Evaluate every point, after all of them were checked.

    Args:
        points: Composed and frozen.
        watchers: Makes the reporters of a point.

    Returns:
        One outcome for each point, in order.

    Raises:
        UsageError: A point cannot be run as asked; nothing was run if it could be known before.
        EvidenceError: The journal of a resumed run does not hold.
    """
    prepared = [prepare(point) for point in points]
    return [_Run(item, Reporters(watchers(item.point))).run() for item in prepared]


class _Run:
    """One evaluation."""

    def __init__(self, prepared: Prepared, reporters: Reporters) -> None:
        self._point = prepared.point
        self._frozen = prepared.point.frozen
        self._runtime = prepared.point.runtime
        self._manifest = prepared.manifest
        self._gl = prepared.gl
        self._reporters = reporters
        self._scenarios = select(self._manifest, self._frozen.budget)
        self._run_id = secrets.token_hex(16)
        self._started_at = utc_now()
        self._resuming = self._runtime.resume is not None
        self._folder = Path()

    def run(self) -> RunOutcome:
        """Run it; the folder of a run that could not even begin is removed again."""
        self._folder = self._open_folder()
        with ExitStack() as stack:
            stack.callback(self._reporters.close)
            stack.enter_context(logging_to(self._folder))
            try:
                result = self._evaluate(stack)
            except (UsageError, EvidenceError):
                self._remove_unused()
                raise
            except OSError as exc:
                raise unwritable(self._folder, exc) from exc
            if self._runtime.link_latest:
                link_latest(self._folder)
            self._reporters.run_finished(result, self._folder)
        return RunOutcome(self._folder, result)

    def _open_folder(self) -> Path:
        if self._runtime.resume is not None:
            return Path(self._runtime.resume).absolute()
        if self._runtime.output_dir is not None:
            return create_run_folder(Path(self._runtime.output_dir))
        name = run_folder_name(
            self._point.choices["bench"],
            self._point.choices["adapter"],
            self._frozen.sha256,
            datetime.datetime.now(),
        )
        return create_run_folder(OUTPUTS / name)

    def _remove_unused(self) -> None:
        """Remove the folder of a run that never started a scenario."""
        if not self._resuming and not (self._folder / JOURNAL).exists():
            shutil.rmtree(self._folder, ignore_errors=True)

    def _evaluate(self, stack: ExitStack) -> dict[str, Any]:
        if not self._resuming:
            write_json(self._folder / CONTRACT, self._frozen.document)
            write_atomic(self._folder / MANIFEST, manifest_text(self._manifest).encode("utf-8"))
        policy: LoadedPolicy | None = None
        worker: dict[str, Any] | None = None
        try:
            policy = load_policy(self._frozen.adapter, self._frozen.bench)
            stack.callback(policy.close)
            first = self._environment(0)
            stack.callback(first.close)
            worker = dict(first.identity())
            identity = measure(self._point, policy, worker)
        except RunError as exc:
            # Nothing was started, so there is no journal: the result alone says why.
            return self._write(measure(self._point, policy, worker), (), _info(exc))
        if self._resuming:
            require_same_identity(self._folder, identity)
        write_json(self._folder / IDENTITY, encode(identity))
        qualification = self._qualification(identity)
        try:
            episodes = self._episodes(policy, first, identity, worker)
        except RunError as exc:
            if exc.code == "journal":
                raise UsageError(exc.message, code="journal") from exc
            return self._write(identity, (), _info(exc), qualification)
        return self._write(identity, episodes, None, qualification)

    def _environment(self, number: int) -> ChildEnvironment:
        limits = self._runtime.deadlines
        place = Place(
            frozen=self._frozen,
            manifest=self._point.manifest_path,
            assets=self._point.assets_dir,
            gl=self._gl,
            deadlines=Deadlines(start=limits.start, reset=limits.reset, step=limits.step),
        )
        return place.create(number)

    def _qualification(self, identity: Identity) -> str | None:
        """ID of the qualification that covers this very harness, image and contract."""
        if self._runtime.qualification is None:
            return None
        subject = {
            "contract": self._frozen.document,
            "harness_contract_sha256": self._frozen.harness_sha256,
            "manifest_sha256": self._manifest.sha256,
            "identity": encode(identity),
        }
        folder = Path(self._runtime.qualification)
        try:
            return require_qualification(folder, subject)
        except EvidenceError as exc:
            raise UsageError(
                f"runtime.qualification={folder}: {exc.message}", code="qualification"
            ) from exc

    def _episodes(
        self,
        policy: LoadedPolicy,
        first: ChildEnvironment,
        identity: Identity,
        worker: dict[str, Any],
    ) -> list[Episode]:
        journal, recorded, remaining = self._open_journal(identity)
        workers = min(self._runtime.workers, max(len(remaining), 1))
        self._reporters.run_started(
            RunPlan(
                run_id=self._run_id,
                folder=self._folder,
                contract=self._frozen.document,
                contract_sha256=self._frozen.sha256,
                scenarios=self._scenarios,
                recorded=recorded,
                workers=workers,
            )
        )
        sinks: list[EpisodeSink] = [_Progress(self._reporters)]
        recorder = self._recorder()
        if recorder is not None:
            sinks.append(recorder)
        setup = RunSetup(
            frozen=self._frozen,
            registration=registration_of(self._frozen, identity.adapter, identity.policy),
            identity=worker,
            policy=policy,
            make_environment=lambda n: first if n == 0 else self._environment(n),
            folder=self._folder,
            journal=journal,
            sinks=SinkFanOut(sinks, self._reporters.warning),
        )
        try:
            done = run_episodes(remaining, setup, workers=workers)
            self._require_unchanged(policy, identity, journal)
        finally:
            journal.close()
            if recorder is not None:
                recorder.close()
        return [*recorded, *done]

    def _require_unchanged(
        self, policy: LoadedPolicy, identity: Identity, journal: Journal
    ) -> None:
        """Measure again; a run that was changed under way is over, and cannot be resumed."""
        try:
            require_unchanged(self._point, policy, identity)
        except RunError as exc:
            journal.failed(_info(exc))
            raise

    def _recorder(self) -> Recorder | None:
        if not self._runtime.media:
            return None
        facts = bench_rules(self._frozen.bench.kind).facts
        return Recorder(self._folder, self._frozen.bench, facts, self._reporters.warning)

    def _open_journal(
        self, identity: Identity
    ) -> tuple[Journal, tuple[Episode, ...], tuple[Scenario, ...]]:
        header = Header(
            run_id=self._run_id,
            contract_sha256=self._frozen.sha256,
            fingerprint_sha256=identity.fingerprint_sha256,
            manifest_sha256=self._manifest.sha256,
            at=self._started_at,
        )
        if not self._resuming:
            return create_journal(self._folder / JOURNAL, header), (), self._scenarios
        resumed = resume_run(self._folder, header, self._scenarios, self._reporters.warning)
        self._run_id, self._started_at = resumed.run_id, resumed.started_at
        return resumed.journal, resumed.recorded, resumed.remaining

    def _write(
        self,
        identity: Identity,
        episodes: Sequence[Episode],
        error: ErrorInfo | None,
        qualification: str | None = None,
    ) -> dict[str, Any]:
        write_json(self._folder / IDENTITY, encode(identity))
        document = assemble_result(
            frozen=self._frozen,
            manifest=self._manifest,
            identity=identity,
            episodes=episodes,
            run_id=self._run_id,
            started_at=self._started_at,
            ended_at=utc_now(),
            run_error=error,
            qualification_id=qualification,
        )
        write_result(
            self._folder,
            document,
            frozen=self._frozen,
            manifest=self._manifest,
            identity=identity,
        )
        return document


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


def _info(error: RunError) -> ErrorInfo:
    return ErrorInfo(
        code=error.code, message=error.message, scenario_id=error.scenario_id, step=error.step
    )
