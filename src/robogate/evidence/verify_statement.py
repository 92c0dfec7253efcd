"""A bundle's statement: it follows from the bundle, and its signature is the trusted key's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from robogate.contract.canonical import loads_strict
from robogate.contract.files import read_bounded
from robogate.contract.strict import Fault
from robogate.errors import EvidenceError
from robogate.evidence.bundle import BUNDLE, STATEMENT, BundleRecord
from robogate.evidence.bundle_tree import measured_file
from robogate.evidence.files import MAX_DOCUMENT_BYTES
from robogate.evidence.report import Ledger, Means
from robogate.evidence.signing import parse_envelope, signature_fault
from robogate.evidence.statement import assemble_statement, statement_bytes
from robogate.scenes.readback import compare

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def check_statement(
    folder: Path,
    record: BundleRecord,
    result: dict[str, Any] | None,
    rebuilt: dict[str, Any] | None,
    ledger: Ledger,
    *,
    key: Ed25519PublicKey | None,
    allow_unsigned: bool,
) -> str:
    """Check the statement of a bundle.

    Args:
        folder: The bundle.
        record: Its bundle.json.
        result: Its result, or None where that does not hold.
        rebuilt: bundle.json as it follows from the files, or None where they do not hold.
        ledger: Takes the checks.
        key: Trusted public key, or None.
        allow_unsigned: Whether a missing or unchecked signature is accepted.

    Returns:
        ``valid``, ``unsigned``, ``not checked`` or ``invalid``; the ledger says what is accepted.
    """
    with ledger.refusals("statement: readable", Means.COMPARED, STATEMENT) as section:
        section.count += 1
        data = read_bounded(folder / STATEMENT, MAX_DOCUMENT_BYTES)
        envelope, payload = parse_envelope(data, STATEMENT)
    if section.faults:
        return "invalid"
    if rebuilt is not None and result is not None:
        follows = ledger.section("statement: follows from the bundle", Means.RECOMPUTED)
        follows.count += 1
        expected = assemble_statement(rebuilt, measured_file(folder, BUNDLE), result)
        if payload != statement_bytes(expected):
            follows.faults.extend(_differences(payload, expected))
    signed = ledger.section("statement: signature", Means.SIGNED)
    signed.count += 1
    fault = signature_fault(
        envelope, payload, signer=record.signed_by, key=key, allow_unsigned=allow_unsigned
    )
    if fault is not None:
        signed.fault(STATEMENT, fault)
    if not envelope.signatures and record.signed_by is None:
        return "unsigned"
    if key is None and envelope.signatures:
        return "not checked"
    return "valid" if fault is None else "invalid"


def _differences(payload: bytes, expected: dict[str, Any]) -> list[Fault]:
    try:
        stated = loads_strict(payload, source=STATEMENT)
    except EvidenceError as exc:
        return [Fault(STATEMENT, exc.message)]
    faults = [Fault(f"{STATEMENT}:{f.path}", f.message) for f in compare(stated, expected)]
    return faults[:20] or [Fault(STATEMENT, "is not in its canonical form")]
