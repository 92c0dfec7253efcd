from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stub_env

from robogate.errors import EpisodeError, RobogateError, RunError, UsageError
from robogate.records.digests import registration_sha256
from robogate.records.environment import Environment, Registration
from robogate.records.observation import Observation
from robogate.worker.deadlines import Deadlines
from robogate.worker.pipe import ChildEnvironment
from waiting import ORPHAN_S, Barrier, alive, gone, until

REGISTRATION = Registration("a" * 64, "zero", "1", "b" * 64, None, None, None, None, None)
PATIENT = Deadlines(start=60.0, reset=60.0, step=60.0, close=30.0)
STILL = np.zeros(7)

Maker = Callable[..., ChildEnvironment]


@pytest.fixture
def make() -> Iterator[Maker]:
    made: list[ChildEnvironment] = []

    def build(factory: str = "create", deadlines: Deadlines = PATIENT, **options: Any) -> Any:
        variables = options.pop("variables", None)
        log = options.pop("log", None)
        child = ChildEnvironment(f"stub_env:{factory}", options, variables, deadlines, log)
        made.append(child)
        return child

    yield build
    for child in made:
        child.close()


def same(a: Observation, b: Observation) -> None:
    assert a.evaluator is not None and b.evaluator is not None
    for part in (a.state, a.images):
        assert all(part[name].flags.owndata and part[name].flags.writeable for name in part)
    for mine, other in ((a.state, b.state), (a.images, b.images)):
        assert list(mine) == list(other)
        for name in mine:
            assert mine[name].dtype == other[name].dtype
            assert np.array_equal(mine[name], other[name], equal_nan=mine is a.state)
    assert np.array_equal(a.evaluator.facts, b.evaluator.facts)
    for name in ("scenario_id", "seed", "applied_scene", "success", "diagnostics"):
        assert getattr(a.evaluator, name) == getattr(b.evaluator, name)
    for name in ("protocol_version", "step", "instruction", "registration_sha256", "done"):
        assert getattr(a, name) == getattr(b, name)


@pytest.mark.parametrize("size", [1, 16, 256])
def test_a_child_says_what_an_environment_in_this_process_says(make: Maker, size: int) -> None:
    child, here = make(size=size), stub_env.create(size)
    assert isinstance(child, Environment)
    assert child.describe() == here.describe()
    assert child.identity() == here.identity()
    assert child.register(REGISTRATION) == here.register(REGISTRATION)
    assert child.register(REGISTRATION) == registration_sha256(REGISTRATION)
    first = child.reset("s", 5)
    same(first, here.reset("s", 5))
    assert first.episode_id.startswith(f"{child.worker_pid}-")
    for step in range(3):
        result, expected = child.step(first.episode_id, step, STILL), here.step("", step, STILL)
        assert (result.executed, result.verdict, result.reasons) == (True, "accept", ())
        assert result.observation is not None and expected.observation is not None
        same(result.observation, expected.observation)
    # What was received earlier is the receiver's own, and later frames do not touch it.
    same(first, here.reset("s", 5))
    assert child.outcome(first.episode_id).steps == 3
    same(child.observe(first.episode_id), child.observe(first.episode_id))


def test_a_rejected_action_comes_back_as_one(make: Maker) -> None:
    child = make()
    child.register(REGISTRATION)
    episode = child.reset("s", 0).episode_id
    result = child.step(episode, 0, np.full(7, 0.75))
    assert result == stub_env.create().step(episode, 0, np.full(7, 0.75))
    assert result.reasons == ("too far", "too high") and result.observation is None


@pytest.mark.parametrize(
    ("action", "code", "message"),
    [
        (-0.2, "worker_died", "step: the worker was killed by SIGKILL"),
        (-0.3, "worker_died", "step: the worker was killed by SIGSEGV (Fatal Python error: "),
        (-0.8, "worker_died", "step: the worker exited with status 7 (leaving)"),
        (-0.4, "environment_exception", "step: ZeroDivisionError: inside the simulator"),
        (-0.5, "simulator_nan", "it became NaN"),
        (-0.7, "bad_reply", "step: the reply to step cannot be read: "),
    ],
)
def test_what_goes_wrong_in_a_step_costs_the_episode_only(
    make: Maker, action: float, code: str, message: str
) -> None:
    child = make()
    echo = child.register(REGISTRATION)
    first = child.reset("s", 0)
    pid = child.worker_pid
    with pytest.raises(EpisodeError) as caught:
        child.step(first.episode_id, 0, np.full(7, action))
    assert caught.value.code == code
    assert caught.value.message.startswith(message)
    again = child.reset("t", 1)
    assert again.registration_sha256 == echo
    assert again.evaluator is not None and again.evaluator.scenario_id == "t"
    survived = code == "simulator_nan"
    assert (child.worker_pid == pid) == survived
    assert alive(pid) == survived
    assert child.step(again.episode_id, 0, STILL).executed


