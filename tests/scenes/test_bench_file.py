"""The tests' copy of the bench is the committed one where scenes and judgements depend on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from robogate.contract.layout import checkout_root

COPY = Path(__file__).with_name("mujoco_pnp.json")


@pytest.mark.skipif(checkout_root() is None, reason="conf/ lies in a checkout")
@pytest.mark.parametrize("part", ["scene", "timing", "success", "wrist"])
def test_copy_equals_the_configuration(part: str) -> None:
    yaml = pytest.importorskip("yaml", reason="the light core reads no YAML")
    root = checkout_root()
    assert root is not None
    committed: dict[str, Any] = yaml.safe_load((root / "conf/bench/mujoco_pnp.yaml").read_text())
    copy = json.loads(COPY.read_text())
    assert copy[part] == committed[part], f"copy {part} of conf/bench/mujoco_pnp.yaml to {COPY}"
