"""The one policy interface: one session per episode, and no state shared between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from robogate.records.observation import FloatArray, Observation, PolicyObservation


@dataclass(frozen=True)
class Stop:
    """A policy's explicit wish to end the episode; an outcome, never an error.

    Attributes:
        reason: For the record.
    """

    reason: str = ""


@dataclass(frozen=True)
class Privileged:
    """What a harness control may see beyond a policy: it says so, and is never ranked.

    Attributes:
        scenario_id: Of the manifest.
        scene: The resolved scene spec.
        observation: The whole observation, evaluator half included.
    """

    scenario_id: str
    scene: Any
    observation: Observation


Chunk = Sequence[FloatArray]


@runtime_checkable
class PolicySession(Protocol):
    """One episode of a policy."""

    def infer(self, observation: PolicyObservation) -> Chunk | Stop:
        """Return the next actions, at least one, each (n,) float64; or `Stop`."""
        ...

    def close(self) -> None:
        """The episode is over."""
        ...


@runtime_checkable
class Policy(Protocol):
    """A loaded policy."""

    def identity(self) -> Mapping[str, Any]:
        """Report the imported source's identity, as plain JSON values."""
        ...

    def open_session(self, instruction: str) -> PolicySession:
        """Begin an episode with fresh state."""
        ...

    def close(self) -> None:
        """Release the model; may be called twice."""
        ...


@runtime_checkable
class PrivilegedSession(Protocol):
    """One episode of a scripted control that acts through the same actions as any policy."""

    def infer_privileged(self, view: Privileged) -> Chunk | Stop:
        """As `PolicySession.infer`, with the scene in view."""
        ...

    def close(self) -> None:
        """The episode is over."""
        ...


@runtime_checkable
class PrivilegedPolicy(Protocol):
    """A loaded control whose sessions see the scene."""

    def identity(self) -> Mapping[str, Any]:
        """As `Policy.identity`."""
        ...

    def open_session(self, instruction: str) -> PrivilegedSession:
        """As `Policy.open_session`."""
        ...

    def close(self) -> None:
        """As `Policy.close`."""
        ...
