"""Applied-scene readback, schema 1.1.0: what the simulator says it holds, in one exact form.

Numbers are canonical IEEE-754 binary32, the narrowest precision among the simulator's attributes.
Direction components below 1e-12 are zero before rounding; −0.0 is 0.0; anything non-finite is an
error. The self-hash covers a typed text in which a binary32 is ``f32:`` and eight hex digits, so
that neither a type nor a value can change unseen (protocol section 3).
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from typing import Any

from robogate.contract.strict import Fault
from robogate.errors import EvidenceError

READBACK_SCHEMA = "1.1.0"
DIRECTION_EPSILON = 1e-12
#: Keys whose values are derived direction components.
DIRECTION_KEYS = frozenset({"direction"})

_F32 = struct.Struct(">f")


def binary32(value: float, *, direction: bool = False) -> float:
    """Round to binary32 and return it as a Python float.

    Args:
        value: Any finite number.
        direction: Whether it is a component of a derived direction.

    Raises:
        EvidenceError: The value is not finite or overflows binary32.
    """
    if not math.isfinite(value):
        raise EvidenceError(f"readback value {value} is not finite", code="readback")
    if direction and abs(value) < DIRECTION_EPSILON:
        value = 0.0
    try:
        rounded: float = _F32.unpack(_F32.pack(value))[0]
    except OverflowError as exc:
        raise EvidenceError(f"readback value {value} overflows binary32", code="readback") from exc
    return rounded + 0.0  # −0.0 + 0.0 is 0.0


def canonicalise(value: Any, *, direction: bool = False) -> Any:
    """Canonicalise a readback document; floats become binary32, structure and types stay.

    Args:
        value: dicts, lists, tuples, str, bool, int, float, None.

    Raises:
        EvidenceError: A number is not finite, or a value has another type.
    """
    if type(value) is float:
        return binary32(value, direction=direction)
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, Mapping):
        return {k: canonicalise(v, direction=k in DIRECTION_KEYS) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [canonicalise(v, direction=direction) for v in value]
    raise EvidenceError(f"readback value of type {type(value).__name__}", code="readback")


def _typed(value: Any) -> Any:
    if type(value) is float:
        return "f32:" + _F32.pack(value).hex()
    if isinstance(value, Mapping):
        return {k: _typed(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_typed(v) for v in value]
    if type(value) is str:
        return "s:" + value
    return value


def readback_sha256(document: Mapping[str, Any]) -> str:
    """Self-hash of a canonicalised readback document, without its own ``sha256`` field."""
    typed = _typed({k: v for k, v in document.items() if k != "sha256"})
    text = json.dumps(typed, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def seal(document: Mapping[str, Any]) -> dict[str, Any]:
    """Canonicalise a document, state its schema and add the self-hash."""
    sealed = canonicalise({"schema": READBACK_SCHEMA, **document})
    sealed["sha256"] = readback_sha256(sealed)
    return dict(sealed)


def compare(actual: Any, expected: Any, path: str = "$") -> list[Fault]:
    """Compare two canonical readback documents exactly: structure, types and values.

    Args:
        actual: What the simulator reported.
        expected: What the scene spec says it should hold, canonicalised by the same rules.
        path: JSON path prefix of the faults.

    Returns:
        Every difference, empty when they are equal.
    """
    if type(actual) is not type(expected):
        text = f"is {actual!r:.60} ({type(actual).__name__})"
        return [Fault(path, f"{text}, expected {expected!r:.60} ({type(expected).__name__})")]
    if isinstance(expected, dict):
        faults = [Fault(f"{path}.{k}", "unknown field") for k in actual if k not in expected]
        for key, item in expected.items():
            if key not in actual:
                faults.append(Fault(f"{path}.{key}", "missing field"))
            else:
                faults.extend(compare(actual[key], item, f"{path}.{key}"))
        return faults
    if isinstance(expected, list):
        if len(actual) != len(expected):
            return [Fault(path, f"has {len(actual)} items, expected {len(expected)}")]
        return [
            fault
            for i, (a, e) in enumerate(zip(actual, expected))
            for fault in compare(a, e, f"{path}[{i}]")
        ]
    if actual != expected:
        return [Fault(path, f"is {actual!r:.60}, expected {expected!r:.60}")]
    return []
