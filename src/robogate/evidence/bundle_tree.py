"""The files of a bundle: only plain files under plain names, and exactly those that are listed."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from robogate.contract.canonical import sha256_file
from robogate.evidence.bundle import BUNDLE, PATH, UNLISTED, BundleFile, BundleRecord
from robogate.evidence.files import MAX_DOCUMENT_BYTES
from robogate.evidence.report import Ledger, Means

#: More than any manifest needs: five runs of 2,000 scenarios.
MAX_ENTRIES = 20_000
#: Of all files together, four times what those runs need. A file may be all hole: it costs whoever
#: made it nothing, and everybody who hashes it hours.
MAX_TOTAL_BYTES = 8 * 1024**3


def measured_file(folder: Path, path: str) -> BundleFile:
    """Size and hash of a file, streamed.

    Raises:
        OSError: It cannot be read.
    """
    file = folder / path
    return BundleFile(path, file.stat().st_size, sha256_file(file))


def plain_files(folder: Path, ledger: Ledger) -> set[str]:
    """Relative paths of the plain files in a folder; whatever else is there is a fault.

    Raises:
        OSError: A folder cannot be read.
    """
    section = ledger.section("bundle: plain files and folders only", Means.COMPARED)
    found: set[str] = set()
    pending = [""]
    while pending:
        inside = pending.pop()
        with os.scandir(folder / inside) as scanned:
            few = itertools.islice(scanned, MAX_ENTRIES + 1)
            entries = sorted(few, key=lambda entry: entry.name)
        if inside and not entries:
            section.fault(inside, "is an empty folder; a bundle has none")
        for entry in entries:
            path = f"{inside}{entry.name}"
            section.count += 1
            if section.count > MAX_ENTRIES:
                section.fault(inside or ".", f"holds more than {MAX_ENTRIES} entries")
                return found
            if not PATH.fullmatch(path):
                section.fault(repr(path), "is not a name that a bundle holds")
            elif entry.is_symlink():
                section.fault(path, "is a symbolic link, expected a file or a folder")
            elif entry.is_dir():
                pending.append(f"{path}/")
            elif not entry.is_file():
                section.fault(path, "is neither a file nor a folder")
            else:
                found.add(path)
    return found


def check_names(record: BundleRecord, ledger: Ledger) -> bool:
    """Whether bundle.json lists proper names, each once."""
    section = ledger.section("bundle: proper names, each once", Means.COMPARED)
    seen: set[str] = set()
    for i, file in enumerate(record.files):
        section.count += 1
        where = f"{BUNDLE}:$.files[{i}].path"
        if not PATH.fullmatch(file.path) or file.path in UNLISTED:
            section.fault(where, f"is {file.path!r:.80}, which is no name of a file in a bundle")
        elif file.path in seen:
            section.fault(where, f"is listed twice: {file.path}")
        seen.add(file.path)
    return not section.faults


def check_listed(folder: Path, record: BundleRecord, present: set[str], ledger: Ledger) -> None:
    """Compare what bundle.json lists with what is there.

    Raises:
        OSError: A file cannot be read.
    """
    listed = {file.path: file for file in record.files}
    section = ledger.section("bundle: the listed files, and no other", Means.COMPARED)
    section.count += len(listed)
    for path in sorted(listed.keys() - present):
        section.fault(path, f"is missing, {BUNDLE} lists it")
    for path in sorted(present - listed.keys() - set(UNLISTED)):
        section.fault(path, f"is not listed in {BUNDLE}")
    hashed = ledger.section("bundle: size and hash of every file", Means.RECOMPUTED)
    total = 0
    for path in sorted(listed.keys() & present):
        hashed.count += 1
        size = (folder / path).stat().st_size
        if size > MAX_DOCUMENT_BYTES:
            hashed.fault(path, f"holds {size} bytes, no file needs more than {MAX_DOCUMENT_BYTES}")
            continue
        total += size
        if total > MAX_TOTAL_BYTES:
            message = f"its files hold more than {MAX_TOTAL_BYTES} bytes, which no bundle needs"
            hashed.fault(BUNDLE, message)
            return
        actual = measured_file(folder, path)
        if actual != listed[path]:
            hashed.fault(
                path,
                f"holds {actual.bytes} bytes with SHA-256 {actual.sha256[:16]}, {BUNDLE} says "
                f"{listed[path].bytes} with {listed[path].sha256[:16]}",
            )
