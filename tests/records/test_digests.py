import hashlib

import numpy as np
import pytest

from robogate.errors import EvidenceError
from robogate.records.digests import (
    chain_link,
    chain_start,
    flatten_state,
    images_digest,
    observation_digest,
    observation_digests,
    registration_sha256,
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


def test_digests_at_hand_give_the_same_chain():
    trace = some_trace(refused=True)
    digests = observation_digests(trace)
    assert len(digests) == len(trace)
    assert digests[2] == observation_digest(
        trace["images"][2].tobytes(), trace["state"][2], trace["facts"][2],
        trace["readback"][2].tobytes(),
    )  # fmt: skip
    assert trace_chain(trace, HARNESS, "a", digests) == trace_chain(trace, HARNESS, "a")


def test_a_refused_action_is_outside_the_chain():
    trace = some_trace(refused=True)
    changed = trace.copy()
    changed["action"][-1, 0] += 1
    assert trace_chain(changed, HARNESS, "a") == trace_chain(trace, HARNESS, "a")
    assert changed.tobytes() != trace.tobytes()


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
