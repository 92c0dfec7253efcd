"""A small frozen contract, its manifest, and policies for the toy environment: test doubles."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robogate.contract.adapter_schema import BcAdapter
from robogate.contract.schema import Adapter, Budget, Renderer, Track
from robogate.contract.strict import decode
from robogate.episodes.journal import Header
from robogate.episodes.journal_writer import create_journal
from robogate.episodes.parallel import RunSetup, run_episodes
from robogate.episodes.sinks import EpisodeSink, SinkFanOut
from robogate.records.benches import bench_rules
from robogate.records.contract import FrozenContract, freeze
from robogate.records.environment import Registration
from robogate.records.observation import PolicyObservation
from robogate.records.policy import PolicyEpisode, Privileged, Stop
from robogate.records.result import Episode
from robogate.scenes.manifest import Manifest, generate, manifest_text
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.recipe import Row
from robogate.worker.deadlines import Deadlines
from robogate.worker.pipe import ChildEnvironment

TESTS = Path(__file__).parent
RULES = bench_rules("pnp")
#: No call is given up because the machine is busy.
PATIENT = Deadlines(start=60.0, reset=60.0, step=60.0, close=30.0)
RENDERER = Renderer("mujoco", 24, 16, 4, False, ("primary", "wrist"))
ROWS = (
    Row("nominal", "standard_objects", 11),
    Row("edge", "small_objects", 12),
    Row("adversarial", "moving_disturbance", 13),
    Row("domain_randomization", "object_color", 14),
    Row("nominal", "standard_lighting", 15),
    Row("edge", "edge_placement", 16),
)


@dataclass(frozen=True)
class World:
    """Contract, manifest and registration of the tests."""

    frozen: FrozenContract
    manifest: Manifest
    manifest_path: Path

    @property
    def registration(self) -> Registration:
        adapter = self.frozen.adapter
        return Registration(
            self.frozen.sha256,
            adapter.kind,
            adapter.version,
            "f" * 64,
            None,
            None,
            None,
            None,
            None,
        )

    @property
    def ids(self) -> list[str]:
        return [scenario.id for scenario in self.manifest.scenarios]

    def options(self, **more: Any) -> dict[str, Any]:
        """Options of the toy environment."""
        return {
            "contract": self.frozen.document,
            "manifest": str(self.manifest_path),
            **more,
        }

    def child(
        self, kind: type[ChildEnvironment] = ChildEnvironment, **more: Any
    ) -> ChildEnvironment:
        """The toy environment in a child process."""
        return kind("toy_env:create", self.options(**more), {"OMP_NUM_THREADS": "1"}, PATIENT)

    def header(self, run_id: str = "run", **changes: str) -> Header:
        fields = {
            "run_id": run_id,
            "contract_sha256": self.frozen.sha256,
            "fingerprint_sha256": "1" * 64,
            "manifest_sha256": self.manifest.sha256,
            "at": "2026-01-01T00:00:00.000000+00:00",
        }
        return Header(**{**fields, **changes})

    def run(
        self,
        folder: Path,
        policy: Any,
        make_environment: Callable[[int], Any],
        *,
        workers: int = 1,
        sinks: Sequence[EpisodeSink] = (),
        **changes: Any,
    ) -> list[Episode]:
        """Run all scenarios into a new run folder."""
        (folder / "traces").mkdir(parents=True)
        journal = create_journal(folder / "journal.jsonl", self.header())
        fields: dict[str, Any] = {
            "frozen": self.frozen,
            "registration": self.registration,
            "identity": None,
            "policy": policy,
            "make_environment": make_environment,
            "folder": folder,
            "journal": journal,
            "sinks": SinkFanOut(sinks),
        }
        setup = RunSetup(**{**fields, **changes})
        try:
            return run_episodes(self.manifest.scenarios, setup, workers=workers)
        finally:
            journal.close()


def make_world(
    folder: Path,
    *,
    rows: Sequence[Row] = ROWS,
    role: str = "control",
    execute: int = 1,
    max_actions: int = 60,
    timeout_s: float = 60.0,
    renderer: Renderer = RENDERER,
    shield: str = "ik",
    chunk: int | None = None,
    **learned: Any,
) -> World:
    """A world for the scripted control or, with a ``chunk``, for a learned policy."""
    bench = decode(PnpBench, json.loads((TESTS / "scenes" / "mujoco_pnp.json").read_text()))
    bench = dataclasses.replace(
        bench,
        inference_timeout_s=timeout_s,
        shield=shield,
        assets=dataclasses.replace(bench.assets, sha256="2b" * 32),
    )
    manifest = generate(
        "toy", "pnp", "pick_and_place", rows, lambda v, s: RULES.resolve(bench, v, s)
    )
    path = folder / "toy_manifest.json"
    path.write_text(manifest_text(manifest))
    adapter = Adapter(
        kind="oracle",
        version="1",
        benches=("pnp",),
        role=role,
        determinism="deterministic",
        transfer="none",
        execute=execute,
        model=None,
        revision=None,
        checkpoint_sha256=None,
    )
    if chunk is not None:
        adapter = learned_adapter(adapter, chunk=chunk, **learned)
    track = Track("toy", "pnp", "pick_and_place", "toy.json", manifest.sha256, len(rows))
    frozen = freeze(bench, track, adapter, renderer, Budget("test", max_actions, "all"))
    return World(frozen, manifest, path)


def learned_adapter(base: Adapter, **changes: Any) -> BcAdapter:
    """A learned policy's adapter, from a control's."""
    fields: dict[str, Any] = {
        **vars(base),
        "kind": "bc",
        "role": "policy",
        "transfer": "in_environment",
        "warmup_timeout_s": 30.0,
        "seeding": "none",
        "batch_invariant": False,
        "chunk": 4,
        "replan": "after_execute",
        "image_transform": "none",
        "image_size": 64,
        "image_resize": "area",
        "state_layout": "pnp_16",
        "quaternion": "none",
        "gripper_decode": "environment",
    }
    return BcAdapter(**{**fields, **changes})


class Policy:
    """A policy made of one function from a session's observation to a reply."""

    privileged = False

    def __init__(self, function: Callable[[PolicyObservation], Any]) -> None:
        self.function = function
        self.instructions: list[str] = []
        self.seeds: list[int] = []
        self.closed = 0

    def identity(self) -> Mapping[str, Any]:
        return {}

    def open_session(self, episode: PolicyEpisode) -> Any:
        self.instructions.append(episode.instruction)
        self.seeds.append(episode.seed)
        return Session(self)

    def close(self) -> None:
        pass


