"""Typed optional capabilities of an environment: what a robot offers to a program beside the core.

An environment names those that it has in ``describe().tools`` and implements the method of that
name. Whoever wants one asks ``isinstance(environment, HasPlan)``.

Conventions of poses, commands and cameras are those of `robogate.records.robot`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from robogate.records.observation import FloatArray, Image
from robogate.records.robot import (
    ActionSpec,
    Calibration,
    IkResult,
    PlanResult,
    RobotProfile,
    RobotState,
)
from robogate.records.shield import Decision

#: Names that ``describe().tools`` may hold; each is the method of a protocol below.
CAPABILITIES = (
    "profile", "state", "tick", "render", "calibration", "fk", "ik", "plan", "policy_obs",
    "action_spec",
)  # fmt: skip


@runtime_checkable
class HasProfile(Protocol):
    """Says what the robot is."""

    def profile(self) -> RobotProfile:
        """Static facts; the same in every episode."""
        ...


@runtime_checkable
class HasState(Protocol):
    """Says what the robot feels, without rendering anything."""

    def state(self, episode_id: str) -> RobotState:
        """The present state.

        Raises:
            EpisodeError: ``out_of_order``: another episode is the present one.
        """
        ...


@runtime_checkable
class HasTick(Protocol):
    """Executes commands without rendering anything."""

    def tick(self, episode_id: str, step: int, command: FloatArray) -> Decision:
        """As `Environment.step`, but nothing is observed. The shield decides on every command.

        A rejected command executes nothing and does not advance the step.

        Args:
            episode_id: Of the state that the command was computed from.
            step: Its step.
            command: (n,) float64.

        Raises:
            EpisodeError: As `Environment.step`.
        """
        ...


@runtime_checkable
class HasRender(Protocol):
    """Renders single cameras."""

    def render(self, episode_id: str, cameras: Sequence[str]) -> Mapping[str, Image]:
        """Images of the cameras asked for, at the present state; no other is rendered.

        The same values as in the present observation. Each is rendered once.

        Raises:
            EpisodeError: ``out_of_order``: another episode is the present one.
        """
        ...


@runtime_checkable
class HasCalibration(Protocol):
    """Knows where its cameras are."""

    def calibration(self, episode_id: str) -> Mapping[str, Calibration]:
        """Every camera at the present state, by name; renders nothing."""
        ...


@runtime_checkable
class HasFk(Protocol):
    """Forward kinematics."""

    def fk(self, command: FloatArray) -> Mapping[str, FloatArray]:
        """Pose of each arm's ``link6`` at a command, (7,) by arm; nothing moves.

        Raises:
            UsageError: Wrong dimension or not finite.
        """
        ...


@runtime_checkable
class HasIk(Protocol):
    """Inverse kinematics."""

    def ik(self, episode_id: str, arm: str, pose: FloatArray) -> IkResult:
        """Joints of one arm that bring its ``link6`` to a pose, from the present joints.

        Args:
            episode_id: Of the present episode.
            arm: ``left`` or ``right``.
            pose: (7,).

        Raises:
            UsageError: No such arm, or no pose.
            EpisodeError: ``out_of_order``: another episode is the present one.
        """
        ...


@runtime_checkable
class HasPlan(Protocol):
    """Plans a motion of one arm, the other one held."""

    def plan(
        self,
        episode_id: str,
        arm: str,
        pose: FloatArray | None = None,
        joints: FloatArray | None = None,
        raw: bool = False,
    ) -> PlanResult:
        """Plan from the present command to a pose or to joints; nothing moves.

        Args:
            episode_id: Of the present episode.
            arm: ``left`` or ``right``.
            pose: Of ``link6``, (7,); exactly one of ``pose`` and ``joints`` is given.
            joints: (k,), rad.
            raw: Return the planner's own path instead of one waypoint a control period.

        Raises:
            UsageError: No such arm, both goals or none, or no pose.
            EpisodeError: ``out_of_order``: another episode is the present one.
        """
        ...


@runtime_checkable
class HasPolicyObs(Protocol):
    """Hands out observations in the form of another evaluation client."""

    def policy_obs(self, episode_id: str) -> Mapping[str, Any]:
        """What RoboDojo's evaluation client would hand a policy now.

        Values are JSON values, float64 arrays and (height, width, 3) uint8 images.
        """
        ...


@runtime_checkable
class HasActionSpec(Protocol):
    """Says what a policy that commands joints has to know."""

    def action_spec(self) -> ActionSpec:
        """Mounts, limits and rates."""
        ...


@runtime_checkable
class HasContract(Protocol):
    """Knows the contract that it was built from. No tool: it is for whoever serves it."""

    def contract(self) -> Mapping[str, Any]:
        """The contract's document; its adapter and its subset of scenarios mean nothing here."""
        ...
