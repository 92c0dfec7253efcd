"""What the documentation shows has to run."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robogate.adapters.registry import load_policy
from robogate.contract.layout import checkout_root
from robogate.records.observation import PolicyObservation
from robogate.records.policy import PolicyEpisode, PolicySession
from robogate.scenes.pnp_config import PnpBench

ROOT = checkout_root() or Path()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path; what is imported from it is forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def test_the_fifteen_lines_of_the_documentation_are_a_policy(
    folder: Path,
    bench: PnpBench,
    python_adapter: Callable[..., Any],
    observe: Callable[..., Any],
) -> None:
    text = (ROOT / "docs" / "adapters.md").read_text()
    block = re.search(r"```python\n# my_policy\.py\n(.*?)```", text, re.DOTALL)
    assert block is not None
    (folder / "my_policy.py").write_text(block[1])
    policy = load_policy(python_adapter("my_policy:MyPolicy", speed=0.3), bench)
    session = policy.open_session(PolicyEpisode("do it", 7))
    assert isinstance(session, PolicySession)
    (action,) = session.infer(observe())  # type: ignore[misc]
    assert action.tolist() == [0.0, 0.0, -0.3, 0.0, 0.0, 0.0, -1.0]


@pytest.mark.parametrize(("place", "steps"), [((0.5, 0.0), 120), ((0.5, 0.1), 200)])
def test_the_example_reaches_its_waypoints_in_order(
    folder: Path,
    bench: PnpBench,
    python_adapter: Callable[..., Any],
    place: tuple[float, float],
    steps: int,
) -> None:
    shutil.copy(ROOT / "examples" / "scripted_policy.py", folder / "copied_example.py")
    target = python_adapter("copied_example:BlindPick", x=place[0], y=place[1])
    session = load_policy(target, bench).open_session(PolicyEpisode("do it", 7))
    assert isinstance(session, PolicySession)
    hand, closed_at, opened_at = np.array([0.307, 0.0, 0.494]), None, None
    for step in range(steps):
        seen = PolicyObservation(step, "do it", {"ee_position": hand.copy()}, {})
        (action,) = session.infer(seen)  # type: ignore[misc]
        assert np.abs(action).max() <= 1.0 and action.shape == (7,)
        if action[6] > 0 and closed_at is None:
            closed_at = hand.copy()
        if action[6] < 0 and closed_at is not None and opened_at is None:
            opened_at = hand.copy()
        hand = hand + 0.4 * 0.05 * action[:3]
    assert closed_at == pytest.approx([*place, 0.322], abs=0.006)
    assert opened_at == pytest.approx([0.35, 0.30, 0.325], abs=0.006)
