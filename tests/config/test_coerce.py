"""Composed values become typed records only where nothing is lost."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robogate.config.coerce import to_record
from robogate.contract.schema import choices
from robogate.errors import ConfigError


@dataclass(frozen=True)
class Inner:
    width: float


@dataclass(frozen=True)
class Outer:
    rate: float
    count: int
    flag: bool
    name: str
    label: str | None
    pair: tuple[float, float]
    names: tuple[str, ...]
    options: dict[str, Any]
    inner: Inner
    mode: str = field(metadata=choices("offline", "off"))


GOOD: dict[str, Any] = {
    "rate": 20.0,
    "count": 3,
    "flag": True,
    "name": "x",
    "label": None,
    "pair": [1.0, 2.0],
    "names": ["a"],
    "options": {"gain": 1},
    "inner": {"width": 0.5},
    "mode": "offline",
}


def record(**changes):
    return to_record(Outer, {**GOOD, **changes}, "g")


def test_good_values_pass_unchanged():
    assert record() == Outer(
        20.0, 3, True, "x", None, (1.0, 2.0), ("a",), {"gain": 1}, Inner(0.5), "offline"
    )


@pytest.mark.parametrize(
    ("key", "raw", "value"),
    [
        ("rate", 20, 20.0),
        ("rate", -0.0, 0.0),
        ("count", 300.0, 300),
        ("flag", "on", True),
        ("flag", "off", False),
        ("pair", [1, 2], (1.0, 2.0)),
        ("inner", {"width": 1}, Inner(1.0)),
        ("mode", False, "off"),
    ],
)
def test_lossless_conversions(key, raw, value):
    got = getattr(record(**{key: raw}), key)
    assert got == value
    assert type(got) is type(value) and repr(got) == repr(value)


@pytest.mark.parametrize(
    ("key", "raw", "message"),
    [
        ("rate", "20", "g.rate: is '20', expected a finite number"),
        ("rate", True, "g.rate: is true, expected a finite number"),
        ("rate", None, "g.rate: is null, expected a finite number"),
        ("rate", float("nan"), "g.rate: is nan, expected a finite number"),
        ("rate", float("inf"), "g.rate: is inf, expected a finite number"),
        ("rate", 2**60, f"g.rate: is {2**60}, expected a finite number"),
        ("count", 2.5, "g.count: is 2.5, expected an integer"),
        ("count", True, "g.count: is true, expected an integer"),
        ("count", float("nan"), "g.count: is nan, expected an integer"),
        ("count", "3", "g.count: is '3', expected an integer"),
        ("flag", 1, "g.flag: is 1, expected true or false"),
        ("flag", "yes", "g.flag: is 'yes', expected true or false"),
        ("name", 1e5, "g.name: is 100000.0, expected a string; quote it: 'g.name=\"…\"'"),
        ("name", None, "g.name: is null, expected a string"),
        ("label", 12, "g.label: is 12, expected a string; quote it: 'g.label=\"…\"'"),
        ("pair", [1.0], "g.pair: has 1 values, expected 2"),
        ("pair", 1.0, "g.pair: is 1.0, expected a list"),
        ("pair", [1.0, "a"], "g.pair[1]: is 'a', expected a finite number"),
        ("options", [1], "g.options: is a list, expected a mapping"),
        ("options", {1: 2}, "g.options.1: the key is 1, expected a string"),
        ("inner", 3, "g.inner: is 3, expected a group of values"),
        (
            "inner",
            {"width": 1.0, "widht": 1.0},
            "g.inner.widht: unknown key; did you mean 'width'?",
        ),
        ("inner", {}, "g.inner.width: must be given: g.inner.width=…"),
        ("mode", True, "g.mode: is true, expected a string; quote it: 'g.mode=\"…\"'"),
        ("name", "???", "g.name: must be given: g.name=…"),
        ("pair", ["???", 1.0], "g.pair[0]: must be given: g.pair[0]=…"),
    ],
)
def test_everything_else_is_refused(key, raw, message):
    with pytest.raises(ConfigError) as caught:
        record(**{key: raw})
    assert caught.value.message == message


def test_all_faults_are_named_at_once():
    with pytest.raises(ConfigError) as caught:
        record(rate="a", cuont=3, count=2.5)
    assert caught.value.message == (
        "g.rate: is 'a', expected a finite number; g.count: is 2.5, expected an integer;"
        " g.cuont: unknown key; did you mean 'count'?"
    )


@given(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(max_size=8),
        st.lists(st.integers(), max_size=2),
        st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    )
)
def test_a_number_is_itself_or_refused(raw):
    for key, kind in (("rate", float), ("count", int)):
        try:
            got = getattr(record(**{key: raw}), key)
        except ConfigError:
            continue
        assert type(got) is kind and type(raw) in (int, float) and got == raw
