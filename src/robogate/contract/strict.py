"""Schema-driven, type-exact decoding of JSON into frozen dataclasses, and back.

A record's dataclass is its schema: every field must be present, nothing else may be, and types are
exact (``1`` is not ``1.0`` is not ``true``). All faults are collected, each with its JSON path, so
that a validator can print every one of them. Fields carry an `Origin` through ``Annotated``.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import math
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from robogate.errors import EvidenceError

T = TypeVar("T")


class Origin(enum.Enum):
    """What protects a field's value."""

    DERIVED = "derived"
    """Recomputable from other fields: a verifier computes it again and compares."""
    BOUND = "bound"
    """Fixed by contract, manifest or identity: a verifier compares it with the bound document."""
    MEASURED = "measured"
    """Observed once: protected by hash and signature only."""


DERIVED = Origin.DERIVED
BOUND = Origin.BOUND
MEASURED = Origin.MEASURED


@dataclasses.dataclass(frozen=True)
class Fault:
    """One thing that does not hold.

    Attributes:
        path: JSON path of the value, such as ``$.episodes[3].seed``.
        message: What is wrong and what was expected.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class StrictError(EvidenceError):
    """A JSON value does not have the schema's exact form.

    Attributes:
        faults: Every fault found, in document order.
    """

    default_code = "schema"

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(str(f) for f in faults[:5]))
        self.faults = tuple(faults)


@functools.cache
def field_types(cls: type) -> dict[str, Any]:
    """Resolved type hints of a dataclass's fields, ``Annotated`` kept."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls)}


def strip(annotation: Any) -> tuple[Any, Origin | None]:
    """Split ``Annotated[X, …, Origin]`` into ``X`` and its origin, if it states one."""
    if typing.get_origin(annotation) is typing.Annotated:
        base, *extras = typing.get_args(annotation)
        return base, next((e for e in extras if isinstance(e, Origin)), None)
    return annotation, None


def decode(cls: type[T], value: Any, path: str = "$") -> T:
    """Decode a parsed JSON value into a dataclass.

    Args:
        cls: The dataclass that is the schema.
        value: What `loads_strict` returned.
        path: JSON path prefix for faults.

    Raises:
        StrictError: With every fault found.
    """
    faults: list[Fault] = []
    result = _decode(cls, value, path, faults)
    if faults:
        raise StrictError(faults)
    return typing.cast(T, result)


def _name(value: Any) -> str:
    if value is None:
        return "null"
    return {bool: "true/false", int: "integer", float: "number", str: "string"}.get(
        type(value), "array" if isinstance(value, list) else "object"
    )


def _decode(annotation: Any, value: Any, path: str, faults: list[Fault]) -> Any:
    annotation, _ = strip(annotation)
    if annotation is Any:
        return value
    if dataclasses.is_dataclass(annotation):
        return _decode_dataclass(typing.cast(type, annotation), value, path, faults)
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return _decode_union(annotation, value, path, faults)
    if origin is typing.Literal:
        choices = typing.get_args(annotation)
        if not any(type(value) is type(c) and value == c for c in choices):
            allowed = ", ".join(repr(c) for c in choices)
            faults.append(Fault(path, f"is {value!r:.80}, expected one of {allowed}"))
        return value
    if origin is tuple:
        return _decode_tuple(typing.get_args(annotation), value, path, faults)
    if origin in (dict, Mapping):
        if type(value) is not dict:
            faults.append(Fault(path, f"is {_name(value)}, expected object"))
            return {}
        item = typing.get_args(annotation)[1]
        return {k: _decode(item, v, f"{path}.{k}", faults) for k, v in value.items()}
    if annotation is type(None):
        if value is not None:
            faults.append(Fault(path, f"is {_name(value)}, expected null"))
        return None
    if annotation in (bool, int, float, str):
        if type(value) is not annotation:
            expected = {bool: "true/false", int: "integer", float: "number with a fraction part"}
            text = expected.get(annotation, "string")
            faults.append(Fault(path, f"is {_name(value)} {value!r:.40}, expected {text}"))
        elif annotation is float and not math.isfinite(value):
            faults.append(Fault(path, f"is {value}, expected a finite number"))
        return value
    raise TypeError(f"{path}: schema type {annotation!r} is not supported")


