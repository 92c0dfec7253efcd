from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from robogate.episodes.journal import read_journal
from robogate.errors import RunError, UsageError
from robogate.records.result import Episode
from robogate.worker.pipe import ChildEnvironment
from waiting import ORPHAN_S, PATIENCE_S, gone

if TYPE_CHECKING:
    from toy_world import World

WorldOf = Callable[..., "World"]
TESTS = Path(__file__).parents[1]


def run(world: World, folder: Path, workers: int, **options: Any) -> list[Episode]:
    from toy_world import ToyOracle

    changes = {k: options.pop(k) for k in ("policy", "sinks", "identity") if k in options}
    policy = changes.pop("policy", None) or ToyOracle()
    return world.run(folder, policy, lambda i: world.child(**options), workers=workers, **changes)


def at_once(environment: Any, together: threading.Barrier) -> Any:
    """Let an environment's first reset wait for those of the others: each has a scenario then."""
    reset = environment.reset

    def first(scenario_id: str, seed: int) -> Any:
        environment.reset = reset
        together.wait(PATIENCE_S)
        return reset(scenario_id, seed)

    environment.reset = first
    return environment


@pytest.fixture(scope="module")
def alone(world: World, tmp_path_factory: pytest.TempPathFactory) -> list[Episode]:
    """The run in this process, with one environment."""
    import toy_env
    from toy_world import ToyOracle

    folder = tmp_path_factory.mktemp("alone") / "run"
    return world.run(folder, ToyOracle(), lambda i: toy_env.create(**world.options()))


@pytest.mark.parametrize("workers", [1, 2, 9])
def test_any_number_of_workers_gives_the_same_records(
    world: World, tmp_path: Path, alone: list[Episode], workers: int
) -> None:
    from toy_world import ToyOracle

    working = min(workers, len(world.ids))
    together = threading.Barrier(working)
    episodes = world.run(
        tmp_path / "run",
        ToyOracle(),
        lambda i: at_once(world.child(), together),
        workers=workers,
    )
    assert [e.semantic_sha256 for e in episodes] == [e.semantic_sha256 for e in alone]
    assert [e.index for e in episodes] == list(range(6))
    pids = {e.timing.worker_pid for e in episodes if e.timing}
    assert len(pids) == working
    assert os.getpid() not in pids
    contents = read_journal(tmp_path / "run" / "journal.jsonl")
    assert contents.interrupted == () and len(contents.episodes) == 6
    assert gone(pids)


@pytest.mark.parametrize(
    ("kind", "code", "message"),
    [
        ("kill", "worker_died", "step: the worker was killed by SIGKILL"),
        ("raise", "environment_exception", "step: ZeroDivisionError: in the simulator"),
        ("hang", "worker_timeout", "step: no answer within 1 s; the worker was killed"),
    ],
)
def test_a_worker_that_dies_costs_its_own_episode(
    world: World, tmp_path: Path, alone: list[Episode], kind: str, code: str, message: str
) -> None:
    from toy_world import PATIENT

    broken = world.ids[2]

    class Impatient(ChildEnvironment):
        """Waits a second for the step that hangs, and as long as it takes for all others."""

        def reset(self, scenario_id: str, seed: int) -> Any:
            self._is_broken = scenario_id == broken
            self._deadlines = PATIENT
            return super().reset(scenario_id, seed)

        def step(self, episode_id: str, step: int, action: Any) -> Any:
            if self._is_broken and step == 5 and kind == "hang":
                self._deadlines = dataclasses.replace(PATIENT, step=1.0)
            return super().step(episode_id, step, action)

    episodes = run(world, tmp_path / "run", 2, faults={broken: [kind, 5]}, kind=Impatient)
    for episode, expected in zip(episodes, alone):
        if episode.scenario_id != broken:
            assert episode.semantic_sha256 == expected.semantic_sha256
            continue
        assert episode.outcome == "error" and episode.error is not None
        assert (episode.error.code, episode.error.step) == (code, 5)
        assert episode.error.message == message
        # What was seen before is kept.
        assert episode.attestation is not None and episode.attestation.observations == 6
        assert len(episode.diagnostics["unconfirmed_action"]) == 7


