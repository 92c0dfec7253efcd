"""The same promises on the real simulator: workers, deaths and hangs change nothing else."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mujoco", reason="the embedded simulator is not installed")
pytest.importorskip("hydra", reason="conf/ needs Hydra")

from robogate.adapters.registry import load_policy
from robogate.config.compose import compose
from robogate.episodes.journal import Header
from robogate.episodes.journal_writer import create_journal
from robogate.episodes.parallel import RunSetup, run_episodes
from robogate.episodes.sinks import SinkFanOut
from robogate.records.registration import registration_of
from robogate.records.result import Episode
from robogate.runs.environment import Place, resolve_gl
from robogate.scenes.manifest import load_manifest
from robogate.worker.deadlines import Deadlines

pytestmark = pytest.mark.slow

PATIENT = Deadlines(start=120.0, reset=120.0, step=60.0, close=30.0)
CHOSEN = (0, 36, 38)  # nominal, among obstacles, under a disturbance


class Strike:
    """Sends a signal to the simulator that is at step 10 of a scenario."""

    def __init__(self, number: int, index: int) -> None:
        self.environments: Sequence[Any] = ()
        self._number, self._index = number, index

    def started(self, scenario: Any) -> None:
        self._environment()._deadlines = PATIENT

    def observed(self, scenario: Any, observation: Any, action: Any) -> None:
        if scenario.index == self._index and observation.step == 10:
            environment = self._environment()
            if self._number == signal.SIGSTOP:
                environment._deadlines = dataclasses.replace(PATIENT, step=2.0)
            os.kill(environment.worker_pid, self._number)

    def _environment(self) -> Any:
        """That of the worker that tells this."""
        return self.environments[int(threading.current_thread().name.rpartition("-")[2])]

    def finished(self, episode: Any) -> None:
        pass


def run(folder: Path, workers: int, strike: Strike | None = None) -> list[Episode]:
    point = compose(["bench=mujoco_pnp", "adapter=oracle"])[0]
    policy = load_policy(point.frozen.adapter, point.frozen.bench)
    manifest = load_manifest(point.manifest_path)
    place = Place(
        point.frozen,
        point.manifest_path,
        point.assets_dir,
        resolve_gl("auto"),
        PATIENT,
    )
    (folder / "traces").mkdir(parents=True)
    journal = create_journal(
        folder / "journal.jsonl",
        Header("run", point.frozen.sha256, "1" * 64, manifest.sha256, "2026-01-01T00:00:00+00:00"),
    )
    environments = [place.create(i) for i in range(workers)]
    if strike is not None:
        strike.environments = environments
    setup = RunSetup(
        frozen=point.frozen,
        registration=registration_of(point.frozen, policy.adapter, policy.source, policy.server),
        identity=None,
        policy=policy,
        make_environment=lambda i: environments[i],
        folder=folder,
        journal=journal,
        sinks=SinkFanOut([] if strike is None else [strike]),
    )
    try:
        return run_episodes([manifest.scenarios[i] for i in CHOSEN], setup, workers=workers)
    finally:
        journal.close()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[Episode]:
    return run(tmp_path_factory.mktemp("alone") / "run", 1)


def test_two_simulators_give_the_chains_of_one(alone: list[Episode], tmp_path: Path) -> None:
    assert [e.outcome for e in alone] == ["success"] * len(CHOSEN)
    episodes = run(tmp_path / "run", 2)
    assert [e.semantic_sha256 for e in episodes] == [e.semantic_sha256 for e in alone]
    assert len({e.timing.worker_pid for e in episodes if e.timing}) == 2


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, "worker_died"), (signal.SIGSTOP, "worker_timeout")]
)
def test_a_simulator_that_dies_or_hangs_costs_its_own_episode(
    alone: list[Episode], tmp_path: Path, number: int, code: str
) -> None:
    episodes = run(tmp_path / "run", 2, Strike(number, CHOSEN[0]))
    for episode, expected in zip(episodes, alone):
        if episode.index == CHOSEN[0]:
            assert episode.error is not None and episode.error.code == code
            assert episode.steps == 10
        else:
            assert episode.semantic_sha256 == expected.semantic_sha256
