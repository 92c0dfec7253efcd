"""From composed YAML values to typed records: converted only where nothing is lost."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from robogate.contract.strict import Fault, StrictError, decode, field_types, strip
from robogate.errors import ConfigError, nearest

T = TypeVar("T")

#: What YAML and Hydra write for a value that still has to be given.
MISSING = "???"
_SWITCH = {"on": True, "off": False}
_EXPECTED = {
    bool: "true or false",
    int: "an integer",
    float: "a finite number",
    str: "a string",
}


def to_record(cls: type[T], raw: Any, path: str) -> T:
    """Convert composed values losslessly and decode them, closed and type-exact.

    ``20`` becomes ``20.0`` where a number with a fraction is expected, ``300.0`` becomes ``300``
    where an integer is; ``on`` and ``off`` are true and false (YAML reads them as such, the
    command line as strings). Nothing else is converted.

    Args:
        cls: The dataclass that is the schema.
        raw: Plain containers and values, interpolations resolved.
        path: Prefix of the faults' paths, such as ``bench``.

    Raises:
        ConfigError: With every fault: unknown, missing and unset keys, wrong types.
    """
    faults: list[Fault] = []
    value = _convert(cls, raw, path, faults)
    record: T | None = None
    if not faults:
        try:
            record = decode(cls, value, path)
        except StrictError as exc:
            faults.extend(exc.faults)
    if record is None:
        raise ConfigError("; ".join(str(fault) for fault in faults[:5]))
    return record


def _convert(annotation: Any, value: Any, path: str, faults: list[Fault]) -> Any:
    if isinstance(value, str) and value == MISSING:
        faults.append(Fault(path, f"must be given: {path}=…"))
        return value
    annotation, _ = strip(annotation)
    if dataclasses.is_dataclass(annotation):
        return _convert_dataclass(typing.cast(type, annotation), value, path, faults)
    origin = typing.get_origin(annotation)
    args = typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        options = [option for option in args if option is not type(None)]
        return value if value is None else _convert(options[0], value, path, faults)
    if origin is tuple:
        return _convert_list(args, value, path, faults)
    if origin in (dict, Mapping):
        return _convert_mapping(args[1], value, path, faults)
    return _convert_scalar(annotation, value, path, faults)


def _convert_list(args: tuple[Any, ...], value: Any, path: str, faults: list[Fault]) -> Any:
    if not isinstance(value, list):
        faults.append(Fault(path, f"is {_shown(value)}, expected a list"))
        return value
    kinds = [args[0]] * len(value) if args[-1] is Ellipsis else list(args)
    if len(kinds) != len(value):
        faults.append(Fault(path, f"has {len(value)} values, expected {len(kinds)}"))
        return value
    return [_convert(k, v, f"{path}[{i}]", faults) for i, (k, v) in enumerate(zip(kinds, value))]


def _convert_mapping(item: Any, value: Any, path: str, faults: list[Fault]) -> Any:
    if not isinstance(value, dict):
        faults.append(Fault(path, f"is {_shown(value)}, expected a mapping"))
        return value
    for key in value:
        if type(key) is not str:
            faults.append(Fault(f"{path}.{key}", f"the key is {_shown(key)}, expected a string"))
    return {key: _convert(item, v, f"{path}.{key}", faults) for key, v in value.items()}


def _convert_scalar(annotation: Any, value: Any, path: str, faults: list[Fault]) -> Any:
    if annotation is float and type(value) in (int, float) and math.isfinite(value):
        if abs(value) <= 2**53 or type(value) is float:
            return float(value) + 0.0  # no negative zero: other bits of the same value
    if annotation is int and type(value) is float and value.is_integer():
        return int(value)
    if annotation is bool and isinstance(value, str) and value in _SWITCH:
        return _SWITCH[value]
    if annotation in _EXPECTED and (type(value) is not annotation or _not_finite(value)):
        hint = ""
        if annotation is str and value is not None and not isinstance(value, (list, dict)):
            # The text itself is gone: a revision 1e5 has become 100000.0.
            hint = f"; quote it: '{path}=\"…\"'"
        faults.append(Fault(path, f"is {_shown(value)}, expected {_EXPECTED[annotation]}{hint}"))
    return value


def _not_finite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _shown(value: Any) -> str:
    """A value as YAML writes it."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"{value!r:.60}"


def _convert_dataclass(cls: type, value: Any, path: str, faults: list[Fault]) -> Any:
    if not isinstance(value, dict):
        faults.append(Fault(path, f"is {_shown(value)}, expected a group of values"))
        return value
    hints = field_types(cls)
    options = {item.name: item.metadata.get("choices", ()) for item in dataclasses.fields(cls)}
    converted = {}
    for key, item in value.items():
        where = f"{path}.{key}"
        if key not in hints:
            faults.append(Fault(where, f"unknown key; {nearest(str(key), hints)}"))
            continue
        word = {True: "on", False: "off"}[item] if isinstance(item, bool) else None
        converted[key] = _convert(hints[key], word if word in options[key] else item, where, faults)
    for key in hints:
        if key not in value:
            faults.append(Fault(f"{path}.{key}", f"must be given: {path}.{key}=…"))
    return converted
