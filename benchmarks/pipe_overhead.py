"""What a step through the pipe costs beyond the environment itself: two 256×256 cameras.

    .venv/bin/python benchmarks/pipe_overhead.py [--steps N]

The child answers every step with one prepared observation, so that all time is the pipe's. CPU time
of both processes is given; with shared memory, and with images through the socket for comparison.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from robogate.records.digests import registration_sha256
from robogate.records.environment import Description, Outcome, Registration, StepResult
from robogate.records.observation import Evaluator, FloatArray, Observation
from robogate.worker import pipe
from robogate.worker.memory import keep_freed_memory

#: About the size of a real readback document.
APPLIED: dict[str, Any] = {
    "schema": "1.1.0",
    "parts": {f"part_{i}": {"position": [0.1 * i, 0.25, 0.5], "mass": 0.1} for i in range(35)},
    "sha256": "0" * 64,
}
REGISTRATION = Registration("a" * 64, "zero", "1", "b" * 64, None, None, None, None, None)


class PreparedEnvironment:
    """Answers with the same observation again and again; `outcome` reports CPU time spent."""

    def __init__(self) -> None:
        noise = np.random.default_rng(0)
        self._steps = 0
        self._observation = Observation(
            protocol_version="2.0.0",
            episode_id="e",
            step=0,
            instruction="pick up the red block and place it on the green target",
            state={"joint": np.zeros(7), "finger": np.zeros(2), "ee": np.zeros(7)},
            images={
                name: noise.integers(0, 256, (256, 256, 3), dtype=np.uint8)
                for name in ("primary", "wrist")
            },
            registration_sha256=registration_sha256(REGISTRATION),
            done=False,
            evaluator=Evaluator("s", 0, APPLIED, False, np.zeros(12), {"contacts": 3}),
        )

    def describe(self) -> Description:
        return Description(1, "prepared", "none", ())

    def identity(self) -> Mapping[str, Any]:
        return {}

    def register(self, registration: Registration) -> str:
        return registration_sha256(registration)

    def reset(self, scenario_id: str, seed: int) -> Observation:
        return self._observation

    def step(self, episode_id: str, step: int, action: FloatArray) -> StepResult:
        self._steps += 1
        return StepResult(True, "accept", (), replace(self._observation, step=self._steps))

    def observe(self, episode_id: str) -> Observation:
        return self._observation

    def outcome(self, episode_id: str) -> Outcome:
        return Outcome(False, self._steps, False, False, time.process_time(), None)

    def close(self) -> None:
        pass


def measure(steps: int) -> dict[str, float]:
    """Wall and CPU time of one step, in ms."""
    child = pipe.ChildEnvironment(
        "pipe_overhead:PreparedEnvironment",
        {},
        {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    try:
        action = np.zeros(7)
        child.reset("s", 0)
        for i in range(100):
            child.step("e", i, action)
        there, here, wall = child.outcome("e").reward, time.process_time(), time.perf_counter()
        for i in range(steps):
            child.step("e", i, action)
        wall, here = time.perf_counter() - wall, time.process_time() - here
        after = child.outcome("e").reward
        assert there is not None and after is not None
        return {
            "wall_ms": 1e3 * wall / steps,
            "runner_cpu_ms": 1e3 * here / steps,
            "worker_cpu_ms": 1e3 * (after - there) / steps,
        }
    finally:
        child.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=2000)
    steps = parser.parse_args().steps
    sys.path.insert(0, str(Path(__file__).parent))
    keep_freed_memory()  # as a run does
    shared = measure(steps)
    region, pipe.create_region = pipe.create_region, lambda: None
    through_socket = measure(steps)
    pipe.create_region = region
    print(json.dumps({"shared_memory": shared, "socket": through_socket}, indent=1))


if __name__ == "__main__":
    main()
