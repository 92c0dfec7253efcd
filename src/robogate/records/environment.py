"""The one typed environment interface.

An environment runs in this process, in a child process, or behind HTTP in another Python; the
runner cannot tell which. It owns the main thread of its process. Motion is executed at most once:
`step` names the episode and the step it was computed for, and anything but the next one is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from robogate.records.observation import FloatArray, Observation


@dataclass(frozen=True)
class Description:
    """What an environment is.

    Attributes:
        protocol_version: Of the worker protocol; 1.
        name: Harness ID.
        bench: Kind of bench.
        tools: Optional capabilities that it offers, such as ``fk`` or ``plan``.
    """

    protocol_version: int
    name: str
    bench: str
    tools: tuple[str, ...]


@dataclass(frozen=True)
class Registration:
    """Who is going to act; bound before the first reset and echoed by every observation.

    Attributes:
        contract_sha256: Of the contract that is run.
        adapter: Kind of adapter.
        adapter_version: Its version.
        adapter_sha256: Its implementation hash.
        model: Model name, or null where there is none or undeclared.
        revision: Model revision, or null.
        checkpoint_sha256: Digest over the checkpoint's files, or null.
        policy_sha256: Digest of the imported policy source, or null.
        server_sha256: Digest of what a policy server said of itself, its address included, or null.
    """

    contract_sha256: str
    adapter: str
    adapter_version: str
    adapter_sha256: str
    model: str | None
    revision: str | None
    checkpoint_sha256: str | None
    policy_sha256: str | None
    server_sha256: str | None


@dataclass(frozen=True)
class StepResult:
    """What became of one action.

    Attributes:
        executed: Whether the robot moved; a refused action leaves episode and step as they were.
        verdict: ``accept``, ``limit``, ``reject`` (by the shield) or ``control_rejected`` (finite
            and in range, but no admissible command exists).
        reasons: Why it was limited or rejected; empty for ``accept``.
        observation: After the action; None where nothing was executed.
        command: What was executed in place of the action, (n,), in its form and units; None where
            the action was executed as it is, or nothing was.
    """

    executed: bool
    verdict: str
    reasons: tuple[str, ...]
    observation: Observation | None
    command: FloatArray | None = None


@dataclass(frozen=True)
class Outcome:
    """How an episode stands, as the environment judges it.

    Attributes:
        success: The task is done.
        steps: Actions executed.
        terminated: The environment ended the episode.
        truncated: A native limit ended it.
        reward: Native reward, where the bench has one.
        process_score: Native progress score, where the bench has one.
    """

    success: bool
    steps: int
    terminated: bool
    truncated: bool
    reward: float | None
    process_score: float | None


@runtime_checkable
class Environment(Protocol):
    """The core that every environment has. Errors are `RunError` and `EpisodeError`."""

    def describe(self) -> Description:
        """Say what this environment is; no side effect."""
        ...

    def identity(self) -> Mapping[str, Any]:
        """Report the identity measured in this process, as plain JSON values."""
        ...

    def register(self, registration: Registration) -> str:
        """Bind who acts; return the registration's SHA-256, echoed by every observation."""
        ...

    def reset(self, scenario_id: str, seed: int) -> Observation:
        """Build the scene anew and return observation 0. Nothing survives from before."""
        ...

    def step(self, episode_id: str, step: int, action: FloatArray) -> StepResult:
        """Execute one action if, and only if, it is the next one.

        Args:
            episode_id: Of the observation that the action was computed from.
            step: Its step.
            action: As the contract's action space says, (n,) float64.

        Raises:
            EpisodeError: Wrong shape, not finite, out of range, stale or out of order;
                nothing moved.
        """
        ...

    def observe(self, episode_id: str) -> Observation:
        """Return the present observation again, not rendered anew."""
        ...

    def outcome(self, episode_id: str) -> Outcome:
        """Return how the episode stands; for the harness only."""
        ...

    def close(self) -> None:
        """Release everything; may be called twice."""
        ...
