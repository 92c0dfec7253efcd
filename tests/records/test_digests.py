import hashlib
import io

import numpy as np
import pytest

from robogate.errors import EvidenceError
from robogate.records.digests import (
    chain_link,
    chain_start,
    flatten_state,
    images_digest,
    load_trace,
    observation_digest,
    parse_trace,
    registration_sha256,
    trace_bytes,
    trace_chain,
    trace_dtype,
    trace_row,
)
from robogate.records.environment import Registration
from robogate.records.observation import Evaluator, Observation

KIND = trace_dtype(action=7, state=16, facts=12)
HARNESS = "ab" * 32


def some_trace(rows=6, refused=False):
    rng = np.random.default_rng(3)
    trace = np.zeros(rows, KIND)
    trace["images"] = rng.integers(0, 256, (rows, 32))
    trace["readback"] = rng.integers(0, 256, (rows, 32))
    for name in ("state", "facts", "action"):
        trace[name] = rng.normal(size=trace[name].shape)
    trace["has_action"] = 1
    trace["has_action"][-1] = 2 if refused else 0
    trace["inference"] = 1
    return trace


def chain_by_definition(trace, harness, scenario):
    link = chain_start(harness, scenario)
    for row in trace:
        digest = observation_digest(
            row["images"].tobytes(), row["state"], row["facts"], row["readback"].tobytes()
        )
        link = chain_link(link, digest, row["action"] if row["has_action"] == 1 else None)
    return link.hex()


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 6])
def test_chain_is_the_defined_one(rows, refused):
    trace = some_trace(rows, refused)
    assert trace_chain(trace, HARNESS, "00_a") == chain_by_definition(trace, HARNESS, "00_a")


def test_chain_in_plain_bytes():
    trace = some_trace(2)
    previous = hashlib.sha256((HARNESS + "00_a").encode()).digest()
    for row in trace:
        observed = hashlib.sha256(
            b"robogate.observation/1"
            + row["images"].tobytes()
            + row["state"].tobytes()
            + row["facts"].tobytes()
            + row["readback"].tobytes()
        ).digest()
        action = row["action"].tobytes() if row["has_action"] else b""
        previous = hashlib.sha256(previous + observed + action).digest()
    assert trace_chain(trace, HARNESS, "00_a") == previous.hex()


@pytest.mark.parametrize("field", ["images", "state", "facts", "readback", "action"])
def test_chain_covers_every_field_of_every_row(field):
    trace = some_trace()
    before = trace_chain(trace, HARNESS, "00_a")
    for row in range(len(trace) - (field == "action")):
        changed = trace.copy()
        if field in ("images", "readback"):
            changed[field][row, -1] ^= 1
        else:
            changed[field][row, -1] = np.nextafter(changed[field][row, -1], 9)
        assert trace_chain(changed, HARNESS, "00_a") != before
    assert trace_chain(trace[:-1], HARNESS, "00_a") != before
    assert trace_chain(trace, HARNESS, "00_b") != before
    assert trace_chain(trace, "ac" * 32, "00_a") != before


def test_a_refused_action_is_outside_the_chain():
    trace = some_trace(refused=True)
    changed = trace.copy()
    changed["action"][-1, 0] += 1
    assert trace_chain(changed, HARNESS, "a") == trace_chain(trace, HARNESS, "a")
    assert trace_bytes(changed) != trace_bytes(trace)


def test_image_digest_covers_name_shape_and_pixels():
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    one = images_digest({"primary": image, "wrist": image + 1})
    assert one == images_digest({"wrist": image + 1, "primary": image})
    assert one == images_digest({"primary": image.copy(order="F"), "wrist": image + 1})
    assert one != images_digest({"primary": image + 1, "wrist": image})
    assert one != images_digest({"primary": image.reshape(4, 2, 3), "wrist": image + 1})
    assert one != images_digest({"primary": image})


def test_trace_row_takes_the_parts_of_an_observation():
    observation = Observation(
        protocol_version="2.0.0",
        episode_id="e",
        step=0,
        instruction="i",
        state={"b": np.array([3.0]), "a": np.array([1.0, 2.0])},
        images={},
        registration_sha256="",
        done=False,
        evaluator=Evaluator("00_a", 1, {"sha256": "0f" * 32}, False, np.array([7.0]), {}),
    )
    _, state, facts, readback = trace_row(observation)
    assert state.tolist() == [1.0, 2.0, 3.0] == flatten_state(observation.state).tolist()
    assert facts.tolist() == [7.0]
    assert readback == bytes([15]) * 32
    with pytest.raises(EvidenceError, match="no evaluator half"):
        trace_row(Observation(**{**vars(observation), "evaluator": None}))


def test_registration_hash_covers_every_field():
    fields = {
        "contract_sha256": "a",
        "adapter": "zero",
        "adapter_version": "1",
        "adapter_sha256": "b",
        "model": None,
        "revision": None,
        "checkpoint_sha256": None,
        "policy_sha256": None,
        "server_sha256": None,
    }
    hashes = {registration_sha256(Registration(**{**fields, k: "other"})) for k in fields}
    assert len(hashes) == len(fields)
    assert registration_sha256(Registration(**fields)) not in hashes


def test_a_trace_survives_its_file(tmp_path):
    trace = some_trace()
    path = tmp_path / "t.npy"
    path.write_bytes(trace_bytes(trace))
    loaded = load_trace(path, KIND)
    assert loaded.tobytes() == trace.tobytes()
    assert not loaded.flags.writeable


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a plain numpy file"),
        (b"PK\x03\x04archive", "not a plain numpy file"),
        (npy(np.zeros(3)), "rows are not of the contract's type"),
        (npy(np.zeros(3, trace_dtype(7, 16, 11))), "rows are not of the contract's type"),
        (npy(np.zeros((3, 1), KIND)), "rows are not of the contract's type"),
        (npy(np.zeros(0, KIND)), "holds 0 bytes of rows"),
        (trace_bytes(some_trace()) + b"x", "its header says 6 rows"),
        (trace_bytes(some_trace())[:-1], "its header says 6 rows"),
        (trace_bytes(some_trace()).replace(b"(6,)", b"(9,)"), "its header says 9 rows"),
        (trace_bytes(some_trace()).replace(b"\x93NUMPY\x01", b"\x93NUMPY\x02"), "not a plain"),
        (
            trace_bytes(some_trace()).replace(b"(6,), }         ", b"(66666666666,), }"),
            "header says 66666666666 rows",
        ),
    ],
)
def test_what_is_not_exactly_a_trace_is_refused(data, message):
    with pytest.raises(EvidenceError, match=message):
        parse_trace(data, KIND, "t.npy")


def test_pickles_are_never_loaded():
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(EvidenceError, match="rows are not of the contract's type"):
        parse_trace(stream.getvalue(), KIND, "t.npy")


def test_only_regular_files_within_the_limit_are_read(tmp_path):
    path = tmp_path / "t.npy"
    with pytest.raises(EvidenceError, match=r"t\.npy: is missing"):
        load_trace(path, KIND)
    path.write_bytes(trace_bytes(some_trace()))
    with pytest.raises(EvidenceError, match="larger than 100 bytes"):
        load_trace(path, KIND, max_bytes=100)
    (tmp_path / "link.npy").symlink_to(path)
    with pytest.raises(EvidenceError, match="is a symbolic link"):
        load_trace(tmp_path / "link.npy", KIND)
    with pytest.raises(EvidenceError, match="is not a file"):
        load_trace(tmp_path, KIND)
