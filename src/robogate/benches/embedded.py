"""What every environment on the embedded simulator does: who acts, which scene, what comes next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, Protocol, TypeVar

from robogate.benches.rendering import CameraRenderer, GlContext
from robogate.contract.identity import GlIdentity, SimulatorIdentity, measure_process
from robogate.contract.strict import encode
from robogate.errors import EpisodeError, RunError, nearest
from robogate.records.digests import registration_sha256
from robogate.records.environment import Description, Outcome, Registration

WORKER_PROTOCOL = 1


class PresentEpisode(Protocol):
    """What belongs to one episode and ends with it, as far as every bench has it."""

    id: str
    scenario_id: str
    cameras: CameraRenderer
    tracker: Any
    steps: int
    failed: bool


E = TypeVar("E", bound=PresentEpisode)


def require_mujoco(simulator: str, version: str) -> str:
    """Return the version of MuJoCo here.

    Raises:
        RunError: It is not the simulator that the contract's bench names.
    """
    import mujoco

    installed = str(mujoco.__version__)
    if simulator != "mujoco" or version != installed:
        raise RunError(
            f"bench.simulator is {simulator} {version}, installed is mujoco {installed}",
            code="contract_mismatch",
        )
    return installed


class EmbeddedEnvironment(Generic[E]):
    """The part of `robogate.records.environment.Environment` that no bench has for itself."""

    def __init__(
        self,
        description: Description,
        document: Mapping[str, Any],
        scenarios: Mapping[str, tuple[int, Any]],
        version: str,
        gl: GlContext,
    ) -> None:
        """Take what stays the same from episode to episode.

        Args:
            description: What this environment is.
            document: The contract's.
            scenarios: Scenario id to seed and resolved scene.
            version: Of MuJoCo.
            gl: Open OpenGL context; closed with the environment.
        """
        self._description, self._document = description, document
        self._scenarios, self._version, self._gl = scenarios, version, gl
        self._registration: str | None = None
        self._episode: E | None = None

    def describe(self) -> Description:
        """Say what this environment is."""
        return self._description

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

    def outcome(self, episode_id: str) -> Outcome:
        """Return how the episode stands."""
        episode = self._current(episode_id)
        success = bool(episode.tracker.success)
        return Outcome(success, episode.steps, success, False, None, None)

    def close(self) -> None:
        """Release the GL context."""
        self._end_episode()
        self._gl.close()

    def _scene(self, scenario_id: str, seed: int) -> Any:
        """The resolved scene that a reset asks for.

        Raises:
            RunError: Nobody is registered, or the manifest has no such scenario or seed.
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
        return scene

    def _current(self, episode_id: str) -> E:
        """The present episode, if it is that one."""
        if self._episode is None or self._episode.id != episode_id:
            raise EpisodeError(
                f"episode {episode_id!r:.80} is not the present one; nothing moved",
                code="out_of_order",
            )
        return self._episode

    def _next(self, episode_id: str, step: int) -> E:
        """The present episode, if it is that one and takes an action for that step next."""
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
        return episode

    def _done(self, episode: E) -> bool:
        """Whether an episode takes no more actions."""
        raise NotImplementedError

    def _end_episode(self) -> None:
        """Release what belongs to the present episode."""
        if self._episode is not None:
            self._episode.cameras.close()
            self._episode = None


@contextmanager
def building(scenario_id: str) -> Iterator[None]:
    """Say which scenario's scene the simulator refuses to build."""
    try:
        yield
    except ValueError as exc:  # what MuJoCo's compiler raises
        raise EpisodeError(
            f"scenario {scenario_id!r} cannot be built: {' '.join(str(exc).split())}",
            code="reset_failed",
        ) from exc


def refuse_success_at_reset(episode: PresentEpisode) -> None:
    """End an episode that is successful before the first action.

    Raises:
        RunError: ``success_at_reset``.
    """
    if episode.tracker.judgement().success_at_reset:
        episode.failed = True
        raise RunError(
            f"scenario {episode.scenario_id!r} is successful before the first action",
            code="success_at_reset",
        )


def require_finite(finite: bool, step: int) -> None:
    """Refuse a state that is not one.

    Raises:
        EpisodeError: ``simulator_nan``.
    """
    if not finite:
        raise EpisodeError(
            f"the simulation holds a value that is not finite after action {step}",
            code="simulator_nan",
        )
