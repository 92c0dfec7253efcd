"""The recipe is closed and typed; the committed one is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from robogate.contract.layout import checkout_root
from robogate.errors import UsageError
from robogate.training.recipe import read_recipe

ROOT = checkout_root() or Path()
COMMITTED = ROOT / "pipelines" / "bc" / "recipe.json"


def write(folder: Path, **changes: Any) -> Path:
    document = {**json.loads(COMMITTED.read_text()), **changes}
    file = folder / "recipe.json"
    file.write_text(json.dumps({k: v for k, v in document.items() if v is not None}))
    return file


def test_the_committed_recipe_keeps_three_checkpoints_at_least() -> None:
    recipe = read_recipe(COMMITTED)
    assert len(recipe.checkpoints) >= 3 and recipe.chunk == 8


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"rat": 1.0}, r"\$\.rat: unknown field"),
        ({"rate": None}, r"\$\.rate: missing field"),
        ({"steps": 10.5}, r"\$\.steps"),
        ({"batch": 0}, r"\$\.batch: is 0, expected at least 1"),
        ({"checkpoints": []}, r"\$\.checkpoints"),
        ({"checkpoints": [5, 3, 4000]}, r"expected rising steps that end with"),
        ({"checkpoints": [5]}, r"expected rising steps that end with"),
    ],
)
def test_others_are_refused(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        read_recipe(write(tmp_path, **changes))
