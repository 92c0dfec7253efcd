"""The file of a trace: two plain arrays, and nothing else."""

import io

import numpy as np
import pytest

from robogate.errors import EvidenceError
from robogate.records.calls import calls_dtype
from robogate.records.digests import trace_dtype
from robogate.records.trace_file import TraceKinds, load_trace, parse_trace, trace_bytes

KINDS = TraceKinds(trace_dtype(action=7, state=16, facts=12), calls_dtype(7, 4))


def arrays(rows=6, calls=3):
    rng = np.random.default_rng(3)
    made = (np.zeros(rows, KINDS.rows), np.zeros(calls, KINDS.calls))
    made[0]["state"] = rng.normal(size=made[0]["state"].shape)
    made[1]["chunk"] = rng.normal(size=made[1]["chunk"].shape)
    return made


GOOD = trace_bytes(*arrays())


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize("calls", [0, 3])
def test_a_trace_survives_its_file(tmp_path, calls):
    rows, made = arrays(calls=calls)
    path = tmp_path / "t.npy"
    path.write_bytes(trace_bytes(rows, made))
    loaded = load_trace(path, KINDS)
    assert loaded.rows.tobytes() == rows.tobytes()
    assert loaded.calls.tobytes() == made.tobytes()
    assert not loaded.rows.flags.writeable and not loaded.calls.flags.writeable


def test_numpy_alone_reads_both(tmp_path):
    path = tmp_path / "t.npy"
    path.write_bytes(GOOD)
    with path.open("rb") as stream:
        rows, calls = np.load(stream), np.load(stream)
    assert (rows.dtype, calls.dtype) == (KINDS.rows, KINDS.calls)
    assert (len(rows), len(calls)) == (6, 3)


ROWS, CALLS = arrays()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a plain numpy file of rows"),
        (b"PK\x03\x04archive", "not a plain numpy file of rows"),
        (npy(np.zeros(3)), "rows are not of the contract's type"),
        (npy(np.zeros(3, trace_dtype(7, 16, 11))), "rows are not of the contract's type"),
        (npy(np.zeros((3, 1), KINDS.rows)), "rows are not of the contract's type"),
        (trace_bytes(ROWS[:0], CALLS), "holds no rows"),
        (npy(ROWS), "not a plain numpy file of calls"),
        (npy(ROWS) + npy(np.zeros(3, calls_dtype(7, 5))), "calls are not of the contract's type"),
        (npy(ROWS) + npy(CALLS).replace(b"(3,)", b"(9,)"), "its header says 9 calls"),
        (GOOD + b"x", "holds 1 bytes after its calls"),
        (GOOD + npy(CALLS), "bytes after its calls"),
        (GOOD[:-1], "its header says 3 calls"),
        (trace_bytes(ROWS, CALLS[:0]).replace(b"(6,)", b"(9,)"), "its header says 9 rows"),
        (GOOD.replace(b"\x93NUMPY\x01", b"\x93NUMPY\x02", 1), "not a plain numpy file of rows"),
        (
            GOOD.replace(b"(6,), }         ", b"(66666666666,), }"),
            "header says 66666666666 rows",
        ),
        (GOOD.replace(b"(6,), } ", b"(-6,), }"), "rows are not of the contract's type"),
    ],
)
def test_what_is_not_exactly_a_trace_is_refused(data, message):
    with pytest.raises(EvidenceError, match=message):
        parse_trace(data, KINDS, "t.npy")


def test_pickles_are_never_loaded():
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(EvidenceError, match="rows are not of the contract's type"):
        parse_trace(stream.getvalue(), KINDS, "t.npy")
    with pytest.raises(EvidenceError, match="calls are not of the contract's type"):
        parse_trace(npy(ROWS) + stream.getvalue(), KINDS, "t.npy")


def test_only_regular_files_within_the_limit_are_read(tmp_path):
    path = tmp_path / "t.npy"
    with pytest.raises(EvidenceError, match=r"t\.npy: is missing"):
        load_trace(path, KINDS)
    path.write_bytes(GOOD)
    with pytest.raises(EvidenceError, match="larger than 100 bytes"):
        load_trace(path, KINDS, max_bytes=100)
    (tmp_path / "link.npy").symlink_to(path)
    with pytest.raises(EvidenceError, match="is a symbolic link"):
        load_trace(tmp_path / "link.npy", KINDS)
    with pytest.raises(EvidenceError, match="is not a file"):
        load_trace(tmp_path, KINDS)


def test_no_episode_of_a_budget_exceeds_the_limit():
    assert len(trace_bytes(*arrays(301, 300))) < KINDS.max_bytes(300)
