"""Qualification: what makes a harness contract fit to score policies (protocol section 6).

A zero-action control passes nothing, a positive control passes everything, three of its runs mean
the same, and all four are distinct runs that hold up to the validator under equal fingerprints. The
document says nothing that is not recomputed from the four raw results beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robogate.contract.canonical import sha256_json
from robogate.contract.strict import StrictError, decode, encode
from robogate.errors import EvidenceError, UsageError
from robogate.evidence.files import read_document, read_run
from robogate.evidence.qualification_record import (
    CONTROLS,
    QUALIFICATION_SCHEMA,
    Control,
    Qualification,
    QualificationCheck,
)
from robogate.evidence.relevance import RELEVANT, differing_fields, relevant_fields, value_at
from robogate.evidence.report import Ledger, Means, Report
from robogate.evidence.validator import validate
from robogate.records.result import Result
from robogate.scenes.readback import compare

DOCUMENT = "qualification.json"


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


def control_folders(zero: Path, oracles: Sequence[Path]) -> dict[str, Path]:
    """Folder of each control by its name in a bundle.

    Raises:
        UsageError: Not exactly three runs of the positive control.
    """
    if len(oracles) != 3:
        raise UsageError(f"a qualification takes 3 runs of the oracle, {len(oracles)} were given")
    return dict(zip((name for name, _ in CONTROLS), (zero, *oracles)))


def qualify(zero: Path, oracles: Sequence[Path]) -> dict[str, Any]:
    """Qualify a harness contract from its four control runs.

    Args:
        zero: Run folder of the zero-action control.
        oracles: Three run folders of the positive control.

    Returns:
        The qualification document, passed or failed.

    Raises:
        UsageError: Not three oracle runs.
        Unreadable: A run cannot be read at all.
    """
    folders = control_folders(zero, oracles)
    return assemble_qualification([read_control(n, f) for n, f in folders.items()])


def assemble_qualification(runs: Sequence[ControlRun]) -> dict[str, Any]:
    """The document that four verified control runs make."""
    checks = tuple(_checks(runs))
    head = {k: _common([r.head.get(k) for r in runs]) for k in _HEAD}
    document: dict[str, Any] = {
        "schema": QUALIFICATION_SCHEMA,
        "status": "passed" if all(check.holds for check in checks) else "failed",
        **head,
        "fingerprints": {
            name: {path: _common([r.fields.get(name, {}).get(path) for r in runs]) or ""
                   for path in paths}
            for name, paths in RELEVANT.items()
        },
        "controls": [encode(run.control) for run in runs],
        "checks": [encode(check) for check in checks],
    }  # fmt: skip
    document["qualification_id"] = sha256_json(document)
    document["sha256"] = sha256_json(document)
    order = ("schema", "qualification_id")
    return {k: document[k] for k in (*order, *(k for k in document if k not in order))}


_HEAD = (
    "harness_id",
    "harness_contract_sha256",
    "harness_sha256",
    "environment_sha256",
    "declared_image_digest",
    "manifest_sha256",
)


def _common(values: Sequence[Any]) -> Any:
    """The one value that all share, null where they do not."""
    return values[0] if all(value == values[0] for value in values) else None


def _checks(runs: Sequence[ControlRun]) -> list[QualificationCheck]:
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


def decode_qualification(document: Any) -> Qualification:
    """Decode a qualification document and recompute its two hashes.

    Raises:
        StrictError: Not exactly of the schema.
        EvidenceError: A hash does not follow from the rest.
    """
    record = decode(Qualification, document)
    without = {k: v for k, v in document.items() if k not in ("sha256", "qualification_id")}
    if record.qualification_id != sha256_json(without):
        raise EvidenceError("$.qualification_id does not follow from the document")
    if record.sha256 != sha256_json({**without, "qualification_id": record.qualification_id}):
        raise EvidenceError("$.sha256 does not follow from the document")
    return record


def verify_qualification(folder: Path) -> Report:
    """Recompute a qualification from the four raw results in its folder.

    Args:
        folder: Holds ``qualification.json`` and the four control runs.

    Raises:
        Unreadable: The document or a control run cannot be read.
    """
    document = read_document(folder / DOCUMENT)
    ledger = Ledger()
    with ledger.refusals("document: strict, its ID and hash", Means.RECOMPUTED, "$") as section:
        section.count += 1
        decode_qualification(document)
    runs = []
    for name, _ in CONTROLS:
        run = read_control(name, folder / name)
        runs.append(run)
        section = ledger.section(f"{name}: the run holds up to the validator", Means.RECOMPUTED)
        section.count += sum(check.count for check in run.report.checks)
        for fault in run.report.faults:
            section.fault(f"{name}/{fault.path}", fault.message)
    section = ledger.section("document: follows from the four raw results", Means.RECOMPUTED)
    expected = assemble_qualification(runs)
    section.count += len(expected)
    for fault in compare(document, expected):
        section.fault(fault.path, fault.message)
    conditions = ledger.section("qualification: every condition is met", Means.RECOMPUTED)
    conditions.count += len(expected["checks"])
    for i, check in enumerate(expected["checks"]):
        if not check["holds"]:
            conditions.fault(f"$.checks[{i}]", f"{check['name']}: {check['detail']}")
    return Report(
        kind="qualification",
        subject=str(folder),
        checks=ledger.checks(),
        about={
            "status": expected["status"],
            "qualification_id": expected["qualification_id"],
            "harness_contract_sha256": expected["harness_contract_sha256"],
            "controls": {
                c["name"]: f"{c['successes']}/{c['scenarios']}" for c in expected["controls"]
            },
        },
    )


def require_qualification(folder: Path, result: Mapping[str, Any]) -> str:
    """The ID of the passed qualification in a folder, if it covers a result.

    Args:
        folder: A qualification's folder.
        result: A result document: at least its identity, contract and their hashes.

    Raises:
        EvidenceError: It does not hold, has not passed, or is stale for this result: the message
            names the fields that changed.
    """
    verify_qualification(folder).require()
    record = decode_qualification(read_document(folder / DOCUMENT))
    stale = differing_fields(record.fingerprints, relevant_fields(result))
    if stale:
        raise EvidenceError(
            f"{folder}: the qualification is stale, these fields changed: {', '.join(stale)}; "
            "qualify again (dvc repro)",
            code="qualification_stale",
        )
    return record.qualification_id
