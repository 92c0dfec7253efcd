"""What it costs to have a robot behind HTTP, beside a bare ASGI echo of the same bytes.

.venv/bin/python benchmarks/worker.py [--calls 300] [--rounds 5]

The robot simulates and renders nothing, so that what is left is the worker's own: HTTP, the way to
the environment's thread and back, arguments, the shield, encoding, and the client's decoding. The
echo reads a body and answers with as many bytes as the worker does, on the same server; its client
is a socket. Each round measures everything once, in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from common import HERE, ROOT, machine, machine_line, publish, table
from worker_robot import CAMERAS, JOINTS

from robogate.records.environment import Registration
from robogate.worker.client import RemoteEnvironment
from robogate.worker.robot import Robot
from robogate.worker.wire import JSON, MSGPACK, dump

WARM_UP = 20
STILL = np.zeros(JOINTS)
#: What has to hold: median in ms of a tick without and with two raw images.
LIMITS = {"tick": 1.5, "tick, two 256² raw images": 3.0}


class Raw:
    """A keep-alive HTTP client of a few lines: the least that a client can cost."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def post(self, path: str, media: str, body: bytes) -> int:
        """Send a body; return the length of the reply's."""
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media}\r\n"
        self._socket.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._receive(1 << 16)
        head_bytes, _, rest = data.partition(b"\r\n\r\n")
        assert head_bytes.startswith(b"HTTP/1.1 200"), head_bytes
        name = b"content-length: "
        lines = head_bytes.lower().split(b"\r\n")
        length = next(int(line[len(name) :]) for line in lines if line.startswith(name))
        left = length - len(rest)
        while left:
            left -= len(self._receive(min(left, 1 << 20)))
        return length

    def _receive(self, size: int) -> bytes:
        data = self._socket.recv(size)
        if not data:
            raise ConnectionError("the server has closed the connection")
        return data


@contextmanager
def process(*arguments: str) -> Iterator[str]:
    """A server; yields the first line that it prints."""
    child = subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(HERE)},
    )  # fmt: skip
    assert child.stdout is not None
    try:
        yield child.stdout.readline()
    finally:
        child.terminate()
        child.wait(10)


def measure(call: Callable[[], Any], calls: int) -> list[float]:
    """Durations of calls, ms."""
    for _ in range(WARM_UP):
        call()
    spent = []
    for _ in range(calls):
        began = time.perf_counter()
        call()
        spent.append(1e3 * (time.perf_counter() - began))
    return spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=300, help="in each round")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    facts = machine()
    serve = ("-m", "robogate", "serve", "--factory", "worker_robot:create", "--port", "0")
    with process(*serve) as ready, process(str(HERE / "worker_robot.py")) as echoed:
        port = int(json.loads(ready)["port"])
        spent = rounds(port, int(echoed), args.calls, args.rounds)
    publish("worker", document(facts, spent, args), text(facts, spent, args))
    late = [name for name, limit in LIMITS.items() if statistics.median(spent[name]) > limit]
    if late:
        sys.exit(f"slower than it may be: {', '.join(late)}")