def _decode_dataclass(cls: type, value: Any, path: str, faults: list[Fault]) -> Any:
    if type(value) is not dict:
        faults.append(Fault(path, f"is {_name(value)}, expected object"))
        return None
    hints = field_types(cls)
    before = len(faults)
    for key in value:
        if key not in hints:
            faults.append(Fault(f"{path}.{key}", "unknown field"))
    decoded = {}
    for name, annotation in hints.items():
        if name not in value:
            faults.append(Fault(f"{path}.{name}", "missing field"))
        else:
            decoded[name] = _decode(annotation, value[name], f"{path}.{name}", faults)
    return cls(**decoded) if len(faults) == before else None


def _decode_union(annotation: Any, value: Any, path: str, faults: list[Fault]) -> Any:
    options = [strip(a)[0] for a in typing.get_args(annotation)]
    if type(None) in options:
        if value is None:
            return None
        options.remove(type(None))
    if len(options) == 1:
        return _decode(options[0], value, path, faults)
    attempts: list[list[Fault]] = []
    for option in options:
        trial: list[Fault] = []
        result = _decode(option, value, path, trial)
        if not trial:
            return result
        attempts.append(trial)
    closest: list[Fault] = min(attempts, key=len)
    faults.extend(closest)
    return None


def _decode_tuple(args: tuple[Any, ...], value: Any, path: str, faults: list[Fault]) -> Any:
    if type(value) is not list:
        faults.append(Fault(path, f"is {_name(value)}, expected array"))
        return ()
    if len(args) == 2 and args[1] is Ellipsis:
        kinds: list[Any] = [args[0]] * len(value)
    else:
        kinds = list(args)
        if len(kinds) != len(value):
            faults.append(Fault(path, f"has {len(value)} items, expected {len(kinds)}"))
            return ()
    return tuple(
        _decode(kind, item, f"{path}[{i}]", faults)
        for i, (kind, item) in enumerate(zip(kinds, value))
    )


def encode(record: Any) -> Any:
    """Turn a dataclass (or a container of them) into plain JSON values.

    Raises:
        TypeError: The record holds something that has no JSON form.
    """
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {f.name: encode(getattr(record, f.name)) for f in dataclasses.fields(record)}
    if isinstance(record, enum.Enum):
        return record.value
    if isinstance(record, Mapping):
        return {str(k): encode(v) for k, v in record.items()}
    if isinstance(record, (list, tuple)):
        return [encode(v) for v in record]
    if record is None or type(record) in (bool, int, float, str):
        return record
    raise TypeError(f"{type(record).__name__} has no JSON form")


def leaf_origins(cls: type, path: str = "$") -> Iterator[tuple[str, Origin | None]]:
    """List every field path of a schema with the origin that applies to it.

    A field without its own origin inherits that of its parent; ``[]`` and ``.*`` stand for items.
    """
    yield from _origins(cls, path, None)


def _origins(annotation: Any, path: str, inherited: Origin | None) -> Iterator[tuple[str, Any]]:
    annotation, own = strip(annotation)
    origin = own or inherited
    if dataclasses.is_dataclass(annotation):
        for name, hint in field_types(typing.cast(type, annotation)).items():
            yield from _origins(hint, f"{path}.{name}", origin)
        return
    kind = typing.get_origin(annotation)
    args = typing.get_args(annotation)
    if kind in (typing.Union, types.UnionType):
        inner = [a for a in args if a is not type(None)]
        for option in inner:
            yield from _origins(option, path, origin)
    elif kind is tuple:
        yield from _origins(args[0], f"{path}[]", origin)
    elif kind in (dict, Mapping):
        yield from _origins(args[1], f"{path}.*", origin)
    else:
        yield path, origin