def test_a_run_error_stops_every_worker(world: World, tmp_path: Path) -> None:
    from toy_world import Policy

    pids: set[int] = set()

    class Watch:
        def started(self, scenario: Any) -> None:
            pass

        def observed(self, scenario: Any, observation: Any, action: Any) -> None:
            pids.add(int(environments[0].worker_pid))
            pids.add(int(environments[1].worker_pid))

        def finished(self, episode: Any) -> None:
            pass

    faults = {world.ids[0]: ["blank", 10], world.ids[1]: ["hang", 0]}
    together = threading.Barrier(2)
    environments = [at_once(world.child(faults=faults), together) for _ in range(2)]
    with pytest.raises(RunError, match="image 'wrist' is blank") as caught:
        world.run(
            tmp_path / "run",
            Policy(lambda o: [np.zeros(7)]),
            lambda i: environments[i],
            workers=2,
            sinks=[Watch()],
        )
    assert (caught.value.scenario_id, caught.value.step) == (world.ids[0], 10)
    pids.discard(0)  # seen where the other worker had been ended already
    assert len(pids) == 2 and gone(pids)
    contents = read_journal(tmp_path / "run" / "journal.jsonl")
    assert contents.failed is not None and contents.failed.code == "blank_image"
    assert contents.failed.scenario_id == world.ids[0]
    # The other worker's episode was cut off: it has no terminal record, not an error.
    assert sorted(contents.interrupted) == world.ids[:2]


def test_nothing_starts_before_every_worker_is_ready(world: World, tmp_path: Path) -> None:
    from toy_world import ToyOracle

    def make(number: int) -> Any:
        if number == 0:
            return world.child()
        return ChildEnvironment("toy_env:missing", {})

    with pytest.raises(RunError, match="has no attribute 'missing'") as caught:
        world.run(tmp_path / "a", ToyOracle(), make, workers=2)
    assert caught.value.code == "load" and caught.value.scenario_id is None
    contents = read_journal(tmp_path / "a" / "journal.jsonl")
    # Nothing was invalidated: such a run can be resumed once the machine is put right.
    assert not contents.started and contents.failed is None

    def unusable(number: int) -> Any:
        raise UsageError("no OpenGL", code="gl")

    with pytest.raises(UsageError, match="^no OpenGL$"):
        world.run(tmp_path / "b", ToyOracle(), unusable, workers=2)


def test_every_worker_must_be_the_one_that_was_measured(world: World, tmp_path: Path) -> None:
    other = {"simulator": {"name": "toy", "version": "2"}, "host": {"name": "here"}}
    with pytest.raises(RunError, match=r"\$\.simulator\.version: is '1', expected '2'") as caught:
        run(world, tmp_path / "run", 2, identity=other)
    assert caught.value.code == "identity_mismatch"
    assert not read_journal(tmp_path / "run" / "journal.jsonl").started


def test_a_policy_is_called_by_one_worker_at_a_time(world: World, tmp_path: Path) -> None:
    from toy_world import Policy

    inside = 0
    most = 0
    lock = threading.Lock()

    def busy(observation: Any) -> Any:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.001)
        with lock:
            inside -= 1
        return [np.zeros(7)]

    run(world, tmp_path / "run", 3, policy=Policy(busy))
    assert most == 1


