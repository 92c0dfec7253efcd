import dataclasses
import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from robogate.contract.strict import (
    BOUND,
    DERIVED,
    MEASURED,
    StrictError,
    decode,
    encode,
    leaf_origins,
)


@dataclass(frozen=True)
class Inner:
    x: float
    tags: tuple[str, ...]


@dataclass(frozen=True)
class Outer:
    n: Annotated[int, BOUND]
    on: bool
    name: Annotated[str | None, MEASURED]
    pair: tuple[float, float]
    kind: Literal["a", "b"]
    inner: Annotated[Inner | None, DERIVED]
    table: dict[str, Inner]
    anything: dict[str, Any]


GOOD = {
    "n": 1,
    "on": False,
    "name": None,
    "pair": [1.0, 2.0],
    "kind": "a",
    "inner": {"x": 0.5, "tags": ["t"]},
    "table": {"k": {"x": 1.0, "tags": []}},
    "anything": {"free": [1, 2.0, None]},
}


def changed(**fields):
    return {**GOOD, **fields}


def test_a_record_survives_both_ways():
    record = decode(Outer, GOOD)
    assert record.inner == Inner(0.5, ("t",))
    assert encode(record) == GOOD
    assert decode(Outer, encode(record)) == record


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (changed(n=1.0), "$.n: is number 1.0, expected integer"),
        (changed(n=True), "$.n: is true/false True, expected integer"),
        (changed(on=0), "$.on: is integer 0, expected true/false"),
        (changed(name=3), "$.name: is integer 3, expected string"),
        (changed(pair=[1, 2.0]), "$.pair[0]: is integer 1, expected number with a fraction part"),
        (changed(pair=[1.0]), "$.pair: has 1 items, expected 2"),
        (changed(pair=None), "$.pair: is null, expected array"),
        (changed(pair=[1.0, float("nan")]), "$.pair[1]: is nan, expected a finite number"),
        (changed(kind="c"), "$.kind: is 'c', expected one of 'a', 'b'"),
        (changed(inner={"x": 1.0}), "$.inner.tags: missing field"),
        (changed(inner=[]), "$.inner: is array, expected object"),
        (
            changed(table={"k": {"x": 1.0, "tags": [], "y": 2}}),
            "$.table.k.y: unknown field",
        ),
        (changed(extra=1), "$.extra: unknown field"),
        ({k: v for k, v in GOOD.items() if k != "on"}, "$.on: missing field"),
        ([], "$: is array, expected object"),
    ],
)
def test_a_document_that_is_not_exact_is_refused_with_its_path(document, fault):
    with pytest.raises(StrictError) as caught:
        decode(Outer, document)
    assert [str(f) for f in caught.value.faults] == [fault]


def test_every_fault_is_found_at_once():
    with pytest.raises(StrictError) as caught:
        decode(Outer, changed(n="1", on=None, kind=1, more=2))
    assert [f.path for f in caught.value.faults] == ["$.more", "$.n", "$.on", "$.kind"]


def test_encode_refuses_what_has_no_json_form():
    with pytest.raises(TypeError, match="set has no JSON form"):
        encode({"a": {1}})
    assert encode(enum.Enum("E", {"A": "a"}).A) == "a"


def test_each_leaf_states_what_protects_it():
    origins = dict(leaf_origins(Outer))
    assert origins["$.n"] is BOUND
    assert origins["$.name"] is MEASURED
    assert origins["$.inner.x"] is DERIVED
    assert origins["$.inner.tags[]"] is DERIVED
    assert origins["$.table.*.x"] is None
    assert origins["$.on"] is None


def test_records_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        decode(Outer, GOOD).n = 2
