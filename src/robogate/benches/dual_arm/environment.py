"""The embedded dual-arm environment: reset, step, observe, and its tools."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from robogate.benches.dual_arm.episode import Episode
from robogate.benches.dual_arm.readback import AppliedScene
from robogate.benches.dual_arm.shielding import make_shield
from robogate.benches.dual_arm.simulation import DualArmSimulation
from robogate.benches.dual_arm.tools import Tools
from robogate.benches.embedded import (
    WORKER_PROTOCOL,
    EmbeddedEnvironment,
    building,
    refuse_success_at_reset,
    require_finite,
    require_mujoco,
)
from robogate.benches.rendering import CameraRenderer, GlContext, check_images
from robogate.errors import EpisodeError, UsageError, nearest
from robogate.records.benches import BenchRules
from robogate.records.capabilities import CAPABILITIES
from robogate.records.contract import FrozenContract
from robogate.records.environment import Description, StepResult
from robogate.records.observation import FloatArray, Image, Observation
from robogate.records.shield import Decision
from robogate.scenes.dual_arm_config import DualArmBench

#: Verdicts after which the robot has moved.
EXECUTED = ("accept", "limit")


class DualArmEnvironment(EmbeddedEnvironment[Episode], Tools):
    """Implements `robogate.records.environment.Environment` on MuJoCo."""

    def __init__(
        self,
        frozen: FrozenContract,
        bench: DualArmBench,
        scenarios: Mapping[str, tuple[int, Any]],
        rules: BenchRules,
        gl: str,
    ) -> None:
        """Open the GL context.

        Args:
            frozen: The contract.
            bench: Its bench.
            scenarios: Scenario id to seed and resolved `DualArmScene`.
            rules: The bench's rules; its tracker judges.
            gl: OpenGL backend.

        Raises:
            RunError: The simulator is another version than the contract's.
            UsageError: No OpenGL.
        """
        version = require_mujoco(bench.simulator, bench.simulator_version)
        Tools.__init__(self, bench, frozen.renderer, frozen.budget.max_actions)
        self._rules = rules
        self._shield = make_shield(bench, self._robot)
        EmbeddedEnvironment.__init__(
            self,
            Description(WORKER_PROTOCOL, bench.harness_id, bench.kind, CAPABILITIES),
            frozen.document,
            scenarios,
            version,
            GlContext(gl, frozen.renderer.width, frozen.renderer.height),
        )

    def reset(self, scenario_id: str, seed: int) -> Observation:
        """Build the scene anew and return observation 0.

        Raises:
            RunError: Nobody is registered, the manifest has no such scenario or seed, or the scene
                is already successful.
            EpisodeError: ``reset_failed``: the scene cannot be built.
        """
        scene = self._scene(scenario_id, seed)
        self._end_episode()
        with building(scenario_id):
            simulation = DualArmSimulation(scene, self._bench, self._renderer)
        self._shield.reset(simulation.command)
        cameras = CameraRenderer(
            self._gl, simulation.model, self._renderer, self._renderer.cameras,
            self._bench.image_row_order,
        )  # fmt: skip
        self._episode = episode = Episode(
            uuid.uuid4().hex, scenario_id, seed, simulation, cameras,
            AppliedScene(simulation, scene.task), self._rules.tracker(self._bench, scene),
            simulation.watch.facts(),
        )  # fmt: skip
        episode.tracker.update(episode.facts)
        refuse_success_at_reset(episode)
        return self.observe(episode.id)

    def step(self, episode_id: str, step: int, action: FloatArray) -> StepResult:
        """Execute one command if, and only if, it is the next one, and observe."""
        decision = self.tick(episode_id, step, action)
        if decision.verdict not in EXECUTED:
            return StepResult(False, decision.verdict, decision.reasons, None)
        observation = self.observe(episode_id)
        instead = decision.command if decision.verdict == "limit" else None
        return StepResult(True, decision.verdict, decision.reasons, observation, instead)

    def tick(self, episode_id: str, step: int, command: FloatArray) -> Decision:
        """Execute one command if, and only if, it is the next one; render nothing.

        The shield decides on it; a rejected one executes nothing and does not advance the step.

        Args:
            episode_id: Of the state that the command was computed from.
            step: Its step.
            command: Absolute joint targets and gripper openings, (14,) float64.

        Raises:
            EpisodeError: Wrong type or shape, not finite, stale or out of order; nothing moved.
        """
        episode = self._next(episode_id, step)
        decision = self._shield.check(command)
        if decision.verdict not in EXECUTED:
            return decision
        episode.decision = decision
        # From here on the motion may have happened: the same key is never executed again.
        episode.steps += 1
        episode.limited += decision.verdict == "limit"
        episode.failed = True
        episode.observation, episode.images = None, {}
        episode.simulation.execute(decision.command)
        require_finite(episode.simulation.finite(), step)
        episode.facts = episode.simulation.watch.facts()
        episode.tracker.update(episode.facts)
        episode.failed = False
        return decision

    def observe(self, episode_id: str) -> Observation:
        """Return the present observation; its images are rendered when first asked for.

        Nothing moves between an action and the next, so it is the same whenever that is.
        """
        episode = self._current(episode_id)
        if episode.failed:
            raise EpisodeError("the episode has no observation; reset", code="out_of_order")
        if episode.observation is None:
            episode.observation = self._observation(episode)
        return episode.observation

    def render(self, episode_id: str, cameras: Sequence[str]) -> Mapping[str, Image]:
        """Images of the cameras asked for, at the present state; no other is rendered.

        Raises:
            UsageError: There is no such camera.
            EpisodeError: ``out_of_order``: another episode is the present one.
        """
        episode = self._current(episode_id)
        for name in cameras:
            if name not in self._renderer.cameras:
                hint = nearest(name, self._renderer.cameras)
                raise UsageError(f"no camera {name!r:.40}; {hint}", code="camera")
        return episode.draw(cameras)

    def _simulation(self, episode_id: str) -> tuple[DualArmSimulation, int, bool]:
        """An episode's simulation, its step and whether it has ended, for the tools."""
        episode = self._current(episode_id)
        return episode.simulation, episode.steps, episode.failed or self._done(episode)

    def _done(self, episode: Episode) -> bool:
        return bool(episode.tracker.success) or episode.steps >= self._max_actions

    def _observation(self, episode: Episode) -> Observation:
        simulation = episode.simulation
        images = episode.draw(self._renderer.cameras)
        check_images(images)
        state = simulation.state()
        for array in (*state.values(), episode.facts):
            array.setflags(write=False)
        return Observation(
            protocol_version=self._bench.protocol_version,
            episode_id=episode.id,
            step=episode.steps,
            instruction=self._bench.instruction,
            state=state,
            images=images,
            registration_sha256=str(self._registration),
            done=self._done(episode),
            evaluator=episode.evaluator(),
        )
