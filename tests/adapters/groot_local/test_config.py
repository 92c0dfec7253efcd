"""``adapter=groot`` as it is composed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from robogate.config.compose import compose
from robogate.contract.adapter_schema import GrootAdapter
from robogate.errors import ConfigError


@pytest.mark.parametrize("layout", ["n1.5", "n1.6", "n1.7"])
def test_every_layout_is_one_key_away(layout: str, checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint("n1.6")
    (point,) = compose(
        ["adapter=groot", f"adapter.checkpoint={folder}", f"adapter.layout={layout}"]
    )
    adapter = point.frozen.adapter
    assert isinstance(adapter, GrootAdapter)
    assert (adapter.layout, adapter.chunk, adapter.execute) == (layout, 16, 8)
    assert (adapter.image_transform, adapter.gripper_decode) == ("rotate_180", "unit_open")


def test_a_layout_that_is_none_is_refused(checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint("n1.6")
    with pytest.raises(ConfigError, match=r"adapter\.layout"):
        compose(["adapter=groot", f"adapter.checkpoint={folder}", "adapter.layout=n1"])


def test_the_dual_arm_bench_is_not_libero_s(checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint("n1.6")
    with pytest.raises(ConfigError, match="adapter=groot does not fit bench=mujoco_dual_arm"):
        compose(["bench=mujoco_dual_arm", "adapter=groot", f"adapter.checkpoint={folder}"])
