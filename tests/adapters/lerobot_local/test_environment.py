"""Without LeRobot, the message says where it is."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robogate.adapters.registry import load_policy
from robogate.errors import RunError
from robogate.records.location import PolicyLocation
from robogate.scenes.pnp_config import PnpBench


@pytest.mark.skipif(
    importlib.util.find_spec("lerobot") is not None, reason="LeRobot is installed here"
)
def test_an_environment_without_lerobot_is_told_how_to_get_one(
    files: Path, adapter: Callable[..., Any], bench: PnpBench
) -> None:
    with pytest.raises(RunError, match="make lerobot-env") as caught:
        load_policy(adapter(), bench, PolicyLocation(checkpoint=files))
    assert caught.value.code == "load"
