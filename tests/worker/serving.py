"""Starts workers for tests, and talks to them without the client that is under test."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from waiting import PATIENCE_S

HERE = Path(__file__).parent

#: Import path of what is served.
SERVED_PATH = os.pathsep.join([str(HERE), str(HERE.parent)])


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
        path = os.pathsep.join([SERVED_PATH, os.environ.get("PYTHONPATH", "")])
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

    def end(self) -> tuple[int, str]:
        """Ask it to end; return its status and what it wrote to stderr."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """Wait for its end; return its status and what it wrote to stderr."""
        try:
            _, errors = self.process.communicate(timeout=PATIENCE_S)
        finally:
            self.process.kill()
            self.process.wait()
        return self.process.returncode, errors