def rounds(port: int, echo: int, calls: int, count: int) -> dict[str, list[float]]:
    """Durations by name, ms."""
    url = f"http://127.0.0.1:{port}"
    robot = Robot(url)
    remote = RemoteEnvironment(url)
    remote.register(Registration("0" * 64, "zero", "1", "0" * 64, None, None, None, None, None))
    raw = Raw(echo)
    small, large, pngs = sizes(port, robot)
    command = dump({"method": "call", "arguments": {"command": [0.0] * JOINTS}}, MSGPACK)
    spent: dict[str, list[float]] = {}
    for _ in range(count):
        robot.reset("idle", 1)
        record(spent, "echo", calls, lambda: raw.post(f"/{small}", MSGPACK, command))
        record(spent, "tick", calls, lambda: robot.tick(STILL))
        record(spent, "echo, as many bytes", calls, lambda: raw.post(f"/{large}", MSGPACK, command))
        record(
            spent, "tick, two 256² raw images", calls, lambda: robot.tick(STILL, cameras=CAMERAS)
        )
        json_client = JsonTicks(port, robot)
        record(spent, "tick in JSON, two 256² PNG", max(calls // 10, 10), json_client.tick)
        record(spent, "a run's step, two 256² raw images", calls, RunSteps(remote).step)
    spent["sizes"] = [float(small), float(large), float(pngs)]
    return spent


def record(spent: dict[str, list[float]], name: str, calls: int, call: Callable[[], Any]) -> None:
    spent.setdefault(name, []).extend(measure(call, calls))


class JsonTicks:
    """Ticks as a program without our client would send them; images decoded from base64 only."""

    def __init__(self, port: int, robot: Robot) -> None:
        self._client = Raw(port)
        self._episode, self._step = robot.episode_id, robot.step
        self.length = 0

    def tick(self) -> None:
        arguments = {
            "episode_id": self._episode, "step": self._step, "command": [0.0] * JOINTS,
            "cameras": list(CAMERAS),
        }  # fmt: skip
        wanted = {"method": "call", "arguments": {"name": "tick", "arguments": arguments}}
        self.length = self._client.post("/rpc", JSON, dump(wanted, JSON))
        self._step += 1


class RunSteps:
    """Steps as a run makes them: with the token, and the evaluator's half in every answer."""

    def __init__(self, remote: RemoteEnvironment) -> None:
        self._remote = remote
        self._episode, self._step = remote.reset("idle", 1).episode_id, 0

    def step(self) -> None:
        self._remote.step(self._episode, self._step, STILL)
        self._step += 1


def sizes(port: int, robot: Robot) -> tuple[int, int, int]:
    """Bytes of the replies: a tick, one with raw images, one with PNGs in JSON."""
    robot.reset("idle", 1)
    raw = Raw(port)
    lengths = []
    for step, cameras in enumerate(([], list(CAMERAS))):
        arguments = {
            "episode_id": robot.episode_id, "step": step, "command": [0.0] * JOINTS,
            "cameras": cameras,
        }  # fmt: skip
        wanted = {"method": "call", "arguments": {"name": "tick", "arguments": arguments}}
        lengths.append(raw.post("/rpc", MSGPACK, dump(wanted, MSGPACK)))
    robot.state()
    client = JsonTicks(port, robot)
    client.tick()
    return lengths[0], lengths[1], client.length


def text(facts: dict[str, Any], spent: dict[str, list[float]], args: Any) -> str:
    small, large, pngs = (int(size) for size in spent["sizes"])
    rows = []
    for name, values in spent.items():
        if name == "sizes":
            continue
        base = "echo" if name in ("echo", "tick") else "echo, as many bytes"
        ordered = sorted(values)
        p50, p99 = statistics.median(ordered), ordered[int(0.99 * len(ordered))]
        limit = f"{LIMITS[name]:.1f}" if name in LIMITS else ""
        over = "" if name.startswith("echo") else f"{p50 - statistics.median(spent[base]):.2f}"
        rows.append([name, f"{p50:.2f}", f"{p99:.2f}", over, limit])
    header = ["ms a call", "p50", "p99", "p50 above the echo", "accepted p50"]
    return "\n\n".join(
        [
            table(header, rows),
            f"{args.rounds} rounds of {args.calls} calls, on the loopback interface. Replies have "
            f"{small} bytes, {large} with raw images (noise, {JOINTS} joints) and {pngs} with PNGs "
            "in JSON.",
            machine_line(facts),
        ]
    )


def document(facts: dict[str, Any], spent: dict[str, list[float]], args: Any) -> dict[str, Any]:
    kept = {}
    for name, values in spent.items():
        if name != "sizes":
            ordered = sorted(values)
            kept[name] = {
                "p50_ms": statistics.median(ordered),
                "p90_ms": ordered[int(0.9 * len(ordered))],
                "p99_ms": ordered[int(0.99 * len(ordered))],
                "calls": len(ordered),
            }
    return {"machine": facts, "rounds": args.rounds, "calls": args.calls, "durations": kept}


if __name__ == "__main__":
    main()
