"""What is measured again when a run ends."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("hydra", reason="conf/ needs Hydra")

from robogate.adapters.registry import adapter_entry
from robogate.config.compose import compose
from robogate.contract.identity import measure_adapter, measure_harness
from robogate.errors import RunError
from robogate.runs.measure import require_unchanged


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, Any]:
    """A point with a checkpoint at a relative path, its policy, and what was measured of it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.pt").write_bytes(b"weights")
    (point,) = compose(["adapter=python", "adapter.target=a:B", "adapter.checkpoint=model.pt"])
    modules = adapter_entry("python").modules
    before = SimpleNamespace(
        harness=measure_harness(point.frozen.bench),
        adapter=measure_adapter(point.frozen.adapter, modules),
        checkpoint=point.checkpoint,
    )
    return point, SimpleNamespace(require_unchanged=lambda: None), before


def test_nothing_changed_wherever_the_policy_went(run: Any, tmp_path: Path) -> None:
    os.chdir("/")
    require_unchanged(*run)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda file: file.write_bytes(b"Weights"), "checkpoint.sha256"),
        (lambda file: file.unlink(), "checkpoint (it cannot be read any more)"),
    ],
)
def test_a_checkpoint_that_changed_is_no_bad_request(
    run: Any, tmp_path: Path, change: Any, named: str
) -> None:
    change(tmp_path / "model.pt")
    with pytest.raises(RunError) as caught:
        require_unchanged(*run)
    assert caught.value.code == "identity_mismatch"
    assert caught.value.message == (
        f"{named} changed while the run was under way; nothing of it is scored: leave the sources "
        "alone and run again"
    )
