"""What the qualification pipelines depend on, beside what the harness hash covers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from robogate.config.compose import compose
from robogate.contract.identity.harness import harness_files

ROOT = Path(__file__).resolve().parents[1]
CONTROLS = {
    ("dvc.yaml", "mujoco_pnp"): "mujoco_pnp",
    ("dvc.yaml", "mujoco_dual_arm"): "mujoco_dual_arm",
    ("pipelines/full/dvc.yaml", "mujoco_dual_arm"): "mujoco_dual_arm",
}

pytestmark = pytest.mark.skipif(
    not (ROOT / "dvc.yaml").is_file(), reason="the pipelines lie in a checkout"
)


@pytest.fixture(params=list(CONTROLS), ids=lambda key: "/".join(key))
def stage(request: pytest.FixtureRequest) -> tuple[str, list[str]]:
    """A stage of control runs: its bench, and what it depends on below the package."""
    file, name = request.param
    stages: dict[str, Any] = yaml.safe_load((ROOT / file).read_text())["stages"]
    prefix = "src/robogate/"
    deps = [d.removeprefix(prefix) for d in stages[name]["deps"] if d.startswith(prefix)]
    return CONTROLS[request.param], deps


def covers(deps: list[str], path: str) -> bool:
    return any(path == dep or path.startswith(f"{dep}/") for dep in deps)


def test_a_change_of_the_harness_makes_its_controls_stale(stage: tuple[str, list[str]]) -> None:
    bench, deps = stage
    [point] = compose([f"bench={bench}", "adapter=zero"])
    missing = [path for path in harness_files(point.frozen.bench) if not covers(deps, path)]
    assert not missing


def test_a_learned_policys_adapter_does_not(stage: tuple[str, list[str]]) -> None:
    _, deps = stage
    assert not covers(deps, "adapters/python.py")
    assert not covers(deps, "reports/page.py")


def test_every_dependency_exists(stage: tuple[str, list[str]]) -> None:
    for path in stage[1]:
        assert (ROOT / "src/robogate" / path).exists(), path


def test_every_file_that_the_training_depends_on_exists_or_is_made_by_it() -> None:
    stages = yaml.safe_load((ROOT / "pipelines/bc/dvc.yaml").read_text())["stages"]
    assert list(stages) == ["demos", "dataset", "train", "checkpoints"]
    made = [out for stage in stages.values() for out in stage["outs"]]
    for stage in stages.values():
        for path in stage["deps"]:
            assert path in made or path == "data" or (ROOT / path).exists(), path


def test_the_default_pipeline_does_not_train() -> None:
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    assert not [name for name, stage in stages.items() if "robogate train" in str(stage)]
