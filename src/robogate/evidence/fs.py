"""Everything that a promotion does to a disk, each step in one place where a test can make it fail.

Files are created exclusively, written, and flushed to the disk before they get their name; nothing
follows a symbolic link. `FileSystem.step` is called before each system call that changes something.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from robogate.contract.files import fsync_directory, open_regular
from robogate.errors import EvidenceError
from robogate.evidence.files import Unreadable

_BLOCK = 1 << 20

#: Name of a workshop: 8 random bytes.
_TOKEN = re.compile(r"[0-9a-f]{16}")

#: Errors of a rename whose target is there already.
OCCUPIED = (errno.EEXIST, errno.ENOTEMPTY)


class FileSystem:
    """The operations; a test overrides `step` to count, to raise or to kill the process."""

    def step(self, operation: str, path: Path) -> None:
        """Called before each change: ``mkdir``, ``create``, ``write``, ``sync``, ``chmod``,
        ``rename``, ``sync_folder``, ``lock``."""

    def make_folder(self, path: Path) -> None:
        """Make a folder that does not exist."""
        self.step("mkdir", path)
        path.mkdir()

    def ensure_folder(self, path: Path) -> None:
        """Make a folder and its parents where they are missing, durably."""
        if path.is_dir():
            return
        if not path.parent.exists():
            self.ensure_folder(path.parent)
        self.step("mkdir", path)
        path.mkdir(exist_ok=True)
        self.sync_folder(path.parent)

    def ensure_own_folder(self, path: Path) -> None:
        """As `ensure_folder`, for a folder in which things are removed: it must not be a link.

        Whoever may write beside it could have them removed somewhere else.

        Raises:
            NotADirectoryError: It is a symbolic link.
        """
        if path.is_symlink():
            raise NotADirectoryError(errno.ENOTDIR, "is a symbolic link, expected a folder", path)
        self.ensure_folder(path)

    def write(self, path: Path, data: bytes) -> None:
        """Create a file with this content, flushed to the disk."""
        with self._created(path) as descriptor:
            self._write_all(descriptor, path, data)

    def copy(self, source: Path, target: Path, max_bytes: int) -> None:
        """Copy a regular file's content, flushed to the disk.

        Raises:
            Unreadable: The source is missing, not a regular file, unreadable or too large.
            OSError: The target cannot be written.
        """
        try:
            reading = open_regular(source)
        except EvidenceError as exc:
            raise Unreadable(exc.message) from exc
        try:
            with self._created(target) as descriptor:
                left = max_bytes
                while block := _read(reading, source):
                    left -= len(block)
                    if left < 0:
                        raise Unreadable(f"{source}: larger than {max_bytes} bytes")
                    self._write_all(descriptor, target, block)
        finally:
            os.close(reading)

    @contextmanager
    def _created(self, path: Path) -> Iterator[int]:
        self.step("create", path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        try:
            yield descriptor
            self.step("sync", path)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _write_all(self, descriptor: int, path: Path, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self.step("write", path)
            view = view[os.write(descriptor, view) :]

    def make_read_only(self, path: Path) -> None:
        """Take away everybody's right to write a file."""
        self.step("chmod", path)
        path.chmod(0o444)

    def sync_folder(self, path: Path) -> None:
        """Make what happened in a folder durable."""
        self.step("sync_folder", path)
        fsync_directory(path)

    def rename(self, source: Path, target: Path) -> None:
        """Give a finished folder its name; a name that holds something stays as it is.

        Raises:
            OSError: Among others one of `OCCUPIED`.
        """
        self.step("rename", target)
        source.rename(target)

    @contextmanager
    def workshop(self, folder: Path) -> Iterator[Path]:
        """A folder of one's own below ``folder``, gone afterwards unless it was renamed.

        What a killed process left there is removed by the next one: each workshop is held by a
        lock that the kernel lets go of when its process ends, however that happens.
        """
        self.ensure_own_folder(folder)
        token = secrets.token_hex(8)
        place, lock = folder / token, folder / f"{token}.lock"
        with self._locked(folder / "lock"):
            _remove_abandoned(folder)
            self.step("lock", lock)
            descriptor = os.open(lock, os.O_RDONLY | os.O_CREAT | os.O_EXCL, 0o644)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            self.make_folder(place)
            yield place
        finally:
            # What cannot be removed now is removed by the next one that can.
            shutil.rmtree(place, ignore_errors=True)
            lock.unlink(missing_ok=True)
            os.close(descriptor)

    @contextmanager
    def _locked(self, path: Path) -> Iterator[None]:
        self.step("lock", path)
        descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _remove_abandoned(folder: Path) -> None:
    """Remove workshops whose process is gone; only ever called under the folder's lock."""
    for lock in filter(_is_workshop, folder.glob("*.lock")):
        try:
            descriptor = os.open(lock, os.O_RDONLY)
        except FileNotFoundError:  # its owner has just finished
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            if not lock.with_suffix("").exists():
                lock.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def _is_workshop(lock: Path) -> bool:
    """Whether a lock's name is one that `FileSystem.workshop` gives; all else is not ours."""
    return _TOKEN.fullmatch(lock.stem) is not None and not lock.is_symlink()


def _read(descriptor: int, path: Path) -> bytes:
    try:
        return os.read(descriptor, _BLOCK)
    except OSError as exc:
        raise Unreadable(f"{path}: cannot be read ({exc.strerror})") from exc
