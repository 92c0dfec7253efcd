"""Verify a bundle from its files alone: what a third party with the light core does.

Nothing in the bundle is believed because another file in it says so: the run and the four controls
are validated, the qualification is recomputed, the rules of promotion are applied again, and
bundle.json and the statement are built anew and compared. What is left was measured, and is what
the signature is for.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robogate.contract.canonical import loads_strict, self_hash
from robogate.contract.files import read_bounded
from robogate.contract.identity import Identity, decode_identity
from robogate.contract.strict import Fault, StrictError, decode
from robogate.errors import EvidenceError
from robogate.evidence.bundle import (
    BUNDLE,
    MEDIA_FOLDER,
    NAME,
    QUALIFICATION_FOLDER,
    RESULT_FOLDER,
    SCOPE,
    BundleRecord,
    assemble_bundle,
    bundle_bytes,
    declared_parts,
    expected_files,
    scope_bytes,
)
from robogate.evidence.bundle_tree import check_listed, check_names, plain_files
from robogate.evidence.files import (
    MAX_DOCUMENT_BYTES,
    RESULT,
    Unreadable,
    read_document,
    read_run,
)
from robogate.evidence.promotion_media import media_faults
from robogate.evidence.promotion_rules import coverage_faults, result_faults
from robogate.evidence.qualification import DOCUMENT, decode_qualification, verify_qualification
from robogate.evidence.qualification_record import CONTROLS, Qualification
from robogate.evidence.report import Ledger, Means, Report
from robogate.evidence.validator import validate
from robogate.evidence.verify_statement import check_statement
from robogate.records.contract import thaw
from robogate.records.result import Result
from robogate.scenes.readback import compare

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def verify_bundle(
    folder: Path, *, key: Ed25519PublicKey | None = None, allow_unsigned: bool = False
) -> Report:
    """Verify a bundle.

    Args:
        folder: The bundle.
        key: Trusted public key of its signer, or None.
        allow_unsigned: Whether a missing or unchecked signature is accepted.

    Returns:
        Every check, and every fault; ``about["signature"]`` is ``valid``, ``unsigned``,
        ``not checked`` or ``invalid``.

    Raises:
        Unreadable: bundle.json is missing or is not strict JSON: there is nothing to verify.
    """
    try:
        return _Verification(folder).run(key, allow_unsigned)
    except OSError as exc:
        raise Unreadable(f"{exc.filename or folder}: cannot be read ({exc.strerror})") from exc


class _Verification:
    """One bundle being verified."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ledger = Ledger()
        self._about: dict[str, Any] = {}
        self._data = _read(folder / BUNDLE)
        try:
            self._document: Any = loads_strict(self._data, source=str(folder / BUNDLE))
        except EvidenceError as exc:
            raise Unreadable(exc.message, code=exc.code) from exc

    def run(self, key: Ed25519PublicKey | None, allow_unsigned: bool) -> Report:
        """Make every check that the ones before leave room for."""
        record = self._decode()
        if record is not None and check_names(record, self._ledger):
            present = plain_files(self._folder, self._ledger)
            check_listed(self._folder, record, present, self._ledger)
            result = self._check_result()
            qualification = self._check_qualification()
            rebuilt = None
            if result is not None and qualification is not None:
                self._check_coverage(result, qualification)
                rebuilt = self._check_record(record, result, present)
            signature = check_statement(
                self._folder,
                record,
                result,
                rebuilt,
                self._ledger,
                key=key,
                allow_unsigned=allow_unsigned,
            )
            self._about.update(
                bundle=record.sha256, signature=signature, signed_by=record.signed_by
            )
        return Report("bundle", str(self._folder), self._ledger.checks(), self._about)

    def _decode(self) -> BundleRecord | None:
        section = self._ledger.section("bundle: every field, and no other", Means.COMPARED)
        section.count += 1
        try:
            record = decode(BundleRecord, self._document)
        except StrictError as exc:
            section.faults.extend(_prefix(f, f"{BUNDLE}:") for f in exc.faults)
            return None
        hashed = self._ledger.section("bundle: document hash", Means.RECOMPUTED)
        hashed.equal(f"{BUNDLE}:$.sha256", record.sha256, self_hash(self._document))
        return record

    def _check_result(self) -> dict[str, Any] | None:
        """The result document where the run holds up to the validator."""
        with self._ledger.refusals("result: readable", Means.COMPARED, RESULT_FOLDER) as section:
            section.count += 1
            evidence = read_run(self._folder / RESULT_FOLDER)
        if section.faults:
            return None
        report = validate(evidence)
        self._adopt(report, RESULT_FOLDER)
        self._about.update(report.about)
        if not report.holds:
            return None
        result: dict[str, Any] = evidence.result
        harness = result["identity"]["harness"]
        self._about.update(
            role=result["contract"]["adapter"]["role"],
            source_revision=harness["source_revision"],
            dirty=harness["dirty"],
            declared=list(declared_parts(decode_identity(result["identity"]))),
        )
        return result

    def _check_qualification(self) -> Qualification | None:
        """The qualification where it follows from its four controls and has passed."""
        folder = self._folder / QUALIFICATION_FOLDER
        name = "qualification: readable"
        with self._ledger.refusals(name, Means.COMPARED, QUALIFICATION_FOLDER) as section:
            section.count += 1
            report = verify_qualification(folder)
        if section.faults:
            return None
        self._adopt(report, QUALIFICATION_FOLDER)
        measured = self._ledger.section("controls: what was measured in them", Means.HASHED)
        measured.count += len(CONTROLS)
        return decode_qualification(read_document(folder / DOCUMENT)) if report.holds else None

    def _adopt(self, report: Report, folder: str) -> None:
        for check in report.checks:
            faults = tuple(_prefix(fault, f"{folder}/") for fault in check.faults)
            name = check.name
            if folder == QUALIFICATION_FOLDER and not name.startswith(folder):
                name = f"{folder}, {name}"
            self._ledger.adopt(dataclasses.replace(check, name=name, faults=faults))

    def _check_coverage(self, result: dict[str, Any], qualification: Qualification) -> None:
        frozen = thaw(result["contract"])
        identity: Identity = decode_identity(result["identity"])
        rules = self._ledger.section("promotion: complete, and it is known who ran", Means.COMPARED)
        covered = self._ledger.section(
            "promotion: the qualification covers the result", Means.RECOMPUTED
        )
        for section, faults in (
            (rules, result_faults(decode(Result, result), frozen, identity)),
            (covered, coverage_faults(result, qualification)),
        ):
            section.count += 1
            section.faults.extend(_prefix(fault, f"{RESULT_FOLDER}/") for fault in faults)

    def _check_record(
        self, record: BundleRecord, result: dict[str, Any], present: set[str]
    ) -> dict[str, Any]:
        """bundle.json as it follows from everything else."""
        media = sorted(p.partition("/")[2] for p in present if p.startswith(f"{MEDIA_FOLDER}/"))
        if media:
            held = self._ledger.section("media: videos of chosen episodes", Means.HASHED)
            held.count += len(media)
            held.faults.extend(media_faults(self._folder / MEDIA_FOLDER, media, result))
        with self._ledger.refusals("scope: the contract's text", Means.COMPARED, SCOPE) as scope:
            scope.count += 1
            if _read(self._folder / SCOPE) != scope_bytes(result):
                scope.fault(SCOPE, "is not the scope text of the result")
        section = self._ledger.section("bundle: follows from its files", Means.RECOMPUTED)
        paths = set(expected_files(result, self._controls(), media))
        for path in sorted(paths ^ {file.path for file in record.files}):
            what = "belongs to" if path in paths else "is no part of"
            section.fault(path, f"{what} the evidence, {BUNDLE} says otherwise")
        expected = assemble_bundle(
            result,
            declared=self._about["declared"],
            qualification_id=result["qualification_id"],
            files=record.files,
            signed_by=record.signed_by,
        )
        section.count += len(expected)
        section.faults.extend(_prefix(f, f"{BUNDLE}:") for f in compare(self._document, expected))
        if not section.faults and self._data != bundle_bytes(expected):
            section.fault(BUNDLE, "is not written in the one form that its hash stands for")
        if NAME.fullmatch(self._folder.name):
            section.equal("folder name", self._folder.name, expected["sha256"], BUNDLE)
        return expected

    def _controls(self) -> list[Any]:
        folder = self._folder / QUALIFICATION_FOLDER
        return [read_document(folder / name / RESULT) for name, _ in CONTROLS]


def _read(path: Path) -> bytes:
    try:
        return read_bounded(path, MAX_DOCUMENT_BYTES)
    except EvidenceError as exc:
        raise Unreadable(exc.message, code=exc.code) from exc


def _prefix(fault: Fault, prefix: str) -> Fault:
    return dataclasses.replace(fault, path=prefix + fault.path)
