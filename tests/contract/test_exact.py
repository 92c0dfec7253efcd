from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robogate.contract.exact import exact_bytes, is_plain

_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
_DOCUMENTS = st.dictionaries(
    st.text(), st.recursive(_LEAVES, lambda v: st.lists(v) | st.dictionaries(st.text(), v))
)


@given(_DOCUMENTS, _DOCUMENTS)
def test_equal_bytes_are_equal_texts(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert is_plain(a) and is_plain(b)
    assert (exact_bytes(a) == exact_bytes(b)) == (json.dumps(a) == json.dumps(b))


@given(_DOCUMENTS)
def test_a_copy_has_the_same_bytes(a: dict[str, Any]) -> None:
    # Sharing differs between the two, which must not show.
    copy = json.loads(json.dumps({"twice": [a, a]}))
    assert exact_bytes(copy) == exact_bytes({"twice": [a, a]})


@pytest.mark.parametrize("other", [1.0, True, "1", [1], {"1": 1}, None, -1, 2**70])
def test_types_differ(other: Any) -> None:
    assert exact_bytes({"x": 1}) != exact_bytes({"x": other})


@pytest.mark.parametrize("value", [np.float64(1.0), b"1", (1,), {1: 1}, 1j])
def test_what_json_does_not_have_is_not_plain(value: Any) -> None:
    assert not is_plain({"x": [value]})


def test_what_has_no_bytes_has_none() -> None:
    assert exact_bytes({"x": object()}) is None
