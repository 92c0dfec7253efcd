"""What all benchmarks share: measured child processes, facts of the machine, results, tables."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = HERE / "results"
#: No rendering threads besides the one that draws, and no BLAS threads, for everybody alike.
ENVIRONMENT = {
    "MUJOCO_GL": "egl",
    "LP_NUM_THREADS": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
_LOOK_S = 0.1


@dataclass(frozen=True)
class Usage:
    """What a process and all its descendants used.

    Attributes:
        cpu_s: User and system time of the whole tree.
        wall_s: From start to end.
        peak_mb: Largest resident set of the process itself.
        output: Its stdout.
    """

    cpu_s: float
    wall_s: float
    peak_mb: float
    output: str


def run(arguments: Sequence[str], variables: Mapping[str, str] | None = None) -> Usage:
    """Run a command to its end; stop with its output where it fails.

    The kernel adds a process's time to its parent's once the parent has waited for it: the numbers
    cover a tree whose members are all waited for, as those of a run are. The largest resident set
    that it reports is of any process of the tree, so the peak is read from ``/proc`` instead.
    """
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        began = time.perf_counter()
        process = subprocess.Popen(
            arguments,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, **ENVIRONMENT, **(variables or {})},
        )
        status_file = Path(f"/proc/{process.pid}/status")
        peak = 0.0
        # It waits without polling: what is measured may need every core.
        ended = os.pidfd_open(process.pid)
        try:
            while not select.select([ended], [], [], _LOOK_S)[0]:
                peak = max(peak, _peak_mb(status_file))
        finally:
            os.close(ended)
        wall = time.perf_counter() - began
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            sys.exit(
                f"{' '.join(arguments)} exited with {process.returncode}:\n{err.read()[-2000:]}"
            )
        return Usage(usage.ru_utime + usage.ru_stime, wall, peak, out.read())


def _peak_mb(status: Path) -> float:
    try:
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass  # it has ended in between
    return 0.0


def robogate(*arguments: str) -> list[str]:
    """Command line of robogate in this interpreter."""
    return [sys.executable, "-m", "robogate", *arguments]


def evaluation(folder: Path, *arguments: str) -> list[str]:
    """Command line of an evaluation that leaves ``outputs/`` alone."""
    return robogate(
        *arguments,
        f"runtime.output_dir={folder}",
        "runtime.link_latest=false",
        "runtime.wandb=off",
        "runtime.gl=egl",
    )


@dataclass(frozen=True)
class Sample:
    """Repeated measurements of one thing, in one unit.

    Attributes:
        values: In the order in which they were taken.
    """

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle value."""
        return statistics.median(self.values)

    def text(self, digits: int = 2) -> str:
        """Median, and the smallest and largest value."""
        return (
            f"{self.median:.{digits}f} ({min(self.values):.{digits}f} to "
            f"{max(self.values):.{digits}f})"
        )

    def document(self) -> dict[str, Any]:
        """For the results file."""
        return {
            "median": self.median,
            "min": min(self.values),
            "max": max(self.values),
            "values": list(self.values),
        }


def machine() -> dict[str, Any]:
    """Where and with what it was measured."""
    from robogate import __version__
    from robogate.contract.identity.machine import parse_cpuinfo

    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": parse_cpuinfo(Path("/proc/cpuinfo").read_text())[0],
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": platform.platform(),
        "load_average": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "versions": {
            "robogate": __version__,
            **{n: importlib.metadata.version(n) for n in ("mujoco", "numpy", "av", "pyarrow")},
        },
        "source": _git("describe", "--always", "--dirty", "--abbrev=12"),
    }


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def publish(name: str, document: dict[str, Any], text: str) -> None:
    """Print the tables and write the numbers to ``results/NAME.json``."""
    from robogate.contract.files import write_json

    RESULTS.mkdir(exist_ok=True)
    write_json(RESULTS / f"{name}.json", {**document, "tables": text.splitlines()})
    print(text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A markdown table; every column but the first is aligned to the right."""
    rule = ["---", *("---:" for _ in header[1:])]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows))


def machine_line(facts: Mapping[str, Any]) -> str:
    """One sentence about the machine."""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return (
        f"{facts['date']}; {facts['processor']}, {facts['cores']} cores, {facts['memory_gb']} GB; "
        f"{facts['system']}; Python {facts['python']}; {versions}; source {facts['source']}; "
        f"load average {facts['load_average']} at the start."
    )


def note(text: str) -> None:
    """Say on stderr what is going on."""
    print(text, file=sys.stderr, flush=True)


def parse_json_lines(text: str) -> list[Any]:
    """The lines of a child's stdout that are JSON; libraries print others."""
    values = []
    for line in text.splitlines():
        if line.startswith("{"):
            values.append(json.loads(line))
    return values
