"""One connection to a worker. It sends a request once: whatever became of it, never again."""

from __future__ import annotations

import http.client
import io
import select
import socket
import threading
import time
from typing import Any
from urllib.parse import urlsplit

from robogate.errors import RobogateError, UsageError
from robogate.worker.wire import MSGPACK, WireError, dump, load

#: A dead port is reported within this time, s.
CONNECT_S = 2.0
MAX_REPLY = 256 << 20
_CHUNK = 1 << 20


class Unreachable(RobogateError):
    """There is no connection; nothing was sent."""

    default_code = "connect"


class ReplyLost(RobogateError):
    """The request was sent, at least in part, and no reply came: it may have been executed."""

    default_code = "connection_lost"


class ReplyLate(ReplyLost):
    """No reply came in time."""

    default_code = "worker_timeout"


class ReplyUnreadable(ReplyLost):
    """What came is no reply."""

    default_code = "bad_reply"


class Refused(RobogateError):
    """The worker answered with an error.

    Args:
        status: HTTP status.
        code: As the worker says.
        kind: What it stops, as the worker says.
        message: As the worker says.
    """

    def __init__(self, status: int, code: str, kind: str, message: str) -> None:
        super().__init__(message, code=code)
        self.status, self.kind = status, kind


class WorkerConnection:
    """Speaks msgpack over HTTP with one worker; used by one thread, but for `abort`.

    Args:
        url: ``http://HOST:PORT``.
        token: Bearer token, where the worker wants one.

    Raises:
        UsageError: It is no such address.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url
        try:
            parts = urlsplit(url)
            self.host, port = parts.hostname or "", parts.port
        except ValueError as exc:
            raise UsageError(f"{url!r} is no address; expected http://HOST:PORT") from exc
        if parts.scheme not in ("http", "https") or not self.host or parts.path not in ("", "/"):
            raise UsageError(f"{url!r} is no address of a worker; expected http://HOST:PORT")
        self._secure = parts.scheme == "https"
        self.port = port or (443 if self._secure else 80)
        host = f"[{self.host}]" if ":" in self.host else self.host
        lines = [
            "POST /rpc HTTP/1.1",
            f"Host: {host}:{self.port}",
            f"Content-Type: {MSGPACK}",
            f"Accept: {MSGPACK}",
            *([] if token is None else [f"Authorization: Bearer {token}"]),
        ]
        if any("\r" in line or "\n" in line for line in lines):
            raise UsageError("the worker's token or address holds a line break")
        self._head = "\r\n".join(lines).encode("latin-1", "replace")
        self._socket: socket.socket | None = None
        self._aborted = threading.Event()

    def request(self, method: str, arguments: dict[str, Any], limit_s: float) -> Any:
        """Send one request and return its result.

        Args:
            method: ``describe``, ``reset`` or ``call``.
            arguments: JSON values, and arrays as `MsgpackCodec` packs them.
            limit_s: Until the reply must be complete, s.

        Raises:
            Unreachable: Nothing was sent.
            ReplyLost: It may have been executed.
            Refused: The worker answered with an error.
        """
        body = dump({"method": method, "arguments": arguments}, MSGPACK)
        connection = self._ready()
        deadline = time.monotonic() + limit_s
        try:
            connection.settimeout(limit_s)
            connection.sendall(self._head + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            status, data = self._receive(connection, deadline)
        except TimeoutError as exc:
            self.close()
            raise ReplyLate(f"{self.url}: no answer within {limit_s:g} s") from exc
        except (OSError, http.client.HTTPException) as exc:
            self.close()
            why = str(exc) or type(exc).__name__
            raise ReplyLost(f"{self.url}: the connection was lost ({why})") from exc
        return self._result(status, data)

    def close(self) -> None:
        """End the connection; the next request opens another."""
        connection, self._socket = self._socket, None
        if connection is not None:
            connection.close()

    def abort(self) -> None:
        """Let a request in progress fail, and every later one, from any thread."""
        self._aborted.set()
        connection = self._socket
        if connection is not None:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it is gone already

    def _ready(self) -> socket.socket:
        """A connection that neither end has closed."""
        if self._aborted.is_set():
            raise Unreachable(f"{self.url}: the connection was ended for good")
        if self._socket is not None:
            # Nothing is due between two requests: what can be read is the end, or nonsense.
            if not select.select([self._socket], [], [], 0.0)[0]:
                return self._socket
            self.close()
        try:
            connection = _connect(self.host, self.port)
            if self._secure:
                import ssl

                context = ssl.create_default_context()
                connection = context.wrap_socket(connection, server_hostname=self.host)
        except OSError as exc:
            raise Unreachable(
                f"no worker at host {self.host}, port {self.port} ({exc.strerror or exc}): check "
                "that `robogate serve` runs there and printed this host and port in its ready "
                "line, that --host lets this machine in, and that no firewall is between"
            ) from exc
        self._socket = connection
        if self._aborted.is_set():  # while it was opened, and not seen by `abort`
            self.close()
            raise Unreachable(f"{self.url}: the connection was ended for good")
        return connection

    def _receive(self, connection: socket.socket, deadline: float) -> tuple[int, bytes]:
        # The deadline is one for the whole reply: an end that sends a byte now and then never ends.
        incoming: Any = _Incoming(connection, deadline)
        reply = http.client.HTTPResponse(incoming, method="POST")
        try:
            reply.begin()
            length = reply.length
            if length is None or length > MAX_REPLY:
                raise http.client.HTTPException(f"a reply of {length} bytes")
            data = bytearray()
            while len(data) < length:
                part = reply.read(min(_CHUNK, length - len(data)))
                if not part:
                    raise http.client.IncompleteRead(bytes(data[:0]), length - len(data))
                data += part
            closing = reply.will_close
        finally:
            reply.close()
        if closing:
            self.close()
        return reply.status, bytes(data)

    def _result(self, status: int, data: bytes) -> Any:
        try:
            reply = load(data, MSGPACK)
        except WireError as exc:
            self.close()
            raise ReplyUnreadable(f"{self.url}: the reply cannot be read: {exc.message}") from exc
        if status == 200 and type(reply) is dict and reply.keys() == {"result"}:
            return reply["result"]
        fields = ("error", "code", "kind")
        if type(reply) is dict and all(type(reply.get(name)) is str for name in fields):
            raise Refused(status, reply["code"], reply["kind"], reply["error"])
        self.close()
        raise ReplyUnreadable(f"{self.url}: HTTP status {status}, and no reply of a worker")


class _Incoming(io.RawIOBase):
    """What a connection receives until a deadline, on the clock of `time.monotonic`."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection, self._deadline = connection, deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        """As a reply reads it."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Receive what there is.

        Raises:
            TimeoutError: The deadline has passed.
        """
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


def _connect(host: str, port: int) -> socket.socket:
    """Open a connection within `CONNECT_S`, whatever the number of addresses."""
    deadline = time.monotonic() + CONNECT_S
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    failure: OSError = OSError("no address")
    for left, (family, kind, number, _, address) in zip(range(len(addresses), 0, -1), addresses):
        connection = socket.socket(family, kind, number)
        try:
            connection.settimeout(max(0.05, (deadline - time.monotonic()) / left))
            connection.connect(address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        except OSError as exc:
            connection.close()
            failure = exc
    raise failure
