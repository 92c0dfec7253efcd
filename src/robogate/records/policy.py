"""The one policy interface: one session per episode, and no state shared between them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from robogate.records.observation import FloatArray, Observation, PolicyObservation

_SEED_DOMAIN = "robogate.policy-seed/1"


@dataclass(frozen=True)
class PolicyEpisode:
    """What a session is opened with.

    Attributes:
        instruction: The bench's sentence.
        seed: Of this episode, 63 bits, see `policy_seed`; for what the policy draws, where the
            contract's ``adapter.seeding`` is ``per_episode``. It says nothing about the scene.
    """

    instruction: str
    seed: int


def policy_seed(harness_contract_sha256: str, scenario_id: str) -> int:
    """Seed of a policy's episode: equal in every run of a contract, and of no use otherwise.

    The first 63 bits of the SHA-256 of a domain string, the harness contract's hash and the
    scenario's id: neither label nor seed of the scenario can be read from it.
    """
    text = f"{_SEED_DOMAIN}\n{harness_contract_sha256}\n{scenario_id}"
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big") >> 1


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


Chunk: TypeAlias = Sequence[FloatArray]


@dataclass(frozen=True)
class Reply:
    """Actions, and what was done to get them.

    Attributes:
        chunk: The next actions, each (n,) float64, in the environment's own terms.
        prompt: The text that this inference handed to the backend, as it was handed over.
        backend_calls: Live calls of the backend that came back with an answer during this
            inference. 0 says that the actions come from somewhere else, which is an error.
    """

    chunk: Chunk
    prompt: str
    backend_calls: int


@runtime_checkable
class PolicySession(Protocol):
    """One episode of a policy."""

    def infer(self, observation: PolicyObservation) -> Chunk | Stop | Reply:
        """Return the next actions, at least one, each (n,) float64; or `Stop`.

        A learned policy's adapter returns a `Reply`; a bare chunk says nothing of a backend.
        """
        ...

    def close(self) -> None:
        """The episode is over."""
        ...


@runtime_checkable
class WatchingSession(Protocol):
    """One episode of a policy that looks back at more than the present observation.

    It is shown each observation exactly once, in order: by `PolicySession.infer`, or here where
    actions of an earlier inference are still to be executed.
    """

    def watch(self, observation: PolicyObservation) -> None:
        """See an observation at which no inference is made."""
        ...


@runtime_checkable
class Policy(Protocol):
    """A loaded policy."""

    def identity(self) -> Mapping[str, Any]:
        """Report the imported source's identity, as plain JSON values."""
        ...

    def open_session(self, episode: PolicyEpisode) -> PolicySession:
        """Begin an episode with fresh state."""
        ...

    def close(self) -> None:
        """Release the model; may be called twice."""
        ...


@runtime_checkable
class WarmsUp(Protocol):
    """A policy whose first inference is slow: it makes one before the first reset, never scored."""

    def warm_up(self, example: PolicyObservation) -> Chunk | Stop | Reply:
        """Make one inference as an episode would; what it learns from it is forgotten.

        Args:
            example: Of the shapes that the bench's observations have, with invented content.
        """
        ...


@runtime_checkable
class BatchedPolicy(Protocol):
    """A policy that answers several episodes with one pass through its model."""

    def infer_batch(
        self, requests: Sequence[tuple[PolicySession, PolicyObservation]]
    ) -> Sequence[Chunk | Stop | Reply]:
        """Answer each request as its session's ``infer`` would, in order.

        Args:
            requests: Open sessions, no session twice, each with what its episode observes.
        """
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

    def open_session(self, episode: PolicyEpisode) -> PrivilegedSession:
        """As `Policy.open_session`."""
        ...

    def close(self) -> None:
        """As `Policy.close`."""
        ...
