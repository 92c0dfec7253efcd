"""What publication does to a disk, beyond promotion: files replaced, trees linked and swapped."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from pathlib import Path

from robogate.evidence.fs import FileSystem

#: Errors of a hard link between two places that cannot share a file.
_NO_LINK = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EACCES)


class PublicationFiles(FileSystem):
    """As `FileSystem`; further steps are ``link``, ``symlink``, ``replace``, ``rmdir``, ``unlink``
    and ``remove_tree``."""

    def replace_file(self, path: Path, data: bytes) -> None:
        """Replace a file, so that a reader sees the old content or the new, across a crash too.

        What a killed process left of an earlier attempt is removed; so this is only called by one
        process at a time.

        Raises:
            OSError: It cannot be written; the old file is untouched.
        """
        for leftover in sorted(path.parent.glob(f".{path.name}.*.tmp")):
            self.step("unlink", leftover)
            leftover.unlink()
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
        try:
            self.write(temporary, data)
            self.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        self.sync_folder(path.parent)

    def replace(self, source: Path, target: Path) -> None:
        """Give a file or a link the name of another, which is gone then: one indivisible step."""
        self.step("replace", target)
        os.replace(source, target)

    def link(self, source: Path, target: Path, max_bytes: int) -> None:
        """Let a regular file appear at a second place, as a copy where the two cannot share it.

        Raises:
            Unreadable: The source is missing, no regular file, or too large to be copied.
            OSError: The target cannot be written.
        """
        self.step("link", target)
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError as exc:
            if exc.errno not in _NO_LINK:
                raise
            self.copy(source, target, max_bytes)

    def symlink(self, to: str, path: Path) -> None:
        """Make a symbolic link."""
        self.step("symlink", path)
        path.symlink_to(to)

    def remove_empty(self, path: Path) -> None:
        """Remove a folder that holds nothing."""
        self.step("rmdir", path)
        path.rmdir()

    def remove_tree(self, path: Path) -> None:
        """Remove a folder and all in it; what cannot be removed now is removed another time."""
        self.step("remove_tree", path)
        shutil.rmtree(path, ignore_errors=True)
