from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stub_env
from serving import SERVED_PATH, Worker
from stub_robot import SECRET_SEED, START

from robogate.errors import EpisodeError, RunError, UsageError
from robogate.records.digests import registration_sha256
from robogate.records.environment import Environment, Registration
from robogate.worker.client import RemoteEnvironment
from robogate.worker.deadlines import Deadlines
from robogate.worker.http_client import (
    CONNECT_S,
    Refused,
    ReplyLost,
    Unreachable,
    WorkerConnection,
)
from robogate.worker.robot import Robot
from robogate.worker.served import ServedEnvironment
from robogate.worker.world import World
from waiting import ORPHAN_S, PATIENCE_S, Barrier, alive, gone, until

pytest.importorskip("uvicorn", reason="the worker part is not installed")

REGISTRATION = Registration("a" * 64, "zero", "1", "b" * 64, None, None, None, None, None)
PATIENT = Deadlines(start=60.0, reset=60.0, step=60.0, close=30.0)
STILL = np.zeros(7)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """The environment that the pipe is tested with, behind HTTP."""
    made = Worker("stub_env:create")
    yield made
    made.end()


@pytest.fixture(scope="module")
def robot_worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.end()


@pytest.fixture
def remote(worker: Worker) -> Iterator[RemoteEnvironment]:
    made = RemoteEnvironment(worker.url, deadlines=PATIENT)
    yield made
    made.close()


@contextlib.contextmanager
def port_of_nobody() -> Iterator[int]:
    """A port that is taken, so that nobody else gets it, and where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        yield int(probe.getsockname()[1])


class Proxy:
    """Passes requests on; drops the connection instead of the reply, or before the request."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.drop_replies = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.forwarded: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self._port), PATIENCE_S) as server:
            while True:
                request = client.recv(1 << 20)
                if not request:
                    return
                dropping = self.drop_replies and b"\xa3act" in request
                self.forwarded.append(request)
                server.sendall(request)
                reply = server.recv(1 << 22)
                while reply and not _whole(reply):
                    reply += server.recv(1 << 22)
                if dropping or not reply:
                    return
                client.sendall(reply)

    def close(self) -> None:
        self._listener.close()


def _whole(reply: bytes) -> bool:
    head, _, body = reply.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    return bool(lengths) and len(body) >= int(lengths[0].split(b":")[1])


class TestSameAsInThisProcess:
    def test_it_is_an_environment(self, remote: RemoteEnvironment) -> None:
        assert isinstance(remote, Environment)

    def test_every_answer_is_the_same(self, remote: RemoteEnvironment) -> None:
        local = stub_env.create()
        local.register(REGISTRATION)
        assert remote.describe().name == local.describe().name
        assert remote.describe().bench == local.describe().bench
        assert dict(remote.identity()) == dict(local.identity())
        assert remote.register(REGISTRATION) == registration_sha256(REGISTRATION)
        here, there = local.reset("s", 3), remote.reset("s", 3)
        assert_same(here, there)
        for step in range(3):
            a = local.step(here.episode_id, step, STILL)
            b = remote.step(there.episode_id, step, STILL)
            assert (a.executed, a.verdict, a.reasons) == (b.executed, b.verdict, b.reasons)
            assert_same(a.observation, b.observation)
        assert_same(local.observe(here.episode_id), remote.observe(there.episode_id))
        assert local.outcome(here.episode_id) == remote.outcome(there.episode_id)
        refused = remote.step(there.episode_id, 3, np.full(7, 0.9))
        assert refused == local.step(here.episode_id, 3, np.full(7, 0.9))
        assert refused.verdict == "control_rejected" and refused.observation is None

    def test_errors_come_over_as_they_were_raised(self, remote: RemoteEnvironment) -> None:
        remote.register(REGISTRATION)
        for number, error, code in (
            (-0.4, EpisodeError, "environment_exception"),
            (-0.5, EpisodeError, "simulator_nan"),
            (-0.6, RunError, "ik_solver"),
        ):
            first = remote.reset("s", 1)
            with pytest.raises(error) as caught:
                remote.step(first.episode_id, 0, np.full(7, number))
            assert caught.value.code == code
        with pytest.raises(EpisodeError) as caught:
            remote.reset("raise", 1)
        assert caught.value.code == "reset_failed"
        with pytest.raises(EpisodeError, match="the next is 0") as caught:
            remote.step(remote.reset("s", 1).episode_id, 1, STILL)
        assert caught.value.code == "out_of_order"

    def test_the_token_is_claimed_before_a_reset_returns(
        self, remote: RemoteEnvironment, worker: Worker
    ) -> None:
        remote.register(REGISTRATION)
        first = remote.reset("s", 1)
        status, reply = worker.call("claim_outcome", episode_id=first.episode_id)
        assert (status, reply["code"]) == (409, "claimed")


