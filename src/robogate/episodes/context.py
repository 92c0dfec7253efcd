"""What all episodes of a run share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from robogate.episodes.serving import Batcher, Gate
from robogate.episodes.sinks import SinkFanOut
from robogate.records.benches import BenchRules
from robogate.records.contract import FrozenContract
from robogate.records.policy import PolicyEpisode, PolicySession, PrivilegedSession


class SessionSource(Protocol):
    """A loaded policy, as far as an episode needs it."""

    @property
    def privileged(self) -> bool:
        """Whether its sessions see the scene."""
        ...

    def open_session(self, episode: PolicyEpisode) -> PolicySession | PrivilegedSession:
        """Begin an episode with fresh state."""
        ...


@dataclass(frozen=True)
class EpisodeContext:
    """What all episodes of a run share.

    Attributes:
        frozen: The contract.
        rules: Rules of its bench.
        policy: The loaded policy.
        registration_sha256: That every observation must echo.
        sinks: Who else sees the episodes.
        cancelled: Whether the run is being stopped.
        gate: Held while the policy is called: whatever the number of workers, a policy is called by
            one of them at a time and need not be thread-safe.
        batcher: Asks the policy for several episodes at once; None where each asks alone.
    """

    frozen: FrozenContract
    rules: BenchRules
    policy: SessionSource
    registration_sha256: str
    sinks: SinkFanOut
    cancelled: Callable[[], bool]
    gate: Gate
    batcher: Batcher | None = None
