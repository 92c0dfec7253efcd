"""What all episodes of a run share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

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
    """

    frozen: FrozenContract
    rules: BenchRules
    policy: SessionSource
    registration_sha256: str
    sinks: SinkFanOut
    cancelled: Callable[[], bool]
    gate: threading.Lock
