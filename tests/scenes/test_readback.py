from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robogate.errors import EvidenceError
from robogate.scenes.readback import binary32, canonicalise, compare, seal

FLOATS = st.floats(-1e30, 1e30, allow_nan=False)


@given(FLOATS)
def test_binary32_rounds_once_and_stays(value: float) -> None:
    once = binary32(value)
    assert once == struct.unpack("<f", struct.pack("<f", value))[0]
    assert binary32(once) == once
    assert struct.pack(">d", once + 0.0) == struct.pack(">d", once)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e39])
def test_what_binary32_cannot_hold_is_an_error(value: float) -> None:
    with pytest.raises(EvidenceError, match="not finite|overflows"):
        seal({"mass": value})


def test_negative_zero_is_zero() -> None:
    assert struct.pack(">d", binary32(-0.0)) == struct.pack(">d", 0.0)
    assert struct.pack(">d", binary32(-1e-60)) == struct.pack(">d", 0.0)


def test_only_direction_components_lose_transform_noise() -> None:
    document = {"direction": [9.9e-13, -9.9e-13, 1.1e-12], "position": [9.9e-13]}
    canonical = canonicalise(document)
    assert canonical["direction"] == [0.0, 0.0, binary32(1.1e-12)]
    assert canonical["position"] == [binary32(9.9e-13)]
    assert canonical["position"] != [0.0]


def test_types_other_than_plain_ones_are_an_error() -> None:
    with pytest.raises(EvidenceError, match="readback value of type set"):
        seal({"names": {1}})


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (1, True), (0.0, None), ("1", 1), ("f32:3f800000", 1.0)]
)
def test_types_are_part_of_the_hash_and_of_the_comparison(one: object, other: object) -> None:
    first, second = seal({"value": one}), seal({"value": other})
    assert first["sha256"] != second["sha256"]
    assert [fault.path for fault in compare(first, second)] == ["$.value", "$.sha256"]


def test_order_of_keys_is_no_part_of_the_hash() -> None:
    assert seal({"a": 1, "b": 2.0})["sha256"] == seal({"b": 2.0, "a": 1})["sha256"]


def test_comparison_names_missing_unknown_and_other_lengths() -> None:
    actual = {"a": 1, "c": [1]}
    expected = {"a": 1, "b": 2, "c": [1, 2]}
    assert [str(f) for f in compare({**actual, "d": 0}, expected)] == [
        "$.d: unknown field",
        "$.b: missing field",
        "$.c: has 1 items, expected 2",
    ]
