"""What may be promoted: one list of rules, for the promoter before and every verifier after.

A rule never repairs anything: what does not meet it stays a run like any other, and the message
says what would have to be different.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robogate.contract.identity import Identity
from robogate.contract.schema import Adapter
from robogate.contract.strict import Fault
from robogate.evidence.qualification_record import Qualification
from robogate.evidence.relevance import differing_fields, relevant_fields
from robogate.records.contract import FrozenContract
from robogate.records.result import Result

#: Kinds of adapter that are harness controls: they may see what no policy sees.
CONTROL_KINDS = ("zero", "oracle")

_STATUS = {
    "partial": "a named subset is no complete result; run all scenarios",
    "development": "a bench without a perfect control cannot be qualified",
    "error": "something errored or was not started; run again",
}


def result_faults(result: Result, frozen: FrozenContract, identity: Identity) -> list[Fault]:
    """Why a validated result may not be promoted, whatever the qualification that it names.

    Args:
        result: Decoded.
        frozen: Its contract.
        identity: Its identity.
    """
    faults: list[Fault] = []
    if result.status != "complete":
        why = _STATUS.get(result.status, "only a complete result is promoted")
        faults.append(Fault("$.status", f"is {result.status!r}, expected 'complete': {why}"))
    if result.qualification_id is None:
        message = "is null: the run names none; run again with runtime.qualification=DIR"
        faults.append(Fault("$.qualification_id", message))
    faults += _role_faults(frozen.adapter)
    faults += _model_faults(frozen.adapter)
    if frozen.adapter.role == "policy" and frozen.adapter.kind not in CONTROL_KINDS:
        faults += _source_faults(identity)
    return faults


def _role_faults(adapter: Adapter) -> list[Fault]:
    if adapter.kind in CONTROL_KINDS and adapter.role != "control":
        message = f"is {adapter.role!r}, expected 'control': '{adapter.kind}' is no policy"
        return [Fault("$.contract.adapter.role", message)]
    return []


def undeclared_fields(adapter: Mapping[str, Any]) -> tuple[str, ...]:
    """What an adapter would have to declare before a result of it may be promoted.

    A learned policy names its model, revision and checkpoint. A class of the user's own in this
    process may have none of the three: then its measured source is the whole policy. As soon as one
    is named, all are needed. Controls have no model.

    Args:
        adapter: That group of a contract document.
    """
    names = ("model", "revision", "checkpoint_sha256")
    missing = tuple(name for name in names if adapter[name] is None)
    source_alone = adapter["kind"] == "python" and len(missing) == len(names)
    if source_alone or adapter["kind"] in CONTROL_KINDS or adapter["role"] == "control":
        return ()
    return missing


def _model_faults(adapter: Adapter) -> list[Fault]:
    return [
        Fault(
            f"$.contract.adapter.{name}",
            "is null: undeclared, and a policy whose checkpoint is not known is never promoted; "
            + (
                "run again with adapter.checkpoint=PATH"
                if name == "checkpoint_sha256"
                else f"run again with adapter.{name}=..."
            ),
        )
        for name in undeclared_fields(vars(adapter))
    ]


def _source_faults(identity: Identity) -> list[Fault]:
    policy = identity.policy
    if policy is None and identity.server is None:
        return [Fault("$.identity.policy", "is null: it is not known which policy source ran")]
    if policy is not None and policy.origin == "measured" and policy.source == "files":
        return [
            Fault(
                "$.identity.policy.source",
                f"is 'files': package '{policy.package}' is neither a clean git checkout nor an "
                "installed distribution as recorded; commit or install it, then run again",
            )
        ]
    return []


def coverage_faults(result: dict[str, Any], qualification: Qualification) -> list[Fault]:
    """Why a passed qualification does not cover a validated result.

    Args:
        result: The result document.
        qualification: Recomputed from its controls.
    """
    faults: list[Fault] = []
    if result["qualification_id"] != qualification.qualification_id:
        message = (
            f"is {str(result['qualification_id'])[:16]}, that of the qualification is "
            f"{qualification.qualification_id[:16]}"
        )
        faults.append(Fault("$.qualification_id", message))
    for path in differing_fields(qualification.fingerprints, relevant_fields(result)):
        message = "differs from the qualification's: it is stale for this result; qualify again"
        faults.append(Fault(f"$.{path}", message))
    for control in qualification.controls:
        if control.run_id == result["run_id"]:
            message = f"is that of the control '{control.name}': one run is not used twice"
            faults.append(Fault("$.run_id", message))
    return faults


def declared_faults(declared: tuple[str, ...], allow_declared: bool) -> list[Fault]:
    """Why a declared identity is not promoted without being asked for.

    Args:
        declared: See `robogate.evidence.bundle.declared_parts`.
        allow_declared: Whether it was.
    """
    if allow_declared:
        return []
    message = "is declared by the policy server, not measured; --allow-declared promotes it as such"
    return [Fault(f"$.{name}", message) for name in declared]
