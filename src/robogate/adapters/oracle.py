"""``adapter=oracle``: the scripted positive control of a bench that has one.

It qualifies the harness and is never ranked: its sessions see the scene and the evaluator's half of
every observation. It acts through the same actions, at the same rate, under the same budget as any
policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from robogate.adapters.dual_arm_oracle import DualArmOracleSession
from robogate.adapters.loaded import LoadedPolicy
from robogate.adapters.pnp_oracle import PnpOracleSession
from robogate.contract.identity.harness import measure_adapter
from robogate.contract.schema import Adapter, Bench
from robogate.errors import ConfigError
from robogate.records.location import PolicyLocation
from robogate.records.policy import PolicyEpisode, PrivilegedSession
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.pnp_config import PnpBench


def session_maker(bench: Bench) -> Callable[[], PrivilegedSession]:
    """What begins an episode of the control on a bench.

    Raises:
        ConfigError: The bench has no scripted positive control.
    """
    if isinstance(bench, PnpBench):
        return lambda: PnpOracleSession(bench)
    if isinstance(bench, DualArmBench):
        return lambda: DualArmOracleSession(bench)
    raise ConfigError(
        f"adapter 'oracle' has no script for bench '{bench.kind}'; use adapter=zero, or a "
        "bench with one",
        code="adapter",
    )


class OraclePolicy:
    """The positive control."""

    def __init__(self, bench: Bench) -> None:
        """Take the script of a bench."""
        self._make = session_maker(bench)

    def identity(self) -> Mapping[str, Any]:
        """No source is imported."""
        return {}

    def open_session(self, episode: PolicyEpisode) -> PrivilegedSession:
        """Begin an episode."""
        return self._make()

    def close(self) -> None:
        """Nothing to release."""


def load(
    adapter: Adapter, bench: Bench, modules: tuple[str, ...], location: PolicyLocation
) -> LoadedPolicy:
    """Load the control, which is found nowhere else."""
    return LoadedPolicy(
        policy=OraclePolicy(bench),
        privileged=True,
        adapter=measure_adapter(adapter, modules),
        source=None,
        checkpoint=None,
    )
