"""Files, written so that a reader sees the old bytes or the new, read only where they are plain."""

from __future__ import annotations

import errno
import json
import os
import secrets
import stat
from pathlib import Path
from typing import Any

from robogate.errors import EvidenceError


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file so that readers see the old bytes or the new ones, across a crash too.

    Raises:
        OSError: The disk is full or the folder is read-only; the old file is untouched.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    fsync_directory(path.parent)


def fsync_directory(path: Path) -> None:
    """Make a rename in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON document for people and parsers alike: indented, one trailing newline.

    Raises:
        ValueError: The value holds NaN or an infinity.
        OSError: As `write_atomic`.
    """
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomic(path, (text + "\n").encode("utf-8"))


def open_regular(path: Path) -> int:
    """Open a regular file for reading, never through a link; a descriptor that is to be closed.

    What is looked at is what was opened, so nobody can put something else there in between.

    Raises:
        EvidenceError: Missing, a symbolic link, not a regular file, or not readable.
    """
    try:
        # Non-blocking, so that a pipe that nobody writes to is refused instead of waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as exc:
        what = {
            errno.ELOOP: "is a symbolic link, expected a file",
            errno.ENOENT: "is missing",
            errno.ENXIO: "is not a file",
        }.get(exc.errno or 0, f"cannot be read ({exc.strerror})")
        raise EvidenceError(f"{path}: {what}", code="unreadable") from exc
    except ValueError as exc:  # a null character, out of a document
        raise EvidenceError(f"{str(path)!r}: no file has this name", code="unreadable") from exc
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise EvidenceError(f"{path}: is not a file", code="unreadable")
    return descriptor


def read_bounded(path: Path, max_bytes: int = 1 << 26) -> bytes:
    """Read a regular file once, so that what is hashed and what is parsed are the same bytes.

    Raises:
        EvidenceError: As `open_regular`, or too large.
    """
    with os.fdopen(open_regular(path), "rb") as stream:
        try:
            data = stream.read(max_bytes + 1)
        except OSError as exc:
            message = f"{path}: cannot be read ({exc.strerror})"
            raise EvidenceError(message, code="unreadable") from exc
    if len(data) > max_bytes:
        raise EvidenceError(f"{path}: larger than {max_bytes} bytes", code="unreadable")
    return data
