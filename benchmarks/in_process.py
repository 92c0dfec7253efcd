"""The full evaluation's episodes in one process, without the pipe; and what its parts cost.

    (a part of control_step.py)

Everything that an evaluation does for an action is done here by the very same code: physics,
rendering, readback, verification, hashing, policy, judgement, journal and, with ``--media``, the
recorder. Prints the CPU time of one action; with ``--split``, of its parts as well, which makes all
of it a little slower.
"""

from __future__ import annotations

import argparse
import functools
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from robogate.adapters.registry import adapter_entry, load_policy
from robogate.benches.pnp import create_environment
from robogate.benches.pnp import environment as environment_module
from robogate.benches.pnp.readback import AppliedScene
from robogate.benches.pnp.simulation import PnpSimulation
from robogate.benches.rendering import CameraRenderer
from robogate.contract.identity import measure_adapter
from robogate.episodes import loop, parallel
from robogate.episodes.clock import utc_now
from robogate.episodes.journal import Header
from robogate.episodes.journal_writer import create_journal
from robogate.episodes.parallel import RunSetup, run_episodes
from robogate.episodes.policy_calls import PolicyCalls
from robogate.episodes.sinks import EpisodeSink, SinkFanOut
from robogate.episodes.trace import TraceBuilder
from robogate.episodes.verify import ObservationVerifier
from robogate.evidence.files import JOURNAL
from robogate.records.benches import bench_rules
from robogate.records.environment import Environment
from robogate.records.registration import registration_of
from robogate.runs.recording import Recorder
from scenes import Subject, subject

WARM_UP = 5


class Clock:
    """CPU time of the process between two observations of each episode, and of parts between them.

    The parts exclude one another: what runs inside a part and is a part itself counts for itself
    alone. All of them run one after the other in the thread that drives the environment; the thread
    of the policy works while that one waits.
    """

    def __init__(self) -> None:
        self.actions = 0
        self.spent = 0.0
        self.parts: dict[str, float] = {}
        self._stack: list[list[float]] = []
        self._mark: float | None = None

    def started(self, scenario: Any) -> None:
        """An episode starts; its reset does not count."""
        self._mark = None

    def observed(self, scenario: Any, observation: Any, action: Any) -> None:
        """Count from one observation to the next."""
        now = time.process_time()
        if self._mark is not None:
            self.spent += now - self._mark
            self.actions += 1
        self._mark = now if observation.step >= WARM_UP else None

    def finished(self, episode: Any) -> None:
        """An episode is over."""

    def wrap(self, owner: Any, name: str, part: str) -> None:
        """Count what a function of a class or module costs."""
        inner: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(inner)
        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.process_time()
            self._stack.append([0.0])
            try:
                return inner(*args, **kwargs)
            finally:
                took = time.process_time() - began
                children = self._stack.pop()[0]
                if self._stack:
                    self._stack[-1][0] += took
                if self._mark is not None:
                    self.parts[part] = self.parts.get(part, 0.0) + took - children

        setattr(owner, name, timed)


def split(clock: Clock) -> None:
    """Time the parts of an action."""
    clock.wrap(PnpSimulation, "solve", "inverse kinematics")
    clock.wrap(PnpSimulation, "execute", "physics")
    clock.wrap(CameraRenderer, "render", "rendering")
    clock.wrap(environment_module, "check_images", "image and number checks")
    clock.wrap(AppliedScene, "read", "readback")
    clock.wrap(ObservationVerifier, "_require_readback", "readback")
    clock.wrap(ObservationVerifier, "verify", "image and number checks")
    clock.wrap(TraceBuilder, "observe", "hashing")
    clock.wrap(PolicyCalls, "infer", "policy")


def go(work: Subject, folder: Path, clock: Clock, media: bool) -> None:
    """Run all episodes."""
    point, frozen = work.point, work.point.frozen
    (folder / parallel.TRACES).mkdir()
    policy = load_policy(frozen.adapter, frozen.bench)

    def make_environment(number: int) -> Environment:
        """In the thread that drives it, whose GL context it becomes."""
        return create_environment(
            frozen.document, str(point.manifest_path), str(point.assets_dir), "egl"
        )

    header = Header("0" * 32, frozen.sha256, "0" * 64, frozen.track.manifest_sha256, utc_now())
    journal = create_journal(folder / JOURNAL, header)
    sinks: list[EpisodeSink] = [clock]
    recorder = None
    if media:
        facts = bench_rules(frozen.bench.kind).facts
        recorder = Recorder(folder, frozen.bench, facts, print)
        sinks.append(recorder)
    adapter = measure_adapter(frozen.adapter, adapter_entry(frozen.adapter.kind).modules)
    setup = RunSetup(
        frozen=frozen,
        registration=registration_of(frozen, adapter, policy.source, policy.server),
        identity=None,
        policy=policy,
        make_environment=make_environment,
        folder=folder,
        journal=journal,
        sinks=SinkFanOut(sinks),
    )
    run_episodes(work.scenarios, setup)
    journal.close()
    if recorder is not None:
        recorder.close()


def watch_threads(extra: dict[str, float]) -> None:
    """Add up what journal, trace files and recorder cost; they do not belong to single actions."""

    def count(owner: Any, name: str, part: str) -> None:
        inner = getattr(owner, name)

        @functools.wraps(inner)
        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.thread_time()
            try:
                return inner(*args, **kwargs)
            finally:
                extra[part] = extra.get(part, 0.0) + time.thread_time() - began

        setattr(owner, name, timed)

    count(parallel._Crew, "_keep", "journal and trace file, once an episode")
    count(loop, "finish", "record, chains and calls, once an episode")
    count(Recorder, "_handle", "recording, in a thread of its own")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--actions", type=int, default=100, help="in each of the scenes")
    parser.add_argument("--adapter", default="zero")
    parser.add_argument("--media", action="store_true")
    parser.add_argument("--split", action="store_true")
    args = parser.parse_args()
    work = subject(args.adapter, args.actions)
    clock = Clock()
    extra: dict[str, float] = {}
    if args.split:
        split(clock)
        watch_threads(extra)
    with tempfile.TemporaryDirectory() as folder:
        go(work, Path(folder), clock, args.media)
    n = clock.actions
    parts = {name: value / n for name, value in clock.parts.items()}
    aside = {name: value / n for name, value in extra.items()}
    document = {"cpu_s": clock.spent / n, "actions": n, "parts_s": parts, "aside_s": aside}
    print(json.dumps(document))


if __name__ == "__main__":
    main()
