"""An HTTP connection that does not wait for ever: for a request's head, or for a reader."""

from __future__ import annotations

import asyncio
from typing import Any


def timed_protocol(base: type[Any], timeout_s: float) -> type[Any]:
    """A connection class for the ASGI server that gives up on slow clients.

    The server itself bounds only the time between two requests. Here a connection is closed when
    the head of a request is not complete in time, and when nobody reads a reply. Bodies are
    bounded where they are read.

    Args:
        base: The server's own connection class.
        timeout_s: Longest accepted time for either, s.
    """

    class TimedProtocol(base):  # type: ignore[misc]
        """One connection."""

        _head: asyncio.TimerHandle | None = None
        _reader: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            """A client is there; it has to say what it wants."""
            super().connection_made(transport)
            self._head = self.loop.call_later(timeout_s, transport.abort)

        def data_received(self, data: bytes) -> None:
            """Part of a request arrived."""
            super().data_received(data)
            if self._in_request():
                self._cancel_head()
            elif self._head is None and not self.transport.is_closing():
                self._head = self.loop.call_later(timeout_s, self.transport.abort)

        def pause_writing(self) -> None:
            """The client does not read as fast as it is told."""
            super().pause_writing()
            if self._reader is None:
                self._reader = self.loop.call_later(timeout_s, self.transport.abort)

        def resume_writing(self) -> None:
            """The client has read what was waiting."""
            super().resume_writing()
            self._cancel_reader()

        def connection_lost(self, exc: Exception | None) -> None:
            """The client is gone."""
            self._cancel_head()
            self._cancel_reader()
            super().connection_lost(exc)

        def _in_request(self) -> bool:
            """Whether the head of a request is complete and its reply is not."""
            return self.cycle is not None and not self.cycle.response_complete

        def _cancel_head(self) -> None:
            if self._head is not None:
                self._head.cancel()
                self._head = None

        def _cancel_reader(self) -> None:
            if self._reader is not None:
                self._reader.cancel()
                self._reader = None

    return TimedProtocol
