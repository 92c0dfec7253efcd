"""The server: a maintained ASGI server in a thread of its own; the environment keeps the main one.

`Server.run` is called by the thread that built the environment, and stays in it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from robogate.errors import UsageError
from robogate.records.environment import Environment
from robogate.worker.call_error import CallError
from robogate.worker.contracts import Contract
from robogate.worker.http_app import Gate, build_app
from robogate.worker.http_protocol import timed_protocol
from robogate.worker.jobs import Jobs
from robogate.worker.leaving import Ending, force_end
from robogate.worker.robot_api import RobotApi

TOKEN_VARIABLE = "HARNESS_WORKER_TOKEN"

_CHECK_S = 0.05
#: Until the answer to an overdue request is on its way, at the most, s.
_LAST_WORDS_S = 5.0


@dataclass(frozen=True)
class ServeLimits:
    """What a server bounds.

    Attributes:
        start_s: Until the environment is built, s.
        reset_s: Of a reset, s.
        step_s: Of anything else that the environment does, s.
        close_s: Of the end, s.
        queue: Requests that may wait for the environment.
        max_body: Bytes.
        client_s: Until the head and, again, the body of a request must be complete, and until a
            reply that waits must be read, s.
        idle_s: How long a connection may be idle: longer than any inference, s.
        connections: Open at the same time.
    """

    start_s: float = 180.0
    reset_s: float = 120.0
    step_s: float = 60.0
    close_s: float = 5.0
    queue: int = 32
    max_body: int = 1 << 20
    client_s: float = 10.0
    idle_s: float = 900.0
    connections: int = 256


def is_loopback(host: str) -> bool:
    """Whether an interface can be reached from this machine alone.

    Raises:
        UsageError: It is no address of this machine.
    """
    return all(ipaddress.ip_address(address[4][0]).is_loopback for address in _addresses(host))


def listen(host: str, port: int) -> socket.socket:
    """Reserve an address; nothing is accepted before the server runs.

    Raises:
        UsageError: It cannot be had.
    """
    family, _, _, _, address = _addresses(host)[0]
    # The protocol is named because asyncio looks at it before it turns Nagle's algorithm off, which
    # holds back a short reply for 40 ms.
    reserved = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        reserved.bind((address[0], port, *address[2:]))
    except (OSError, OverflowError) as exc:
        reserved.close()
        raise UsageError(
            f"{host}:{port} cannot be bound ({exc}); choose another --port, or 0 for a free one",
            code="bind",
        ) from exc
    return reserved


def _addresses(host: str) -> list[Any]:
    try:
        return socket.getaddrinfo(host or "0.0.0.0", None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as exc:
        raise UsageError(f"--host {host}: no such address ({exc})", code="bind") from exc


class Server:
    """Serves one environment.

    Args:
        environment: Built, by the thread that is going to call `run`.
        api: What may be done with it.
        contract: What a client sees.
        reserved: From `listen`.
        gate: Who may ask.
        limits: What is bounded.
    """

    def __init__(
        self,
        environment: Environment,
        api: RobotApi,
        contract: Contract,
        reserved: socket.socket,
        gate: Gate,
        limits: ServeLimits,
    ) -> None:
        import uvicorn
        from uvicorn.protocols.http.auto import AutoHTTPProtocol

        self._environment, self._limits, self._socket = environment, limits, reserved
        self._jobs = Jobs(api.perform, limits.queue, limits.reset_s, limits.step_s)
        self._server = uvicorn.Server(
            uvicorn.Config(
                build_app(self._jobs, contract, api.offered, api.name, gate),
                http=timed_protocol(AutoHTTPProtocol, limits.client_s),
                loop="asyncio",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=int(limits.idle_s),
                timeout_graceful_shutdown=1,
                limit_concurrency=limits.connections,
                backlog=min(limits.connections, 128),
            )
        )
        self._thread = threading.Thread(target=self._serve, name="robogate-http", daemon=True)

    def run(self, ready: Callable[[str, int], None], ending: Ending) -> None:
        """Serve until the process is asked to end, then close the environment.

        Args:
            ready: Called with address and port once requests are accepted.
            ending: Says when the process is asked to end.
        """
        try:
            self._thread.start()
            while not self._server.started:
                if not self._thread.is_alive():
                    raise RuntimeError("the HTTP server did not start; the log says why")
                time.sleep(0.005)
            threading.Thread(target=self._watch, name="robogate-watch", daemon=True).start()
            ending.serving(self._jobs.stop)
            ready(*self._socket.getsockname()[:2])
            self._jobs.run()
        finally:
            self._server.should_exit = True
            self._environment.close()
            self._thread.join(self._limits.close_s)

    def _serve(self) -> None:
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(self._server.serve(sockets=[self._socket]))
        finally:
            loop.close()

    def _watch(self) -> None:
        """End the process where the environment hangs: nothing can make it go on."""
        while not self._server.should_exit:
            time.sleep(_CHECK_S)
            overdue = self._jobs.overdue()
            if overdue is None:
                continue
            job, limit = overdue
            text = f"{job.request.name}: no answer within {limit:g} s; the worker ends"
            if job.settle(None, CallError(500, "worker_timeout", text, "episode")):
                job.answered.wait(_LAST_WORDS_S)
                sys.stdout.flush()
                force_end(text)
