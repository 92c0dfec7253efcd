"""One websocket connection to a policy server, every wait with an end.

A message is sent once. Whatever becomes of an exchange that fails, it is never sent again: the
server may have acted on it. The connection is then closed and of no further use.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from robogate.adapters.wire import MAX_MESSAGE
from robogate.errors import EpisodeError

#: Longest wait for the other side's farewell, s.
_CLOSE_S = 2.0


class WebSocketClient:
    """A connection.

    Args:
        url: ``ws://HOST:PORT``.
        compression: ``deflate`` or None, as the server expects.
        headers: Of the opening request.
    """

    def __init__(
        self, url: str, *, compression: str | None, headers: Mapping[str, str] | None = None
    ) -> None:
        self.url = url
        self._compression = compression
        self._headers = dict(headers or {})
        self._manager: Any = None
        self._connection: Any = None

    @property
    def alive(self) -> bool:
        """Whether another exchange can be tried."""
        return self._connection is not None

    def connect(self, limit_s: float) -> None:
        """Open it.

        Pings are left out: a server that infers in its event loop answers none, and its silence is
        bounded here. So are proxies of the environment: the address is the server's.

        Raises:
            EpisodeError: ``connection_lost``.
        """
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect

        try:
            manager = connect(
                self.url,
                compression=self._compression,
                additional_headers=self._headers or None,
                max_size=MAX_MESSAGE,
                open_timeout=limit_s,
                close_timeout=_CLOSE_S,
                ping_interval=None,
                proxy=None,
            )
            self._connection = manager.__enter__()
            self._manager = manager
        except TimeoutError as exc:
            raise EpisodeError(
                f"{self.url}: no websocket within {limit_s:g} s; is it a policy server that "
                "listens there?",
                code="connection_lost",
            ) from exc
        except OSError as exc:
            raise EpisodeError(
                f"{self.url}: no server listens there ({exc}); start it, or correct adapter.url",
                code="connection_lost",
            ) from exc
        except WebSocketException as exc:
            raise EpisodeError(
                f"{self.url}: what listens there does not open a websocket ({_line(exc)}); correct "
                "adapter.url",
                code="connection_lost",
            ) from exc

    def exchange(self, data: bytes, limit_s: float) -> bytes | str:
        """Send a message and wait for the next one.

        Args:
            data: Sent as one binary message.
            limit_s: For both, s.

        Raises:
            EpisodeError: ``connection_lost`` or ``inference_timeout``; the connection is closed.
        """
        from websockets.exceptions import ConnectionClosed

        deadline = time.monotonic() + limit_s
        connection = self._require()
        self._refuse_waiting(connection)
        try:
            with self._cut_off(limit_s) as late:
                connection.send(data)
        except (ConnectionClosed, OSError) as exc:
            self.close()
            if late.is_set():
                raise _late(self.url, limit_s) from exc
            raise _lost(self.url, exc) from exc
        return self.receive(max(deadline - time.monotonic(), 0.001), of_s=limit_s)

    def receive(self, limit_s: float, *, of_s: float | None = None) -> bytes | str:
        """Wait for a message.

        Args:
            limit_s: s.
            of_s: The limit to name, where part of it was spent.

        Raises:
            EpisodeError: As `exchange`.
        """
        from websockets.exceptions import ConnectionClosed

        try:
            message: bytes | str = self._require().recv(timeout=limit_s)
            return message
        except TimeoutError as exc:
            # What comes now would be taken for the answer to the next message.
            self.close()
            raise _late(self.url, of_s or limit_s) from exc
        except (ConnectionClosed, OSError) as exc:
            self.close()
            raise _lost(self.url, exc) from exc

    def close(self) -> None:
        """Close it; may be called twice."""
        connection, self._connection = self._connection, None
        manager, self._manager = self._manager, None
        if manager is not None:
            with self._cut_off(_CLOSE_S, connection):
                manager.__exit__(None, None, None)

    def _refuse_waiting(self, connection: Any) -> None:
        """Nothing may have come since the last exchange: it would be taken for the next reply."""
        from websockets.exceptions import ConnectionClosed

        try:
            connection.recv(timeout=0)
        except TimeoutError:
            return
        except (ConnectionClosed, OSError) as exc:
            self.close()
            raise _lost(self.url, exc) from exc
        self.close()
        raise EpisodeError(
            f"{self.url}: the server sent a message that nobody asked for, so its replies are out "
            "of order",
            code="out_of_order",
        )

    def _require(self) -> Any:
        if self._connection is None:
            raise EpisodeError(
                f"{self.url}: the connection was closed after an exchange that failed",
                code="connection_lost",
            )
        return self._connection

    @contextmanager
    def _cut_off(self, limit_s: float, connection: Any = None) -> Iterator[threading.Event]:
        """Cut the connection off where a call that knows no time limit takes too long."""
        connection = connection or self._connection
        late = threading.Event()

        def cut() -> None:
            late.set()
            import socket

            try:
                connection.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it is gone already

        timer = threading.Timer(limit_s, cut)
        timer.daemon = True
        timer.start()
        try:
            yield late
        finally:
            timer.cancel()


def _late(url: str, limit_s: float) -> EpisodeError:
    return EpisodeError(
        f"{url}: no reply within {limit_s:g} s; see bench.inference_timeout_s and the server's log",
        code="inference_timeout",
    )


def _lost(url: str, exc: Exception) -> EpisodeError:
    from websockets.exceptions import ConnectionClosed

    why = _line(exc)
    if isinstance(exc, ConnectionClosed) and exc.sent is not None and exc.sent.code == 1009:
        return EpisodeError(
            f"{url}: a reply is longer than {MAX_MESSAGE} bytes; no chunk of actions is",
            code="bad_reply",
        )
    return EpisodeError(
        f"{url}: the server closed the connection before it replied ({why}); its own log says why",
        code="connection_lost",
    )


def _line(exc: Exception) -> str:
    return " ".join(str(exc).split())[:200] or type(exc).__name__
