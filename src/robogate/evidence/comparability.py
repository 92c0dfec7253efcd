"""Which differences keep two scores apart.

Two scores may be compared where everything that a qualification depends on is equal (the one list,
`relevance.RELEVANT`), and with it the policy's role and how it was trained. What then still differs
is what is being compared: the policy, its adapter and its checkpoint. Hardware is no part of the
list, but a policy may act otherwise on it, so a difference there is pointed out.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any

from robogate.contract.canonical import sha256_json
from robogate.evidence.relevance import RELEVANT, relevant_fields, value_at


class Weight(enum.Enum):
    """What a difference does to a comparison."""

    DECISIVE = "decisive"
    """The scores may not be compared unless the user names it."""
    CAUTION = "caution"
    """They may, and the difference may be the cause."""
    SUBJECT = "subject"
    """It is what is compared: policy, adapter, checkpoint."""
    DETAIL = "detail"
    """It follows from another, or reaches no score."""


#: Fields of the adapter that separate rankings: a control is no policy, and a policy trained here
#: is no zero-shot one.
CLASSES = ("contract.adapter.role", "contract.adapter.transfer")

#: A relevant digest stands for the fields that it covers; those are what a message names.
_COVERS = {
    "harness_contract_sha256": tuple(
        f"contract.{group}" for group in ("schema", "bench", "track", "renderer", "budget")
    ),
    "manifest_sha256": ("contract.track.manifest_sha256",),
    "identity.runner.environment.sha256": ("identity.runner.environment",),
    "identity.worker.environment.sha256": ("identity.worker.environment",),
}

_DECISIVE = tuple(
    {
        field: None
        for paths in (*RELEVANT.values(), CLASSES)
        for path in paths
        for field in _COVERS.get(path, (path,))
    }
)
_SUBJECT = ("contract.adapter", "identity.adapter", "identity.policy", "identity.checkpoint")
_CAUTION = tuple(
    f"identity.{process}.hardware.{name}"
    for process in ("runner", "worker")
    for name in ("cpu_model", "cpu_flags_sha256", "gpus", "gpu_driver")
)
#: Hashes that say nothing which the fields beside them do not say.
_DERIVED = ("identity.runner.environment.sha256", "identity.worker.environment.sha256")


def under(path: str, prefixes: Iterable[str]) -> bool:
    """Whether a field path is one of the prefixes or lies below one."""
    return any(path == p or path.startswith((f"{p}.", f"{p}[")) for p in prefixes)


def weight_of(path: str, loose: Iterable[str] = ()) -> Weight:
    """Weight of a difference in a contract or an identity.

    Args:
        path: As in a result document, such as ``contract.budget.max_actions``.
        loose: From `loose_distributions`.
    """
    if path in _DERIVED or under(path, loose):
        return Weight.DETAIL
    if under(path, _DECISIVE):
        return Weight.DECISIVE
    if under(path, _SUBJECT):
        return Weight.SUBJECT
    return Weight.CAUTION if under(path, _CAUTION) else Weight.DETAIL


def loose_distributions(*identities: Any) -> set[str]:
    """Paths of the distributions that none of the identities' environment digests cover.

    Args:
        identities: Identity documents.
    """
    covered: dict[str, bool] = {}
    for identity in identities:
        for process in ("runner", "worker"):
            listed = value_at(identity, f"{process}.environment.distributions")
            for item in listed if isinstance(listed, list) else ():
                path = f"identity.{process}.environment.distributions[{item['name']}]"
                covered[path] = covered.get(path, False) or item["bound"]
    return {path for path, bound in covered.items() if not bound}


def comparison_key(result: Mapping[str, Any]) -> str:
    """One hash for all results whose scores may be compared, policy classes aside.

    Args:
        result: A result document.
    """
    return sha256_json(relevant_fields(result))
