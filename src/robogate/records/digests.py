"""Observation digests, the episode's chain, and the rows of the trace that hold what they cover.

A trace has a row per observation. Row *i* holds observation *i*, its digests and the action
executed next; the last row has none because the episode was over or broke off, or because the
policy stopped, or it has one that the controller refused, which the trace's hash covers and the
chain does not. The chain is binary:
SHA-256(previous ‖ observation digest ‖ float64 little-endian action). Its first ``previous`` is
SHA-256(harness contract hash ‖ scenario id); the last observation closes it with an empty action.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robogate.contract.canonical import sha256_json
from robogate.contract.strict import encode
from robogate.errors import EvidenceError
from robogate.records.environment import Registration
from robogate.records.observation import FloatArray, Image, Observation

Trace = np.ndarray[Any, Any]

#: ``has_action`` of a row: none, executed, refused by the controller, none because the policy
#: stopped. All but the last row are `EXECUTED`.
NO_ACTION, EXECUTED, REFUSED, STOPPED = range(4)

_OBSERVATION_DOMAIN = b"robogate.observation/1"


def registration_sha256(registration: Registration) -> str:
    """Hash of a registration, as every observation echoes it."""
    return sha256_json(encode(registration))


def images_digest(images: Mapping[str, Image]) -> bytes:
    """SHA-256 over all images: name, shape and bytes, in the order of their names."""
    digest = hashlib.sha256()
    for name in sorted(images):
        image = np.ascontiguousarray(images[name])
        digest.update(f"{name}:{image.dtype.str}:{image.shape};".encode("ascii"))
        digest.update(image.data)
    return digest.digest()


def flatten_state(state: Mapping[str, FloatArray]) -> FloatArray:
    """All state arrays, in the order of their names, as one float64 vector."""
    return np.concatenate([np.asarray(state[k], dtype="<f8").ravel() for k in sorted(state)])


def observation_digest(
    images: bytes, state: FloatArray, facts: FloatArray, readback: bytes
) -> bytes:
    """Digest of one observation from the parts that a trace stores.

    Args:
        images: `images_digest`, 32 bytes.
        state: `flatten_state`, (m,).
        facts: Task facts, (k,).
        readback: The sealed readback's self-hash, 32 bytes.
    """
    digest = hashlib.sha256(_OBSERVATION_DOMAIN)
    digest.update(images)
    digest.update(np.asarray(state, dtype="<f8").tobytes())
    digest.update(np.asarray(facts, dtype="<f8").tobytes())
    digest.update(readback)
    return digest.digest()


def chain_start(harness_contract_sha256: str, scenario_id: str) -> bytes:
    """The chain's first ``previous``."""
    return hashlib.sha256(f"{harness_contract_sha256}{scenario_id}".encode()).digest()


def chain_link(previous: bytes, observation: bytes, action: FloatArray | None) -> bytes:
    """Extend the chain by one observation and the action that followed it (None: the last)."""
    tail = b"" if action is None else np.asarray(action, dtype="<f8").tobytes()
    return hashlib.sha256(previous + observation + tail).digest()


def trace_dtype(action: int, state: int, facts: int) -> np.dtype[Any]:
    """Row type of a trace.

    Args:
        action: Action dimension.
        state: Length of `flatten_state`.
        facts: Number of task facts.
    """
    return np.dtype(
        [
            ("images", "u1", (32,)),
            ("state", "<f8", (state,)),
            ("facts", "<f8", (facts,)),
            ("readback", "u1", (32,)),
            ("has_action", "u1"),
            ("inference", "<u4"),
            ("action", "<f8", (action,)),
        ]
    )


def trace_row(observation: Observation) -> tuple[bytes, FloatArray, FloatArray, bytes]:
    """The digest parts of one observation: images, state, facts, readback.

    Raises:
        EvidenceError: The evaluator's half is missing.
    """
    if observation.evaluator is None:
        raise EvidenceError("observation has no evaluator half", code="evaluator_missing")
    return (
        images_digest(observation.images),
        flatten_state(observation.state),
        np.asarray(observation.evaluator.facts, dtype="<f8"),
        bytes.fromhex(str(observation.evaluator.applied_scene["sha256"])),
    )


def observation_digests(trace: Trace) -> list[bytes]:
    """`observation_digest` of each row of a trace.

    The row type puts what a digest covers first, so that it is a slice of the row's bytes.
    """
    raw = trace.tobytes()
    size = trace.dtype.itemsize
    covered = (trace.dtype.fields or {})["has_action"][1]
    sha256 = hashlib.sha256
    return [
        sha256(_OBSERVATION_DOMAIN + raw[start : start + covered]).digest()
        for start in range(0, len(raw), size)
    ]


def trace_chain(
    trace: Trace,
    harness_contract_sha256: str,
    scenario_id: str,
    observations: Sequence[bytes] | None = None,
) -> str:
    """Recompute the closed chain of a trace, as `chain_link` defines it.

    Args:
        trace: Its rows.
        harness_contract_sha256: Of the contract.
        scenario_id: Of the episode.
        observations: `observation_digests` of it, where they are at hand.

    Returns:
        64 hex digits.
    """
    sha256 = hashlib.sha256
    link = chain_start(harness_contract_sha256, scenario_id)
    raw = np.ascontiguousarray(trace["action"]).tobytes()
    size = trace["action"].dtype.itemsize * trace["action"].shape[1]
    for i, (digest, executed) in enumerate(
        zip(observations or observation_digests(trace), (trace["has_action"] == EXECUTED).tolist())
    ):
        tail = raw[i * size : (i + 1) * size] if executed else b""
        link = sha256(link + digest + tail).digest()
    return link.hex()
