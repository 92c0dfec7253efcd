"""Replace a whole folder at once: who reads it sees the old tree or the new one, never a mixture.

::

    PUBLIC -> .PUBLIC.trees/tree-<token>     a symbolic link, swapped by one rename
    .PUBLIC.trees/                           the trees, and workshops of unfinished ones

The new tree is finished and flushed to the disk before the link is swapped. The tree that it
replaces stays until the next replacement, for readers who are half-way through it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from robogate.errors import UsageError
from robogate.evidence.bundle import BUNDLES
from robogate.evidence.publication_fs import PublicationFiles

_TREE = "tree-"


@dataclass(frozen=True)
class Staged:
    """A tree that is being built.

    Attributes:
        folder: Empty, to be filled.
        previous: The tree that is published now, or None.
    """

    folder: Path
    previous: Path | None


def _trees(public: Path) -> Path:
    return public.parent / f".{public.name}.trees"


def published_tree(public: Path) -> Path | None:
    """The tree that a published folder shows; None where there is none yet.

    Args:
        public: The published folder.

    Raises:
        UsageError: Something else is there, which is not ours to replace.
    """
    if public.is_symlink():
        target = Path(os.readlink(public))
        if target.parent != Path(_trees(public).name) or not target.name.startswith(_TREE):
            raise UsageError(f"{public}: is a link to {target}; give another folder", code="output")
        return public.parent / target
    if public.is_dir() and not any(public.iterdir()):
        return None
    if os.path.lexists(public):
        raise UsageError(
            f"{public}: exists and was not published by robogate; give another folder, or move it "
            "away",
            code="output",
        )
    return None


def outside_bundles(public: Path, board: Path) -> Path:
    """The published folder, which must not lie among the bundles that it is made from.

    Raises:
        UsageError: It would.
    """
    bundles = (board / BUNDLES).resolve()
    if bundles in (public.parent.resolve() / public.name).parents:
        raise UsageError(
            f"{public}: lies among the bundles of {board}; give another folder", code="output"
        )
    return public


@contextmanager
def replacing(public: Path, files: PublicationFiles) -> Iterator[Staged]:
    """Build a tree; it is published when the block ends, and never existed when it raises.

    Publishers of one folder wait for one another.

    Args:
        public: The folder that readers see.
        files: Operations on the disk.

    Raises:
        UsageError: What is there is not a published folder.
        OSError: The new tree cannot be written; the old one is as it was.
    """
    public = public.absolute()
    published_tree(public)  # refuse before anything is made
    trees = _trees(public)
    files.ensure_own_folder(trees)
    descriptor = os.open(trees, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        previous = published_tree(public)
        _remove_others(trees, previous, files)
        with files.workshop(trees) as workshop:
            staged = workshop / "tree"
            files.make_folder(staged)
            yield Staged(staged, previous)
            _swap(public, staged, trees / f"{_TREE}{workshop.name}", files)
    finally:
        os.close(descriptor)


def _remove_others(trees: Path, current: Path | None, files: PublicationFiles) -> None:
    """Remove trees that nobody is shown any more."""
    for tree in sorted(trees.glob(f"{_TREE}*")):
        if tree != current:
            files.remove_tree(tree)


def _swap(public: Path, staged: Path, tree: Path, files: PublicationFiles) -> None:
    for folder in sorted((p for p in staged.rglob("*") if p.is_dir()), reverse=True):
        files.sync_folder(folder)
    files.sync_folder(staged)
    files.rename(staged, tree)
    files.sync_folder(tree.parent)
    link = staged.with_name("link")
    files.symlink(f"{tree.parent.name}/{tree.name}", link)
    if public.is_dir() and not public.is_symlink():
        files.remove_empty(public)
    files.replace(link, public)
    files.sync_folder(public.parent)
