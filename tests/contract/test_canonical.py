import hashlib
import json
import math
import sys

import numpy as np
import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from robogate.contract import canonical
from robogate.contract.canonical import (
    MAX_DEPTH,
    canonical_bytes,
    loads_strict,
    read_json,
    self_hash,
    sha256_file,
    sha256_json,
)
from robogate.errors import EvidenceError


def test_canonical_text_is_rfc_8785():
    # Keys sorted by UTF-16 units, numbers as ECMAScript prints them, minimal escapes.
    value = {
        "\u20ac": 1,
        "\r": 2,
        "\ufb33": 3,
        "\U0001f600": 4,
        "1": [1e30, 4.50, 2e-3, 1e-27, 333333333.33333329, -0.0, 1e21, 1e20],
    }
    assert canonical_bytes(value).decode() == (
        '{"\\r":2,"1":[1e+30,4.5,0.002,1e-27,333333333.3333333,0,1e+21,100000000000000000000],'
        '"\u20ac":1,"\U0001f600":4,"\ufb33":3}'
    )


KEYS = st.text(st.characters(codec="utf-8"), max_size=6)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"))
)
VALUES = st.recursive(
    LEAVES, lambda v: st.lists(v) | st.lists(v).map(tuple) | st.dictionaries(KEYS, v), max_leaves=30
)


@given(VALUES)
@example(["".join(map(chr, range(0x80))), "\u2028\U0001f600"])
@example([1e15, 1e16, 123456789012345.6, 1e-4, 1e-5, 1e-6, 1e-7, 5e-324, -0.0, -1.0, 1.5e300])
@example({"\U0001f600": 1, "\ufb33": 2})
@example({"": {}, "a": [], "b": ()})
def test_every_text_is_the_librarys(value):
    assert canonical_bytes(value) == rfc8785.dumps(value)


class Text(str):
    pass


def test_what_is_not_quite_a_json_type_is_as_the_library_says():
    value = {"a": [Text("x"), np.float64(0.1), np.float64(2.0)], Text("k"): True}
    assert canonical_bytes(value) == rfc8785.dumps(value) == b'{"a":["x",0.1,2],"k":true}'


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, 2**53, "\ud800", {1: 2}, object()]
)
def test_what_has_no_canonical_form_is_refused(value):
    with pytest.raises(EvidenceError, match="no canonical JSON form"):
        canonical_bytes({"a": value})


def test_hashes_are_of_the_canonical_text(tmp_path):
    assert sha256_json({"b": 1, "a": 2.0}) == hashlib.sha256(b'{"a":2,"b":1}').hexdigest()
    assert self_hash({"a": 2.0, "sha256": "x"}) == hashlib.sha256(b'{"a":2}').hexdigest()
    path = tmp_path / "file"
    path.write_bytes(b"x" * 3_000_000)
    assert sha256_file(path) == hashlib.sha256(b"x" * 3_000_000).hexdigest()


def test_types_survive_reading():
    value = loads_strict('{"a": 1.0, "b": 1, "c": true, "d": "1", "e": null, "f": -0.0}')
    assert [type(v) for v in value.values()] == [float, int, bool, str, type(None), float]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "b": {"a": 1, "a": 2}}', "duplicate key 'a'"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": -Infinity}', "-Infinity is not JSON"),
        ('{"a": 1e999}', "overflows"),
        ('{"a": 9007199254740992}', r"exceeds 2\^53 - 1"),
        ('{"a": ' + "9" * 5000 + "}", r"exceeds 2\^53 - 1"),
        ('{"a": 1,}', "not JSON"),
        ("{'a': 1}", "not JSON"),
        ('{"a": 1} x', "not JSON"),
        ("", "not JSON"),
        ("\ufeff{}", "not JSON"),
        (b'{"a": "\xff"}', "not valid UTF-8 at byte 7"),
        (r'{"a": "\ud83d"}', "a string holds half a character"),
        (r'{"\uDE00": 1}', "a string holds half a character"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nested deeper than 64"),
        ('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "nested deeper than 64"),
        ("[" * 200_000, "nested deeper than 64"),
        ('"\\"' + "[" * 200_000, "not JSON"),
        ('"' + "[" * 200_000, "not JSON"),
        ('\\"' + "[" * 200_000, "nested deeper|not JSON"),
    ],
)
def test_doubtful_json_is_refused(text, message):
    with pytest.raises(EvidenceError, match=message):
        loads_strict(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * MAX_DEPTH + "]" * MAX_DEPTH,
        json.dumps("[" * 500),
        json.dumps('\\"' + "[" * 500 + "\\"),
        json.dumps(['\\\\"[[[' * 40, "\\", '"', '\\"']),
        json.dumps([[]] * 500),
    ],
)
def test_brackets_inside_strings_and_side_by_side_are_no_depth(text):
    assert loads_strict(text) == json.loads(text)


def test_a_character_in_two_escapes_is_whole():
    assert loads_strict(r'"\ud83d\ude00 \\ud83d"') == "\U0001f600 \\ud83d"


def test_largest_integers_round_trip():
    for number in (2**53 - 1, -(2**53) + 1):
        assert loads_strict(str(number)) == number
        assert canonical_bytes(number) == str(number).encode()


def test_size_limit_is_on_bytes(tmp_path):
    assert loads_strict('"é"', max_bytes=4) == "é"
    with pytest.raises(EvidenceError, match="4 bytes exceed the limit of 3"):
        loads_strict('"é"', max_bytes=3)
    path = tmp_path / "a.json"
    path.write_text("[1, 2]")
    with pytest.raises(EvidenceError, match="exceed"):
        read_json(path, max_bytes=5)


def test_a_file_that_cannot_be_read_says_so(tmp_path):
    with pytest.raises(EvidenceError, match=r"gone\.json: cannot be read \(No such file") as caught:
        read_json(tmp_path / "gone.json")
    assert caught.value.code == "unreadable"


def test_reading_a_large_document_is_not_a_python_loop_over_its_characters():
    lines = 0

    def count(frame, event, argument):
        nonlocal lines
        lines += event == "line"
        return count

    text = json.dumps([{"a": 'x"[' * 200, "b": [1.5] * 20}] * 100)
    before = sys.gettrace()
    sys.settrace(count)
    try:
        loads_strict(text)
    finally:
        sys.settrace(before)
    assert lines < len(text) / 2, (lines, len(text))
    print("LINES", lines, len(text))


def test_more_values_than_a_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr(canonical, "MAX_VALUES", 5)
    assert loads_strict('[1, {"a": 2, "b": ",,,,[[[["}]') == [1, {"a": 2, "b": ",,,,[[[["}]
    for text in ("[[],[],[],1]", "[{},{},{}]", '{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1}'):
        with pytest.raises(EvidenceError, match="more than 5 values"):
            loads_strict(text)
