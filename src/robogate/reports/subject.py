"""What can be compared, read from a path: a run, a result, a bundle, a contract, an identity."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robogate.contract.identity import IDENTITY_SCHEMA, decode_identity
from robogate.contract.strict import Fault, decode
from robogate.errors import EvidenceError
from robogate.evidence.bundle import BUNDLE, RESULT_FOLDER
from robogate.evidence.files import CONTRACT, RESULT, Unreadable, read_document
from robogate.evidence.qualification import DOCUMENT
from robogate.evidence.validator import validate_run
from robogate.evidence.verify_bundle import verify_bundle
from robogate.records.contract import CONTRACT_SCHEMA, thaw
from robogate.records.result import RESULT_SCHEMA, Result


@dataclass(frozen=True)
class Subject:
    """One side of a comparison.

    Attributes:
        name: As the user named it.
        kind: ``run``, ``bundle``, ``result``, ``contract`` or ``identity``.
        contract: Contract document, or None.
        identity: Identity document, or None.
        result: Result document, or None.
        faults: What of it does not hold; then nothing of it is compared as a score.
        verified: Whether its evidence was verified; a result without its traces cannot be.
    """

    name: str
    kind: str
    contract: dict[str, Any] | None
    identity: dict[str, Any] | None
    result: dict[str, Any] | None
    faults: tuple[Fault, ...] = ()
    verified: bool = True


def read_subject(path: Path) -> Subject:
    """Read and verify what lies at a path.

    Raises:
        Unreadable: Nothing that can be compared lies there.
    """
    if not path.exists():
        raise Unreadable(f"{path}: no such file or folder")
    if path.is_dir():
        return _folder(path)
    if path.name == BUNDLE or (path.name == RESULT and (path.parent / CONTRACT).exists()):
        return _folder(path.parent)
    return _document(path)


def _folder(path: Path) -> Subject:
    if (path / BUNDLE).exists():
        report = verify_bundle(path, allow_unsigned=True)
        return _of_result("bundle", path, path / RESULT_FOLDER, report.faults)
    if (path / DOCUMENT).exists():
        raise Unreadable(
            f"{path}: is a qualification; compare two of its runs, such as {path}/zero"
        )
    return _of_result("run", path, path, validate_run(path).faults)


def _of_result(kind: str, path: Path, folder: Path, faults: tuple[Fault, ...]) -> Subject:
    return _result(kind, str(path), read_document(folder / RESULT), faults, verified=True)


def _result(
    kind: str, name: str, document: Any, faults: tuple[Fault, ...], *, verified: bool
) -> Subject:
    try:
        decode(Result, document)
        thaw(document["contract"])
        decode_identity(document["identity"])
    except EvidenceError as exc:
        # Where the evidence was verified, that has found the same, with the field's path.
        why = str(faults[0]) if faults else exc.message
        raise Unreadable(f"{name}: {why}", code=exc.code) from exc
    return Subject(
        name=name,
        kind=kind,
        contract=document["contract"],
        identity=document["identity"],
        result=document,
        faults=faults,
        verified=verified,
    )


def _document(path: Path) -> Subject:
    document = read_document(path)
    schema = document.get("schema") if type(document) is dict else None
    try:
        if schema == RESULT_SCHEMA:
            return _result("result", str(path), document, (), verified=False)
        if schema == CONTRACT_SCHEMA:
            thaw(document)
            return Subject(str(path), "contract", document, None, None)
        if schema == IDENTITY_SCHEMA:
            decode_identity(document)
            return Subject(str(path), "identity", None, document, None)
    except Unreadable:
        raise
    except EvidenceError as exc:
        raise Unreadable(f"{path}: {exc.message}", code=exc.code) from exc
    raise Unreadable(
        f"{path}: is neither a run folder, a bundle, a result, a contract nor an identity"
    )
