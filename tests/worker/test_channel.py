from __future__ import annotations

import os
import socket
import struct
import threading
import time
from typing import Any

import numpy as np
import pytest

from robogate.contract.strict import StrictError
from robogate.worker.channel import (
    INLINE_BYTES,
    BufferCodec,
    Channel,
    ChannelClosed,
    Documents,
    create_region,
)
from waiting import PATIENCE_S


def pair(shared: bool) -> tuple[Channel, Channel, socket.socket]:
    a, b = socket.socketpair()
    region = create_region() if shared else None
    channels = Channel(a, region), Channel(b, region)
    if region is not None:
        os.close(region)
    return *channels, a


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("size", [0, 1, 7, INLINE_BYTES, INLINE_BYTES + 1, 300_000])
def test_arrays_of_any_size_arrive(shared: bool, size: int) -> None:
    here, there, _ = pair(shared)
    arrays = [
        np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8),
        np.linspace(0, 1, 7),
        np.zeros((2, 0, 3)),
        np.arange(24.0).reshape(2, 3, 4)[:, ::2],
    ]
    for turn in range(3):
        codec = BufferCodec()
        message = {"turn": turn, "arrays": [codec.pack(a + turn) for a in arrays[1:]]}
        message["bytes"] = codec.pack(arrays[0])
        sender = threading.Thread(target=here.send, args=(turn, message, codec))
        sender.start()
        sequence, got, received = there.receive(time.monotonic() + PATIENCE_S)
        sender.join()
        assert sequence == got["turn"] == turn
        kept = [received.unpack(v, "$") for v in got["arrays"]]
        assert all(np.array_equal(k, a + turn) for k, a in zip(kept, arrays[1:]))
        assert np.array_equal(received.unpack(got["bytes"], "$"), arrays[0])


def test_a_silent_peer_is_a_timeout_and_a_gone_one_is_closed() -> None:
    here, there, _ = pair(True)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        there.receive(time.monotonic() + 0.2)
    assert time.monotonic() - began > 0.1
    here.close()
    with pytest.raises(ChannelClosed):
        there.receive(time.monotonic() + PATIENCE_S)
    with pytest.raises(ChannelClosed):
        there.send(0, {}, BufferCodec())


def test_half_a_frame_is_a_timeout_then_closed() -> None:
    here, there, raw = pair(True)
    raw.sendall(b"\0" * 10)
    with pytest.raises(TimeoutError):
        there.receive(time.monotonic() + 0.2)
    raw.sendall(b"\0")
    here.close()
    with pytest.raises(ChannelClosed):
        there.receive(time.monotonic() + PATIENCE_S)


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack("<QQQB", 0, 1 << 60, 0, 0),
        struct.pack("<QQQB", 0, 2, 1 << 60, 1),
        struct.pack("<QQQB", 0, 2, 0, 7) + b"{}",
        struct.pack("<QQQB", 0, 2, 0, 0) + b"{]",
        struct.pack("<QQQB", 0, 2, 0, 0) + b"\xff\xff",
    ],
)
def test_what_is_no_frame_is_refused_before_anything_is_allocated(frame: bytes) -> None:
    _, there, raw = pair(True)
    raw.sendall(frame)
    with pytest.raises(ValueError):
        there.receive(time.monotonic() + PATIENCE_S)


def test_a_frame_must_not_point_into_memory_that_is_not_there() -> None:
    _, there, raw = pair(False)
    raw.sendall(struct.pack("<QQQB", 0, 2, 64, 1) + b"{}")
    with pytest.raises(ValueError, match="outside the shared memory"):
        there.receive(time.monotonic() + PATIENCE_S)


def test_received_arrays_survive_the_next_frame() -> None:
    here, there, _ = pair(True)
    kept: list[Any] = []
    for value in (1, 2):
        codec = BufferCodec()
        here.send(0, codec.pack(np.full(INLINE_BYTES * 2, value, np.uint8)), codec)
        _, got, received = there.receive(time.monotonic() + PATIENCE_S)
        kept.append(received.unpack(got, "$"))
    assert [set(k.tolist()) for k in kept] == [{1}, {2}]


def test_a_document_arrives_as_it_is_now_however_little_has_changed() -> None:
    here, there, _ = pair(True)
    got: list[Any] = []
    document: dict[str, Any] = {"mass": 1, "parts": [{"at": 0.0}]}
    changes: list[Any] = [0.0, -0.0, 0, False, None, "0.0", [0.0], 5e-324, 0.0]
    for value in changes:
        document["parts"][0]["at"] = value  # in place: the object itself says nothing
        codec = here.codec()
        here.send(0, codec.pack_document(document), codec)
        _, message, received = there.receive(time.monotonic() + PATIENCE_S)
        got.append(received.unpack_document(message, "$")["parts"][0]["at"])
    assert repr(got) == repr(changes)


def test_an_unchanged_document_is_read_once() -> None:
    here, there, _ = pair(True)
    got: list[Any] = []
    for _ in range(2):
        codec = here.codec()
        here.send(0, codec.pack_document({"mass": 0.1}), codec)
        _, message, received = there.receive(time.monotonic() + PATIENCE_S)
        got.append(received.unpack_document(message, "$"))
    assert got[0] is got[1] and got[0] == {"mass": 0.1}


def test_a_number_with_the_bytes_of_another_is_written_anew() -> None:
    documents = Documents()
    assert documents.text({"x": np.float64(1.5)}).tobytes() == b'{"x":1.5}'
    with pytest.raises(TypeError, match="not JSON serializable"):
        documents.text({"x": np.float64(1.5).tobytes()})


def test_what_is_no_document_is_refused() -> None:
    here, there, _ = pair(True)
    codec = here.codec()
    message = [
        codec.pack(np.zeros(3)),
        codec.pack(np.frombuffer(b"{]", np.uint8)),
        ["|u1", [9], 1 << 40],
        {"mass": 0.1},
    ]
    here.send(0, message, codec)
    _, (floats, torn, outside, plain), received = there.receive(time.monotonic() + PATIENCE_S)
    for value in (floats, torn, outside, plain):
        with pytest.raises((StrictError, ValueError)):
            received.unpack_document(value, "$")
