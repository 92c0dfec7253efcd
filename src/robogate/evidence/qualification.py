"""Qualification: what makes a harness contract fit to score policies (protocol section 6).

A zero-action control passes nothing, a positive control passes everything, three of its runs mean
the same, and all four are distinct runs that hold up to the validator under equal fingerprints. The
document says nothing that is not recomputed from the four raw results beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from robogate.contract.canonical import sha256_json
from robogate.contract.strict import decode, encode
from robogate.errors import EvidenceError, UsageError
from robogate.evidence.files import read_document
from robogate.evidence.qualification_checks import ControlRun, conditions, read_control
from robogate.evidence.qualification_record import (
    CONTROLS,
    QUALIFICATION_SCHEMA,
    Qualification,
)
from robogate.evidence.relevance import RELEVANT, differing_fields, relevant_fields
from robogate.evidence.report import Ledger, Means, Report
from robogate.scenes.readback import compare

DOCUMENT = "qualification.json"


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
    checks = tuple(conditions(runs))
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
    met = ledger.section("qualification: every condition is met", Means.RECOMPUTED)
    met.count += len(expected["checks"])
    for i, check in enumerate(expected["checks"]):
        if not check["holds"]:
            met.fault(f"$.checks[{i}]", f"{check['name']}: {check['detail']}")
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
