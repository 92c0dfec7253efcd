"""Synthetic runs: small, made up, and valid in every way that a validator can see.

Scenes, readbacks, judgements, chains and hashes come from the product's own functions; what a
simulator would have measured (task facts, states, image digests) is invented. Four scenarios and a
budget of a few dozen actions keep them fast: the number of scenarios is data to a validator.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robogate.contract.adapter_schema import BcAdapter, LearnedAdapter, PolicyAdapter
from robogate.contract.canonical import self_hash
from robogate.contract.files import write_json
from robogate.contract.identity import (
    AdapterIdentity,
    Distribution,
    EnvironmentIdentity,
    GlIdentity,
    HardwareIdentity,
    HarnessIdentity,
    HostIdentity,
    Identity,
    Interpreter,
    OperatingSystem,
    ProcessIdentity,
    SimulatorIdentity,
    assemble_identity,
    environment_sha256,
)
from robogate.contract.schema import Adapter, Budget, Renderer, Track
from robogate.contract.strict import decode, encode
from robogate.evidence.assemble import assemble_result, write_result
from robogate.records.benches import bench_rules
from robogate.records.calls import CHUNK, STOP, calls_chain, calls_dtype, prompt_digest
from robogate.records.contract import FrozenContract, freeze, thaw
from robogate.records.digests import (
    observation_digests,
    registration_sha256,
    trace_chain,
    trace_dtype,
)
from robogate.records.episode_hash import episode_sha256, seal_episode, semantic_sha256
from robogate.records.registration import registration_of
from robogate.records.result import Attestation, Episode, EpisodeTiming, ErrorInfo, WarmUp
from robogate.records.summary import inference_times, latency_of
from robogate.records.trace_file import parse_trace, trace_bytes, trace_kinds
from robogate.scenes.manifest import Manifest, Scenario, generate, select
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.pnp_readback import applied_steps
from robogate.scenes.recipe import Row

# The library of bad evidence is a package of its own, below this folder.
sys.path.insert(0, str(Path(__file__).parent))

RULES = bench_rules("pnp")
BENCH = decode(
    PnpBench,
    json.loads((Path(__file__).parents[1] / "scenes" / "mujoco_pnp.json").read_text()),
)
RENDERER = Renderer("mujoco", 256, 256, 4, False, ("primary", "wrist"))
FOUR_ROWS = (
    Row("nominal", "standard_objects", 11),
    Row("edge", "small_objects", 12),
    Row("adversarial", "moving_disturbance", 13),
    Row("domain_randomization", "standard_objects", 14),
)
TRACE_KIND = trace_dtype(7, sum(RULES.state.values()), len(RULES.facts))


def manifest_of(rows: Sequence[Row] = FOUR_ROWS) -> Manifest:
    """A manifest of real, resolved scenes."""
    return generate(
        "synthetic", "pnp", "pick_and_place", rows, lambda v, s: RULES.resolve(BENCH, v, s)
    )


MANIFEST = manifest_of()


@dataclass
class Spec:
    """What a synthetic run is made of.

    Attributes:
        adapter: ``zero``, ``oracle`` or ``bc``.
        endings: Ending of each scenario's episode, in order; ``None`` for not started.
        run: Distinguishes runs: run id and timing.
        noise: Distinguishes what was measured.
        max_actions: Budget.
    """

    adapter: str = "oracle"
    endings: Sequence[str | None] = ("success",) * 4
    run: int = 1
    noise: int = 0
    max_actions: int = 110
    subset: str = "all"
    execute: int = 1
    chunk: int = 4
    manifest: Manifest = field(default_factory=lambda: MANIFEST)
    scoring: str = "qualified"
    harness_sha256: str = "1a" * 32
    renderer: Renderer = RENDERER
    distribution: str = "4.0.0"
    run_error: ErrorInfo | None = None
    qualification_id: str | None = None
    simulator: str | None = BENCH.simulator

    def frozen(self) -> FrozenContract:
        bench = dataclasses.replace(
            BENCH,
            scoring=self.scoring,
            assets=dataclasses.replace(BENCH.assets, sha256="2b" * 32),
        )
        adapter = Adapter(
            kind=self.adapter,
            version="1",
            benches=("pnp",),
            role="control",
            determinism="deterministic",
            transfer="none",
            execute=self.execute,
            model=None,
            revision=None,
            checkpoint_sha256=None,
        )
        if self.adapter == "bc":
            adapter = BcAdapter(
                **{**vars(adapter), "role": "policy", "transfer": "in_environment"},
                warmup_timeout_s=60.0,
                seeding="none",
                batch_invariant=False,
                chunk=self.chunk,
                replan="after_execute",
                image_transform="none",
                image_size=64,
                image_resize="area",
                state_layout="pnp_16",
                quaternion="none",
                gripper_decode="environment",
            )
        track = Track(
            name="synthetic",
            bench="pnp",
            task="pick_and_place",
            manifest="synthetic.json",
            manifest_sha256=self.manifest.sha256,
            scenarios=len(self.manifest.scenarios),
        )
        return freeze(
            bench, track, adapter, self.renderer, Budget("test", self.max_actions, self.subset)
        )

    def identity(self) -> Identity:
        interpreter = Interpreter("CPython", "3.11.9", "main", "GCC")
        system = OperatingSystem("Linux", "debian", "12", "glibc 2.36", "x86_64")
        installed = (
            Distribution("mujoco", self.distribution, "3c" * 32, True),
            Distribution("rich", "13.0", None, False),
        )
        gl = GlIdentity("osmesa", "Mesa", "llvmpipe", "4.5")
        environment = EnvironmentIdentity(
            interpreter=interpreter,
            operating_system=system,
            distributions=installed,
            gl=gl,
            declared_image_digest=None,
            sha256=environment_sha256(interpreter, system, installed, gl),
        )
        process = ProcessIdentity(
            environment=environment,
            simulator=None
            if self.simulator is None
            else SimulatorIdentity(self.simulator, BENCH.simulator_version),
            hardware=HardwareIdentity("a cpu", "4d" * 32, 2, (), None),
            host=HostIdentity("host", "6.1"),
        )
        return assemble_identity(
            harness=HarnessIdentity(
                id=BENCH.harness_id,
                version=BENCH.harness_version,
                software="0.1.0",
                source_revision="5e" * 20,
                dirty=False,
                harness_sha256=self.harness_sha256,
            ),
            adapter=AdapterIdentity(self.adapter, "1", "6f" * 32),
            policy=None,
            checkpoint=None,
            runner=process,
            worker=process,
        )


class Builder:
    """Makes the parts of a synthetic run, and writes them."""

    Spec = Spec
    kind = TRACE_KIND
    rows = FOUR_ROWS
    manifest_of = staticmethod(manifest_of)

    def trace(self, spec: Spec, scenario: Scenario, ending: str) -> np.ndarray[Any, Any]:
        """A trace whose facts lead to an ending."""
        scene = RULES.resolve(BENCH, scenario.variant, scenario.seed)
        facts = self.facts(spec, scene, ending)
        rng = np.random.default_rng([spec.noise, scenario.index])
        trace = np.zeros(len(facts), TRACE_KIND)
        trace["images"] = rng.integers(0, 256, (len(facts), 32))
        trace["state"] = rng.normal(size=trace["state"].shape)
        trace["facts"] = facts
        expectation = RULES.expectation(BENCH, spec.renderer, scene)
        for i, row in enumerate(trace):
            row["readback"] = np.frombuffer(bytes.fromhex(expectation.at(i)["sha256"]), "u1")
        if spec.adapter != "zero":
            trace["action"] = rng.uniform(-1, 1, trace["action"].shape)
        trace["has_action"] = 1
        trace["inference"] = np.arange(len(facts)) // spec.execute + 1
        after = (len(facts) - 1) // spec.execute + 1
        last = {"control_rejected": (2, after), "policy_stop": (3, after)}
        trace["has_action"][-1], trace["inference"][-1] = last.get(ending, (0, 0))
        if trace["has_action"][-1] in (0, 3):
            trace["action"][-1] = 0.0
        return trace

    def calls(self, frozen: FrozenContract, trace: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Calls whose chunks are what a trace executes; of what is cut off, zeros."""
        stored = trace_kinds(frozen).calls["chunk"].shape[0]
        learned = isinstance(frozen.adapter, LearnedAdapter)
        calls = np.zeros(int(trace["inference"].max()), calls_dtype(7, stored))
        for i, call in enumerate(calls):
            rows = np.flatnonzero(trace["inference"] == i + 1)
            call["row"] = rows[0]
            call["answer"] = STOP if trace["has_action"][rows[0]] == 3 else CHUNK
            if call["answer"] == CHUNK:
                call["length"] = stored
                call["backend_calls"] = int(learned)
                call["prompt"] = np.frombuffer(prompt_digest(BENCH.instruction), "u1")
                call["chunk"][: len(rows)] = trace["action"][rows]
        return calls

    def facts(self, spec: Spec, scene: Any, ending: str) -> list[list[float]]:
        """Rows of facts: the block is fetched and placed, or nothing happens."""
        x, y, z = scene.object.position
        tx, ty, _ = scene.target.position
        success = BENCH.success
        high = z + success.lift_height + 0.05
        floor = scene.surface.position[2] + scene.surface.size[2] / 2 + scene.object.size[2] / 2
        edge = scene.object.size[0]
        rest = (x, y, z, 0.3, 0.08, 0.0)
        start = 0
        if scene.disturbance is not None:
            start = scene.disturbance.start_action + scene.disturbance.actions + 1
        script = [rest] * (start + 1)
        if ending == "success":
            script += [
                (x, y, z, 0.0, 0.08, 0.0),
                (x, y, z, 0.0, edge, 1.0),
                (x, y, high, 0.0, edge, 1.0),
                (tx, ty, high, 0.0, edge, 1.0),
                (tx, ty, floor, 0.0, edge, 1.0),
                (tx, ty, floor, 0.0, edge, 0.0),
                (tx, ty, floor, 0.1, 0.08, 0.0),
            ]
            script += [(tx, ty, floor, 0.2, 0.08, 0.0)] * (success.stable_actions - 1)
        elif ending in ("control_rejected", "policy_stop", "error"):
            script += [rest] * 3
            # A call whose chunk is not used up is followed by no other.
            script += [rest] * (-(len(script) - 1) % spec.execute)
        else:
            script = [rest] * (spec.max_actions + 1)
        return [
            [px, py, pz, 1.0, 0.0, 0.0, 0.0, 0.0, near, width, held,
             float(applied_steps(BENCH, scene, i))]
            for i, (px, py, pz, near, width, held) in enumerate(script)
        ]  # fmt: skip

    def episode(
        self, spec: Spec, scenario: Scenario, ending: str, trace: np.ndarray[Any, Any] | None
    ) -> Episode:
        """The sealed record of a trace."""
        scene = RULES.resolve(BENCH, scenario.variant, scenario.seed)
        frozen, identity = spec.frozen(), spec.identity()
        judgement = None
        durations: tuple[int, ...] = ()
        attestation = applied = None
        if trace is not None:
            judgement = RULES.judge(BENCH, scene, trace["facts"])
            durations = tuple(100 + i % 7 for i in range(int(trace["inference"].max())))
            applied = RULES.expected_readback(BENCH, spec.renderer, scene, 0)
            calls = self.calls(frozen, trace)
            attestation = Attestation(
                prompt=BENCH.instruction,
                trace_file=f"traces/{scenario.id}.npy",
                **self.attested(trace, calls, frozen.harness_sha256, scenario.id),
                registration_sha256=registration_sha256(
                    registration_of(frozen, identity.adapter, identity.policy, identity.server)
                ),
            )
        outcome = {"step_limit": "failure", "policy_stop": "failure"}.get(ending, ending)
        error = ErrorInfo("inference_exception", "it raised", scenario.id, 3)
        episode = Episode(
            index=scenario.index,
            scenario_id=scenario.id,
            domain=scenario.domain,
            variant=scenario.variant,
            seed=scenario.seed,
            outcome=outcome,  # type: ignore[arg-type]
            ending=ending,  # type: ignore[arg-type]
            failure_stage=judgement.failure_stage if judgement and ending != "error" else None,
            transitions=judgement.transitions if judgement else (),
            steps=len(trace) - 1 if trace is not None else 0,
            scene=encode(scene),
            applied_scene=applied,
            applied_scene_sha256=applied["sha256"] if applied else None,
            attestation=attestation,
            timing=EpisodeTiming(
                started_at=f"2026-01-01T0{spec.run}:{scenario.index // 2:02d}:00.000000+00:00",
                ended_at=f"2026-01-01T0{spec.run}:{scenario.index // 2:02d}:20.000000+00:00",
                episode_id=f"e{spec.run}-{scenario.index}",
                worker_pid=100 + spec.run,
                reset_s=0.1,
                step_s=0.7,
                inference_us=durations,
                **inference_times(durations),
            ),
            diagnostics={"note": "made up", "value": 1.5},
            error=error if ending == "error" else None,
            semantic_sha256="",
            sha256="",
        )
        return seal_episode(episode)

    @staticmethod
    def attested(
        trace: np.ndarray[Any, Any], calls: np.ndarray[Any, Any], harness: str, scenario_id: str
    ) -> dict[str, Any]:
        """What an attestation derives from a trace file."""
        reached = len(calls) == 0 or calls["row"].max() < len(trace)
        observed = observation_digests(trace)
        return {
            "inference_calls": len(calls),
            "backend_calls": int(calls["backend_calls"].sum()),
            "trace_sha256": hashlib.sha256(trace_bytes(trace, calls)).hexdigest(),
            "observations": len(trace),
            "chain": trace_chain(trace, harness, scenario_id),
            "calls_chain": calls_chain(calls, observed, harness, scenario_id) if reached else "",
        }

    def fitting_calls(
        self, frozen: FrozenContract, trace: np.ndarray[Any, Any], calls: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any]:
        """Calls that fit an edited trace; the old ones where there can be none."""
        try:
            return self.calls(frozen, trace)
        except (IndexError, ValueError):
            return calls

    def edit_trace_file(
        self,
        folder: Path,
        document: dict[str, Any],
        position: int,
        edit: Callable[[Any, Any], tuple[Any, Any]],
        put: Callable[[Path, bytes], Any] = Path.write_bytes,
    ) -> None:
        """Edit the rows and calls of a trace, and make everything that follows from them fit."""
        episode = document["episodes"][position]
        path = folder / episode["attestation"]["trace_file"]
        kinds = trace_kinds(thaw(json.loads((folder / "contract.json").read_text())))
        file = parse_trace(path.read_bytes(), kinds, "")
        trace, calls = edit(file.rows.copy(), file.calls.copy())
        put(path, trace_bytes(trace, calls))
        harness, scenario_id = document["harness_contract_sha256"], episode["scenario_id"]
        attested = self.attested(trace, calls, harness, scenario_id)
        episode["attestation"].update(attested)
        durations = [100 + i for i in range(len(calls))]
        episode["timing"].update(inference_us=durations, **inference_times(durations))
        self.retime(document)

    @staticmethod
    def retime(document: dict[str, Any]) -> None:
        """Make the summary's times follow from the episodes."""
        episodes = [decode(Episode, episode) for episode in document["episodes"]]
        document["summary"]["inference"] = encode(latency_of(episodes))

    def document(self, spec: Spec, episodes: Sequence[Episode]) -> dict[str, Any]:
        """The result document."""
        return assemble_result(
            frozen=spec.frozen(),
            manifest=spec.manifest,
            identity=spec.identity(),
            episodes=episodes,
            run_id=f"run-{spec.run}",
            started_at=f"2026-01-01T0{spec.run}:00:00.000000+00:00",
            ended_at=f"2026-01-01T0{spec.run}:50:00.000000+00:00",
            warm_up=self.warm_up(spec),
            run_error=spec.run_error,
            qualification_id=spec.qualification_id,
        )

    @staticmethod
    def warm_up(spec: Spec) -> WarmUp | None:
        """What a policy did before the first reset."""
        adapter = spec.frozen().adapter
        if isinstance(adapter, LearnedAdapter):
            return WarmUp(1.5, 0.5, 1, BENCH.instruction)
        return WarmUp(0.5, None, 0, None) if isinstance(adapter, PolicyAdapter) else None

    def write(self, folder: Path, spec: Spec | None = None) -> Path:
        """Write a whole run folder, through the validator."""
        spec = spec or Spec()
        (folder / "traces").mkdir(parents=True)
        episodes = []
        for scenario, ending in zip(select(spec.manifest, spec.frozen().budget), spec.endings):
            if ending is None:
                continue
            trace = None
            if ending != "error_before_reset":
                trace = self.trace(spec, scenario, ending)
                path = folder / "traces" / f"{scenario.id}.npy"
                path.write_bytes(trace_bytes(trace, self.calls(spec.frozen(), trace)))
            ending = ending.partition("_before")[0]
            episodes.append(self.episode(spec, scenario, ending, trace))
        write_json(folder / "contract.json", spec.frozen().document)
        write_json(folder / "identity.json", encode(spec.identity()))
        write_json(folder / "manifest.json", encode(spec.manifest))
        write_result(
            folder,
            self.document(spec, episodes),
            frozen=spec.frozen(),
            manifest=spec.manifest,
            identity=spec.identity(),
        )
        return folder

    def rehash(self, document: dict[str, Any]) -> dict[str, Any]:
        """Make every hash of an edited result fit again, as a careful forger would."""
        for episode in document["episodes"]:
            episode["semantic_sha256"] = semantic_sha256(episode)
            episode["sha256"] = episode_sha256(episode)
        document["sha256"] = self_hash(document)
        return document


@pytest.fixture(scope="session")
def builder() -> Builder:
    return Builder()


@pytest.fixture(scope="session")
def good_run(builder: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run with each kind of ending that is not an error. Not to be changed."""
    spec = Spec(endings=("success", "control_rejected", "policy_stop", "step_limit"))
    return builder.write(tmp_path_factory.mktemp("good") / "run", spec)


Writer = Callable[..., Path]


@pytest.fixture(scope="session")
def material(builder: Builder, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A qualification, bound runs and promoted bundles. Not to be changed."""
    from bad.material import make_material

    return make_material(builder, tmp_path_factory.mktemp("material"))


@pytest.fixture
def forger(material: Any, builder: Builder, tmp_path: Path) -> Any:
    """Edits a copy of a valid bundle, whose rightful key it holds."""
    from bad.forger import Forger

    return Forger(shutil.copytree(material.bundle, tmp_path / "bundle"), builder, material.key)
