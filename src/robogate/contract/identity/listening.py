"""Which process of this machine listens on a port (Linux)."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from robogate.errors import UsageError

_LISTENING = "0A"


@dataclass(frozen=True)
class ServerProcess:
    """A process.

    Attributes:
        pid: As the measuring process sees it.
        started_ticks: Clock ticks after the machine's start, which no two processes of one pid
            share.
        command_sha256: Of its command line.
    """

    pid: int
    started_ticks: int
    command_sha256: str


def listening_process(port: int, proc: Path = Path("/proc")) -> ServerProcess:
    """Find the process that listens on a TCP port; of several, the one that was started first.

    Args:
        port: On any of the machine's addresses.
        proc: Where the kernel shows its processes.

    Raises:
        UsageError: There is none that can be seen from here.
    """
    sockets = _listening_sockets(port, proc)
    found = [
        _process(folder)
        for folder in proc.iterdir()
        if folder.name.isdigit() and _holds(folder, sockets)
    ]
    if not found:
        raise UsageError(
            f"no process that can be seen from here listens on port {port}: run this beside the "
            "server, on its machine, in its container and as its user, after it was started",
            code="attestation",
        )
    return min(found, key=lambda process: (process.started_ticks, process.pid))


def started_at(process: ServerProcess, proc: Path = Path("/proc")) -> float:
    """When a process was started, s since the epoch; exact to about a second."""
    for line in (proc / "stat").read_text().splitlines():
        if line.startswith("btime "):
            return int(line.split()[1]) + process.started_ticks / os.sysconf("SC_CLK_TCK")
    raise UsageError(f"{proc}/stat does not say when the machine was started", code="attestation")


def _listening_sockets(port: int, proc: Path) -> set[str]:
    """Names of the sockets, as a process's open files are called."""
    names = set()
    for table in ("tcp", "tcp6"):
        path = proc / "net" / table
        for line in path.read_text().splitlines()[1:] if path.exists() else []:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                names.add(f"socket:[{fields[9]}]")
    return names


def _holds(process: Path, sockets: set[str]) -> bool:
    try:
        return any(os.readlink(file) in sockets for file in (process / "fd").iterdir())
    except OSError:
        return False  # it has ended, or is another user's


def _process(folder: Path) -> ServerProcess:
    # The name of the program stands in parentheses and may hold anything.
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    command = (folder / "cmdline").read_bytes()
    return ServerProcess(int(folder.name), int(fields[19]), hashlib.sha256(command).hexdigest())
