"""Records, arrays and containers as message parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from robogate.worker.encoding import ArrayCodec


def plain(value: Any, codec: ArrayCodec) -> Any:
    """Turn what an environment returned into JSON values and packed arrays.

    Args:
        value: Dataclasses, mappings, sequences, arrays and plain values, in one another.
        codec: Packs the arrays: uint8 as they are, all other numbers as float64.

    Raises:
        TypeError: It holds something else.
    """
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "fiu":
            raise TypeError(f"array of {value.dtype} has no form in a message")
        return codec.pack(value if value.dtype == np.uint8 else value.astype("<f8"))
    if isinstance(value, np.generic):
        return value.item()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name), codec) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item, codec) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, codec) for item in value]
    if value is None or type(value) in (bool, int, float, str):
        return value
    raise TypeError(f"{type(value).__name__} has no form in a message")
