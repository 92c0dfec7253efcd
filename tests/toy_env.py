"""A test double: pick-and-place without physics, under the real bench's rules.

A gripper is a point that goes where it is told; a block that it closes on comes along, and one that
it opens on lies on the table at once. Readback comes from the product's own derivation and images
are noise drawn from the seed: what is tested with it is how episodes are run, never a simulator.
Faults are asked for by scenario id, as ``{id: [kind, step]}``; step −1 is the reset.
"""

from __future__ import annotations

import os
import signal
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from robogate.contract.strict import encode
from robogate.errors import EpisodeError, RunError
from robogate.records.benches import bench_rules
from robogate.records.contract import FrozenContract, thaw
from robogate.records.digests import registration_sha256
from robogate.records.environment import Description, Outcome, Registration, StepResult
from robogate.records.observation import Evaluator, FloatArray, Observation
from robogate.scenes.manifest import Scenario, load_manifest
from robogate.scenes.pnp_readback import applied_steps
from robogate.scenes.readback import seal

OPEN_WIDTH = 0.08
REACH = 0.005


class ToyEnvironment:
    """Implements `robogate.records.environment.Environment`."""

    def __init__(
        self,
        frozen: FrozenContract,
        scenarios: Mapping[str, Scenario],
        faults: Mapping[str, Any],
    ) -> None:
        self._frozen = frozen
        self._rules = bench_rules(frozen.bench.kind)
        self._scenarios = scenarios
        self._faults = faults
        self._registration = ""

    def describe(self) -> Description:
        return Description(1, self._frozen.bench.harness_id, self._frozen.bench.kind, ())

    def identity(self) -> Mapping[str, Any]:
        return {"simulator": {"name": "toy", "version": "1"}, "host": {"name": "here"}}

    def register(self, registration: Registration) -> str:
        self._registration = registration_sha256(registration)
        return self._registration

    def reset(self, scenario_id: str, seed: int) -> Observation:
        scenario = self._scenarios[scenario_id]
        if seed != scenario.seed:
            raise RunError("wrong seed", code="wrong_scenario")
        self._scenario = scenario
        bench = self._frozen.bench
        self._scene = self._rules.resolve(bench, scenario.variant, scenario.seed)
        self._expectation = self._rules.expectation(bench, self._frozen.renderer, self._scene)
        self._tracker = self._rules.tracker(bench, self._scene)
        self._episode_id = uuid.uuid4().hex
        self._steps = 0
        self._block = np.array(self._scene.object.position)
        self._rest = float(self._block[2])
        self._grip = self._block + np.array([-0.1, 0.05, 0.15])
        self._width = OPEN_WIDTH
        self._held = False
        return self._damaged(self._observe(), -1)

    def step(self, episode_id: str, step: int, action: FloatArray) -> StepResult:
        if (episode_id, step) != (self._episode_id, self._steps):
            raise EpisodeError("not the next step", code="out_of_order")
        goal = self._grip + 0.05 * action[:3]
        if np.abs(goal).max() > 1.5:
            return StepResult(False, "control_rejected", ("out of reach",), None)
        self._grip = goal
        if self._held:
            self._block = goal.copy()
        if action[6] < 0.0:
            self._width = OPEN_WIDTH
            if self._held:
                self._block[2] = self._rest
            self._held = False
        elif not self._held:
            self._held = bool(np.linalg.norm(self._grip - self._block) <= REACH)
            self._width = self._scene.object.size[0] if self._held else 0.0
        self._steps += 1
        return StepResult(True, "accept", (), self._damaged(self._observe(), step))

    def observe(self, episode_id: str) -> Observation:
        return self._observation

    def outcome(self, episode_id: str) -> Outcome:
        success = self._tracker.success
        return Outcome(success, self._steps, success, False, None, None)

    def close(self) -> None:
        pass

    def _observe(self) -> Observation:
        bench, renderer = self._frozen.bench, self._frozen.renderer
        facts = np.array(
            [
                *self._block,
                *self._scene.object.orientation,
                0.0,
                float(np.linalg.norm(self._grip - self._block)),
                self._width,
                float(self._held),
                float(applied_steps(bench, self._scene, self._steps)),  # type: ignore[arg-type]
            ]
        )
        self._tracker.update(facts)
        noise = np.random.default_rng([self._scenario.seed, self._steps])
        shape = (renderer.height, renderer.width, 3)
        success = self._tracker.success
        self._observation = Observation(
            protocol_version=bench.protocol_version,
            episode_id=self._episode_id,
            step=self._steps,
            instruction=bench.instruction,
            state={
                "joint_position": np.zeros(7),
                "finger_position": np.full(2, self._width / 2),
                "ee_position": self._grip.copy(),
                "ee_orientation": np.array([0.0, 1.0, 0.0, 0.0]),
            },
            images={
                name: noise.integers(0, 256, shape, dtype=np.uint8) for name in renderer.cameras
            },
            registration_sha256=self._registration,
            done=success or self._steps >= self._frozen.budget.max_actions,
            evaluator=Evaluator(
                scenario_id=self._scenario.id,
                seed=self._scenario.seed,
                applied_scene=self._expectation.at(self._steps),
                success=success,
                facts=facts,
                diagnostics={"contacts": 0},
            ),
        )
        return self._observation

    def _damaged(self, observation: Observation, step: int) -> Observation:
        kind, at = self._faults.get(self._scenario.id, ["", None])
        if at != step:
            return observation
        misbehave(kind)
        return damage(observation, kind)


