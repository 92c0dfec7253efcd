"""Binding a run to a qualification: before it starts, and once it is known what it runs on."""

from __future__ import annotations

from pathlib import Path

from robogate.config.compose import Point
from robogate.contract.identity import Identity, differences
from robogate.contract.strict import encode
from robogate.errors import EvidenceError, UsageError
from robogate.evidence.files import CONTRACT, read_document
from robogate.evidence.qualification import require_qualification, verify_qualification
from robogate.evidence.qualification_record import CONTROLS
from robogate.scenes.manifest import Manifest


def require_qualified(folder: Path, point: Point) -> None:
    """Recompute a qualification and require that it passed and covers the harness contract.

    What it ran on is compared later, when the run's own identity is measured.

    Raises:
        UsageError: It does not.
    """
    where = f"runtime.qualification={folder}"
    try:
        report = verify_qualification(folder)
        report.require()
    except EvidenceError as exc:
        raise UsageError(f"{where}: {exc.message}", code="qualification") from exc
    if report.about["harness_contract_sha256"] != point.frozen.harness_sha256:
        control, _ = CONTROLS[0]
        qualified = read_document(folder / control / CONTRACT)
        changed = differences(qualified, point.frozen.document, ignore=("adapter",))
        raise UsageError(
            f"{where}: it qualifies another harness contract, which differs in "
            f"{', '.join(changed[:5])}; leave these as they were qualified, or qualify the bench "
            "with them",
            code="qualification",
        )


def qualification_of(point: Point, manifest: Manifest, identity: Identity) -> str | None:
    """ID of the qualification that covers this very harness, image and contract.

    Args:
        point: As composed.
        manifest: Its scenarios.
        identity: As measured for this run.

    Returns:
        The ID; None where the run is bound to none.

    Raises:
        UsageError: The qualification that was named does not cover the run.
    """
    if point.runtime.qualification is None:
        return None
    subject = {
        "contract": point.frozen.document,
        "harness_contract_sha256": point.frozen.harness_sha256,
        "manifest_sha256": manifest.sha256,
        "identity": encode(identity),
    }
    folder = Path(point.runtime.qualification)
    try:
        return require_qualification(folder, subject)
    except EvidenceError as exc:
        raise UsageError(
            f"runtime.qualification={folder}: {exc.message}", code="qualification"
        ) from exc
