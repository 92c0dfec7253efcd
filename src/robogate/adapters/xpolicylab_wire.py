"""XPolicyLab's frames: one msgpack map a message, an envelope around a payload.

Facts: `client_server/ws/` of XPolicyLab/XPolicyLab at `REVISION`. The protocol says no version and
other revisions need not agree, so one is pinned here.
Arrays are those of the package msgpack-numpy, whose pickled object arrays are refused.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robogate.adapters.wire import (
    XPOLICYLAB,
    Array,
    describe,
    make_array,
    require_map,
    unpack,
    wire_error,
)
from robogate.errors import EpisodeError

#: Commit of XPolicyLab/XPolicyLab whose frames these are.
REVISION = "7198143"

#: The reply to each request.
REPLIES = {
    "hello": "hello_ack",
    "reset": "reset_result",
    "infer": "infer_result",
    "trial_end": "trial_end_ack",
    "heartbeat": "heartbeat_ack",
}
ERROR = "error"
_REQUIRED = ("message_type", "message_id", "evaluation_id")
_ECHOED = ("message_id", "evaluation_id", "trial_id", "step")
_KEYS = {XPOLICYLAB.marker, b"type", b"kind", b"shape", b"data"}
_SCALAR_KEYS = {XPOLICYLAB.marker, b"type", b"data"}


@dataclass(frozen=True)
class Request:
    """One request.

    Attributes:
        type: Key of `REPLIES`.
        id: Names the exchange.
        evaluation_id: Names the evaluation; opaque.
        trial_id: Names the episode; opaque. Null outside one.
        step: Inferences made before it in this episode.
        payload: Map.
    """

    type: str
    id: str
    evaluation_id: str
    trial_id: str | None
    step: int
    payload: Mapping[str, Any]


def dump(request: Request) -> bytes:
    """A request as it travels."""
    import msgpack

    frame = {
        "message_type": request.type,
        "message_id": request.id,
        "evaluation_id": request.evaluation_id,
        "action_case_id": None,
        "trial_id": request.trial_id,
        "repeat_index": None,
        "step": request.step,
        "sent_at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        "payload": request.payload,
    }
    packed: bytes = msgpack.packb(frame, default=_encode, use_bin_type=True)
    return packed


def load(data: bytes, request: Request) -> Mapping[str, Any]:
    """The payload of the reply to a request.

    Raises:
        EpisodeError: ``bad_reply``: it cannot be read, or is no reply to such a request;
            ``out_of_order``: it answers another request; ``inference_exception``: the server
            says that it failed.
    """
    frame = require_map(unpack(data, XPOLICYLAB, _decode_array), "a frame")
    missing = [key for key in _REQUIRED if not isinstance(frame.get(key), str)]
    if missing:
        raise wire_error(
            f"a frame lacks {', '.join(missing)}; the protocol spoken here is that of "
            f"XPolicyLab at commit {REVISION}: run the server from it"
        )
    payload = require_map(frame.get("payload", {}), "a frame's payload")
    sent = {
        "message_id": request.id,
        "evaluation_id": request.evaluation_id,
        "trial_id": request.trial_id,
        "step": request.step,
    }
    for key in _ECHOED:
        default = 0 if key == "step" else None
        if frame.get(key, default) != sent[key]:
            raise EpisodeError(
                f"a reply has {key} {frame.get(key)!r:.60}, the request has {sent[key]!r:.60}: it "
                "answers another one, and nothing says which observation its actions belong to",
                code="out_of_order",
            )
    kind = frame["message_type"]
    if kind == ERROR:
        code, text = payload.get("code"), payload.get("message")
        said = f"{code!s:.40}: {' '.join(str(text).split())[:300]}"
        raise EpisodeError(
            f"the server answers {request.type} with an error ({said}); its own log says more",
            code="inference_exception",
        )
    if kind != REPLIES[request.type]:
        raise wire_error(
            f"{request.type} is answered by {kind!r:.40}, expected {REPLIES[request.type]}"
        )
    if request.type != "infer" and payload.get("ok") is not True:
        raise wire_error(f"{kind} does not say ok but {payload.get('ok')!r:.40}")
    return payload


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {
            XPOLICYLAB.marker: True,
            b"type": value.dtype.str,
            b"kind": b"",
            b"shape": value.shape,
            b"data": value.tobytes(),
        }
    raise TypeError(f"cannot send a {type(value).__name__}")


def _decode_array(found: dict[Any, Any]) -> Array | int | float | bool:
    what = "an array in a frame"
    if found[XPOLICYLAB.marker] is False and set(found) == _SCALAR_KEYS:
        scalar = make_array(found[b"data"], found[b"type"], [], "a scalar in a frame").item()
        plain: int | float | bool = scalar
        return plain
    if set(found) != _KEYS or found[XPOLICYLAB.marker] is not True:
        raise wire_error(f"{what} is {describe(found)}")
    if found[b"kind"] != b"":
        raise wire_error(
            f"{what} is of kind {found[b'kind']!r:.20}: pickled and structured arrays are never "
            "read, for they can run code; send plain numbers"
        )
    return make_array(found[b"data"], found[b"type"], found[b"shape"], what)
