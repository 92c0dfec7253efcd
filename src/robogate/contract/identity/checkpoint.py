"""Content digest of a model checkpoint, streamed: memory does not depend on its size."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from robogate.contract.canonical import sha256_file, sha256_json
from robogate.contract.identity.records import CheckpointFile, CheckpointIdentity
from robogate.errors import ConfigError

#: Folders of download and version-control tools: they hold no weights, and differ between machines.
SKIPPED_FOLDERS = frozenset({".git", ".cache", "__pycache__"})


def checkpoint_files(root: Path) -> tuple[str, ...]:
    """Files of a checkpoint folder, as relative POSIX paths in the order of their UTF-8 bytes.

    Raises:
        ConfigError: A folder is reached through a symbolic link (its content could be anything), or
            there is no file.
    """
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS)
        for name in folders:
            if (Path(folder) / name).is_symlink():
                where = Path(folder) / name
                raise ConfigError(
                    f"checkpoint folder {where} is a symbolic link; put the folder itself there",
                    code="checkpoint",
                )
        found.extend((Path(folder) / name).relative_to(root).as_posix() for name in names)
    if not found:
        raise ConfigError(f"checkpoint {root} holds no file", code="checkpoint")
    return tuple(sorted(found, key=lambda path: path.encode("utf-8", "surrogateescape")))


def measure_checkpoint(path: Path, revision: str | None) -> CheckpointIdentity:
    """Hash a checkpoint: a single file by its content, a folder over all its files.

    A folder's digest is the SHA-256 of the RFC 8785 text of ``[[path, size, sha256], …]`` in the
    order of `checkpoint_files`, which `listing_sha256` computes again. Links to files are followed,
    as download caches make them.

    Args:
        path: File or folder.
        revision: As the contract declares it.

    Raises:
        ConfigError: It does not exist, cannot be read or holds no file.
    """
    # A policy may change the working directory; the path has to lead there at the run's end too.
    path = path.absolute()
    try:
        if path.is_file():
            size = path.stat().st_size
            return CheckpointIdentity("measured", str(path), revision, 1, size, sha256_file(path))
        if not path.is_dir():
            message = f"checkpoint {path} does not exist; give the path of a file or a folder"
            raise ConfigError(message, code="checkpoint")
        listing = tuple(
            CheckpointFile(name, (path / name).stat().st_size, sha256_file(path / name))
            for name in checkpoint_files(path)
        )
    except OSError as exc:
        message = f"checkpoint file {exc.filename} cannot be read ({exc.strerror})"
        raise ConfigError(message, code="checkpoint") from exc
    return CheckpointIdentity(
        origin="measured",
        path=str(path),
        revision=revision,
        files=len(listing),
        bytes=sum(file.bytes for file in listing),
        sha256=listing_sha256(listing),
        listing=listing,
    )


def listing_sha256(listing: Sequence[CheckpointFile]) -> str:
    """The digest of a checkpoint folder, from what is recorded of its files."""
    return sha256_json([[file.path, file.bytes, file.sha256] for file in listing])
