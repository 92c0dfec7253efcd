"""What the registry hands to a run: a policy or control that is ready to open sessions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from robogate.contract.identity.records import (
    AdapterIdentity,
    CheckpointIdentity,
    PolicyIdentity,
    ServerIdentity,
)
from robogate.contract.strict import encode
from robogate.records.policy import (
    BatchedPolicy,
    Policy,
    PolicyEpisode,
    PolicySession,
    PrivilegedPolicy,
    PrivilegedSession,
)


def _nothing_imported() -> None:
    """A built-in control imports no policy source; the harness hash covers it."""


@dataclass(frozen=True)
class LoadedPolicy:
    """A policy after loading.

    Attributes:
        policy: Opens the sessions.
        privileged: Whether these are `PrivilegedSession`, which see the scene: a harness control,
            never ranked.
        adapter: Identity of the adapter's own code.
        source: Identity of the imported policy source; None for a built-in control.
        checkpoint: Identity of the checkpoint as the adapter knows it, where a server declares it
            or a helper beside the server measured it; None where there is none, and where it is a
            local file, which the run measures itself.
        require_unchanged: Measures the imported source again and raises `RunError`
            ``policy_source_changed`` where it differs from what was loaded. To be called after
            the last episode, before a result is written.
        server: Identity of the policy server; None where the policy is in this process.
    """

    policy: Policy | PrivilegedPolicy
    privileged: bool
    adapter: AdapterIdentity
    source: PolicyIdentity | None
    checkpoint: CheckpointIdentity | None
    require_unchanged: Callable[[], None] = _nothing_imported
    server: ServerIdentity | None = None

    def identity(self) -> dict[str, Any]:
        """All parts as plain JSON values: ``adapter``, ``policy``, ``checkpoint``, ``server``."""
        return {
            "adapter": encode(self.adapter),
            "policy": encode(self.source),
            "checkpoint": encode(self.checkpoint),
            "server": encode(self.server),
        }

    @property
    def batched(self) -> BatchedPolicy | None:
        """The policy, where it answers several episodes at once."""
        return self.policy if isinstance(self.policy, BatchedPolicy) else None

    def open_session(self, episode: PolicyEpisode) -> PolicySession | PrivilegedSession:
        """Begin an episode; nothing is shared with any other."""
        return self.policy.open_session(episode)

    def close(self) -> None:
        """Release the model; may be called twice."""
        self.policy.close()
