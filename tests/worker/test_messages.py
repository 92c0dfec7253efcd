from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import stub_env

from robogate.contract.strict import StrictError, field_types
from robogate.errors import ConfigError, EpisodeError, EvidenceError, RunError, UsageError
from robogate.records.environment import Description, Outcome, Registration, StepResult
from robogate.records.observation import Evaluator, Observation
from robogate.worker.channel import BufferCodec
from robogate.worker.encoding import EVALUATOR_FIELDS, OBSERVATION_FIELDS
from robogate.worker.messages import (
    CALLS,
    AskOutcome,
    Call,
    Close,
    Describe,
    Identity,
    InternalError,
    Observe,
    Register,
    Reset,
    Step,
    call_name,
    decode_call,
    decode_reply,
    encode_call,
    encode_error,
    encode_reply,
)


class Inline:
    """A second codec, as another transport has one: arrays stay in the message as they are."""

    def pack(self, array: Any) -> Any:
        return array

    def unpack(self, value: Any, path: str) -> Any:
        assert isinstance(value, np.ndarray)
        return value.copy()


def through_buffers(message: Any, packed: BufferCodec) -> tuple[Any, BufferCodec]:
    """What the other end of a pipe receives."""
    data = b"".join(bytes(b) + bytes(-b.nbytes % 8) for b in packed.buffers)
    return json.loads(json.dumps(message)), BufferCodec(memoryview(data))


REGISTRATION = Registration("a" * 64, "zero", "1", "b" * 64, None, "r1", None, None, None)
ACTION = np.array([0.1, -0.2, 1e-300, -0.0, 1.0, np.pi, -1.0])
ALL: list[Call] = [
    Describe(), Identity(), Register(REGISTRATION), Reset("00_x", 7), Step("e", 3, ACTION),
    Observe("e"), AskOutcome("e"), Close(),
]  # fmt: skip


def test_every_method_of_the_interface_has_its_call() -> None:
    assert [call_name(call) for call in ALL] == list(CALLS)


def test_a_field_added_to_a_record_must_be_added_to_its_message() -> None:
    assert set(OBSERVATION_FIELDS) == set(field_types(Observation))
    assert set(EVALUATOR_FIELDS) == set(field_types(Evaluator))


@pytest.mark.parametrize("call", ALL, ids=call_name)
def test_calls_arrive_as_they_were_made(call: Call) -> None:
    packed = BufferCodec()
    message, received = through_buffers(encode_call(call, packed), packed)
    for got in (decode_call(message, received), decode_call(encode_call(call, Inline()), Inline())):
        assert type(got) is type(call)
        for name, value in vars(call).items():
            if isinstance(value, np.ndarray):
                assert getattr(got, name).tobytes() == value.tobytes()
            else:
                assert getattr(got, name) == value


def observation() -> Observation:
    environment = stub_env.create(6)
    environment.register(REGISTRATION)
    return environment.reset("s", 5)


def reply_of(value: Any) -> tuple[Any, BufferCodec]:
    packed = BufferCodec()
    return through_buffers(encode_reply(value, packed), packed)


def test_replies_arrive_as_they_were_given() -> None:
    for call, value in [
        (Describe(), Description(1, "x", "pnp", ("fk", "ik"))),
        (Identity(), {"a": [1, 1.0, True, None]}),
        (Register(REGISTRATION), "c" * 64),
        (AskOutcome("e"), Outcome(True, 3, True, False, 0.5, None)),
        (Step("e", 0, ACTION), StepResult(False, "reject", ("a", "b"), None)),
        (Close(), None),
    ]:
        got = decode_reply(call, *reply_of(value))
        assert got == value and type(got) is type(value)
    instead = np.array([0.25, -1.0])
    limited = StepResult(True, "limit", ("fast",), None, instead)
    got = decode_reply(Step("e", 0, ACTION), *reply_of(limited))
    assert got.command.tobytes() == instead.tobytes() and got.reasons == ("fast",)
    seen = observation()
    got = decode_reply(Reset("s", 5), *reply_of(seen))
    assert got.images["wrist"].tobytes() == seen.images["wrist"].tobytes()
    assert got.state["joint"].tobytes() == seen.state["joint"].tobytes()
    assert got.evaluator.applied_scene == seen.evaluator.applied_scene  # type: ignore[union-attr]


def test_the_policys_view_has_no_evaluator_half() -> None:
    import dataclasses

    seen = dataclasses.replace(observation(), evaluator=None)
    assert decode_reply(Observe("e"), *reply_of(seen)).evaluator is None


