"""Committed golden vectors as arrays. Each file says where its expected values come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from robogate.records.observation import PolicyObservation

FOLDER = Path(__file__).parent / "golden"


def golden(name: str) -> Any:
    """A file's content; maps of ``dtype``, ``shape`` and ``values`` are arrays."""
    return _arrays(json.loads((FOLDER / name).read_text()))


def observation(found: dict[str, Any]) -> PolicyObservation:
    return PolicyObservation(
        step=0, instruction=found["instruction"], state=found["state"], images=found["images"]
    )


def same(a: Any, b: Any, tolerance: float = 0.0) -> bool:
    """Equal in structure, types, element types and shapes; numbers within a tolerance."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return (
            isinstance(a, np.ndarray)
            and isinstance(b, np.ndarray)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and bool(np.allclose(a, b, rtol=0.0, atol=tolerance))
        )
    if isinstance(a, dict):
        return (
            isinstance(b, dict)
            and a.keys() == b.keys()
            and all(same(a[key], b[key], tolerance) for key in a)
        )
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b))
    return type(a) is type(b) and bool(a == b)


def _arrays(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"dtype", "shape", "values"}:
            return np.array(value["values"], dtype=value["dtype"]).reshape(value["shape"])
        return {key: _arrays(item) for key, item in value.items()}
    return [_arrays(item) for item in value] if isinstance(value, list) else value
