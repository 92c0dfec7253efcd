"""Writing a journal, and going on with one that another process left behind."""

from __future__ import annotations

import fcntl
import logging
import os
import threading
import weakref
from pathlib import Path

from robogate.contract.files import fsync_directory
from robogate.episodes.clock import utc_now
from robogate.episodes.journal import (
    Contents,
    Entry,
    Failed,
    Finished,
    Header,
    Resumed,
    Started,
    encode_line,
    parse_journal,
)
from robogate.errors import RunError, UsageError
from robogate.records.result import Episode, ErrorInfo
from robogate.scenes.manifest import Scenario

log = logging.getLogger(__name__)

#: Fields of a header that must be equal when a run is resumed.
RESUMED_UNDER = ("contract_sha256", "manifest_sha256", "fingerprint_sha256")


class Journal:
    """An open journal. Every method returns once its line is on disk; any thread may call it.

    Made by `create_journal` and `resume_journal`.
    """

    def __init__(self, path: Path, descriptor: int, contents: Contents) -> None:
        self._path = path
        self._descriptor: int | None = descriptor
        self._sequence = contents.lines
        self._previous = contents.last_sha256
        self._size = contents.whole_bytes
        self._broken = False
        self._lock = threading.Lock()
        _close_in_forks(self)

    def started(self, scenario: Scenario) -> None:
        """A scenario is about to be reset."""
        self._append(Started(scenario.index, scenario.id, utc_now()))

    def finished(self, episode: Episode) -> None:
        """An episode has its terminal record."""
        self._append(Finished(episode))

    def failed(self, error: ErrorInfo) -> None:
        """The run ends with a run-level error; nothing may follow."""
        self._append(Failed(error))

    def close(self) -> None:
        """Release the file; may be called twice."""
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def abandon(self) -> None:
        """Let go of the file in a process that was forked from the one that writes it."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _append(self, entry: Entry) -> None:
        with self._lock:
            if self._descriptor is None or self._broken:
                raise RunError(f"{self._path}: the journal is closed", code="journal")
            line, sha256 = encode_line(entry, self._sequence, self._previous)
            try:
                _write(self._descriptor, line)
            except OSError as exc:
                self._broken = True
                self._take_back(self._descriptor)
                raise RunError(
                    f"{self._path}: cannot be written ({exc.strerror}); nothing more is run. "
                    "Make room and go on with runtime.resume=DIR",
                    code="journal",
                ) from exc
            self._size += len(line)
            self._sequence += 1
            self._previous = sha256

    def _take_back(self, descriptor: int) -> None:
        """Remove half a line; where that fails too, the next reader drops it."""
        try:
            os.ftruncate(descriptor, self._size)
        except OSError as exc:
            log.warning("%s: a torn line stays at its end (%s)", self._path, exc.strerror)


def _close_in_forks(journal: Journal) -> None:
    """A policy's forked helper may outlive the run; it must neither write nor lock its journal."""
    reference = weakref.ref(journal)

    def close() -> None:
        held = reference()
        if held is not None:
            held.abandon()

    os.register_at_fork(after_in_child=close)


def create_journal(path: Path, header: Header) -> Journal:
    """Begin a journal.

    Raises:
        UsageError: The file exists already, or cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
    except FileExistsError as exc:
        raise UsageError(
            f"{path}: there is a journal already; go on with runtime.resume={path.parent}",
            code="output_dir",
        ) from exc
    except OSError as exc:
        raise _unwritable(path, exc) from exc
    try:
        _lock(path, descriptor)
        journal = Journal(path, descriptor, Contents())
        journal._append(header)
        fsync_directory(path.parent)
    except OSError as exc:
        os.close(descriptor)
        raise _unwritable(path, exc) from exc
    except BaseException:
        os.close(descriptor)
        raise
    return journal


def resume_journal(path: Path, header: Header) -> tuple[Journal, Contents]:
    """Go on with a journal: check what it was made under, drop a torn end, say that it goes on.

    Args:
        path: Of the journal.
        header: Of the run as it would be made now.

    Returns:
        The open journal, and what it said before. Scenarios in ``contents.interrupted`` have to be
        given a terminal record and are never started again.

    Raises:
        UsageError: It was made under another contract, manifest or identity, its run has ended
            with a run-level error, another process writes it, or it cannot be opened.
        EvidenceError: A line other than a torn last one does not hold.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
    except OSError as exc:
        raise _unwritable(path, exc) from exc
    try:
        _lock(path, descriptor)
        contents = parse_journal(_read(descriptor), str(path))
        _require_same(path, contents, header)
        if contents.torn_bytes:
            log.warning(
                "%s: dropped %d torn bytes after line %d",
                path,
                contents.torn_bytes,
                contents.lines,
            )
            os.ftruncate(descriptor, contents.whole_bytes)
            os.fsync(descriptor)
        journal = Journal(path, descriptor, contents)
        if contents.header is None:
            journal._append(header)
        else:
            journal._append(Resumed(utc_now(), contents.torn_bytes))
    except OSError as exc:
        os.close(descriptor)
        raise _unwritable(path, exc) from exc
    except BaseException:
        os.close(descriptor)
        raise
    return journal, contents


def _require_same(path: Path, contents: Contents, header: Header) -> None:
    if contents.failed is not None:
        raise UsageError(
            f"{path}: its run ended with a run-level error ({contents.failed.code}: "
            f"{contents.failed.message}); nothing of it is scored: start a new run",
            code="resume",
        )
    for name in RESUMED_UNDER if contents.header is not None else ():
        before, now = getattr(contents.header, name), getattr(header, name)
        if before != now:
            raise UsageError(
                f"{path}: {name} is {before}, but the run would now be made under {now}; "
                "resume with what it was begun with, or start a new run",
                code="resume",
            )


def _lock(path: Path, descriptor: int) -> None:
    """Hold the journal for this process; the lock ends with it, however it ends."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        raise UsageError(f"{path}: another process is writing it", code="resume") from exc


def _read(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as stream:
        stream.seek(0)
        return stream.read()


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fsync(descriptor)


def _unwritable(path: Path, exc: OSError) -> UsageError:
    return UsageError(f"{path}: cannot be opened for writing ({exc.strerror})", code="output_dir")