def mutations(value: Any, path: str = "$") -> Iterator[tuple[str, Any]]:
    """Every way to remove, add or retype one part of a message."""
    if isinstance(value, dict) and path.rpartition(".")[2] not in (
        "applied_scene", "diagnostics", "state", "images",
    ):  # fmt: skip
        yield f"{path} +field", {**value, "extra": 1}
        for key, item in value.items():
            yield f"{path}.{key} removed", {k: v for k, v in value.items() if k != key}
            for what, other in mutations(item, f"{path}.{key}"):
                yield what, {**value, key: other}
    yield f"{path} retyped", {"unexpected": 1} if not isinstance(value, dict) else [1]


def test_anything_but_the_exact_message_is_refused() -> None:
    seen = observation()
    call = Step("e", 0, ACTION)
    message, received = reply_of(StepResult(True, "accept", ("why",), seen))
    cases = list(mutations(message))
    assert len(cases) > 40
    for what, mutated in cases:
        if what == "$.error removed":
            continue
        with pytest.raises(StrictError):
            decode_reply(call, copy.deepcopy(mutated), received)
            pytest.fail(what)
    packed = BufferCodec()
    asked, arrived = through_buffers(encode_call(call, packed), packed)
    for what, mutated in mutations(asked):
        with pytest.raises(StrictError):
            decode_call(mutated, arrived)
            pytest.fail(what)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("step", True), ("step", 0.0), ("seed", 5.0), ("done", 0), ("success", 1),
        ("protocol_version", 2), ("instruction", None),
    ],
)  # fmt: skip
def test_types_are_exact(name: str, value: Any) -> None:
    message, received = reply_of(observation())
    part = message["ok"] if name in message["ok"] else message["ok"]["evaluator"]
    part[name] = value
    with pytest.raises(StrictError, match=rf"\.{name}: is "):
        decode_reply(Reset("s", 5), message, received)


@pytest.mark.parametrize(
    ("part", "stand_in", "fault"),
    [
        ("images", ["<f8", [2, 2, 3], 0], "expected |u1 with 3"),
        ("images", ["|u1", [12], 0], "is an array of |u1 with 1 dimension(s), expected |u1 with 3"),
        ("images", ["|O", [1, 1, 1], 0], "is not an array description"),
        ("images", ["|u1", [9, 9, 999], 0], "lies outside the "),
        ("images", ["|u1", [9, 9, 3], 10**9], "lies outside the "),
        ("images", ["|u1", [9, 9, 3], -8], "lies outside the "),
        ("images", ["|u1", [-1, 2, 3], 0], "has no valid array shape"),
        ("images", ["|u1", [True, 2, 3], 0], "has no valid array shape"),
        ("state", ["|u1", [7], 0], "is an array of |u1"),
        ("state", [7], "is not an array description"),
    ],
)
def test_arrays_are_what_they_must_be(part: str, stand_in: Any, fault: str) -> None:
    message, received = reply_of(observation())
    name = next(iter(message["ok"][part]))
    message["ok"][part][name] = stand_in
    with pytest.raises(StrictError) as caught:
        decode_reply(Reset("s", 5), message, received)
    assert caught.value.faults[0].path == f"$.ok.{part}.{name}"
    assert fault in caught.value.faults[0].message


def test_only_plain_arrays_travel() -> None:
    for array in (np.zeros(2, "f4"), np.array([None]), np.zeros(2, ">f8")):
        with pytest.raises(TypeError, match="expected one of"):
            BufferCodec().pack(array)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (RunError("r", code="ik_solver"), RunError),
        (EpisodeError("e", code="simulator_nan"), EpisodeError),
        (ConfigError("c"), UsageError),
        (UsageError("u", code="gl"), UsageError),
        (EvidenceError("v"), EvidenceError),
    ],
)
def test_errors_keep_kind_code_and_message(error: Any, kind: type[Exception]) -> None:
    message = json.loads(json.dumps(encode_error(error)))
    with pytest.raises(kind) as caught:
        decode_reply(Close(), message, BufferCodec())
    assert (caught.value.code, caught.value.message) == (error.code, error.message)  # type: ignore[attr-defined]


def test_other_exceptions_are_internal() -> None:
    message = encode_error(KeyError("x\ny" * 400))
    assert message["error"]["kind"] == "internal" and len(message["error"]["message"]) <= 500
    with pytest.raises(InternalError, match="^KeyError: "):
        decode_reply(Close(), message, BufferCodec())


@pytest.mark.parametrize("message", [None, [], {}, {"ok": 1, "error": 2}, {"odd": 1}, {"ok": 3}])
def test_what_is_no_reply_is_refused(message: Any) -> None:
    with pytest.raises(StrictError):
        decode_reply(Close(), message, BufferCodec())
