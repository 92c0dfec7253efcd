"""A request's message, checked as far as it can be without the environment."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from robogate.errors import nearest
from robogate.worker.arguments import take
from robogate.worker.call_error import CallError
from robogate.worker.contracts import Contract
from robogate.worker.encoding import ArrayCodec
from robogate.worker.images import DEFAULT_QUALITY
from robogate.worker.wire import JSON, codec_of


@dataclass(frozen=True)
class Request:
    """A method or a call with its checked arguments.

    Attributes:
        name: ``describe``, ``reset`` or a name of ``call``.
        arguments: Every argument of that name; null where it was not given.
        codec: How arrays of the result travel.
    """

    name: str
    arguments: dict[str, Any]
    codec: ArrayCodec


def read_request(message: Any, contract: Contract, offered: Collection[str], media: str) -> Request:
    """Read ``{"method", "arguments"}``.

    Args:
        message: Parsed body.
        contract: What may be asked for.
        offered: What this robot can do of that.
        media: Of the reply.

    Raises:
        CallError: 400 where it is no request, 404 for an unknown name, 422 for its arguments.
    """
    if type(message) is not dict or not {"method"} <= message.keys() <= {"method", "arguments"}:
        raise _malformed("expected an object with 'method' and 'arguments', and nothing else")
    method, arguments = message["method"], message.get("arguments", {})
    if type(method) is not str:
        raise _malformed("'method' is not a string")
    methods = (*contract.methods, "call")
    if method not in methods:
        raise CallError(404, "unknown_method", f"method {method!r:.60}: {nearest(method, methods)}")
    name = method
    if method == "call":
        if type(arguments) is not dict or type(arguments.get("name")) is not str:
            raise CallError(422, "bad_arguments", "call: argument 'name' is missing or no string")
        if not arguments.keys() <= {"name", "arguments"}:
            raise CallError(422, "bad_arguments", "call: takes 'name' and 'arguments' only")
        name, arguments = arguments["name"], arguments.get("arguments", {})
        if name not in contract.calls or name not in offered:
            hint = nearest(name, set(contract.calls) & set(offered))
            raise CallError(404, "unknown_name", f"call {name!r:.60}: {hint}")
    taken = take(name, arguments, contract.arguments.get(name))
    return Request(name, taken, _codec(taken, media))


def _codec(arguments: dict[str, Any], media: str) -> ArrayCodec:
    wanted = arguments.get("image_format") or ("png" if media == JSON else "raw")
    if wanted == "raw" and media == JSON:
        raise CallError(
            422, "bad_arguments", "image_format 'raw' needs application/msgpack; JSON has png, jpeg"
        )
    return codec_of(media, wanted, arguments.get("quality") or DEFAULT_QUALITY)


def _malformed(message: str) -> CallError:
    return CallError(400, "malformed", message)