class Session:
    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def infer(self, observation: PolicyObservation) -> Any:
        return self._policy.function(observation)

    def close(self) -> None:
        self._policy.closed += 1


def still(observation: PolicyObservation) -> Any:
    return [np.zeros(7)]


class ToyOracle:
    """Fetches the block and places it, seeing the scene."""

    privileged = True

    def __init__(self, chunk: int = 1) -> None:
        self._chunk = chunk

    def identity(self) -> Mapping[str, Any]:
        return {}

    def open_session(self, episode: PolicyEpisode) -> Any:
        return ToyOracleSession(self._chunk)

    def close(self) -> None:
        pass


class ToyOracleSession:
    """Waits until a disturbance is over, then goes from point to point."""

    def __init__(self, chunk: int) -> None:
        self._chunk = chunk
        self._plan: list[np.ndarray[Any, Any]] | None = None

    def infer_privileged(self, view: Privileged) -> Any:
        scene, seen = view.scene, view.observation
        push = scene.disturbance
        if push is not None and seen.step < push.start_action + push.actions + 2:
            return [np.array([0, 0, 0, 0, 0, 0, -1.0])]
        if self._plan is None:
            assert seen.evaluator is not None
            self._plan = plan(seen.state["ee_position"], seen.evaluator.facts[:3], scene)
        if not self._plan:
            return Stop("done")
        chunk, self._plan = self._plan[: self._chunk], self._plan[self._chunk :]
        return chunk

    def close(self) -> None:
        pass


def plan(grip: Any, block: Any, scene: Any) -> list[np.ndarray[Any, Any]]:
    """Actions of a whole episode; the toy goes exactly where it is told."""
    target = np.array([*scene.target.position[:2], block[2]])
    up = np.array([0.0, 0.0, 0.15])
    actions: list[np.ndarray[Any, Any]] = []
    position = np.array(grip)

    def go(goal: Any, gripper: float) -> None:
        nonlocal position
        while np.abs(goal - position).max() > 1e-9:
            move = np.clip((goal - position) / 0.05, -1.0, 1.0)
            actions.append(np.array([*move, 0.0, 0.0, 0.0, gripper]))
            position = position + 0.05 * move

    def hold(gripper: float, count: int) -> None:
        actions.extend(np.array([0, 0, 0, 0, 0, 0, gripper], float) for _ in range(count))

    go(block + up, -1.0)
    go(np.array(block), -1.0)
    hold(1.0, 2)
    go(block + up, 1.0)
    go(target + up, 1.0)
    go(target, 1.0)
    hold(-1.0, 15)
    return actions
