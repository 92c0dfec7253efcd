"""``adapter=lerobot`` as it is composed."""

from __future__ import annotations

from pathlib import Path

import pytest

from robogate.config.compose import compose
from robogate.contract.adapter_schema import LerobotAdapter
from robogate.errors import ConfigError


def test_a_checkpoint_is_bound_by_its_content(files: Path) -> None:
    (point,) = compose(["adapter=lerobot", f"adapter.checkpoint={files}", "adapter.chunk=8"])
    adapter = point.frozen.adapter
    assert isinstance(adapter, LerobotAdapter)
    assert (adapter.chunk, adapter.execute, adapter.device) == (8, 8, "cpu")
    assert adapter.image_keys["wrist"] == "observation.images.image2"
    assert adapter.checkpoint_sha256 is not None
    assert str(files) not in str(point.frozen.document)
    (files / "config.json").write_text("{}")
    (other,) = compose(["adapter=lerobot", f"adapter.checkpoint={files}", "adapter.chunk=8"])
    assert other.frozen.sha256 != point.frozen.sha256


def test_a_camera_can_be_left_out(files: Path) -> None:
    keys = "adapter.image_keys={primary: observation.images.top, wrist: null}"
    (point,) = compose(["adapter=lerobot", f"adapter.checkpoint={files}", "adapter.chunk=8", keys])
    adapter = point.frozen.adapter
    assert isinstance(adapter, LerobotAdapter)
    assert adapter.image_keys == {"primary": "observation.images.top", "wrist": None}


@pytest.mark.parametrize("key", ["checkpoint", "chunk"])
def test_what_only_the_user_knows_has_to_be_given(key: str, files: Path) -> None:
    given = {"checkpoint": str(files), "chunk": "8"}
    del given[key]
    with pytest.raises(ConfigError, match=f"adapter.{key}"):
        compose(["adapter=lerobot", *(f"adapter.{k}={v}" for k, v in given.items())])
