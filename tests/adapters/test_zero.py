from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from robogate.adapters.registry import load_policy
from robogate.adapters.zero import still_action
from robogate.contract.schema import ActionSpace, Bench
from robogate.errors import ConfigError
from robogate.records.policy import PolicyEpisode
from robogate.scenes.pnp_config import PnpBench


@dataclass(frozen=True)
class AbsoluteBench(Bench):
    reset_command: tuple[float, ...]


def absolute(bench: PnpBench, command: tuple[float, ...]) -> AbsoluteBench:
    common = {name: getattr(bench, name) for name in Bench.__dataclass_fields__}
    space = ActionSpace(("a", "b"), (-3.0, -3.0), (3.0, 3.0), "joint_position_absolute")
    return AbsoluteBench(**{**common, "action": space}, reset_command=command)


def test_relative_commands_are_all_zero(
    bench: PnpBench, control: Callable[[str], Any], observe: Callable[..., Any]
) -> None:
    session: Any = load_policy(control("zero"), bench).open_session(PolicyEpisode("do it", 7))
    for step in range(3):
        (action,) = session.infer(observe(step))
        assert action.tolist() == [0.0] * 7
        action[:] = 1.0  # what is handed out is a copy


def test_absolute_commands_hold_the_reset_command(bench: PnpBench) -> None:
    assert still_action(absolute(bench, (0.5, -1.0))).tolist() == [0.5, -1.0]


@pytest.mark.parametrize("semantics", ["joint_position_absolute", "joint_velocity"])
def test_a_bench_without_a_still_action_is_refused(bench: PnpBench, semantics: str) -> None:
    other = replace(bench, action=replace(bench.action, semantics=semantics))
    with pytest.raises(ConfigError, match=f"knows no still action for '{semantics}' on bench"):
        still_action(other)
