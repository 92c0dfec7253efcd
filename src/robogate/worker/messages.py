"""The environment interface as messages: typed calls and replies to plain values, and back.

The messages are the same whatever carries them; only the `ArrayCodec` differs. Decoding is strict:
unknown and missing fields, other types, other array types and object arrays are refused.

Errors travel as ``{"code", "kind", "message"}``; the kind says what they stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from robogate.contract.strict import decode, encode
from robogate.errors import EpisodeError, EvidenceError, RobogateError, RunError, UsageError
from robogate.records.environment import (
    Description,
    Environment,
    Outcome,
    Registration,
    StepResult,
)
from robogate.records.observation import FloatArray, Observation
from robogate.worker.encoding import (
    ArrayCodec,
    decode_observation,
    encode_observation,
    refuse,
    take_array,
    take_fields,
)


@dataclass(frozen=True)
class Describe:
    """Call of `Environment.describe`."""


@dataclass(frozen=True)
class Identity:
    """Call of `Environment.identity`."""


@dataclass(frozen=True)
class Register:
    """Call of `Environment.register`."""

    registration: Registration


@dataclass(frozen=True)
class Reset:
    """Call of `Environment.reset`."""

    scenario_id: str
    seed: int


@dataclass(frozen=True)
class Step:
    """Call of `Environment.step`; the action is (n,) float64."""

    episode_id: str
    step: int
    action: FloatArray


@dataclass(frozen=True)
class Observe:
    """Call of `Environment.observe`."""

    episode_id: str


@dataclass(frozen=True)
class AskOutcome:
    """Call of `Environment.outcome`."""

    episode_id: str


@dataclass(frozen=True)
class Close:
    """Call of `Environment.close`."""


Call: TypeAlias = Describe | Identity | Register | Reset | Step | Observe | AskOutcome | Close

#: Wire name of each call.
CALLS: dict[str, type[Any]] = {
    "describe": Describe,
    "identity": Identity,
    "register": Register,
    "reset": Reset,
    "step": Step,
    "observe": Observe,
    "outcome": AskOutcome,
    "close": Close,
}
_NAMES = {cls: name for name, cls in CALLS.items()}

_KINDS: dict[str, type[RobogateError]] = {
    "run": RunError,
    "episode": EpisodeError,
    "usage": UsageError,
    "evidence": EvidenceError,
}

_PLAIN_REPLIES: dict[type, type] = {Register: str, Identity: dict, Close: type(None)}


class InternalError(RobogateError):
    """The environment raised something that is not one of robogate's errors."""


def call_name(call: Call) -> str:
    """Wire name of a call."""
    return _NAMES[type(call)]


def encode_call(call: Call, codec: ArrayCodec) -> dict[str, Any]:
    """Turn a call into a message."""
    if isinstance(call, Step):
        action = codec.pack(np.asarray(call.action, dtype="<f8"))
        args = {"episode_id": call.episode_id, "step": call.step, "action": action}
    else:
        args = encode(call)
    return {"call": call_name(call), "args": args}


def decode_call(message: Any, codec: ArrayCodec) -> Call:
    """Read a call.

    Raises:
        StrictError: It is not exactly one.
    """
    fields = take_fields(message, "$", {"call": str, "args": dict})
    cls = CALLS.get(fields["call"])
    if cls is None:
        refuse("$.call", f"is {fields['call']!r:.40}, expected one of {', '.join(CALLS)}")
    if cls is not Step:
        call: Call = decode(cls, fields["args"], "$.args")
        return call
    args = take_fields(fields["args"], "$.args", {"episode_id": str, "step": int, "action": object})
    action = take_array(args["action"], "$.args.action", codec, "<f8", 1)
    return Step(args["episode_id"], args["step"], action)


def perform(environment: Environment, call: Call) -> Any:
    """Make a call on an environment and return what it returned."""
    if isinstance(call, Step):
        return environment.step(call.episode_id, call.step, call.action)
    if isinstance(call, Reset):
        return environment.reset(call.scenario_id, call.seed)
    if isinstance(call, Observe):
        return environment.observe(call.episode_id)
    if isinstance(call, AskOutcome):
        return environment.outcome(call.episode_id)
    if isinstance(call, Register):
        return environment.register(call.registration)
    if isinstance(call, Describe):
        return environment.describe()
    if isinstance(call, Identity):
        return environment.identity()
    return environment.close()


def encode_reply(value: Any, codec: ArrayCodec) -> dict[str, Any]:
    """Turn what an environment's method returned into a message."""
    if isinstance(value, StepResult):
        seen = value.observation
        body: Any = {
            "executed": value.executed,
            "verdict": value.verdict,
            "reasons": list(value.reasons),
            "observation": None if seen is None else encode_observation(seen, codec),
            "command": None if value.command is None else codec.pack(value.command.astype("<f8")),
        }
    elif isinstance(value, Observation):
        body = encode_observation(value, codec)
    else:
        body = encode(value)
    return {"ok": body}


def encode_error(error: BaseException) -> dict[str, Any]:
    """Turn an exception into a message."""
    for kind, cls in _KINDS.items():
        if isinstance(error, cls):
            return {"error": {"code": error.code, "kind": kind, "message": error.message}}
    message = f"{type(error).__name__}: {error}".splitlines()[0][:500]
    return {"error": {"code": "internal", "kind": "internal", "message": message}}


def decode_reply(call: Call, message: Any, codec: ArrayCodec) -> Any:
    """Read the reply to ``call``: the method's return value, or the error that it raised.

    Raises:
        StrictError: It is not exactly such a reply.
        RobogateError: As the environment raised it; `InternalError` for anything else.
    """
    if type(message) is not dict or len(message) != 1 or not message.keys() <= {"ok", "error"}:
        refuse("$", "expected an object with either 'ok' or 'error'")
    if "error" in message:
        error = take_fields(message["error"], "$.error", {"code": str, "kind": str, "message": str})
        raise _KINDS.get(error["kind"], InternalError)(error["message"], code=error["code"])
    body = message["ok"]
    if isinstance(call, Step):
        return _decode_step(body, codec)
    if isinstance(call, (Reset, Observe)):
        return decode_observation(body, codec, "$.ok")
    if isinstance(call, Describe):
        return decode(Description, body, "$.ok")
    if isinstance(call, AskOutcome):
        return decode(Outcome, body, "$.ok")
    expected = _PLAIN_REPLIES[type(call)]
    if type(body) is not expected:
        refuse("$.ok", f"is {type(body).__name__}, expected {expected.__name__}")
    return body


def _decode_step(body: Any, codec: ArrayCodec) -> StepResult:
    kinds = {
        "executed": bool, "verdict": str, "reasons": list, "observation": object, "command": object,
    }  # fmt: skip
    fields = take_fields(body, "$.ok", kinds)
    for i, reason in enumerate(fields["reasons"]):
        if type(reason) is not str:
            refuse(f"$.ok.reasons[{i}]", f"is {type(reason).__name__}, expected string")
    seen = fields["observation"]
    observation = None if seen is None else decode_observation(seen, codec, "$.ok.observation")
    reasons, command = tuple(fields["reasons"]), fields["command"]
    if command is not None:
        command = take_array(command, "$.ok.command", codec, "<f8", 1)
    return StepResult(fields["executed"], fields["verdict"], reasons, observation, command)
