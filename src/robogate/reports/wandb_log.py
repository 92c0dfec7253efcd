"""Reads W&B's offline log, so that a mirror can be compared with what it should hold.

The file is a short header, then blocks of 32 KiB with checksummed fragments; joined, the fragments
are protocol buffer records.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_HEADER = 7
_BLOCK = 32 * 1024
_FRAGMENT = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


def raw_records(path: Path) -> Iterator[bytes]:
    """Each complete record of a log, in order; a torn end is not a record.

    Raises:
        ValueError: The file is no such log.
    """
    data = path.read_bytes()
    if data[:4] != b":W&B":
        raise ValueError(f"{path} is no W&B log")
    position = _HEADER
    parts: list[bytes] = []
    while position + _FRAGMENT.size <= len(data):
        left = _BLOCK - position % _BLOCK
        if left < _FRAGMENT.size:
            position += left
            continue
        _, length, kind = _FRAGMENT.unpack_from(data, position)
        position += _FRAGMENT.size
        fragment = data[position : position + length]
        position += length
        if len(fragment) < length or kind == 0:
            return
        if kind in (_FULL, _FIRST):
            parts = []
        parts.append(fragment)
        if kind in (_FULL, _LAST):
            yield b"".join(parts)


def records(path: Path) -> Iterator[Any]:
    """Each record as W&B's own message type; needs W&B."""
    from wandb.proto import wandb_internal_pb2 as messages

    for raw in raw_records(path):
        record = messages.Record()  # type: ignore[attr-defined,unused-ignore]
        record.ParseFromString(raw)
        yield record


def history_rows(path: Path) -> int:
    """Number of history rows in a log."""
    return sum(record.WhichOneof("record_type") == "history" for record in records(path))
