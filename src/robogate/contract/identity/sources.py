"""Which Python files make up a policy, and their hashes."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from pathlib import Path

from robogate.contract.canonical import sha256_file
from robogate.errors import RunError

_COMPILED = tuple(EXTENSION_SUFFIXES)


@dataclass(frozen=True)
class SourceTree:
    """The Python files of a policy on disk.

    Attributes:
        package: Top-level package, or the module where it stands alone.
        root: Folder that is searched by imports, symbolic links resolved; paths are relative to it.
        scope: Folder of the package; equal to ``root`` where a module stands alone.
        module: Path of the policy's module.
        files: SHA-256 by path, sorted.
        blobs: Git blob SHA-1 by path.
        compiled: SHA-256 of each compiled module by path, sorted; no source, but imported as well.
        links: Symbolic links among the files, and linked folders.
    """

    package: str
    root: Path
    scope: Path
    module: str
    files: Mapping[str, str]
    blobs: Mapping[str, str]
    compiled: Mapping[str, str]
    links: tuple[str, ...]


def source_error(message: str) -> RunError:
    """Policy source whose identity cannot be established."""
    return RunError(message, code="policy_source")


def read_source(module: str, *, alone: bool = False, imported: bool = True) -> SourceTree:
    """Find and hash the complete Python source of a module's package.

    A package's source is every Python file in its folder. A module that stands alone can import
    what lies beside it, so its source is every Python file of its folder, and of the packages in
    that folder.

    Args:
        module: Name of the module.
        alone: The module stands alone and is installed, in a folder that it shares with others;
            then nothing beside it is its source.
        imported: The module is imported here; else it is found as an import would find it, and
            nothing of it is executed.

    Raises:
        RunError: ``policy_source``: it has no source file, or a file cannot be read.
    """
    package = module.partition(".")[0]
    file = module_file(module, imported=imported)
    folders = [Path(p) for p in _search_path(package, imported)]
    holding = [f for f in folders if f in file.parents]
    if holding:
        scope = Path(os.path.realpath(holding[0]))
        module_path = (Path(package) / file.relative_to(holding[0])).as_posix()
        # A linked package folder may have another name than the package.
        names, links = _walk(scope, package, packages_only=False)
        root = scope.parent
    else:
        scope = root = Path(os.path.realpath(file.parent))
        module_path = file.name
        names, links = ([file.name], []) if alone else _walk(root, "", packages_only=True)
        if alone and (root / file.name).is_symlink():
            links = [file.name]
    if module_path not in names:
        raise source_error(f"policy source {root / module_path} is not there any more")
    files: dict[str, str] = {}
    blobs: dict[str, str] = {}
    compiled: dict[str, str] = {}
    for name in sorted(names):
        file = scope / (name[len(package) + 1 :] if holding else name)
        try:
            if name.endswith(_COMPILED):
                compiled[name] = sha256_file(file)
                continue
            data = file.read_bytes()
        except OSError as exc:
            message = f"policy source {file} cannot be read ({exc.strerror})"
            raise source_error(message) from exc
        files[name] = hashlib.sha256(data).hexdigest()
        header = b"blob %d\0" % len(data)
        blobs[name] = hashlib.sha1(header + data, usedforsecurity=False).hexdigest()
    return SourceTree(
        package, root, scope, module_path, files, blobs, compiled, tuple(sorted(links))
    )


def module_file(module: str, *, imported: bool = True) -> Path:
    """Source file of a module.

    Args:
        module: Its name.
        imported: As in `read_source`.

    Raises:
        RunError: ``policy_source``: it is not imported or not found, or has no ``.py`` file.
    """
    if imported:
        loaded = sys.modules.get(module)
        if loaded is None:
            raise source_error(f"policy module {module} is not imported")
        name = getattr(loaded, "__file__", None)
    else:
        name = _find(module).origin
    if not name or not name.endswith(".py"):
        raise source_error(
            f"policy module {module} has no Python source file (it is {name or 'built in'}); a "
            "policy is identified by its source: use a module that has one"
        )
    return Path(os.path.abspath(name))


def _search_path(package: str, imported: bool) -> Iterable[str]:
    """Folders of a top-level package; none where it is a module that stands alone."""
    if imported:
        return getattr(sys.modules[package], "__path__", ())
    return _find(package).submodule_search_locations or ()


def _find(module: str) -> ModuleSpec:
    """Ask the import system where a module is, from the outside in; executes nothing of it."""
    path: list[str] | None = None
    spec: ModuleSpec | None = None
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        found = (finder.find_spec(name, path) for finder in sys.meta_path)
        spec = next((one for one in found if one is not None), None)
        if spec is None or (end < len(parts) and spec.submodule_search_locations is None):
            raise source_error(
                f"policy module {module}: there is no '{name}' in this Python environment; run "
                "this with the interpreter and in the folder that the server is run in"
            )
        path = list(spec.submodule_search_locations or ())
    assert spec is not None
    return spec


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as exc:
        raise source_error(f"policy source {folder} cannot be read ({exc.strerror})") from exc


def _walk(top: Path, prefix: str, *, packages_only: bool) -> tuple[list[str], list[str]]:
    """Python and compiled files below a folder, and symbolic links among files and folders.

    Args:
        top: Folder.
        prefix: Put before each path.
        packages_only: Enter only folders that are packages.
    """
    found: list[str] = []
    links: list[str] = []
    queue = [(str(top), prefix)]
    while queue:
        folder, before = queue.pop()
        for entry in _entries(folder):
            path = f"{before}/{entry.name}" if before else entry.name
            if entry.is_dir():
                # Names with a dot cannot be imported; byte code caches follow their sources.
                if "." in entry.name or entry.name == "__pycache__":
                    continue
                if packages_only and not os.path.isfile(os.path.join(entry.path, "__init__.py")):
                    continue
                if entry.is_symlink():
                    links.append(path)
                else:
                    queue.append((entry.path, path))
            elif entry.name.endswith((".py", ".pyc", *_COMPILED)):
                # Byte code outside __pycache__ is imported without any source.
                found.append(path)
                if entry.is_symlink():
                    links.append(path)
    return found, links