def assert_same(a: Any, b: Any) -> None:
    assert (a.step, a.instruction, a.done) == (b.step, b.instruction, b.done)
    assert a.protocol_version == b.protocol_version
    assert a.registration_sha256 == b.registration_sha256
    for mine, theirs in ((a.state, b.state), (a.images, b.images)):
        assert set(mine) == set(theirs)
        for name, value in mine.items():
            assert value.dtype == theirs[name].dtype and value.shape == theirs[name].shape
            assert value.tobytes() == theirs[name].tobytes()
    half, other = a.evaluator, b.evaluator
    assert (half.scenario_id, half.seed, half.success) == (
        other.scenario_id, other.seed, other.success,
    )  # fmt: skip
    assert dict(half.applied_scene) == dict(other.applied_scene)
    assert dict(half.diagnostics) == dict(other.diagnostics)
    assert half.facts.tobytes() == other.facts.tobytes()


class TestLostReply:
    def test_a_motion_whose_reply_is_lost_is_executed_once(
        self, start: Callable[..., Worker], tmp_path: Path
    ) -> None:
        log = tmp_path / "motions"
        worker = start(options={"log": str(log)}, folder=tmp_path)
        proxy = Proxy(worker.port)
        remote = RemoteEnvironment(f"http://127.0.0.1:{proxy.port}", deadlines=PATIENT)
        try:
            remote.register(REGISTRATION)
            first = remote.reset("a", 1)
            assert first.evaluator is not None and first.evaluator.seed == SECRET_SEED
            command = np.array(START)
            remote.step(first.episode_id, 0, command)
            proxy.drop_replies = True
            with pytest.raises(EpisodeError, match="says that the motion was executed") as caught:
                remote.step(first.episode_id, 1, command)
            assert caught.value.code == "connection_lost"
            assert log.read_text() == f"{first.episode_id} 0\n{first.episode_id} 1\n"
            acts = [request for request in proxy.forwarded if b"\xa3act" in request]
            assert len(acts) == 2  # it asked what became of the motion, and did not send it again
            proxy.drop_replies = False
            again = remote.reset("a", 2)  # the next episode is a new one
            assert remote.step(again.episode_id, 0, command).executed
        finally:
            remote.close()
            proxy.close()

    def test_a_program_asks_for_the_state(self, robot_worker: Worker) -> None:
        proxy = Proxy(robot_worker.port)
        with Robot(f"http://127.0.0.1:{proxy.port}") as robot:
            robot.reset("a", 1)
            robot.act(START)
            proxy.drop_replies = True
            with pytest.raises(ReplyLost):
                robot.act(START)
            proxy.drop_replies = False
            assert robot.step == 1 and robot.state()["step"] == 2
            assert robot.act(START)["executed"] and robot.step == 3
        proxy.close()


SHIELD = {"verdict": "accept", "command": None, "reasons": []}
ACTED = {"executed": True, "shield": SHIELD, "observation": None, "evaluator": None}


