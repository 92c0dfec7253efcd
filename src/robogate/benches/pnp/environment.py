"""The embedded pick-and-place environment: reset, step, observe, and nothing in between."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robogate.benches.actions import ActionCheck
from robogate.benches.pnp.readback import AppliedScene
from robogate.benches.pnp.robot import load_meshes
from robogate.benches.pnp.simulation import PnpSimulation
from robogate.benches.rendering import CameraRenderer, GlContext, check_images
from robogate.benches.simulator_log import route_warnings
from robogate.contract.identity import GlIdentity, SimulatorIdentity, measure_process
from robogate.contract.schema import Renderer
from robogate.contract.strict import encode
from robogate.errors import EpisodeError, RunError, nearest
from robogate.records.digests import registration_sha256
from robogate.records.environment import Description, Outcome, Registration, StepResult
from robogate.records.observation import Evaluator, FloatArray, Observation
from robogate.scenes.pnp_config import PnpBench

WORKER_PROTOCOL = 1
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


class PnpEnvironment:
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
        import mujoco

        route_warnings()
        version = str(mujoco.__version__)
        if bench.simulator != "mujoco" or bench.simulator_version != version:
            raise RunError(
                f"bench.simulator is {bench.simulator} {bench.simulator_version}, installed is "
                f"mujoco {version}",
                code="contract_mismatch",
            )
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
        self._document = dict(document or {})
        self._scenarios, self._rules = scenarios, rules
        self._version = version
        self._action = ActionCheck(bench.action)
        self._meshes = load_meshes(meshes)
        self._gl = GlContext(gl, renderer.width, renderer.height)
        self._registration: str | None = None
        self._episode: _Episode | None = None

    def describe(self) -> Description:
        """Say what this environment is."""
        return Description(WORKER_PROTOCOL, self._bench.harness_id, self._bench.kind, ())

    def contract(self) -> Mapping[str, Any]:
        """The contract's document."""
        return self._document

    def identity(self) -> Mapping[str, Any]:
        """Report this process: software, simulator, GL strings, hardware, host."""
        gl = GlIdentity(backend=self._gl.backend, **self._gl.strings())
        simulator = SimulatorIdentity("mujoco", self._version)
        process = measure_process(
            simulator=simulator, gl=gl, distributions=("mujoco", "mujoco-core", "PyOpenGL")
        )
        identity: Mapping[str, Any] = encode(process)
        return identity

    def register(self, registration: Registration) -> str:
        """Bind who acts."""
        self._registration = registration_sha256(registration)
        return self._registration

    def reset(self, scenario_id: str, seed: int) -> Observation:
        """Build the scene anew and return observation 0.

        Raises:
            RunError: Nobody is registered, the manifest has no such scenario or seed, or the scene
                is already successful.
        """
        if self._registration is None:
            raise RunError(
                "reset before register: say who acts first", code="registration_mismatch"
            )
        if scenario_id not in self._scenarios:
            raise RunError(
                f"scenario {scenario_id!r} is not in the manifest; "
                f"{nearest(scenario_id, self._scenarios)}",
                code="wrong_scenario",
            )
        manifest_seed, scene = self._scenarios[scenario_id]
        if seed != manifest_seed:
            raise RunError(
                f"scenario {scenario_id!r} has seed {manifest_seed} in the manifest, asked for "
                f"{seed}",
                code="wrong_scenario",
            )
        self._end_episode()
        try:
            simulation = PnpSimulation(scene, self._bench, self._renderer, self._meshes)
        except ValueError as exc:  # what MuJoCo's compiler raises
            raise EpisodeError(
                f"scenario {scenario_id!r} cannot be built: {' '.join(str(exc).split())}",
                code="reset_failed",
            ) from exc
        self._episode = episode = _Episode(
            uuid.uuid4().hex, scenario_id, seed, simulation,
            CameraRenderer(
                self._gl, simulation.model, self._renderer, self._renderer.cameras,
                self._bench.image_row_order,
            ),
            AppliedScene(simulation, scene), self._rules.tracker(self._bench, scene),
        )  # fmt: skip
        observation = self._observe(episode, iterations=0)
        if episode.tracker.judgement().success_at_reset:
            episode.failed = True
            raise RunError(
                f"scenario {scenario_id!r} is successful before the first action",
                code="success_at_reset",
            )
        return observation

    def step(self, episode_id: str, step: int, action: FloatArray) -> StepResult:
        """Execute one action if, and only if, it is the next one."""
        episode = self._current(episode_id)
        if episode.failed:
            raise EpisodeError("the episode ended in an error; reset", code="out_of_order")
        if step != episode.steps or type(step) is not int:
            raise EpisodeError(
                f"action is for step {step!r}, the next is {episode.steps}; nothing moved",
                code="out_of_order",
            )
        if episode.observation is not None and episode.observation.done:
            raise EpisodeError("the episode takes no more actions; reset", code="out_of_order")
        action = self._action.require(action)
        command = episode.simulation.solve(action)
        if command is None:
            reason = "no joint configuration within limits reaches the requested pose"
            return StepResult(False, "control_rejected", (reason,), None)
        # From here on the motion may have happened: the same key is never executed again.
        episode.steps += 1
        episode.failed = True
        episode.simulation.execute(step, command, float(action[6]))
        if not episode.simulation.sensors.finite():
            raise EpisodeError(
                f"the simulation holds a value that is not finite after action {step}",
                code="simulator_nan",
            )
        observation = self._observe(episode, command.iterations)
        episode.failed = False
        return StepResult(True, "accept", (), observation)

    def observe(self, episode_id: str) -> Observation:
        """Return the present observation again."""
        observation = self._current(episode_id).observation
        if observation is None:
            raise EpisodeError("the episode has no observation; reset", code="out_of_order")
        return observation

    def outcome(self, episode_id: str) -> Outcome:
        """Return how the episode stands."""
        episode = self._current(episode_id)
        success = bool(episode.tracker.success)
        return Outcome(success, episode.steps, success, False, None, None)

    def close(self) -> None:
        """Release the GL context."""
        self._end_episode()
        self._gl.close()

    def _current(self, episode_id: str) -> _Episode:
        if self._episode is None or self._episode.id != episode_id:
            raise EpisodeError(
                f"episode {episode_id!r:.80} is not the present one; nothing moved",
                code="out_of_order",
            )
        return self._episode

    def _end_episode(self) -> None:
        if self._episode is not None:
            self._episode.cameras.close()
            self._episode = None

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
