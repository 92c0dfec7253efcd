"""A policy in a git checkout: exactly the tracked Python files, unmodified, or refused by name.

The content is compared with the commit's own blobs, since an index can be told to overlook a file.
What counts is the folder that imports search (the root of a flat repository, ``src`` of another):
inside the package everything Python must be tracked, even what git is told to ignore; beside it
nothing tracked may be modified and no Python file may be untracked.
"""

from __future__ import annotations

import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from robogate.contract.identity.git import GitError, git, head, toplevel
from robogate.contract.identity.sources import SourceTree, source_error

#: Attributes by which a file in the work tree and its blob may differ in any way.
_CONVERSIONS = ("filter", "ident", "working-tree-encoding")


def check_checkout(tree: SourceTree) -> str | None:
    """Check a policy's source against its commit.

    Returns:
        The commit; None where the source is not tracked by git.

    Raises:
        RunError: ``policy_source``, naming the first file that is extra, missing, modified or a
            symbolic link.
    """
    repository = toplevel(tree.root)
    if repository is None:
        return None
    try:
        revision = head(repository)
        if revision is None:
            return None
        tracked = _tracked(repository, tree)
        if not any(path in tracked for path in (*tree.files, *tree.links)):
            return None
        _compare(tree, tracked, repository)
        _check_extensions(tree, repository)
        _check_surroundings(tree, repository)
    except GitError as exc:
        raise source_error(
            f"policy checkout {repository}: git cannot say whether it is clean ({exc}); repair the "
            "repository, or install the policy as a package"
        ) from exc
    return revision


def _tracked(repository: Path, tree: SourceTree) -> dict[str, tuple[str, str]]:
    """Mode and blob of each Python file of the commit in the policy's scope, by its path."""
    scope = os.path.relpath(tree.scope, repository)
    prefix = "" if scope == "." else f"{scope}/"
    listing = git(repository, "ls-tree", "-r", "-z", "--full-tree", "HEAD", "--", prefix or ".")
    found: dict[str, tuple[str, str]] = {}
    for entry in listing.decode("utf-8", "surrogateescape").split("\0"):
        meta, _, path = entry.partition("\t")
        if not path.endswith((".py", ".pyc")):
            continue
        mode, _, blob = meta.split()
        inner = path[len(prefix) :]
        name = inner if tree.scope == tree.root else f"{tree.package}/{inner}"
        found[name] = (mode, blob)
    if tree.scope == tree.root:
        # A module that stands alone: folders that are no packages are not its source.
        entered = {"", *(name.rpartition("/")[0] for name in tree.files)}
        found = {n: v for n, v in found.items() if n.rpartition("/")[0] in entered}
    return found


def _compare(tree: SourceTree, tracked: dict[str, tuple[str, str]], repository: Path) -> None:
    for path in tree.links:
        raise _refused(repository, path, "is a symbolic link", "put the file itself there")
    for path, (mode, _) in sorted(tracked.items()):
        if mode == "120000":
            raise _refused(repository, path, "is a symbolic link", "commit the file itself")
    for path in sorted(tree.files):
        if path not in tracked:
            raise _refused(repository, path, "is not tracked", "commit or remove it")
    for path in sorted(tracked):
        if path not in tree.files:
            raise _refused(repository, path, "is tracked but missing", "restore it")
    differing = [p for p in sorted(tree.files) if tree.blobs[p] != tracked[p][1]]
    if not differing:
        return
    below = [p if tree.scope == tree.root else p[len(tree.package) + 1 :] for p in differing]
    for path, name in zip(differing, below):
        if _is_converted(repository, tree.scope / name):
            raise _refused(repository, path, "is modified", "commit it without a filter")
    # A repository may convert line ends or use SHA-256 objects: let git hash these as it would.
    names = "\n".join(str(tree.scope / name) for name in below).encode("utf-8", "surrogateescape")
    hashes = git(repository, "hash-object", "--stdin-paths", stdin=names).decode("ascii").split()
    for path, blob in zip(differing, hashes):
        if blob != tracked[path][1]:
            raise _refused(repository, path, "is modified", "commit or restore it")


def _is_converted(repository: Path, file: Path) -> bool:
    """Whether git is told to take something else than a file's content for its content.

    Line ends aside: Python reads both alike.
    """
    path = os.path.relpath(file, repository)
    answer = git(repository, "check-attr", "-z", *_CONVERSIONS, "--", path)
    values = answer.decode("utf-8", "surrogateescape").split("\0")[2::3]
    return any(value not in ("unspecified", "unset") for value in values)


def _check_extensions(tree: SourceTree, repository: Path) -> None:
    """Compiled modules are imported before Python files of their name; tracked ones are data."""
    names = git(tree.scope, "ls-files", "-z", "--others", "--", ".")
    alone = tree.scope == tree.root
    entered = {name.rpartition("/")[0] for name in tree.files}
    for path in sorted(filter(None, names.decode("utf-8", "surrogateescape").split("\0"))):
        folder = path.rpartition("/")[0]
        importable = folder in entered if alone else "." not in folder
        if importable and path.endswith(tuple(EXTENSION_SUFFIXES)):
            inner = path if alone else f"{tree.package}/{path}"
            raise _refused(repository, inner, "is not tracked", "commit, install or remove it")


def _check_surroundings(tree: SourceTree, repository: Path) -> None:
    """What lies beside the package can be imported too."""
    root = str(tree.root)
    names = git(repository, "diff", "--name-only", "--no-ext-diff", "-z", "HEAD", "--", root)
    for path in sorted(filter(None, names.decode("utf-8", "surrogateescape").split("\0"))):
        how = "is modified" if (repository / path).exists() else "is tracked but missing"
        raise _refused(repository, path, how, "commit or restore it")
    names = git(repository, "ls-files", "-v", "-z", "--", root)
    for entry in sorted(filter(None, names.decode("utf-8", "surrogateescape").split("\0"))):
        flag, path = entry[0], entry[2:]
        if (flag.islower() or flag == "S") and os.path.lexists(repository / path):
            remedy = "git update-index --no-assume-unchanged --no-skip-worktree it"
            raise _refused(repository, path, "is one that git was told not to look at", remedy)
    pattern = f":(glob){os.path.relpath(root, repository)}/**/*.py".replace("(glob)./", "(glob)")
    names = git(repository, "ls-files", "-z", "--others", "--exclude-standard", "--", pattern)
    for path in sorted(filter(None, names.decode("utf-8", "surrogateescape").split("\0"))):
        raise _refused(repository, path, "is not tracked", "commit or remove it")


def _refused(repository: Path, path: str, what: str, remedy: str) -> Exception:
    return source_error(
        f"policy checkout {repository.name}: {path} {what}; a tracked checkout must hold exactly "
        f"its tracked Python files: {remedy}"
    )