def misbehave(kind: str) -> None:
    """What a process can do wrong."""
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "hang":
        time.sleep(3600)
    elif kind == "raise":
        raise ZeroDivisionError("in the simulator")
    elif kind == "nan_error":
        raise EpisodeError("qpos is not finite", code="simulator_nan")


def damage(seen: Observation, kind: str) -> Observation:
    """What an observation can say wrong; an unknown kind changes nothing."""
    half = seen.evaluator
    assert half is not None
    images = dict(seen.images)
    if kind == "identical":
        images["wrist"] = images["primary"].copy()
        return replace(seen, images=images)
    if kind == "blank":
        images["wrist"] = np.full_like(images["wrist"], 7)
        return replace(seen, images=images)
    if kind == "camera":
        del images["wrist"]
        return replace(seen, images=images)
    if kind == "small":
        images["wrist"] = images["wrist"][1:]
        return replace(seen, images=images)
    if kind == "state_nan":
        position = seen.state["ee_position"].copy()
        position[1] = np.nan
        return replace(seen, state={**seen.state, "ee_position": position})
    if kind == "state_name":
        return replace(seen, state={**seen.state, "extra": np.zeros(1)})
    if kind == "facts_inf":
        return replace(seen, evaluator=replace(half, facts=np.full(half.facts.shape, np.inf)))
    if kind == "facts_flag":
        facts = half.facts.copy()
        facts[10] = 0.5
        return replace(seen, evaluator=replace(half, facts=facts))
    if kind == "protocol":
        return replace(seen, protocol_version="1.0.0")
    if kind == "registration":
        return replace(seen, registration_sha256="")
    if kind == "episode":
        return replace(seen, episode_id="another")
    if kind == "step":
        return replace(seen, step=seen.step + 1)
    if kind == "instruction":
        return replace(seen, instruction="pick up the blue block")
    if kind == "done":
        return replace(seen, done=True)
    if kind == "no_evaluator":
        return replace(seen, evaluator=None)
    if kind == "success":
        return replace(seen, evaluator=replace(half, success=not half.success))
    if kind == "seed":
        return replace(seen, evaluator=replace(half, seed=half.seed + 1))
    if kind == "scenario":
        return replace(seen, evaluator=replace(half, scenario_id="99_other_00"))
    if kind.startswith("readback"):
        return replace(seen, evaluator=replace(half, applied_scene=_edited(kind, half)))
    return seen


def _edited(kind: str, half: Evaluator) -> Mapping[str, Any]:
    document = encode(half.applied_scene)
    if kind == "readback_hash":
        document["sha256"] = "0" * 64
        return dict(document)
    if kind == "readback_missing":
        del document["object"]["mass"]
    elif kind == "readback_type":
        document["object"]["mass"] = 1
    else:
        document["object"]["mass"] *= 1.001
    document.pop("sha256")
    return seal(document)


def create(
    contract: dict[str, Any],
    manifest: str,
    faults: Mapping[str, Any] | None = None,
) -> ToyEnvironment:
    """As the real bench's factory, with faults."""
    scenarios = {s.id: s for s in load_manifest(Path(manifest)).scenarios}
    return ToyEnvironment(thaw(contract), scenarios, faults or {})