def test_a_run_error_stays_a_run_error(make: Maker) -> None:
    child = make()
    child.register(REGISTRATION)
    first = child.reset("s", 0)
    with pytest.raises(RunError, match="no solver") as caught:
        child.step(first.episode_id, 0, np.full(7, -0.6))
    assert caught.value.code == "ik_solver"


@pytest.mark.parametrize("where", ["reset", "step"])
def test_a_hang_is_ended_at_its_deadline(make: Maker, where: str) -> None:
    child = make()
    child.register(REGISTRATION)
    first = child.reset("s", 0)
    pid = child.worker_pid
    child._deadlines = dataclasses.replace(PATIENT, reset=0.5, step=0.5)
    with pytest.raises(EpisodeError, match=f"{where}: no answer within 0.5 s") as caught:
        if where == "reset":
            child.reset("hang", 0)
        else:
            child.step(first.episode_id, 0, np.full(7, -0.1))
    assert caught.value.code == "worker_timeout"
    assert gone([pid])
    child._deadlines = PATIENT
    assert child.reset("s", 0).step == 0


@pytest.mark.parametrize(("scenario", "code"), [("raise", "reset_failed"), ("kill", "worker_died")])
def test_a_failed_reset_costs_the_episode_only(make: Maker, scenario: str, code: str) -> None:
    child = make()
    child.register(REGISTRATION)
    with pytest.raises(EpisodeError, match=r"^reset: ") as caught:
        child.reset(scenario, 0)
    assert caught.value.code == code
    assert child.reset("s", 0).step == 0


def test_a_dead_worker_takes_no_step(make: Maker) -> None:
    child = make()
    child.register(REGISTRATION)
    first = child.reset("s", 0)
    os.kill(child.worker_pid, signal.SIGKILL)
    with pytest.raises(EpisodeError, match="was killed by SIGKILL"):
        child.step(first.episode_id, 0, STILL)
    with pytest.raises(EpisodeError, match="the worker is gone; reset first"):
        child.step(first.episode_id, 0, STILL)


def test_a_successor_must_report_the_same_identity(make: Maker) -> None:
    child = make("create_other_each_time")
    child.register(REGISTRATION)
    child.identity()
    first = child.reset("s", 0)
    with pytest.raises(EpisodeError):
        child.step(first.episode_id, 0, np.full(7, -0.2))
    with pytest.raises(RunError, match=r"identity changed .*\$\.pid: is \d+, expected") as caught:
        child.reset("s", 0)
    assert caught.value.code == "identity_mismatch"


def test_a_worker_that_cannot_come_back_costs_episodes(make: Maker, tmp_path: Path) -> None:
    child = make("create_once", marker=str(tmp_path / "marker"))
    child.register(REGISTRATION)
    first = child.reset("s", 0)
    with pytest.raises(EpisodeError):
        child.step(first.episode_id, 0, np.full(7, -0.2))
    for _ in range(2):
        with pytest.raises(EpisodeError, match="no new worker: .*licence is taken") as caught:
            child.reset("s", 0)
        assert caught.value.code == "worker_died"


