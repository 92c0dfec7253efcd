"""The file of an episode's trace: its rows, then its inference calls, as two plain numpy arrays.

``numpy.load`` reads the rows; called a second time on the same open file it reads the calls. No
pickle, no archive: what is not exactly these two arrays is refused, and nothing is allocated on the
word of a header.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robogate.contract.files import read_bounded
from robogate.errors import EvidenceError
from robogate.records.benches import bench_rules
from robogate.records.calls import Calls, calls_dtype, stored_actions
from robogate.records.contract import FrozenContract
from robogate.records.digests import Trace

#: Room for both headers.
_HEADERS = 65536


@dataclass(frozen=True)
class TraceKinds:
    """Row types of the two arrays.

    Attributes:
        rows: See `robogate.records.digests.trace_dtype`.
        calls: See `robogate.records.calls.calls_dtype`.
    """

    rows: np.dtype[Any]
    calls: np.dtype[Any]

    def max_bytes(self, max_actions: int) -> int:
        """Size that no file of an episode of so many actions exceeds."""
        return (max_actions + 1) * (self.rows.itemsize + self.calls.itemsize) + _HEADERS


@dataclass(frozen=True)
class TraceFile:
    """What a trace file holds; both arrays are read-only.

    Attributes:
        rows: One for each observation, at least one.
        calls: One for each inference call.
    """

    rows: Trace
    calls: Calls


def trace_kinds(frozen: FrozenContract) -> TraceKinds:
    """The row types that follow from a contract."""
    bench, adapter = frozen.bench, frozen.adapter
    return TraceKinds(
        rows=bench_rules(bench.kind).trace_dtype(bench),
        calls=calls_dtype(len(bench.action.names), stored_actions(adapter)),
    )


def trace_bytes(rows: Trace, calls: Calls) -> bytes:
    """A trace as the bytes of its file."""
    buffer = io.BytesIO()
    np.save(buffer, rows, allow_pickle=False)
    np.save(buffer, calls, allow_pickle=False)
    return buffer.getvalue()


def load_trace(path: Path, kinds: TraceKinds, max_bytes: int = 1 << 30) -> TraceFile:
    """Read a trace file and refuse anything that is not exactly one.

    Raises:
        EvidenceError: Missing, too large, not plain numpy arrays, or other row types.
    """
    return parse_trace(read_bounded(path, max_bytes), kinds, str(path))


def parse_trace(data: bytes, kinds: TraceKinds, source: str) -> TraceFile:
    """Parse the bytes of a trace file.

    Args:
        data: The whole file.
        kinds: Expected row types.
        source: Name used in messages.

    Raises:
        EvidenceError: Not plain numpy arrays, or other row types.
    """
    rows, end = _array(data, 0, kinds.rows, source, "rows")
    calls, end = _array(data, end, kinds.calls, source, "calls")
    if not len(rows):
        raise EvidenceError(f"{source}: holds no rows", code="trace")
    if end != len(data):
        raise EvidenceError(
            f"{source}: holds {len(data) - end} bytes after its calls", code="trace"
        )
    return TraceFile(rows, calls)


def _array(
    data: bytes, start: int, expected: np.dtype[Any], source: str, what: str
) -> tuple[np.ndarray[Any, Any], int]:
    """One array that begins at a byte, and where it ends."""
    stream = io.BytesIO(data)
    stream.seek(start)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("format version is not 1.0")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except (ValueError, OSError, EOFError, SyntaxError, TypeError, KeyError) as exc:
        message = f"{source}: not a plain numpy file of {what} ({exc})"
        raise EvidenceError(message, code="trace") from exc
    if dtype != expected or len(shape) != 1 or shape[0] < 0 or fortran:
        raise EvidenceError(f"{source}: {what} are not of the contract's type", code="trace")
    begin, size = stream.tell(), shape[0] * expected.itemsize
    if len(data) - begin < size:
        raise EvidenceError(
            f"{source}: holds {len(data) - begin} bytes of {what}, its header says {shape[0]} "
            f"{what} of {expected.itemsize} bytes",
            code="trace",
        )
    array = np.frombuffer(data, dtype=expected, count=shape[0], offset=begin)
    return array, begin + size
