"""The negative control: it does nothing, for as long as it is asked.

On a bench of relative commands that is the all-zero action. On a bench of absolute joint commands
zero would be a motion to the zero pose, so there it holds the command that the reset leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from robogate.adapters.loaded import LoadedPolicy
from robogate.contract.identity.harness import measure_adapter
from robogate.contract.schema import Adapter, Bench
from robogate.errors import ConfigError
from robogate.records.location import PolicyLocation
from robogate.records.observation import FloatArray, PolicyObservation
from robogate.records.policy import Chunk, PolicyEpisode


@runtime_checkable
class HoldsReset(Protocol):
    """A bench of absolute commands states the command in force after a reset."""

    reset_command: tuple[float, ...]


def still_action(bench: Bench) -> FloatArray:
    """The action of a bench that asks for no motion, (n,) float64.

    Raises:
        ConfigError: The bench's action semantics name no such action.
    """
    semantics = bench.action.semantics
    if semantics == "osc_pose_delta":
        return np.zeros(len(bench.action.names))
    if semantics == "joint_position_absolute" and isinstance(bench, HoldsReset):
        return np.asarray(bench.reset_command, dtype=np.float64)
    raise ConfigError(
        f"bench.action.semantics: adapter 'zero' knows no still action for '{semantics}' on bench "
        f"'{bench.kind}'; expected osc_pose_delta, or joint_position_absolute with a reset_command",
        code="adapter",
    )


class ZeroSession:
    """One episode of nothing."""

    def __init__(self, action: FloatArray) -> None:
        """Remember the one action."""
        self._action = action

    def infer(self, observation: PolicyObservation) -> Chunk:
        """Return the still action, whatever is seen."""
        return [self._action.copy()]

    def close(self) -> None:
        """Nothing to release."""


class ZeroPolicy:
    """The negative control."""

    def __init__(self, bench: Bench) -> None:
        """Work out the still action of a bench."""
        self._action = still_action(bench)

    def identity(self) -> Mapping[str, Any]:
        """No source is imported."""
        return {}

    def open_session(self, episode: PolicyEpisode) -> ZeroSession:
        """Begin an episode."""
        return ZeroSession(self._action)

    def close(self) -> None:
        """Nothing to release."""


def load(
    adapter: Adapter, bench: Bench, modules: tuple[str, ...], location: PolicyLocation
) -> LoadedPolicy:
    """Load the control, which is found nowhere else."""
    return LoadedPolicy(
        policy=ZeroPolicy(bench),
        privileged=False,
        adapter=measure_adapter(adapter, modules),
        source=None,
        checkpoint=None,
    )
