"""``POST /rpc`` and ``GET /healthz``: who may ask, what a body may be, and what is answered."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import ipaddress
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from robogate.worker.call_error import CallError
from robogate.worker.contracts import Contract
from robogate.worker.jobs import Job, Jobs
from robogate.worker.requests import Request, read_request
from robogate.worker.wire import JSON, MEDIA_TYPES, WireError, dump, load

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response

log = logging.getLogger(__name__)

#: A job that takes longer is watched for its client's leaving; most are done before.
_PATIENCE_S = 0.1
#: Times the largest body that is read and thrown away, where more is sent than is accepted.
_DISCARDED = 8
_DISCARD_S = 2.0


@dataclass(frozen=True)
class Gate:
    """Who may ask, and how much.

    Attributes:
        token: Bearer token that every request must carry; None: none is needed.
        loopback: Whether only this machine can reach the worker. Its ``Host`` must then be a
            loopback name, so that no web page reaches it under a name of its own.
        max_body: Largest accepted body, bytes.
        body_s: Until a body must be complete, s.
    """

    token: str | None
    loopback: bool
    max_body: int
    body_s: float

    def admit(self, headers: Any) -> str:
        """Check a request's headers.

        Returns:
            The media type of its body.

        Raises:
            CallError: It is refused.
        """
        if self.token is not None:
            scheme, _, given = headers.get("authorization", "").partition(" ")
            same = hmac.compare_digest(given.strip().encode(), self.token.encode())
            if scheme.lower() != "bearer" or not same:
                raise CallError(401, "unauthorized", "a bearer token is needed, and this is not it")
        elif self.loopback and not _is_loopback_host(headers.get("host", "")):
            raise CallError(400, "host", "this worker is for programs on its own machine only")
        media = _media_type(headers)
        if media not in MEDIA_TYPES:
            raise CallError(
                400,
                "media_type",
                f"Content-Type is {media!r:.60}, expected {' or '.join(MEDIA_TYPES)}",
            )
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > self.max_body:
            raise self.too_large()
        return media

    def too_large(self) -> CallError:
        """The error for a body above the limit."""
        return CallError(413, "too_large", f"the body exceeds {self.max_body} bytes")


def build_app(
    jobs: Jobs, contract: Contract, offered: frozenset[str], name: str, gate: Gate
) -> Starlette:
    """The ASGI application.

    Args:
        jobs: Where requests wait for the environment.
        contract: What may be asked for.
        offered: What the robot can do of that.
        name: Of the harness that is served.
        gate: Who may ask.
    """
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def rpc(http: HttpRequest) -> Response:
        reply = _accepted(http.headers)
        try:
            try:
                media = gate.admit(http.headers)
                body = await _body(http, gate)
            except CallError as exc:
                if exc.status != 408:
                    await _discard(http, gate)
                raise
            message = load(body, media)
            request = read_request(message, contract, offered, reply)
            return await _answer(http, jobs, request, reply)
        except WireError as exc:
            return _failure(CallError(400, exc.code, exc.message), reply)
        except CallError as exc:
            return _failure(exc, reply)

    async def healthz(http: HttpRequest) -> Response:
        return JSONResponse({"status": "ok", "name": name, "protocol_version": 1})

    async def lost(http: HttpRequest, exc: Exception) -> Response:
        status = getattr(exc, "status_code", 500)
        names = {404: "unknown_path", 405: "unknown_method"}
        text = f"{http.method} {http.url.path!r:.60}: there are POST /rpc and GET /healthz"
        return _failure(CallError(status, names.get(status, "http"), text), JSON)

    app = Starlette(
        routes=[Route("/rpc", rpc, methods=["POST"]), Route("/healthz", healthz, methods=["GET"])],
        exception_handlers={404: lost, 405: lost},
    )
    app.router.redirect_slashes = False  # a client that follows one would send a motion again
    return app


async def _body(http: HttpRequest, gate: Gate) -> bytes:
    """Read the body, which may neither be too large nor take too long."""
    parts: list[bytes] = []
    size = 0

    async def read() -> None:
        nonlocal size
        async for part in http.stream():
            size += len(part)
            if size > gate.max_body:
                raise gate.too_large()
            parts.append(part)

    from starlette.requests import ClientDisconnect

    try:
        await asyncio.wait_for(read(), gate.body_s)
    except asyncio.TimeoutError as exc:
        raise CallError(408, "slow_body", f"the body took more than {gate.body_s:g} s") from exc
    except ClientDisconnect as exc:
        raise CallError(400, "half_body", "the body ended before it was complete") from exc
    return b"".join(parts)


async def _discard(http: HttpRequest, gate: Gate) -> None:
    """Take in what a refused client is still sending, within bounds.

    A connection that is closed while data arrive is reset, and the client never sees why.
    """
    left = _DISCARDED * gate.max_body

    async def read() -> None:
        nonlocal left
        more = True
        while more and left > 0:
            message = await http.receive()
            left -= len(message.get("body", b""))
            more = message["type"] == "http.request" and message.get("more_body", False)

    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait_for(read(), _DISCARD_S)


async def _answer(http: HttpRequest, jobs: Jobs, request: Request, media: str) -> Response:
    from starlette.background import BackgroundTask

    job, future = _submit(jobs, request)
    try:
        response = _response(200, {"result": await _result(http, job, future)}, media)
    except CallError as exc:
        response = _failure(exc, media)

    async def answered() -> None:
        job.answered.set()

    response.background = BackgroundTask(answered)
    return response


def _submit(jobs: Jobs, request: Request) -> tuple[Job, asyncio.Future[Any]]:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def done(result: Any, error: CallError | None) -> None:
        try:
            loop.call_soon_threadsafe(_resolve, future, result, error)
        except RuntimeError:
            log.info("the answer to %s came after the end of the server", request.name)

    return jobs.submit(request, done), future


async def _result(http: HttpRequest, job: Job, future: asyncio.Future[Any]) -> Any:
    await asyncio.wait({future}, timeout=_PATIENCE_S)
    if not future.done():
        leaving = asyncio.ensure_future(_left(http))
        try:
            await asyncio.wait({future, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
        if not future.done():
            job.abandoned = True
            raise CallError(400, "client_left", "the client has left")
    return future.result()


def _resolve(future: asyncio.Future[Any], result: Any, error: CallError | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


async def _left(http: HttpRequest) -> None:
    """Return when the client has gone."""
    while (await http.receive())["type"] != "http.disconnect":
        continue


def _accepted(headers: Any) -> str:
    """Media type of the reply: the one that is asked for, else the request's own."""
    own = _media_type(headers)
    wanted = [
        part.partition(";")[0].strip().lower() for part in headers.get("accept", "").split(",")
    ]
    named: list[str] = [name for name in wanted if name in MEDIA_TYPES]
    if named and own not in named:
        return named[0]
    return own if own in MEDIA_TYPES else JSON


def _media_type(headers: Any) -> str:
    return str(headers.get("content-type", "").partition(";")[0].strip().lower())


def _failure(error: CallError, media: str) -> Response:
    response = _response(error.status, error.body(), media)
    if error.status in (400, 401, 408, 413):
        # The rest of the body may still be on its way; nobody is going to read it.
        response.headers["connection"] = "close"
    return response


def _response(status: int, value: Any, media: str) -> Response:
    from starlette.responses import Response

    try:
        body = dump(value, media)
    except (TypeError, ValueError) as exc:
        log.exception("a result has no form in %s", media)
        error = CallError(500, "internal", f"the result has no form in {media}", "internal")
        if status == error.status:
            raise RuntimeError("an error has no form either") from exc
        status, body = error.status, dump(error.body(), media)
    return Response(body, status, media_type=media)


def _is_loopback_host(host: str) -> bool:
    """Whether a ``Host`` header names this machine's loopback interface."""
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    name = name.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
