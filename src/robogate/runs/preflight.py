"""Everything that can be refused is refused for all points before the first of them runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from robogate.config.compose import Point
from robogate.contract.assets import load_inventory, verify_tree
from robogate.contract.layout import manifests_dir
from robogate.errors import EvidenceError, UsageError
from robogate.evidence.files import JOURNAL, RESULT
from robogate.evidence.qualification import verify_qualification
from robogate.runs.environment import resolve_gl
from robogate.scenes.manifest import Manifest, load_manifest


@dataclass(frozen=True)
class Prepared:
    """A point whose inputs were checked.

    Attributes:
        point: As composed.
        manifest: Its scenarios.
        gl: Resolved OpenGL backend.
    """

    point: Point
    manifest: Manifest
    gl: str


def prepare(point: Point) -> Prepared:
    """Check a point's files and machine.

    Raises:
        UsageError: An asset is missing or changed, no GL library, a folder that cannot be resumed,
            a qualification that does not hold or is for another harness contract.
    """
    require_assets(point)
    manifest = load_manifest(point.manifest_path)
    if point.runtime.resume is not None:
        require_resumable(Path(point.runtime.resume))
    if point.runtime.qualification is not None:
        require_qualified(Path(point.runtime.qualification), point)
    return Prepared(point, manifest, resolve_gl(point.runtime.gl))


def require_assets(point: Point) -> None:
    """Compare every pinned file with its inventory.

    Raises:
        UsageError: A file differs, is missing or is not listed; the message names the first.
    """
    pinned = point.frozen.bench.assets
    if pinned is None:
        return
    inventory = load_inventory(manifests_dir() / pinned.inventory)
    faults = verify_tree(point.assets_dir, inventory)
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise UsageError(
            f"asset {faults[0]}{more}; rebuild the pinned files with: robogate assets --force",
            code="asset_changed",
        )


def require_resumable(folder: Path) -> None:
    """Refuse to resume what never started or has ended.

    Raises:
        UsageError: No journal, or a result is there already.
    """
    if not (folder / JOURNAL).is_file():
        raise UsageError(
            f"runtime.resume={folder}: no {JOURNAL} in it; give the folder of a run that was "
            "interrupted",
            code="resume",
        )
    if (folder / RESULT).exists():
        raise UsageError(
            f"runtime.resume={folder}: the run has ended and {RESULT} is written; nothing is left "
            "to do",
            code="resume",
        )


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
    covered = str(report.about["harness_contract_sha256"])
    if covered != point.frozen.harness_sha256:
        raise UsageError(
            f"{where}: it qualifies harness contract {covered[:12]}, this run's is "
            f"{point.frozen.harness_sha256[:12]}; qualify this one with: dvc repro",
            code="qualification",
        )
