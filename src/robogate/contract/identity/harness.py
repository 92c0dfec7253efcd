"""Identity of the harness and of an adapter: which files, and their hashes.

`HARNESS_PATTERNS` is the one list of what can change a score (besides the contract, which binds
conf, manifests and assets, and the environment, which binds the dependencies). Reports, the command
line, publication and the learned policies' adapters are not in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from robogate import __version__
from robogate.contract.canonical import sha256_file, sha256_json
from robogate.contract.identity.git import GitError, changed, head, toplevel
from robogate.contract.identity.records import AdapterIdentity, HarnessIdentity
from robogate.contract.layout import checkout_root
from robogate.contract.schema import Adapter, Bench
from robogate.errors import RunError

PACKAGE = Path(__file__).resolve().parents[2]

#: Patterns below the package; ``{bench}`` is the folder of the bench in question.
HARNESS_PATTERNS = (
    "errors.py",
    "config/**/*",
    "contract/**/*",
    "scenes/**/*",
    "records/**/*",
    "worker/**/*",
    "benches/*.py",
    "benches/{bench}/**/*",
    "adapters/loaded.py",
    "adapters/zero.py",
    "adapters/oracle.py",
    "adapters/{bench}_*.py",
    "adapters/rotations.py",
    "episodes/**/*",
    "runs/**/*",
    "evidence/assemble.py",
    "evidence/files.py",
    "evidence/report.py",
    "evidence/validat*.py",
)
#: What counts for the harness's dirty state, below the checkout's root.
SOURCE_FOLDERS = ("src", "conf", "manifests")


def bench_folder(bench: Bench) -> str:
    """Folder of a bench below ``benches/``, taken from its environment factory."""
    parts = bench.environment.partition(":")[0].split(".")
    return parts[2] if parts[:2] == ["robogate", "benches"] and len(parts) > 2 else "-"


def harness_files(bench: Bench, package: Path = PACKAGE) -> tuple[str, ...]:
    """Paths, relative to the package, of the files that the harness hash covers; sorted."""
    found: set[str] = set()
    for pattern in HARNESS_PATTERNS:
        for path in package.glob(pattern.format(bench=bench_folder(bench))):
            if path.is_file() and path.suffix != ".pyc":
                found.add(path.relative_to(package).as_posix())
    return tuple(sorted(found))


def tree_sha256(root: Path, paths: Iterable[str]) -> str:
    """SHA-256 over the sorted pairs of relative path and content hash.

    Raises:
        RunError: A file cannot be read.
    """
    try:
        return sha256_json([[path, sha256_file(root / path)] for path in sorted(set(paths))])
    except OSError as exc:
        message = f"{exc.filename}: cannot be read for its hash ({exc.strerror})"
        raise RunError(message, code="identity_mismatch") from exc


def harness_sha256(bench: Bench, package: Path = PACKAGE) -> str:
    """The harness hash of a bench."""
    return tree_sha256(package, harness_files(bench, package))


def measure_harness(bench: Bench) -> HarnessIdentity:
    """Measure the harness's own source."""
    revision, dirty = _source_state(checkout_root())
    return HarnessIdentity(
        id=bench.harness_id,
        version=bench.harness_version,
        software=__version__,
        source_revision=revision,
        dirty=dirty,
        harness_sha256=harness_sha256(bench),
    )


def _source_state(root: Path | None) -> tuple[str | None, bool | None]:
    """Commit and dirty state of the checkout; nulls where git cannot say."""
    if root is None or toplevel(root) != root:
        return None, None
    try:
        revision = head(root)
        return revision, bool(changed(root, *SOURCE_FOLDERS))
    except GitError:
        return None, None


def measure_adapter(
    adapter: Adapter, modules: Iterable[str], package: Path = PACKAGE
) -> AdapterIdentity:
    """Measure an adapter's implementation.

    Args:
        adapter: Of the contract.
        modules: Its files, relative to the package.
        package: Where they lie.
    """
    return AdapterIdentity(
        kind=adapter.kind,
        version=adapter.version,
        implementation_sha256=tree_sha256(package, modules),
    )