def test_a_trace_is_on_disk_before_the_record_that_names_it(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from robogate.episodes.journal_writer import Journal

    finished = Journal.finished
    checked: list[str] = []

    def check(self: Journal, episode: Episode) -> None:
        assert episode.attestation is not None
        assert (tmp_path / "run" / episode.attestation.trace_file).is_file()
        checked.append(episode.scenario_id)
        finished(self, episode)

    monkeypatch.setattr(Journal, "finished", check)
    run(world, tmp_path / "run", 2)
    assert sorted(checked) == world.ids


def test_a_trace_that_cannot_be_written_stops_the_run(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import robogate.episodes.parallel as parallel

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parallel, "write_atomic", full)
    with pytest.raises(RunError, match=r"\.npy: cannot be written \(No space left") as caught:
        run(world, tmp_path / "run", 2)
    assert caught.value.code == "journal"
    contents = read_journal(tmp_path / "run" / "journal.jsonl")
    assert contents.episodes == {} and contents.failed is None


def test_nothing_to_run_is_nothing_done(world: World, tmp_path: Path) -> None:
    import dataclasses

    from toy_world import ToyOracle

    def never(number: int) -> Any:
        raise AssertionError

    manifest = dataclasses.replace(world.manifest, scenarios=())
    empty = dataclasses.replace(world, manifest=manifest)
    assert empty.run(tmp_path / "run", ToyOracle(), never) == []


class Process:
    """A run in a process of its own."""

    def __init__(self, folder: Path, workers: int, how: str) -> None:
        self._process = subprocess.Popen(
            [
                sys.executable,
                str(TESTS / "toy_run.py"),
                str(folder),
                str(workers),
                how,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []

    def until(self, word: str, count: int) -> None:
        """Read its output until it holds ``count`` lines that begin with ``word``."""
        assert self._process.stdout is not None and self._process.stderr is not None
        while len(self.told(word)) < count:
            line = self._process.stdout.readline()
            assert line, (self.lines, self._process.stderr.read())
            self.lines.append(line.strip())

    def told(self, word: str) -> list[str]:
        """What the lines say that begin with ``word``."""
        return [line.split()[1] for line in self.lines if line.startswith(f"{word} ")]

    def end(self, number: int | None = None) -> tuple[int, str]:
        if number is not None:
            self._process.send_signal(number)
        out, err = self._process.communicate(timeout=PATIENCE_S)
        self.lines += out.splitlines()
        return self._process.returncode, err


@pytest.fixture
def process() -> Iterator[Callable[..., Process]]:
    made: list[Process] = []

    def build(*args: Any) -> Process:
        made.append(Process(*args))
        return made[-1]

    yield build
    for one in made:
        one._process.kill()
        one._process.communicate()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_run_leaves_no_child_and_is_resumed(
    world: World, tmp_path: Path, alone: list[Episode], process: Callable[..., Process], number: int
) -> None:
    first = process(tmp_path, 2, "new")
    first.until("worker", 2)
    first.until("finished", 2)
    first.until("acting", 4)
    status, errors = first.end(number)
    if number == signal.SIGTERM:
        assert status == 128 + number, errors
    elif number == signal.SIGINT:
        assert "KeyboardInterrupt" in errors
    workers = list(map(int, first.told("worker")))
    assert len(workers) == 2 and gone(workers, ORPHAN_S)

    before = read_journal(tmp_path / "journal.jsonl")
    assert sorted(before.interrupted) == world.ids[2:4] and before.failed is None
    assert sorted(before.episodes) == world.ids[:2]
    second = process(tmp_path, 2, "resume")
    status, errors = second.end()
    assert status == 0, errors
    started = second.told("started")
    # At most once: what was under way is an error and was not started again.
    assert not set(started) & set(before.started)
    after = read_journal(tmp_path / "journal.jsonl")
    assert len(after.episodes) == 6 and after.interrupted == () and after.resumes == 1
    for expected in alone:
        episode = after.episodes[expected.scenario_id]
        if expected.scenario_id in before.interrupted:
            assert episode.error is not None and episode.error.code == "interrupted"
        else:
            assert episode.semantic_sha256 == expected.semantic_sha256
        trace = tmp_path / "traces" / f"{expected.scenario_id}.npy"
        assert trace.exists() == (episode.attestation is not None)


def test_a_forked_helper_ends_when_it_is_told_to() -> None:
    from robogate.episodes.terminating import terminate_in_order

    ready, tell = os.pipe()
    with terminate_in_order():
        pid = os.fork()
        if pid == 0:
            try:
                os.write(tell, b"r")
                time.sleep(60)
            finally:
                os._exit(7)  # what an exception in the helper would come to
        os.read(ready, 1)  # a signal that comes during the fork itself is lost
        os.kill(pid, signal.SIGTERM)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(ready)
    os.close(tell)
    assert status == 128 + signal.SIGTERM
