"""The embedded pick-and-place environment: reset, step, observe, and nothing in between."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robogate.benches.actions import ActionCheck
from robogate.benches.embedded import (
    WORKER_PROTOCOL,
    EmbeddedEnvironment,
    building,
    refuse_success_at_reset,
    require_finite,
    require_mujoco,
)
from robogate.benches.pnp.readback import AppliedScene
from robogate.benches.pnp.robot import load_meshes
from robogate.benches.pnp.simulation import PnpSimulation
from robogate.benches.rendering import CameraRenderer, GlContext, check_images
from robogate.benches.simulator_log import route_warnings
from robogate.contract.schema import Renderer
from robogate.errors import EpisodeError, RunError
from robogate.records.environment import Description, StepResult
from robogate.records.observation import Evaluator, FloatArray, Observation
from robogate.scenes.pnp_config import PnpBench

RENDERER_KIND = "mujoco"
ROW_ORDER = "bottom_first"


@dataclass
class _Episode:
    """What belongs to one episode and ends with it."""

    id: str
    scenario_id: str
    seed: int
    simulation: PnpSimulation
    cameras: CameraRenderer
    readback: AppliedScene
    tracker: Any
    observation: Observation | None = None
    steps: int = 0
    failed: bool = False


class PnpEnvironment(EmbeddedEnvironment[_Episode]):
    """Implements `robogate.records.environment.Environment` on MuJoCo."""

    def __init__(
        self,
        bench: PnpBench,
        renderer: Renderer,
        max_actions: int,
        scenarios: Mapping[str, tuple[int, Any]],
        rules: Any,
        meshes: Path,
        gl: str,
        document: Mapping[str, Any] | None = None,
    ) -> None:
        """Read the meshes and open the GL context.

        Args:
            bench: The bench.
            renderer: How images come about.
            max_actions: Actions after which an episode is done.
            scenarios: Scenario id to seed and resolved `PnpScene`.
            rules: The bench's rules; its tracker judges.
            meshes: Folder of the robot's meshes.
            gl: OpenGL backend.
            document: Of the contract that the rest comes from, for whoever asks.

        Raises:
            RunError: The simulator is another version than the contract's.
            UsageError: No OpenGL.
        """
        route_warnings()
        version = require_mujoco(bench.simulator, bench.simulator_version)
        for key, value, expected in (
            ("renderer.kind", renderer.kind, RENDERER_KIND),
            ("bench.image_row_order", bench.image_row_order, ROW_ORDER),
        ):
            if value != expected:
                raise RunError(
                    f"{key} is {value!r}, this environment offers {expected!r}",
                    code="contract_mismatch",
                )
        self._bench, self._renderer, self._max_actions = bench, renderer, max_actions
        self._rules = rules
        self._action = ActionCheck(bench.action)
        self._meshes = load_meshes(meshes)
        super().__init__(
            Description(WORKER_PROTOCOL, bench.harness_id, bench.kind, ()),
            dict(document or {}),
            scenarios,
            version,
            GlContext(gl, renderer.width, renderer.height),
        )

    def reset(self, scenario_id: str, seed: int) -> Observation:
        """Build the scene anew and return observation 0.

        Raises:
            RunError: Nobody is registered, the manifest has no such scenario or seed, or the scene
                is already successful.
        """
        scene = self._scene(scenario_id, seed)
        self._end_episode()
        with building(scenario_id):
            simulation = PnpSimulation(scene, self._bench, self._renderer, self._meshes)
        self._episode = episode = _Episode(
            uuid.uuid4().hex, scenario_id, seed, simulation,
            CameraRenderer(
                self._gl, simulation.model, self._renderer, self._renderer.cameras,
                self._bench.image_row_order,
            ),
            AppliedScene(simulation, scene), self._rules.tracker(self._bench, scene),
        )  # fmt: skip
        observation = self._observe(episode, iterations=0)
        refuse_success_at_reset(episode)
        return observation

    def step(self, episode_id: str, step: int, action: FloatArray) -> StepResult:
        """Execute one action if, and only if, it is the next one."""
        episode = self._next(episode_id, step)
        action = self._action.require(action)
        command = episode.simulation.solve(action)
        if command is None:
            reason = "no joint configuration within limits reaches the requested pose"
            return StepResult(False, "control_rejected", (reason,), None)
        # From here on the motion may have happened: the same key is never executed again.
        episode.steps += 1
        episode.failed = True
        episode.simulation.execute(step, command, float(action[6]))
        require_finite(episode.simulation.sensors.finite(), step)
        observation = self._observe(episode, command.iterations)
        episode.failed = False
        return StepResult(True, "accept", (), observation)

    def observe(self, episode_id: str) -> Observation:
        """Return the present observation again."""
        observation = self._current(episode_id).observation
        if observation is None:
            raise EpisodeError("the episode has no observation; reset", code="out_of_order")
        return observation

    def _done(self, episode: _Episode) -> bool:
        return episode.observation is not None and episode.observation.done

    def _observe(self, episode: _Episode, iterations: int) -> Observation:
        simulation = episode.simulation
        sensors, attachment = simulation.sensors, simulation.attachment
        facts = sensors.facts(attachment.held, simulation.push_steps)
        episode.tracker.update(facts)
        images = episode.cameras.render(simulation.data)
        check_images(images)
        success = bool(episode.tracker.success)
        state = sensors.state()
        for array in (*state.values(), facts):
            array.setflags(write=False)
        episode.observation = Observation(
            protocol_version=self._bench.protocol_version,
            episode_id=episode.id,
            step=episode.steps,
            instruction=self._bench.instruction,
            state=state,
            images=images,
            registration_sha256=str(self._registration),
            done=success or episode.steps >= self._max_actions,
            evaluator=Evaluator(
                scenario_id=episode.scenario_id,
                seed=episode.seed,
                applied_scene=episode.readback.read(),
                success=success,
                facts=facts,
                diagnostics={
                    "ik_iterations": iterations,
                    "contacts": int(simulation.data.ncon),
                    "opening": attachment.opening(),
                },
            ),
        )
        return episode.observation
