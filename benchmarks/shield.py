"""What a decision of the dual arm's shield costs: CPU time of one `Shield.check`.

.venv/bin/python benchmarks/shield.py [--rounds N]

Goals: the scripted control's pace (a slow swing), a fast swing, and random goals far outside every
limit, each with all checks: limits, braking, workspace, distances on a copy of the model at every
servo target. A tick may take 0.5 ms of it at the median.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator

import numpy as np
from common import machine, machine_line, publish, table

from robogate.benches.dual_arm.robot_copy import RobotCopy
from robogate.benches.dual_arm.shielding import make_shield
from robogate.config.compose import compose
from robogate.records.observation import FloatArray
from robogate.scenes.dual_arm_config import DualArmBench

TICKS = 600
ACCEPTED_MS = 0.5


def swing(start: FloatArray, step: float) -> Iterator[FloatArray]:
    """Commands that turn every arm joint to and fro by ``step`` rad a tick."""
    for i in range(TICKS):
        phase = i * step / 0.3
        yield start + 0.3 * np.sin(phase) * np.array([1, 0.3, 0.3, 0.5, 0.5, 0.5, 0] * 2)


def anywhere(start: FloatArray) -> Iterator[FloatArray]:
    """A random goal every ten ticks, most of them out of reach."""
    rng = np.random.default_rng(0)
    goal = start
    for i in range(TICKS):
        if i % 10 == 0:
            goal = start + rng.uniform(-3.0, 3.0, len(start))
        yield goal


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    facts = machine()
    bench = compose(["bench=mujoco_dual_arm"])[0].frozen.bench
    if not isinstance(bench, DualArmBench):
        sys.exit("bench=mujoco_dual_arm is no dual-arm bench")
    start = np.array(bench.reset_command)
    robot = RobotCopy(bench)
    spent: dict[str, list[float]] = {}
    for _ in range(args.rounds):
        for name, commands in (
            ("slow swing", swing(start, 0.01)),
            ("fast swing", swing(start, 0.06)),
            ("random goals", anywhere(start)),
        ):
            shield = make_shield(bench, robot)
            shield.reset(start)
            for command in commands:
                began = time.thread_time()
                shield.check(command)
                spent.setdefault(name, []).append((time.thread_time() - began) * 1e3)
    rows, figures = [], {}
    for name, values in spent.items():
        ordered = sorted(values)
        p50, p90, p99 = (ordered[int(q * len(ordered))] for q in (0.5, 0.9, 0.99))
        rows.append([name, f"{p50:.2f}", f"{p90:.2f}", f"{p99:.2f}", f"{ACCEPTED_MS:.1f}"])
        figures[name] = {"p50_ms": p50, "p90_ms": p90, "p99_ms": p99, "decisions": len(ordered)}
    text = "\n\n".join(
        [
            table(["CPU ms a decision", "p50", "p90", "p99", "accepted p50"], rows),
            f"{args.rounds} rounds of {TICKS} decisions each.",
            machine_line(facts),
        ]
    )
    publish("shield", {"machine": facts, "rounds": args.rounds, "decisions": figures}, text)
    if any(statistics.median(values) > ACCEPTED_MS for values in spent.values()):
        sys.exit(f"a decision costs more than {ACCEPTED_MS} ms at the median")


if __name__ == "__main__":
    main()
