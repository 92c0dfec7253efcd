"""What the two pages about the robot API show is run here, word for word."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the embedded simulator is not installed")
pytest.importorskip("uvicorn", reason="the worker part is not installed")

ROOT = Path(__file__).parents[2]


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_examples_run_against_each_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    factory = "examples.serve_robot:create_environment"
    with example("serve_robot").served("--factory", factory) as url:
        verdicts = example("drive_robot").drive(url)
    assert verdicts and set(verdicts) == {"accept"}
    printed = capsys.readouterr().out
    found = re.search(r"left hand at (\S+) m \(wanted (\S+) m\)", printed)
    assert found is not None
    assert np.isclose(float(found[1]), float(found[2]), atol=0.005)
    assert "image (240, 320, 3) of robogate-dual-arm-mujoco" in printed


@pytest.mark.parametrize(
    ("page", "file"),
    [("worker_serve.md", "serve_robot.py"), ("worker_program.md", "drive_robot.py")],
)
def test_a_page_shows_the_example_that_is_run(page: str, file: str) -> None:
    shown = (ROOT / "docs" / page).read_text()
    code = (ROOT / "examples" / file).read_text()
    blocks = re.findall(r"```python\n(.*?)```", shown, re.DOTALL)
    assert any(block.strip() in code for block in blocks)
    assert f"examples/{file}" in shown
