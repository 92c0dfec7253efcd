"""A qualification's folder: the document and the four raw control runs, inseparable.

::

    DIR/qualification.json
    DIR/zero/  DIR/oracle_1/  DIR/oracle_2/  DIR/oracle_3/
        result.json  contract.json  identity.json  manifest.json  traces/<scenario>.npy

Control runs that were written to these places already stay where they are; others are copied. The
folder appears whole or not at all.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from robogate.contract.files import fsync_directory, write_json
from robogate.errors import UsageError
from robogate.evidence.files import CONTRACT, IDENTITY, MANIFEST, RESULT, TRACES
from robogate.evidence.qualification import (
    DOCUMENT,
    assemble_qualification,
    control_folders,
)
from robogate.evidence.qualification_checks import read_control

_DOCUMENTS = (RESULT, CONTRACT, IDENTITY, MANIFEST)


def write_qualification(zero: Path, oracles: Sequence[Path], out: Path) -> dict[str, Any]:
    """Qualify four control runs and publish document and raw runs as one folder.

    A failed qualification is written too: its document says which checks do not hold.

    Args:
        zero: Run folder of the zero-action control.
        oracles: Three run folders of the positive control.
        out: The folder; new or empty, or the one that holds the four control runs already.

    Returns:
        The qualification document.

    Raises:
        UsageError: Not three oracle runs, or the folder holds something else or cannot be written.
        Unreadable: A control run cannot be read.
    """
    sources = control_folders(zero, oracles)
    in_place = all(_is_at(source, out / name) for name, source in sources.items())
    if not in_place and out.exists() and any(out.iterdir()):
        raise UsageError(
            f"--out '{out}' is not empty, and the control runs are not {', '.join(sources)} in it; "
            "choose a new folder",
            code="output_dir",
        )
    try:
        if in_place:
            document = _qualify(sources)
            write_json(out / DOCUMENT, document)
            return document
        return _publish(sources, out)
    except OSError as exc:
        raise UsageError(
            f"--out '{out}' cannot be written ({exc.strerror or exc})", code="output_dir"
        ) from exc


def _qualify(folders: Mapping[str, Path]) -> dict[str, Any]:
    return assemble_qualification([read_control(name, path) for name, path in folders.items()])


def _is_at(source: Path, place: Path) -> bool:
    return source.exists() and place.exists() and source.samefile(place)


def _publish(sources: Mapping[str, Path], out: Path) -> dict[str, Any]:
    """Build the folder beside its place, then rename it there."""
    out = out.absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    building = out.parent / f".{out.name}.{secrets.token_hex(4)}.tmp"
    try:
        building.mkdir()
        for name, source in sources.items():
            _copy_run(source, building / name)
        # The copies are what is published, so the copies are what is judged.
        document = _qualify({name: building / name for name in sources})
        write_json(building / DOCUMENT, document)
        if out.exists():
            out.rmdir()
        building.rename(out)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    fsync_directory(out.parent)
    return document


def _copy_run(source: Path, target: Path) -> None:
    """Copy what a verifier reads of a run, durably. A file that is missing is missing there too."""
    (target / TRACES).mkdir(parents=True)
    files = [source / name for name in _DOCUMENTS]
    files += sorted((source / TRACES).glob("*.npy"))
    for file in files:
        if not file.is_file() or file.is_symlink():
            continue
        copy = target / file.relative_to(source)
        shutil.copyfile(file, copy)
        with copy.open("rb") as stream:
            os.fsync(stream.fileno())
    for folder in (target / TRACES, target):
        fsync_directory(folder)
