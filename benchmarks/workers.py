"""What a second worker brings, how long qualifying takes, and what a run keeps in memory.

    .venv/bin/python benchmarks/workers.py [--rounds 3] [--qualify]

``--qualify`` also times `dvc repro` from scratch, in a clone of the committed state.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import (
    ROOT,
    Sample,
    Usage,
    evaluation,
    machine,
    machine_line,
    note,
    publish,
    run,
    table,
)

#: What `dvc repro` runs: one negative and three positive controls.
CONTROLS = {"zero": 1, "oracle": 3}


@dataclass(frozen=True)
class Timed:
    """An evaluation, and where its wall time went.

    Attributes:
        usage: Of the process.
        parts: s, which add up to the wall time: what workers do at the same time counts as its
            share of one of them.
    """

    usage: Usage
    parts: dict[str, float]


def evaluate(folder: Path, adapter: str, workers: int, budget: str) -> Timed:
    """Evaluate without media and throw the run away."""
    command = evaluation(
        folder / "run",
        f"adapter={adapter}",
        f"budget={budget}",
        f"runtime.workers={workers}",
        "runtime.media=off",
    )
    began = time.time()
    usage = run(command)
    episodes = json.loads((folder / "run" / "result.json").read_text())["episodes"]
    shutil.rmtree(folder / "run")
    timings = [episode["timing"] for episode in episodes]
    first = min(_seconds(timing["started_at"]) for timing in timings)
    ends: dict[int, float] = {}
    for timing in timings:
        pid = timing["worker_pid"]
        ends[pid] = max(ends.get(pid, 0.0), _seconds(timing["ended_at"]))
    last, count = max(ends.values()), len(ends)
    parts = {"until the first scenario starts": first - began}
    for name, field in (
        ("resets", "reset_s"),
        ("steps: control, physics, rendering, readback, pipe", "step_s"),
        ("inference", "inference_s"),
    ):
        parts[name] = sum(timing[field] for timing in timings) / count
    idle = sum(last - end for end in ends.values()) / count
    parts["checks, hashes, judgement, records"] = last - began - idle - sum(parts.values())
    parts["a worker without a scenario, at the end"] = idle
    parts["after the last scenario: measuring, validating, writing"] = began + usage.wall_s - last
    return Timed(usage, parts)


def _seconds(at: str) -> float:
    return datetime.datetime.fromisoformat(at).timestamp()


def qualify() -> float:
    """Wall time of a from-scratch `dvc repro` in a clone, with this interpreter, s."""
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        # The pinned assets are made before anything else, as `make` does.
        shutil.copytree(ROOT / "data", clone / "data")
        binaries = Path(sys.executable).parent
        variables = {
            **os.environ,
            "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(clone / "src"),
        }
        began = time.perf_counter()
        done = subprocess.run(
            [str(binaries / "dvc"), "repro", "qualify_mujoco_pnp"],
            cwd=clone,
            env=variables,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            sys.exit(f"dvc repro failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--qualify", action="store_true")
    args = parser.parse_args()
    facts = machine()
    wall: dict[int, list[float]] = {1: [], 2: []}
    controls: dict[str, list[float]] = {name: [] for name in CONTROLS}
    peak: dict[str, list[float]] = {"smoke": [], "standard": []}
    spent: dict[int, list[Timed]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for i in range(args.rounds):
            note(f"round {i + 1} of {args.rounds}")
            # Alternately first, so that neither always meets the warmer or the busier machine.
            for workers in (1, 2) if i % 2 == 0 else (2, 1):
                timed = evaluate(folder, "oracle", workers, "standard")
                usage = timed.usage
                spent[workers].append(timed)
                wall[workers].append(usage.wall_s)
                if workers == 1:
                    peak["standard"].append(usage.peak_mb)
                else:
                    controls["oracle"].append(usage.wall_s)
            controls["zero"].append(evaluate(folder, "zero", 2, "standard").usage.wall_s)
            peak["smoke"].append(evaluate(folder, "oracle", 1, "smoke").usage.peak_mb)
    one, two = (Sample(tuple(wall[n])) for n in (1, 2))
    gain = Sample(tuple(a / b for a, b in zip(one.values, two.values, strict=True)))
    zero, oracle = (Sample(tuple(controls[name])) for name in CONTROLS)
    projected = zero.median * CONTROLS["zero"] + oracle.median * CONTROLS["oracle"]
    small, large = (Sample(tuple(peak[name])) for name in ("smoke", "standard"))
    rows = [
        ["`adapter=oracle`, 68 scenarios, 1 worker, wall", one.text(1) + " s", ""],
        ["`adapter=oracle`, 68 scenarios, 2 workers, wall", two.text(1) + " s", ""],
        ["1 worker / 2 workers", gain.text() + "×", "≥ 1.7×"],
        ["`adapter=zero`, 68 scenarios, 2 workers, wall", zero.text(1) + " s", ""],
        [
            "four controls, 272 episodes: once zero, three times oracle",
            f"{projected:.0f} s",
            "≤ 420 s",
        ],
        ["peak memory of the runner, 16 episodes", small.text(0) + " MB", ""],
        ["peak memory of the runner, 68 episodes", large.text(0) + " MB", "the same"],
    ]
    parts = {
        name: {n: Sample(tuple(timed.parts[name] for timed in spent[n])) for n in spent}
        for name in spent[1][0].parts
    }
    parts["CPU time, all processes"] = {
        n: Sample(tuple(timed.usage.cpu_s for timed in spent[n])) for n in spent
    }
    document: dict[str, Any] = {
        "machine": facts,
        "wall_s": {"1": one.document(), "2": two.document()},
        "gain": gain.document(),
        "controls_s": {"zero": zero.document(), "oracle": oracle.document()},
        "projected_s": projected,
        "parts_s": {
            name: {str(n): sample.document() for n, sample in both.items()}
            for name, both in parts.items()
        },
        "peak_mb": {"16": small.document(), "68": large.document()},
    }
    if args.qualify:
        note("dvc repro in a clone")
        document["dvc_repro_s"] = qualify()
        rows.append(["`dvc repro` from scratch", f"{document['dvc_repro_s']:.0f} s", "≤ 420 s"])
    text = "\n".join(
        [
            machine_line(facts),
            "",
            f"Without media; median of {args.rounds} rounds (smallest to largest).",
            "",
            table(["what", "measured", "target"], rows),
            "",
            "Where the wall time of the 68 scenarios goes, s.",
            "",
            table(
                ["part", "1 worker", "2 workers"],
                [[name, both[1].text(), both[2].text()] for name, both in parts.items()],
            ),
        ]
    )
    publish("workers", document, text)


if __name__ == "__main__":
    main()
