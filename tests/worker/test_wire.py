from __future__ import annotations

import json
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from robogate.contract.strict import StrictError
from robogate.worker.images import from_data_url, to_data_url
from robogate.worker.wire import JSON, MSGPACK, JsonCodec, MsgpackCodec, WireError, dump, load

CARD = np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3)


def array_of(dtype: str) -> st.SearchStrategy[Any]:
    shapes = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    return arrays.arrays(np.dtype(dtype), shapes)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.one_of(array_of("<f8"), array_of("|u1")))
def test_an_array_comes_back_as_it_was_in_msgpack(array: np.ndarray[Any, Any]) -> None:
    back = load(dump({"a": MsgpackCodec().pack(array)}, MSGPACK), MSGPACK)["a"]
    assert back.dtype == array.dtype and back.shape == array.shape
    assert back.tobytes() == array.tobytes()
    back.flat[:1] = 0  # it is the reader's own


@given(values)
def test_plain_values_come_back_as_they_were(value: Any) -> None:
    assert repr(load(dump(value, MSGPACK), MSGPACK)) == repr(value)
    try:
        text = dump(value, JSON)
    except ValueError:
        return  # JSON has no NaN
    assert repr(load(text, JSON)) == repr(json.loads(text))


def test_arrays_in_json_are_lists_and_data_urls() -> None:
    codec = JsonCodec("png")
    assert codec.pack(np.array([[1.0, 2.5]])) == [[1.0, 2.5]]
    assert np.array_equal(from_data_url(codec.pack(CARD)), CARD)
    near = from_data_url(JsonCodec("jpeg", 95).pack(np.full((16, 16, 3), 100, np.uint8)))
    assert abs(near.astype(int) - 100).max() <= 2
    with pytest.raises(WireError, match="not finite"):
        codec.pack(np.array([np.nan]))
    with pytest.raises(StrictError, match="not a list of numbers"):
        codec.unpack([1.0, True], "$")


def test_a_jpeg_of_lower_quality_is_smaller() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    assert len(to_data_url(noise, "jpeg", 20)) < len(to_data_url(noise, "jpeg", 90)) / 2


@pytest.mark.parametrize("url", ["", "data:image/gif;base64,AA==", "http://x/y.png"])
def test_another_url_is_no_image(url: str) -> None:
    with pytest.raises(ValueError, match="not an image"):
        from_data_url(url)


def ext(data: Any, code: int = 1) -> bytes:
    return bytes(msgpack.packb(msgpack.ExtType(code, msgpack.packb(data))))


def deep(levels: int, opening: bytes, leaf: bytes) -> bytes:
    return opening * levels + leaf


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not msgpack"),
        (b"\xc1", "not msgpack"),
        (msgpack.packb({"a": 1}) + b"\x00", "not msgpack"),
        (b"\xdd\xff\xff\xff\xff", "not msgpack"),  # an array of 2^32 items
        (b"\xc6\xff\xff\xff\xffab", "not msgpack"),  # 4 GB of bytes
        (b"\x82\xa1a\x01\xa1a\x02", "a key twice"),
        (b"\x81\x01\x02", "not msgpack"),  # a key that is a number
        (b"\x81\xc4\x01a\x02", "not a string"),  # a key of bytes
        (b"\xc4\x01a", "holds bytes"),
        (b"\xa1\xff", "not msgpack"),  # no UTF-8
        (b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "exceeds"),
        (b"\xd6\xff\x00\x00\x00\x00", "Timestamp"),
        (deep(70, b"\x91", b"\xc0"), "nested deeper"),
        (deep(100_000, b"\x91", b"\xc0"), "not msgpack"),
        (ext([1]), "not \\[dtype, shape, bytes\\]"),
        (ext(["<f8", [1], b"\0" * 8], code=2), "extension type 2"),
        (ext(["|O", [1], b"\0" * 8]), "array of '\\|O'"),
        (ext(["<f4", [1], b"\0" * 4]), "array of '<f4'"),
        (ext(["<f8", [2], b"\0" * 8]), "do not fill"),
        (ext(["<f8", [-1], b"\0" * 8]), "no valid shape"),
        (ext(["<f8", [True], b"\0" * 8]), "no valid shape"),
        (ext(["|u1", [0, 2**40], b""]), None),
        (ext(["|u1", [1] * 9, b"\0"]), "do not fill"),
        (ext(["|u1", [2**62, 4], b""]), "do not fill"),
        (ext(["|u1", [1], "a"]), "do not fill"),
    ],
)
def test_a_msgpack_body_that_is_refused(body: bytes, message: str | None) -> None:
    if message is None:
        assert load(body, MSGPACK).size == 0
        return
    with pytest.raises(WireError, match=message) as caught:
        load(body, MSGPACK)
    assert caught.value.code == "malformed"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b'{"a":1,"a":2}', b"[NaN]", b"[1e999]", b"[" * 100_000, b'"\xff"', b"[9" * 70],
)
def test_a_json_body_that_is_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        load(body, JSON)


@given(st.binary(max_size=60))
def test_no_bytes_do_anything_but_load_or_be_refused(body: bytes) -> None:
    for media in (JSON, MSGPACK):
        try:
            load(body, media)
        except WireError:
            continue


def test_an_object_array_is_not_sent() -> None:
    with pytest.raises(TypeError, match="expected one of"):
        MsgpackCodec().pack(np.array([object()]))
