"""How long robogate takes before, after and beside an evaluation.

    .venv/bin/python benchmarks/startup.py [--times 10] [--run DIR]

The result that is verified is a real one of all 68 scenarios, made here unless ``--run`` names one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from common import (
    ROOT,
    Sample,
    evaluation,
    machine,
    machine_line,
    note,
    publish,
    robogate,
    run,
    table,
)

LIMITS = {"help": 0.1, "contract": 0.6, "verify": 2.0, "make_run": 3.0}
TITLES = {
    "help": "`robogate --help`",
    "contract": "`robogate contract bench=mujoco_pnp adapter=zero`",
    "verify": "`robogate verify` of 68 scenarios",
    "make_run": "`make run`, the second time, until the first scenario starts",
}


def first_start() -> float:
    """Wall time from `make run` to its first ``started`` record; the run is then ended."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "run"
        arguments = f"runtime.output_dir={place} runtime.link_latest=false runtime.wandb=off"
        began = time.perf_counter()
        process = subprocess.Popen(
            ["make", "run", f"ARGS={arguments}"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            while process.poll() is None:
                journal = place / "journal.jsonl"
                if journal.exists() and '"started"' in journal.read_text():
                    return time.perf_counter() - began
                time.sleep(0.005)
            sys.exit(f"make run ended with {process.returncode} before a scenario started")
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt the run as a Ctrl-C would; it ends its workers itself."""
    import os
    import signal

    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
    process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--run", type=Path, help="run folder with all 68 scenarios")
    args = parser.parse_args()
    facts = machine()
    with tempfile.TemporaryDirectory() as folder:
        place = args.run
        if place is None:
            place = Path(folder) / "oracle"
            note("evaluating all scenarios, to have a result")
            run(evaluation(place, "adapter=oracle", "runtime.media=off", "runtime.workers=2"))
        episodes = len(json.loads((place / "result.json").read_text())["episodes"])
        if episodes != 68:
            sys.exit(f"{place} has {episodes} episodes, expected 68")
        commands = {
            "help": robogate("--help"),
            "contract": robogate("contract", "bench=mujoco_pnp", "adapter=zero"),
            "verify": robogate("verify", str(place)),
        }
        wall: dict[str, list[float]] = {name: [] for name in TITLES}
        cpu: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(args.times):
            for name, command in commands.items():
                usage = run(command)
                wall[name].append(usage.wall_s)
                cpu[name].append(usage.cpu_s)
        note("starting `make run`")
        for _ in range(max(2, args.times // 3)):
            wall["make_run"].append(first_start())
    samples = {name: Sample(tuple(values)) for name, values in wall.items()}
    spent = {name: Sample(tuple(values)) for name, values in cpu.items()}
    rows = [
        [
            TITLES[name],
            f"{min(sample.values):.3f}",
            f"{sample.median:.3f}",
            f"{min(spent[name].values):.3f}" if name in spent else "",
            f"{LIMITS[name]:g}",
        ]
        for name, sample in samples.items()
    ]
    text = "\n".join(
        [
            machine_line(facts),
            "",
            f"Best and median of {args.times} times ({len(samples['make_run'].values)} of `make "
            "run`), s; each is a new process.",
            "",
            table(["command", "wall, best", "wall, median", "CPU, best", "limit"], rows),
        ]
    )
    document: dict[str, Any] = {
        "machine": facts,
        "wall_s": {name: sample.document() for name, sample in samples.items()},
        "cpu_s": {name: sample.document() for name, sample in spent.items()},
        "limits_s": LIMITS,
    }
    publish("startup", document, text)


if __name__ == "__main__":
    main()
