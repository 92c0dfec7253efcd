"""Read-only questions to git, without a repository's own programs or the caller's variables."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_TIMEOUT_S = 60.0


class GitError(Exception):
    """Git is not installed, or did not answer."""


def git(folder: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    """Run git in a folder and return what it printed.

    Args:
        folder: Working directory of the command.
        arguments: After ``git``.
        stdin: Given to the command.

    Raises:
        GitError: Not installed, failed or timed out; the message is git's own.
    """
    # GIT_DIR and its kin would answer for another repository; a foreign owner is no reason not to
    # read; a repository's file system monitor is a program of its own; a replacement would show
    # another commit's content under this one's name.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}
    command = ["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, input=stdin, capture_output=True,
            timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise GitError(str(exc)) from exc
    if done.returncode:
        text = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise GitError(text[0] if text else f"exit status {done.returncode}")
    return done.stdout


def toplevel(folder: Path) -> Path | None:
    """Root of the work tree that holds a folder; None outside one.

    Looks for ``.git`` itself, so that nothing is started where there is no repository.
    """
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return candidate
    return None


def head(root: Path) -> str | None:
    """Commit that is checked out; None where nothing has been committed."""
    try:
        return git(root, "rev-parse", "--verify", "HEAD^{commit}").decode("ascii").strip()
    except GitError:
        if not git(root, "rev-list", "-n", "1", "--all").strip():
            return None
        raise


def changed(root: Path, *paths: str) -> list[str]:
    """Paths under ``paths`` that are modified, staged, missing or untracked, sorted."""
    text = git(root, "status", "--porcelain", "-z", "--no-renames", "-uall", "--", *paths)
    entries = text.decode("utf-8", "surrogateescape").split("\0")
    return sorted(entry[3:] for entry in entries if entry)
