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
from robogate.records.contract import FrozenContract, freeze
from robogate.records.digests import (
    registration_sha256,
    trace_bytes,
    trace_chain,
    trace_dtype,
)
from robogate.records.episode_hash import episode_sha256, seal_episode, semantic_sha256
from robogate.records.registration import registration_of
from robogate.records.result import Attestation, Episode, EpisodeTiming, ErrorInfo
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
        adapter: ``zero`` or ``oracle``.
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
        last = {"control_rejected": (2, len(facts)), "policy_stop": (3, len(facts))}
        trace["has_action"][-1], trace["inference"][-1] = last.get(ending, (0, 0))
        if trace["has_action"][-1] in (0, 3):
            trace["action"][-1] = 0.0
        return trace

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
        attestation = applied = None
        if trace is not None:
            judgement = RULES.judge(BENCH, scene, trace["facts"])
            applied = RULES.expected_readback(BENCH, spec.renderer, scene, 0)
            attestation = Attestation(
                prompt=BENCH.instruction,
                inference_calls=int(trace["inference"].max()),
                trace_file=f"traces/{scenario.id}.npy",
                trace_sha256=hashlib.sha256(trace_bytes(trace)).hexdigest(),
                observations=len(trace),
                chain=trace_chain(trace, frozen.harness_sha256, scenario.id),
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
                inference_s=0.1,
                inference_max_s=0.01,
            ),
            diagnostics={"note": "made up", "value": 1.5},
            error=error if ending == "error" else None,
            semantic_sha256="",
            sha256="",
        )
        return seal_episode(episode)

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
            run_error=spec.run_error,
            qualification_id=spec.qualification_id,
        )

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
                path.write_bytes(trace_bytes(trace))
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
