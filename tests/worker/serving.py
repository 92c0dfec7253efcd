"""Starts workers for tests, and talks to them without the client that is under test."""

from __future__ import annotations

import errno
import http.client
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

#: How long a test waits for what is sure to come, s: a loaded machine takes its time.
PATIENCE_S = 60.0


class Barrier:
    """Holds a robot's motion until the test lets it go on.

    Attributes:
        path: The named pipe that the robot waits at.
    """

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "barrier")
        os.mkfifo(self.path)
        self._writer: int | None = None

    def reached(self) -> None:
        """Return when the robot is in its motion, where it stays."""
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._writer = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as exc:
                assert exc.errno == errno.ENXIO, exc  # nobody reads yet
            else:
                return
            assert time.monotonic() < until, "the robot was not asked to move"
            time.sleep(0.01)

    def lift(self) -> None:
        """Let the robot go on; there is no barrier any more."""
        os.unlink(self.path)
        if self._writer is not None:
            os.close(self._writer)
            self._writer = None


class Worker:
    """A served robot.

    Attributes:
        port: Where it listens.
        process: Its process.
        ready: Its ready line; neither it nor the port where it was not waited for.
    """

    def __init__(
        self,
        factory: str = "stub_robot:create",
        *arguments: str,
        options: dict[str, Any] | None = None,
        folder: Path | None = None,
        token: str | None = None,
        ready: bool = True,
        **variables: str,
    ) -> None:
        given = list(arguments)
        if options is not None:
            assert folder is not None
            file = folder / "options.json"
            file.write_text(json.dumps(options))
            given += ["--options", str(file)]
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, **variables}
        environment.pop("HARNESS_WORKER_TOKEN", None)
        if token is not None:
            environment["HARNESS_WORKER_TOKEN"] = token
        command = [sys.executable, "-m", "robogate", "serve", "--factory", factory]
        self.process = subprocess.Popen(
            [*command, "--port", "0", *given],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        if not ready:
            return
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        self.ready = json.loads(line)
        self.port = int(self.ready["port"])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def post(
        self, body: bytes, path: str = "/rpc", method: str = "POST", **headers: str
    ) -> tuple[int, Any]:
        """Send raw bytes; return status and parsed reply."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        sent = {"Content-Type": "application/json"}
        sent.update({key.replace("_", "-"): value for key, value in headers.items()})
        connection.request(method, path, body, sent)
        reply = connection.getresponse()
        data = reply.read()
        connection.close()
        kind = reply.headers.get_content_type()
        return reply.status, json.loads(data) if kind == "application/json" else data

    def rpc(self, method: str, headers: dict[str, str] | None = None, **arguments: Any) -> Any:
        body = json.dumps({"method": method, "arguments": arguments}).encode()
        status, reply = self.post(body, **(headers or {}))
        return (status, reply) if status != 200 else reply["result"]

    def call(self, name: str, **arguments: Any) -> Any:
        return self.rpc("call", name=name, arguments=arguments)

    def begin(self) -> str:
        return str(self.rpc("reset", task="a", seed=1)["episode_id"])

    def end(self, wait_s: float = PATIENCE_S) -> tuple[int, str]:
        """Ask it to end; return its status and what it wrote to stderr."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.ended(wait_s)

    def ended(self, wait_s: float = 20.0) -> tuple[int, str]:
        """Wait for its end; return its status and what it wrote to stderr."""
        try:
            _, errors = self.process.communicate(timeout=wait_s)
        finally:
            self.process.kill()
            self.process.wait()
        return self.process.returncode, errors