@pytest.mark.parametrize(
    ("factory", "options", "kind", "message"),
    [
        ("create_failing", {"kind": "usage"}, UsageError, "^no OpenGL here: apt install libegl1$"),
        ("create_failing", {"kind": "run"}, RunError, "^asset changed: link0.stl$"),
        ("create_failing", {"kind": "?"}, RunError, "cannot be built: ValueError: bad option$"),
        ("create_nothing", {}, RunError, "returned NoneType, expected an Environment"),
        ("missing", {}, RunError, "AttributeError: module 'stub_env' has no attribute 'missing'"),
        ("create", {"unknown": 1}, RunError, "unexpected keyword argument 'unknown'"),
    ],
)
def test_what_cannot_be_built_ends_the_run(
    make: Maker, factory: str, options: dict[str, Any], kind: type[RobogateError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        make(factory, **options).start()


def test_launched_children_build_at_the_same_time(make: Maker, tmp_path: Path) -> None:
    # Each waits until the other is being built too: one after the other, they would wait for ever.
    first = make("meet", Deadlines(), folder=str(tmp_path), name="a", other="b")
    second = make("meet", Deadlines(), folder=str(tmp_path), name="b", other="a")
    first.launch()
    second.launch()
    assert first.worker_pid and second.worker_pid
    pid = first.worker_pid
    assert first.identity() == {"simulator": "none"} and second.identity() == first.identity()
    first.start()
    assert first.worker_pid == pid


def test_what_a_launched_child_cannot_build_is_said_by_the_first_call(make: Maker) -> None:
    child = make("create_failing", kind="usage")
    child.launch()
    with pytest.raises(UsageError, match="^no OpenGL here"):
        child.identity()
    assert child.worker_pid == 0


def test_closing_ends_a_child_that_is_still_being_built(make: Maker, tmp_path: Path) -> None:
    child = make("meet", Deadlines(), folder=str(tmp_path), name="a", other="nobody")
    child.launch()
    pid = child.worker_pid
    child.close()
    assert child.worker_pid == 0 and gone([pid])


def test_a_start_has_a_deadline(make: Maker) -> None:
    child = make("create_hanging", deadlines=Deadlines(start=0.5))
    with pytest.raises(RunError, match="cannot be built: no answer within 0.5 s") as caught:
        child.register(REGISTRATION)
    assert caught.value.code == "load"
    assert child.worker_pid == 0


def test_variables_reach_the_child_and_its_output_the_log(make: Maker, tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    log.write_text("from before\n")
    child = make(log=log, variables={"STUB_CLOSE": "exit"})
    child.describe()
    child.close()
    assert log.read_text() == "from before\nleaving\n"


def test_close_ends_the_child_even_if_it_hangs(make: Maker) -> None:
    child = make(deadlines=Deadlines(close=0.3), variables={"STUB_CLOSE": "hang"})
    child.describe()
    pid = child.worker_pid
    child.close()
    child.close()
    assert gone([pid])


def test_kill_from_another_thread_is_for_good(make: Maker, tmp_path: Path) -> None:
    barrier = Barrier(tmp_path)
    child = make(variables={"STUB_BARRIER": barrier.path})
    child.register(REGISTRATION)
    first = child.reset("s", 0)

    def kill_in_the_step() -> None:
        barrier.reached()
        child.kill()

    threading.Thread(target=kill_in_the_step).start()
    with pytest.raises(EpisodeError, match="was killed by SIGKILL"):
        child.step(first.episode_id, 0, np.full(7, -0.1))
    with pytest.raises(EpisodeError, match="the run is being stopped"):
        child.reset("s", 0)


PARENT = """
import sys, threading, time
sys.path[:] = {path!r}
from robogate.worker.pipe import ChildEnvironment
child = ChildEnvironment("stub_env:create", {{}}, {{"STUB_BARRIER": {barrier!r}}})
child.describe()
print(child.worker_pid, flush=True)
threading.Thread(target=lambda: child.reset({scenario!r}, 0)).start()
time.sleep(3600)
"""


@pytest.mark.parametrize("scenario", ["hang", "spin"])
@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
def test_no_child_outlives_its_parent(scenario: str, signal_number: int, tmp_path: Path) -> None:
    barrier = Barrier(tmp_path)
    code = textwrap.dedent(PARENT).format(path=sys.path, scenario=scenario, barrier=barrier.path)
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent:
        try:
            child = int(parent.stdout.readline())
            barrier.reached()
            barrier.lift()  # from here on it hangs or spins
            assert alive(child)
            parent.send_signal(signal_number)
            parent.wait()
        finally:
            parent.kill()
    assert gone([child], ORPHAN_S)


def test_the_child_outlives_the_thread_that_asked_for_it(make: Maker) -> None:
    child = make()
    thread = threading.Thread(target=child.start)
    thread.start()
    thread.join()
    # Python's thread has ended, the kernel's does so a moment later.
    task = Path(f"/proc/self/task/{thread.native_id}")
    assert until(lambda: not task.exists())
    assert child.describe().name == "stub"


def test_the_child_imports_what_this_process_would(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("raise SystemExit('the wrong numpy')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    assert make().describe().name == "stub"
