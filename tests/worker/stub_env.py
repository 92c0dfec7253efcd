"""A test double: an environment without a simulator, with every misbehaviour on request."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from robogate.errors import EpisodeError, RunError, UsageError
from robogate.records.digests import registration_sha256
from robogate.records.environment import Description, Outcome, Registration, StepResult
from robogate.records.observation import Evaluator, FloatArray, Observation
from waiting import stop_at

APPLIED = {"schema": "1.1.0", "object": {"mass": 0.5, "position": [0.25, -0.5, 1.0]}}


class StubEnvironment:
    """Counts steps; the seed of a reset, or the first number of an action, asks for a fault."""

    def __init__(self, size: int = 16, identity: Mapping[str, Any] | None = None) -> None:
        self._size = size
        self._identity = dict(identity or {"simulator": "none"})
        self._registration: str | None = None
        self._episodes = 0
        self._steps = 0
        self._scenario = ("", 0)

    def describe(self) -> Description:
        return Description(1, "stub", "stub", ("fk",))

    def identity(self) -> Mapping[str, Any]:
        return self._identity

    def register(self, registration: Registration) -> str:
        self._registration = registration_sha256(registration)
        return self._registration

    def reset(self, scenario_id: str, seed: int) -> Observation:
        misbehave(scenario_id)
        self._episodes += 1
        self._steps = 0
        self._scenario = (scenario_id, seed)
        return self.observe("")

    def step(self, episode_id: str, step: int, action: FloatArray) -> StepResult:
        if step != self._steps:
            raise EpisodeError(f"expected step {self._steps}", code="bad_reply")
        if action[0] > 0.5:
            return StepResult(False, "control_rejected", ("too far", "too high"), None)
        misbehave(FAULTS.get(float(action[0]), ""))
        self._steps += 1
        return StepResult(True, "accept", (), self.observe(episode_id))

    def observe(self, episode_id: str) -> Observation:
        n = self._size
        rng = np.random.default_rng([self._scenario[1], self._steps])
        state = {"joint": rng.normal(size=7), "width": np.array([np.nan if n == 1 else 0.5])}
        images = {
            name: rng.integers(0, 256, (n, n, 3), dtype=np.uint8) for name in ("wrist", "primary")
        }
        return Observation(
            protocol_version="2.0.0",
            episode_id=f"{os.getpid()}-{self._episodes}",
            step=self._steps,
            instruction="do — it",
            state=state,
            images=images,
            registration_sha256=self._registration or "",
            done=False,
            evaluator=Evaluator(
                scenario_id=self._scenario[0],
                seed=self._scenario[1],
                applied_scene=APPLIED,
                success=False,
                facts=np.arange(3.0),
                diagnostics={"contacts": 3, "note": None},
            ),
        )

    def outcome(self, episode_id: str) -> Outcome:
        return Outcome(False, self._steps, False, False, None, 0.25)

    def close(self) -> None:
        misbehave(os.environ.get("STUB_CLOSE", ""))


#: First number of an action, and what it asks for.
FAULTS = {
    -0.1: "hang",
    -0.2: "kill",
    -0.3: "segfault",
    -0.4: "raise",
    -0.5: "episode_error",
    -0.6: "run_error",
    -0.7: "garbage",
    -0.8: "exit",
}


def misbehave(how: str) -> None:
    if how in ("hang", "spin"):
        stop_at(os.environ.get("STUB_BARRIER"))
    if how == "hang":
        time.sleep(3600)
    elif how == "spin":
        while True:
            pass
    elif how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif how == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif how == "raise":
        raise ZeroDivisionError("inside the simulator\nsecond line")
    elif how == "episode_error":
        raise EpisodeError("it became NaN", code="simulator_nan")
    elif how == "run_error":
        raise RunError("no solver", code="ik_solver")
    elif how == "garbage":
        # What a library does that writes to a descriptor which is not its own.
        os.write(int(sys.argv[1]), b"hello from native code, this is not a frame at all")
        time.sleep(3600)
    elif how == "exit":
        print("leaving", file=sys.stderr, flush=True)
        os._exit(7)


def create(size: int = 16, identity: Mapping[str, Any] | None = None) -> StubEnvironment:
    """The ordinary one."""
    return StubEnvironment(size, identity)


def create_other_each_time() -> StubEnvironment:
    """Another identity in every process."""
    return StubEnvironment(identity={"pid": os.getpid()})


def create_once(marker: str) -> StubEnvironment:
    """Can be built one time only."""
    if os.path.exists(marker):
        raise OSError("the licence is taken")
    with open(marker, "w"):
        return StubEnvironment()


def create_hanging() -> StubEnvironment:
    time.sleep(3600)
    raise AssertionError


def meet(folder: str, name: str, other: str) -> StubEnvironment:
    """Built once the other one is being built."""
    Path(folder, name).touch()
    while not Path(folder, other).exists():
        time.sleep(0.01)
    return StubEnvironment()


def create_failing(kind: str) -> StubEnvironment:
    if kind == "usage":
        raise UsageError("no OpenGL here: apt install libegl1", code="gl")
    if kind == "run":
        raise RunError("asset changed: link0.stl", code="asset_changed")
    raise ValueError("bad option")


def create_nothing() -> None:
    return None
