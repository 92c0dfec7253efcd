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
from robogate.benches.rendering import CameraRenderer, GlContext, check_images
from robogate.contract.identity import GlIdentity, SimulatorIdentity, measure_process
from robogate.contract.strict import encode
from robogate.errors import EpisodeError, RunError, UsageError, nearest
from robogate.records.benches import BenchRules
from robogate.records.capabilities import CAPABILITIES
from robogate.records.contract import FrozenContract
from robogate.records.digests import registration_sha256
from robogate.records.environment import Description, Outcome, Registration, StepResult
from robogate.records.observation import FloatArray, Image, Observation
from robogate.records.shield import Decision
from robogate.scenes.dual_arm_config import DualArmBench

WORKER_PROTOCOL = 1
#: Verdicts after which the robot has moved.
EXECUTED = ("accept", "limit")


class DualArmEnvironment(Tools):
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
        import mujoco

        version = str(mujoco.__version__)
        if bench.simulator != "mujoco" or bench.simulator_version != version:
            raise RunError(
                f"bench.simulator is {bench.simulator} {bench.simulator_version}, installed is "
                f"mujoco {version}",
                code="contract_mismatch",
            )
        super().__init__(bench, frozen.renderer, frozen.budget.max_actions)
        self._document = frozen.document
        self._scenarios, self._rules = scenarios, rules
        self._shield = make_shield(bench, self._robot)
        self._version = version
        self._gl = GlContext(gl, frozen.renderer.width, frozen.renderer.height)
        self._registration: str | None = None
        self._episode: Episode | None = None

    def describe(self) -> Description:
        """Say what this environment is."""
        return Description(WORKER_PROTOCOL, self._bench.harness_id, self._bench.kind, CAPABILITIES)

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
            EpisodeError: ``reset_failed``: the scene cannot be built.
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
            simulation = DualArmSimulation(scene, self._bench, self._renderer)
        except ValueError as exc:  # what MuJoCo's compiler raises
            raise EpisodeError(
                f"scenario {scenario_id!r} cannot be built: {' '.join(str(exc).split())}",
                code="reset_failed",
            ) from exc
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
        if episode.tracker.judgement().success_at_reset:
            episode.failed = True
            raise RunError(
                f"scenario {scenario_id!r} is successful before the first action",
                code="success_at_reset",
            )
        return self.observe(episode.id)

    def step(self, episode_id: str, step: int, action: FloatArray) -> StepResult:
        """Execute one command if, and only if, it is the next one, and observe."""
        decision = self.tick(episode_id, step, action)
        if decision.verdict not in EXECUTED:
            return StepResult(False, decision.verdict, decision.reasons, None)
        observation = self.observe(episode_id)
        return StepResult(True, decision.verdict, decision.reasons, observation)

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
        episode = self._current(episode_id)
        if episode.failed:
            raise EpisodeError("the episode ended in an error; reset", code="out_of_order")
        if step != episode.steps or type(step) is not int:
            raise EpisodeError(
                f"action is for step {step!r}, the next is {episode.steps}; nothing moved",
                code="out_of_order",
            )
        if self._done(episode):
            raise EpisodeError("the episode takes no more actions; reset", code="out_of_order")
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
        if not episode.simulation.finite():
            raise EpisodeError(
                f"the simulation holds a value that is not finite after action {step}",
                code="simulator_nan",
            )
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

    def outcome(self, episode_id: str) -> Outcome:
        """Return how the episode stands."""
        episode = self._current(episode_id)
        success = bool(episode.tracker.success)
        return Outcome(success, episode.steps, success, False, None, None)

    def close(self) -> None:
        """Release the GL context."""
        self._end_episode()
        self._gl.close()

    def _current(self, episode_id: str) -> Episode:
        if self._episode is None or self._episode.id != episode_id:
            raise EpisodeError(
                f"episode {episode_id!r:.80} is not the present one; nothing moved",
                code="out_of_order",
            )
        return self._episode

    def _simulation(self, episode_id: str) -> tuple[DualArmSimulation, int, bool]:
        """An episode's simulation, its step and whether it has ended, for the tools."""
        episode = self._current(episode_id)
        return episode.simulation, episode.steps, episode.failed or self._done(episode)

    def _done(self, episode: Episode) -> bool:
        return bool(episode.tracker.success) or episode.steps >= self._max_actions

    def _end_episode(self) -> None:
        if self._episode is not None:
            self._episode.cameras.close()
            self._episode = None

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
