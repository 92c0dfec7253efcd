"""Promotion: a run and its qualification become one immutable bundle on a board, or nothing does.

The bundle is built in a workshop on the board's own file system, verified there by the verifier
that a third party uses, flushed to the disk, and given its name by one rename. What is judged is
the copy that is published, so a run that changes meanwhile changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robogate.contract.canonical import sha256_file
from robogate.contract.identity import Identity, decode_identity
from robogate.contract.strict import Fault, StrictError, decode
from robogate.errors import EvidenceError, UsageError
from robogate.evidence.bundle import (
    BUNDLE,
    BUNDLES,
    MEDIA_FOLDER,
    QUALIFICATION_FOLDER,
    RESULT_FOLDER,
    SCOPE,
    STAGING,
    STATEMENT,
    assemble_bundle,
    bundle_bytes,
    declared_parts,
    run_files,
    scope_bytes,
)
from robogate.evidence.bundle_tree import measured_file
from robogate.evidence.files import (
    MAX_DOCUMENT_BYTES,
    RESULT,
    TRACES,
    RunEvidence,
    read_document,
    read_run,
)
from robogate.evidence.fs import OCCUPIED, FileSystem
from robogate.evidence.promotion_media import MAX_FILE_BYTES, VIDEOS, choose_media
from robogate.evidence.promotion_rules import coverage_faults, declared_faults, result_faults
from robogate.evidence.qualification import DOCUMENT, decode_qualification
from robogate.evidence.qualification_record import CONTROLS
from robogate.evidence.report import Report
from robogate.evidence.signing import envelope_text, key_id
from robogate.evidence.statement import assemble_statement, statement_bytes
from robogate.evidence.verify_bundle import verify_bundle
from robogate.records.contract import thaw
from robogate.records.result import Result

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class NotPromotable(EvidenceError):
    """A run or its qualification does not meet the rules; the board is as it was."""

    default_code = "not_promotable"


@dataclass(frozen=True)
class Promotion:
    """What a promotion came to.

    Attributes:
        folder: The bundle.
        created: Whether it is new; False where the board held the same bundle already.
        report: What its verification found.
    """

    folder: Path
    created: bool
    report: Report


def promote(
    run: Path,
    qualification: Path,
    board: Path,
    *,
    key: Ed25519PrivateKey | None = None,
    allow_declared: bool = False,
    fs: FileSystem | None = None,
) -> Promotion:
    """Verify a run and its qualification, and put them on a board as one bundle.

    Args:
        run: Run folder.
        qualification: Qualification's folder.
        board: Where bundles are kept; made where it is missing.
        key: Signs the bundle; None makes an unsigned one, which every verifier shows as such.
        allow_declared: Whether an identity that a server declared may be promoted.
        fs: Operations on the disk.

    Raises:
        Unreadable: A document cannot be read.
        NotPromotable: A rule is not met, or something does not hold.
        UsageError: The board cannot be written.
    """
    evidence = read_run(run)
    _require(run, _quick_faults(evidence, qualification, allow_declared))
    fs = fs or FileSystem()
    try:
        with fs.workshop(board / STAGING) as workshop:
            bundle = workshop / "bundle"
            name = _build(bundle, evidence, qualification, key, fs)
            report = verify_bundle(
                bundle, key=None if key is None else key.public_key(), allow_unsigned=key is None
            )
            _require(run, report.faults)
            _make_durable(bundle, fs)
            created = _publish(bundle, board / BUNDLES, name, fs)
    except OSError as exc:
        raise UsageError(
            f"--board {board}: cannot be written ({exc.strerror or exc}: {exc.filename or board}); "
            "nothing half-written is left, what was there is as it was",
            code="board",
        ) from exc
    return Promotion(board / BUNDLES / name, created, report)


def _require(subject: Path, faults: Sequence[Fault]) -> None:
    if faults:
        text = "; ".join(str(fault) for fault in faults[:5])
        more = f" (and {len(faults) - 5} more)" if len(faults) > 5 else ""
        raise NotPromotable(f"not promoted: {subject}: {text}{more}")


def _quick_faults(evidence: RunEvidence, qualification: Path, allow_declared: bool) -> list[Fault]:
    """What can be seen from two documents, before anything is copied."""
    covering = decode_qualification(read_document(qualification / DOCUMENT))
    try:
        result = decode(Result, evidence.result)
        frozen = thaw(result.contract)
        identity: Identity = decode_identity(result.identity, "$.identity")
    except StrictError as exc:
        return list(exc.faults)
    faults = result_faults(result, frozen, identity)
    return [
        *faults,
        *(() if faults else coverage_faults(evidence.result, covering)),
        *declared_faults(declared_parts(identity), allow_declared),
    ]


def _build(
    bundle: Path,
    evidence: RunEvidence,
    qualification: Path,
    key: Ed25519PrivateKey | None,
    fs: FileSystem,
) -> str:
    """Build the whole bundle; returns its name."""
    fs.make_folder(bundle)
    _copy_run(evidence.folder, bundle / RESULT_FOLDER, fs)
    result: dict[str, Any] = read_document(bundle / RESULT_FOLDER / RESULT)
    if result != evidence.result:
        raise NotPromotable(f"{evidence.folder}: {RESULT} changed while it was being promoted")
    fs.make_folder(bundle / QUALIFICATION_FOLDER)
    fs.copy(qualification / DOCUMENT, bundle / QUALIFICATION_FOLDER / DOCUMENT, MAX_DOCUMENT_BYTES)
    for name, _ in CONTROLS:
        _copy_run(qualification / name, bundle / QUALIFICATION_FOLDER / name, fs)
    media = choose_media(result, evidence.folder / VIDEOS)
    if media:
        fs.make_folder(bundle / MEDIA_FOLDER)
    for name in media:
        fs.copy(evidence.folder / VIDEOS / name, bundle / MEDIA_FOLDER / name, MAX_FILE_BYTES)
    fs.write(bundle / SCOPE, scope_bytes(result))
    return _seal(bundle, result, key, fs)


def _copy_run(source: Path, target: Path, fs: FileSystem) -> None:
    fs.make_folder(target)
    fs.make_folder(target / TRACES)
    # The result comes first: which traces belong to it, it says itself.
    fs.copy(source / RESULT, target / RESULT, MAX_DOCUMENT_BYTES)
    for name in run_files(read_document(target / RESULT)):
        if name != RESULT:
            fs.copy(source / name, target / name, MAX_DOCUMENT_BYTES)


def _seal(
    bundle: Path, result: dict[str, Any], key: Ed25519PrivateKey | None, fs: FileSystem
) -> str:
    """Write bundle.json and the statement over everything else."""
    files = [
        measured_file(bundle, path.relative_to(bundle).as_posix())
        for path in bundle.rglob("*")
        if path.is_file()
    ]
    document = assemble_bundle(
        result,
        declared=declared_parts(decode_identity(result["identity"])),
        qualification_id=result["qualification_id"] or "",
        files=files,
        signed_by=None if key is None else key_id(key.public_key()),
    )
    fs.write(bundle / BUNDLE, bundle_bytes(document))
    statement = assemble_statement(document, measured_file(bundle, BUNDLE), result)
    fs.write(bundle / STATEMENT, envelope_text(statement_bytes(statement), key).encode("ascii"))
    return str(document["sha256"])


def _make_durable(bundle: Path, fs: FileSystem) -> None:
    """Files read-only, folders flushed, the innermost first."""
    paths = sorted(bundle.rglob("*"), reverse=True)
    for path in paths:
        if path.is_file():
            fs.make_read_only(path)
    for path in paths:
        if path.is_dir():
            fs.sync_folder(path)
    fs.sync_folder(bundle)


def _publish(bundle: Path, bundles: Path, name: str, fs: FileSystem) -> bool:
    """Rename the finished bundle to its place; False where the same one is there already."""
    fs.ensure_folder(bundles)
    place = bundles / name
    try:
        fs.rename(bundle, place)
        created = True
    except OSError as exc:
        if exc.errno not in OCCUPIED:
            raise
        created = False
    if not created:
        _require_same(bundle, place)
    try:
        fs.sync_folder(bundles)
    except OSError as exc:
        raise UsageError(
            f"{place}: the bundle is in place, but the board could not be flushed to the disk "
            f"({exc.strerror or exc}); promote it again to be sure",
            code="board",
        ) from exc
    return created


def _require_same(bundle: Path, place: Path) -> None:
    """Somebody was faster, or it was promoted before: then every file must be equal."""
    mine, theirs = ({p.relative_to(root) for p in root.rglob("*")} for root in (bundle, place))
    differing = sorted(mine ^ theirs) + sorted(
        path
        for path in mine & theirs
        if (bundle / path).is_file() and not _is_copy(place / path, bundle / path)
    )
    if differing:
        raise NotPromotable(
            f"{place}: the board holds this bundle already, and it was changed: {differing[0]} "
            f"differs (robogate verify {place}); it was left as it is",
            code="bundle_changed",
        )


def _is_copy(path: Path, original: Path) -> bool:
    """Whether a file of the board equals ours; a link, a pipe or a folder in its place does not."""
    return (
        path.is_file()
        and not path.is_symlink()
        and path.stat().st_size == original.stat().st_size
        and sha256_file(path) == sha256_file(original)
    )
