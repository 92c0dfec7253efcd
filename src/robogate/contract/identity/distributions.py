"""Installed distributions by their RECORD, read as bytes: one small file each, not every file.

A RECORD lists the hash of every installed file, so its own hash identifies an installation. Some of
its lines differ between two installations of the same wheel: scripts outside site-packages (their
first line names the interpreter's path), byte code, and the installer's notes. Those are left out.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from robogate.contract.identity.records import Distribution

_INSTALLER_NOTES = (b"/INSTALLER", b"/REQUESTED", b"/direct_url.json", b"/uv_cache.json")
_REQUIREMENT = re.compile(rb"^Requires-Dist:\s*([A-Za-z0-9._-]+)([^\n]*)$", re.MULTILINE)


def normalise(name: str) -> str:
    """Normalise a distribution's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def record_sha256(record: bytes) -> str:
    """Hash a RECORD's location-independent lines, sorted.

    Args:
        record: The file's bytes.
    """
    kept = []
    for line in record.splitlines():
        path = line.partition(b",")[0].strip(b'"')
        outside = path.startswith((b"../", b"/"))
        if path and not outside and not path.endswith((b".pyc", *_INSTALLER_NOTES)):
            kept.append(line)
    return hashlib.sha256(b"\n".join(sorted(kept))).hexdigest()


def find_distributions(search: Collection[str] | None = None) -> Iterator[tuple[str, str, Path]]:
    """Find every distribution on the import path, the first of a name winning, as imports do.

    Args:
        search: Folders, instead of ``sys.path``.

    Yields:
        Normalised name, version and metadata folder.
    """
    seen: set[str] = set()
    for folder in sys.path if search is None else search:
        try:
            entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
        except OSError:  # a folder on sys.path need not exist, and a zip is not scanned
            continue
        for entry in entries:
            stem, dot, kind = entry.name.rpartition(".")
            if not dot or kind not in ("dist-info", "egg-info") or not entry.is_dir():
                continue
            name, _, version = stem.partition("-")
            if kind == "egg-info" or not version:
                name, version = _from_metadata(Path(entry.path), name)
            if normalise(name) not in seen:
                seen.add(normalise(name))
                yield normalise(name), version, Path(entry.path)


def _from_metadata(folder: Path, fallback: str) -> tuple[str, str]:
    """Name and version from an egg-info's PKG-INFO; its folder name need not hold them."""
    name, version = fallback, "unknown"
    try:
        text = (folder / "PKG-INFO").read_text("utf-8", "replace")
    except OSError:
        return name, version
    for line in text.split("\n\n", 1)[0].splitlines():
        key, _, value = line.partition(":")
        if key == "Name":
            name = value.strip()
        elif key == "Version":
            version = value.strip()
    return name, version


def dependencies(roots: Collection[str], folders: dict[str, Path]) -> set[str]:
    """Names of the installed distributions that the roots need, themselves included.

    Requirements of extras are left out; a requirement that is not installed is not needed here.

    Args:
        roots: Names of distributions.
        folders: Metadata folder by normalised name.
    """
    found: set[str] = set()
    queue = [normalise(root) for root in roots]
    while queue:
        name = queue.pop()
        if name in found or name not in folders:
            continue
        found.add(name)
        metadata = _read(folders[name] / "METADATA") or b""
        for requirement, rest in _REQUIREMENT.findall(metadata.split(b"\n\n", 1)[0]):
            if not re.search(rb"\bextra\s*==", rest):
                queue.append(normalise(requirement.decode("ascii")))
    return found


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def measure_distributions(
    roots: Collection[str], search: Collection[str] | None = None
) -> tuple[Distribution, ...]:
    """Measure every installed distribution.

    Args:
        roots: Distributions whose dependencies, and themselves, are bound.
        search: Folders, instead of ``sys.path``.
    """
    found = {name: (version, folder) for name, version, folder in find_distributions(search)}
    bound = dependencies(roots, {name: folder for name, (_, folder) in found.items()})
    records = {name: _read(folder / "RECORD") for name, (_, folder) in found.items()}
    return tuple(
        Distribution(
            name=name,
            version=found[name][0],
            record_sha256=None if record is None else record_sha256(record),
            bound=name in bound,
        )
        for name, record in sorted(records.items())
    )