class TestUnreachable:
    def test_a_dead_port_is_named_within_two_seconds(self) -> None:
        with port_of_nobody() as port:
            remote = RemoteEnvironment(f"http://127.0.0.1:{port}")
            began = time.monotonic()
            with pytest.raises(RunError) as caught:
                remote.identity()
            assert time.monotonic() - began < 5 * CONNECT_S
        assert caught.value.code == "connect"
        text = caught.value.message
        assert "127.0.0.1" in text and f"port {port}" in text and "check that" in text

    def test_an_address_that_does_not_answer(self) -> None:
        # A listener whose queue is full drops whoever knocks.
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen(0)
            waiting = [socket.create_connection(listener.getsockname(), PATIENCE_S)]
            for _ in range(2):
                client = socket.socket()
                client.setblocking(False)
                client.connect_ex(listener.getsockname())
                waiting.append(client)
            connection = WorkerConnection(f"http://127.0.0.1:{listener.getsockname()[1]}")
            began = time.monotonic()
            with pytest.raises(Unreachable, match="timed out"):
                connection.request("describe", {}, 1.0)
            assert 0.9 * CONNECT_S < time.monotonic() - began < 5 * CONNECT_S
            for client in waiting:
                client.close()

    def test_what_is_no_worker(self) -> None:
        replies = [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", b"SSH-2.0-x\r\n", b""]
        for reply in replies:
            with socket.create_server(("127.0.0.1", 0)) as listener:

                def answer(listener: socket.socket = listener, reply: bytes = reply) -> None:
                    client, _ = listener.accept()
                    client.recv(4096)
                    client.sendall(reply)
                    client.close()

                threading.Thread(target=answer, daemon=True).start()
                remote = RemoteEnvironment(f"http://127.0.0.1:{listener.getsockname()[1]}")
                with pytest.raises(RunError) as caught:
                    remote.describe()
                assert caught.value.code == "connect"

    @pytest.mark.parametrize(
        ("reply", "again", "says"),
        [
            (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", "no answer within"),  # a head without an end
            (b"", b"HTTP/1.1 100 Continue\r\n\r\n", "no answer within"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b"x", "no answer within"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", b"x", "a reply of"),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", "a reply of"),
            (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000, b"X: y\r\n", "more than 100 headers"),
            (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000, b"y", "header line"),
            (
                b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/rpc\r\n"
                b"Content-Length: 1\r\n\r\n\x80", b"", "HTTP status 302, and no reply of a worker",
            ),
        ],
    )  # fmt: skip
    def test_a_reply_that_is_hostile(self, reply: bytes, again: bytes, says: str) -> None:
        over = threading.Event()

        def answer() -> None:
            client, _ = listener.accept()
            with client, contextlib.suppress(OSError):
                client.recv(4096)
                client.sendall(reply)
                while not over.wait(0.02):  # more often than any time-out of one read
                    client.sendall(again)

        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=answer)
            thread.start()
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            # Only what never comes is waited for in vain.
            limit_s = 1.0 if says == "no answer within" else PATIENCE_S
            try:
                with pytest.raises(RunError, match=says) as caught:
                    limits = dataclasses.replace(PATIENT, step=limit_s)
                    RemoteEnvironment(url, deadlines=limits).describe()
                assert caught.value.code == "connect"
            finally:
                over.set()
                thread.join()

    @pytest.mark.parametrize(
        "reply",
        [
            [], {}, None, 1, {"executed": True},
            {**ACTED, "observation": []}, {**ACTED, "observation": "x"},
            {**ACTED, "observation": {"step": 1}}, {**ACTED, "executed": 1},
            {**ACTED, "shield": None}, {**ACTED, "shield": {**SHIELD, "reasons": None}},
            {**ACTED, "shield": {**SHIELD, "verdict": "limit"}},
            {**ACTED, "shield": {**SHIELD, "verdict": "limit", "command": [0.0]}},
        ],
    )  # fmt: skip
    def test_a_motion_whose_reply_is_garbage(
        self, reply: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        remote = RemoteEnvironment("http://127.0.0.1:1")
        remote._was_reset = True
        monkeypatch.setattr(WorkerConnection, "request", lambda *_: reply)
        with pytest.raises(EpisodeError) as caught:
            remote.step("e", 0, STILL)
        assert caught.value.code == "bad_reply"

    def test_a_worker_that_is_stopped_costs_the_episode(self, start: Callable[..., Worker]) -> None:
        worker = start()
        remote = RemoteEnvironment(worker.url, deadlines=PATIENT)
        remote.register(REGISTRATION)
        first = remote.reset("a", 1)
        worker.process.send_signal(signal.SIGSTOP)
        remote._deadlines = dataclasses.replace(PATIENT, step=1.0)
        try:
            with pytest.raises(EpisodeError, match="whether the motion was executed is unknown"):
                remote.step(first.episode_id, 0, np.array(START))
            with pytest.raises(EpisodeError) as caught:
                remote.reset("a", 1)
            assert caught.value.code == "worker_timeout"
        finally:
            worker.process.send_signal(signal.SIGCONT)
        remote._deadlines = PATIENT
        # What was asked while it stood still comes first or not at all; nobody waits for it.
        again = remote.reset("a", 1)
        assert remote.step(again.episode_id, 0, np.array(START)).executed

    def test_a_worker_that_is_gone_costs_the_episode(
        self, start: Callable[..., Worker], tmp_path: Path
    ) -> None:
        worker = start()
        remote = RemoteEnvironment(worker.url, deadlines=PATIENT)
        remote.register(REGISTRATION)
        first = remote.reset("a", 1)
        worker.process.kill()
        worker.process.wait()
        for _ in range(2):
            with pytest.raises(EpisodeError) as caught:
                remote.step(first.episode_id, 0, np.array(START))
            assert caught.value.code == "connection_lost"
        with pytest.raises(EpisodeError) as caught:
            remote.reset("a", 1)
        assert caught.value.code == "connection_lost"

    def test_a_reply_that_does_not_come_in_time(
        self, start: Callable[..., Worker], robot_worker: Worker
    ) -> None:
        worker = start()
        remote = RemoteEnvironment(worker.url, deadlines=PATIENT)
        remote.register(REGISTRATION)
        first = remote.reset("a", 1)
        remote._deadlines = dataclasses.replace(PATIENT, step=0.5)
        with pytest.raises(EpisodeError, match="no answer within 0.5 s") as caught:
            remote.step(first.episode_id, 0, np.array([-0.6, 0.0, 0.0, 0.0]))
        assert caught.value.code == "worker_timeout"
        worker.process.kill()

    @pytest.mark.parametrize(
        "url", ["127.0.0.1:80", "ftp://x", "http://", "http://x/y", "http://[::1"]
    )
    def test_what_is_no_address(self, url: str) -> None:
        with pytest.raises(UsageError, match="address"):
            RemoteEnvironment(url)

    def test_a_missing_token_says_what_to_set(
        self, start: Callable[..., Worker], tmp_path: Path
    ) -> None:
        worker = start(token="secret")
        remote = RemoteEnvironment(worker.url)
        with pytest.raises(RunError, match="HARNESS_WORKER_TOKEN"):
            remote.describe()
        assert RemoteEnvironment(worker.url, "secret").describe().name == "stub-robot"

    def test_it_can_be_stopped_from_another_thread(
        self, start: Callable[..., Worker], tmp_path: Path
    ) -> None:
        barrier = Barrier(tmp_path)
        worker = start(options={"barrier": barrier.path}, folder=tmp_path)
        remote = RemoteEnvironment(worker.url, deadlines=PATIENT)
        remote.register(REGISTRATION)
        first = remote.reset("a", 1)

        def kill_in_the_step() -> None:
            barrier.reached()
            remote.kill()

        threading.Thread(target=kill_in_the_step).start()
        with pytest.raises(EpisodeError, match="connection was lost"):  # not: no answer in time
            remote.step(first.episode_id, 0, np.array(START))
        worker.process.kill()

    def test_one_that_was_stopped_is_not_opened_again(self, robot_worker: Worker) -> None:
        connection = WorkerConnection(robot_worker.url)
        connection.request("describe", {}, PATIENCE_S)
        connection.abort()
        for _ in range(2):
            with pytest.raises(Unreachable, match="ended for good"):
                connection.request("describe", {}, PATIENCE_S)


class TestWorld:
    def test_another_world_or_another_code_is_refused(self, worker: Worker) -> None:
        world = World("c" * 64, "d" * 64)
        remote = RemoteEnvironment(worker.url, world=world)
        with pytest.raises(RunError, match="serves another world") as caught:
            remote.register(REGISTRATION)
        assert caught.value.code == "contract_mismatch"

    def test_a_worker_that_was_exchanged_is_noticed(
        self, start: Callable[..., Worker], tmp_path: Path
    ) -> None:
        first = start("stub_env:create_other_each_time")
        proxy = Proxy(first.port)
        remote = RemoteEnvironment(f"http://127.0.0.1:{proxy.port}", deadlines=PATIENT)
        remote.identity()
        remote.register(REGISTRATION)
        episode = remote.reset("s", 1).episode_id
        second = start("stub_env:create_other_each_time")
        proxy._port = second.port
        first.end()
        with pytest.raises(EpisodeError):
            remote.step(episode, 0, STILL)
        with pytest.raises(RunError, match="identity changed") as caught:
            remote.reset("s", 1)
        assert caught.value.code == "identity_mismatch"
        proxy.close()


Maker = Callable[..., ServedEnvironment]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Maker]:
    made: list[ServedEnvironment] = []
    path = os.pathsep.join([SERVED_PATH, os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)

    def build(
        factory: str = "stub_env:create", deadlines: Deadlines = PATIENT, **options: Any
    ) -> Any:
        python = options.pop("python", sys.executable)
        made.append(ServedEnvironment(python, factory, options, deadlines=deadlines))
        return made[-1]

    yield build
    for item in made:
        item.close()


class TestAnotherPython:
    def test_it_is_started_and_ended(self, serve: Maker) -> None:
        served = serve()
        assert served.worker_pid == 0
        assert dict(served.identity()) == {"simulator": "none"}
        pid = served.worker_pid
        assert alive(pid)
        served.register(REGISTRATION)
        first = served.reset("s", 1)
        assert served.step(first.episode_id, 0, STILL).executed
        # Nobody but the runner can talk to it.
        assert served._connection is not None
        with pytest.raises(Refused) as caught:
            WorkerConnection(served._connection.url).request("describe", {}, PATIENCE_S)
        assert caught.value.status == 401
        served.close()
        assert gone([pid]) and served.worker_pid == 0

    def test_one_that_dies_is_replaced(self, serve: Maker) -> None:
        served = serve()
        served.identity()
        served.register(REGISTRATION)
        first = served.reset("s", 1)
        before = served.worker_pid
        with pytest.raises(EpisodeError, match="killed by SIGKILL") as caught:
            served.step(first.episode_id, 0, np.full(7, -0.2))
        assert caught.value.code == "worker_died"
        again = served.reset("s", 2)
        assert again.registration_sha256 == registration_sha256(REGISTRATION)
        assert served.worker_pid not in (0, before)

    def test_one_that_hangs_is_killed(self, serve: Maker) -> None:
        served = serve()
        served.register(REGISTRATION)
        first = served.reset("s", 1)
        pid = served.worker_pid
        served._deadlines = dataclasses.replace(PATIENT, step=1.0)
        with pytest.raises(EpisodeError, match="the worker was killed") as caught:
            served.step(first.episode_id, 0, np.full(7, -0.1))
        assert caught.value.code == "worker_timeout"
        assert gone([pid])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"python": "/no/such/python"}, "No such file"),
            ({"python": "/bin/false"}, "exited with status 1"),
            ({"factory": "stub_env:create_failing", "kind": "value"}, "bad option"),
            ({"factory": "stub_env:missing"}, "has no attribute"),
        ],
    )
    def test_one_that_cannot_be_started(
        self, options: dict[str, Any], message: str, serve: Maker
    ) -> None:
        served = serve(**options)
        with pytest.raises(RunError, match=message) as caught:
            served.identity()
        assert caught.value.code == "load" and served.worker_pid == 0

    def test_it_ends_with_the_runner_however_that_ends(self, tmp_path: Path) -> None:
        script = textwrap.dedent(
            """
            import sys, time
            from robogate.worker.served import ServedEnvironment
            served = ServedEnvironment(sys.executable, "stub_robot:create", {"child": True})
            served.start()
            print(served.worker_pid, flush=True)
            time.sleep(600)
            """
        )
        path = os.pathsep.join([SERVED_PATH, os.environ.get("PYTHONPATH", "")])
        runner = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
        assert runner.stdout is not None
        with runner:
            try:
                pid = int(runner.stdout.readline())
                # The worker, its guard, and what the robot started.
                assert len(in_session(pid)) >= 3
            finally:
                runner.kill()
        assert until(lambda: in_session(pid) == [], ORPHAN_S)


def in_session(leader: int) -> list[int]:
    """Live processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z" and int(fields[3]) == leader:
            found.append(int(stat.parent.name))
    return found
