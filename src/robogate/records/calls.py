"""The policy's inference calls of an episode: what each was asked, what it answered, and a chain.

Beside the rows of a trace stands a row for each call, in order. It names the row of the trace whose
observation was answered and holds the chunk of actions that came back, so that anyone can see that
what was executed is what was inferred, bit for bit. The chain is binary: SHA-256(previous ‖ digest
of the observation ‖ SHA-256(row of the call)); its first ``previous`` is SHA-256(domain ‖ harness
contract hash ‖ scenario id). How long a call took is measured, and stands in the episode's timing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from robogate.contract.adapter_schema import LearnedAdapter
from robogate.contract.schema import Adapter

Calls = np.ndarray[Any, Any]

#: ``answer`` of a call: none, because it failed; a chunk of actions; the policy's wish to stop.
FAILED, CHUNK, STOP = range(3)

_DOMAIN = b"robogate.calls/1"


def stored_actions(adapter: Adapter) -> int:
    """Actions of each chunk that the evidence holds, from its first on.

    A learned policy's chunk is held whole, since its length is the contract's; of any other reply,
    what may be executed of it.
    """
    return adapter.chunk if isinstance(adapter, LearnedAdapter) else adapter.execute


def calls_dtype(action: int, stored: int) -> np.dtype[Any]:
    """Row type of the calls.

    Args:
        action: Action dimension.
        stored: See `stored_actions`.
    """
    return np.dtype(
        [
            ("row", "<u4"),
            ("answer", "u1"),
            ("backend_calls", "<u4"),
            ("prompt", "u1", (32,)),
            ("length", "<u4"),
            ("chunk", "<f8", (stored, action)),
        ]
    )


def prompt_digest(prompt: str) -> bytes:
    """SHA-256 of a prompt's UTF-8 text."""
    return hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()


def calls_chain(
    calls: Calls, observations: Sequence[bytes], harness_contract_sha256: str, scenario_id: str
) -> str:
    """Chain over an episode's calls.

    Args:
        calls: Of the episode.
        observations: Digest of each observation, see
            `robogate.records.digests.observation_digests`.
        harness_contract_sha256: Of the contract.
        scenario_id: Of the episode.

    Returns:
        64 hex digits.

    Raises:
        IndexError: A call names a row that is not there.
    """
    sha256 = hashlib.sha256
    link = sha256(_DOMAIN + f"{harness_contract_sha256}{scenario_id}".encode()).digest()
    raw = calls.tobytes()
    size = calls.dtype.itemsize
    for i, row in enumerate(calls["row"].tolist()):
        call = sha256(raw[i * size : (i + 1) * size]).digest()
        link = sha256(link + observations[row] + call).digest()
    return link.hex()
