"""The conditions of a qualification, and the verified control runs that they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robogate.contract.canonical import sha256_json
from robogate.contract.strict import StrictError, decode, encode
from robogate.evidence.files import read_run
from robogate.evidence.qualification_record import CONTROLS, Control, QualificationCheck
from robogate.evidence.relevance import RELEVANT, differing_fields, relevant_fields, value_at
from robogate.evidence.report import Report
from robogate.evidence.validator import validate
from robogate.records.result import Result


@dataclass(frozen=True)
class ControlRun:
    """One control run, verified.

    Attributes:
        control: What its raw result says.
        report: What the validator found.
        fields: Its relevant fields, see `relevance`; empty where the result cannot be decoded.
        head: The values that the document shows of the harness.
    """

    control: Control
    report: Report
    fields: Mapping[str, Mapping[str, str]]
    head: Mapping[str, Any]


def read_control(name: str, folder: Path) -> ControlRun:
    """Read and validate one control run.

    Args:
        name: Of the control, such as ``oracle_2``.
        folder: Its run folder.

    Raises:
        Unreadable: A document of the run is missing or not strict JSON.
    """
    evidence = read_run(folder)
    report = validate(evidence)
    try:
        result = decode(Result, evidence.result)
    except StrictError:
        unknown = Control(name, *[None] * 11)
        return ControlRun(control=unknown, report=report, fields={}, head={})
    control = Control(
        name=name,
        adapter=str(value_at(evidence.result, "contract.adapter.kind")),
        run_id=result.run_id,
        status=result.status,
        scenarios=result.summary.scenarios,
        scored=result.summary.scored,
        successes=result.summary.successes,
        contract_sha256=result.contract_sha256,
        adapter_sha256=str(value_at(evidence.result, "identity.adapter.implementation_sha256")),
        result_sha256=result.sha256,
        semantic_sha256=sha256_json([[e.scenario_id, e.semantic_sha256] for e in result.episodes]),
        timing_sha256=sha256_json([encode(e.timing) for e in result.episodes]),
    )
    worker = value_at(evidence.result, "identity.worker.environment")
    return ControlRun(
        control=control,
        report=report,
        fields=relevant_fields(evidence.result),
        head={
            "harness_id": value_at(evidence.result, "identity.harness.id"),
            "harness_contract_sha256": result.harness_contract_sha256,
            "harness_sha256": value_at(evidence.result, "identity.harness.harness_sha256"),
            "environment_sha256": value_at(worker, "sha256"),
            "declared_image_digest": value_at(worker, "declared_image_digest"),
            "manifest_sha256": result.manifest_sha256,
        },
    )


def conditions(runs: Sequence[ControlRun]) -> list[QualificationCheck]:
    """Every condition, in the order in which a document lists them.

    Args:
        runs: The four control runs, in the order of `CONTROLS`.
    """
    found: list[QualificationCheck] = []

    def check(name: str, holds: bool, detail: str) -> None:
        found.append(QualificationCheck(name, bool(holds), detail))

    for run, (name, kind) in zip(runs, CONTROLS):
        control, faults = run.control, run.report.faults
        first = f", first: {faults[0]}" if faults else ""
        check(f"{name}: valid", not faults, f"{len(faults)} faults{first}")
        check(f"{name}: complete", control.status == "complete", f"status {control.status}")
        check(
            f"{name}: is the {kind} control", control.adapter == kind, f"adapter {control.adapter}"
        )
        wanted = 0 if kind == "zero" else control.scenarios
        check(
            f"{name}: passes {'none' if kind == 'zero' else 'all'}",
            bool(control.scenarios) and control.successes == wanted,
            f"{control.successes} of {control.scenarios}",
        )
    controls = [run.control for run in runs]
    for title, field in (
        ("run ids", "run_id"),
        ("results", "result_sha256"),
        ("timings", "timing_sha256"),
    ):
        values = [getattr(control, field) for control in controls]
        check(f"distinct {title}", *_distinct([c.name for c in controls], values))
    oracles = [c for c, (_, kind) in zip(controls, CONTROLS) if kind == "oracle"]
    for title, field in (
        ("semantics", "semantic_sha256"),
        ("contract", "contract_sha256"),
        ("implementation", "adapter_sha256"),
    ):
        values = [getattr(control, field) for control in oracles]
        check(
            f"oracle runs: one {title}",
            None not in values and len(set(values)) == 1,
            ", ".join(f"{c.name} {str(v)[:16]}" for c, v in zip(oracles, values)),
        )
    for name in RELEVANT:
        differ = {
            path
            for run in runs[1:]
            for path in differing_fields(runs[0].fields, run.fields)
            if path in RELEVANT[name]
        }
        known = all(run.fields for run in runs)
        detail = "differs in " + ", ".join(sorted(differ)) if differ else "equal"
        check(f"one {name}", known and not differ, detail if known else "unknown")
    return found


def _distinct(names: Sequence[str], values: Sequence[str | None]) -> tuple[bool, str]:
    twice = [
        f"{names[i]} and {names[j]} share {values[i]}"
        for i in range(len(values))
        for j in range(i + 1, len(values))
        if values[i] == values[j]
    ]
    return not twice and None not in values, "; ".join(twice) or "all differ"
