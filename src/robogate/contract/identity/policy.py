"""Identity of an imported policy: its package's source, and where that source comes from.

Measured after the model is loaded and again after the last episode: `require_unchanged` compares.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from robogate.contract.canonical import sha256_json
from robogate.contract.identity.checkout import check_checkout
from robogate.contract.identity.distributions import find_distributions, record_sha256
from robogate.contract.identity.records import PolicyIdentity
from robogate.contract.identity.sources import SourceTree, module_file, read_source, source_error
from robogate.errors import RunError


@dataclass(frozen=True)
class PolicySource:
    """A measurement of a policy's source.

    Attributes:
        identity: What the result records.
        files: SHA-256 of each Python and compiled file by its path, to name what changes.
    """

    identity: PolicyIdentity
    files: Mapping[str, str]


@dataclass(frozen=True)
class _Installed:
    """The distribution that a module belongs to."""

    name: str
    version: str
    record: bytes | None
    editable: bool


def measure_policy(
    backend: str, module: str, class_name: str, *, imported: bool = True
) -> PolicySource:
    """Measure the source of a policy class.

    Args:
        backend: What runs it, such as ``python``.
        module: Name of the module.
        class_name: Name of the class in it.
        imported: The module is imported here; else it is found as an import would find it.

    Raises:
        RunError: ``policy_source``: no source file, a linked folder, or a tracked checkout that
            does not hold exactly its tracked Python files; the message names the file.
    """
    installed = _find_installed(module_file(module, imported=imported))
    standing_alone = installed is not None and not installed.editable
    tree = read_source(module, alone=standing_alone, imported=imported)
    revision = check_checkout(tree)
    _refuse_links(tree)
    source: Literal["checkout", "distribution", "files"] = "files"
    if revision is not None:
        source = "checkout"
    elif installed is not None and installed.record is not None and not installed.editable:
        source = "distribution" if _as_recorded(tree, installed.record) else "files"
    recorded = installed is not None and installed.record is not None
    identity = PolicyIdentity(
        origin="measured",
        backend=backend,
        module=module,
        class_name=class_name,
        distribution=installed.name if installed else None,
        distribution_version=installed.version if installed else None,
        record_sha256=record_sha256(installed.record or b"") if installed and recorded else None,
        source=source,
        git_revision=revision,
        package=tree.package,
        package_files=len(tree.files),
        package_sha256=sha256_json([[path, digest] for path, digest in tree.files.items()]),
        module_sha256=tree.files[tree.module],
        compiled_files=len(tree.compiled),
        compiled_sha256=sha256_json([[path, digest] for path, digest in tree.compiled.items()]),
    )
    return PolicySource(identity=identity, files={**tree.files, **tree.compiled})


def require_unchanged(before: PolicySource) -> None:
    """Measure a policy's source again and compare it with a measurement.

    Raises:
        RunError: ``policy_source_changed``: it differs; the message names the file.
    """
    was = before.identity
    try:
        now = measure_policy(was.backend, was.module, was.class_name)
    except RunError as exc:
        message = f"policy source changed during the run: {exc.message}"
        raise RunError(message, code="policy_source_changed") from exc
    for path in sorted({*before.files, *now.files}):
        old, new = before.files.get(path), now.files.get(path)
        if old != new:
            how = "appeared" if old is None else "disappeared" if new is None else "was modified"
            raise _changed(f"{path} {how}")
    if now.identity.git_revision != was.git_revision:
        raise _changed(
            f"the checkout of {was.package} is at {now.identity.git_revision}, "
            f"it was at {was.git_revision}"
        )
    if now.identity != was:
        raise _changed(f"the installation of {was.package} is another one")


def _changed(what: str) -> RunError:
    return RunError(
        f"policy source changed during the run: {what}; nothing is scored: run again with a source "
        "that stays as it is",
        code="policy_source_changed",
    )


def _refuse_links(tree: SourceTree) -> None:
    """Outside a checkout a linked file is hashed by its content; a linked folder is not entered."""
    for link in tree.links:
        if not link.endswith((".py", ".pyc", *EXTENSION_SUFFIXES)):
            raise source_error(
                f"policy package {tree.package}: folder {link} is a symbolic link, its source is "
                "not part of the package; put the folder itself there"
            )


def _find_installed(module: Path) -> _Installed | None:
    """The distribution whose RECORD lists a module's file, or whose editable project holds it."""
    file = Path(os.path.realpath(module))
    editable: tuple[int, _Installed] | None = None
    for name, version, folder in find_distributions():
        site = Path(os.path.realpath(folder.parent))
        if site in file.parents:
            record = _read(folder / "RECORD")
            listed = file.relative_to(site).as_posix().encode("utf-8")
            if record is not None and re.search(rb"(?m)^\"?%b\"?," % re.escape(listed), record):
                return _Installed(name, version, record, editable=False)
        project = _editable_project(folder)
        if project is not None and project in file.parents:
            candidate = _Installed(name, version, None, editable=True)
            if editable is None or len(project.parts) > editable[0]:
                editable = (len(project.parts), candidate)
    return editable[1] if editable else None


def _editable_project(folder: Path) -> Path | None:
    """Folder of the project that a distribution is an editable installation of."""
    data = _read(folder / "direct_url.json")
    if data is None:
        return None
    try:
        document = json.loads(data)
    except ValueError:
        return None
    url = urlsplit(str(document.get("url", "")))
    if url.scheme != "file" or not document.get("dir_info", {}).get("editable"):
        return None
    return Path(os.path.realpath(unquote(url.path)))


def _as_recorded(tree: SourceTree, record: bytes) -> bool:
    """Whether the package's Python and compiled files are those of the RECORD, unmodified."""
    recorded: dict[str, str] = {}
    for line in record.decode("utf-8", "replace").splitlines():
        path, _, rest = line.rpartition(",")[0].rpartition(",")
        path = path.strip('"')
        inside = path == tree.module or path.startswith(f"{tree.package}/")
        if inside and path.endswith((".py", *EXTENSION_SUFFIXES)) and rest.startswith("sha256="):
            padded = rest.removeprefix("sha256=") + "=="
            recorded[path] = base64.urlsafe_b64decode(padded).hex()
    return recorded == {**tree.files, **tree.compiled}


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
