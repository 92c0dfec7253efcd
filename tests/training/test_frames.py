"""Targets that look ahead never look into another demonstration."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from robogate.training.demos import Demo
from robogate.training.frames import NEAR_WEIGHT, frames

Make = Callable[..., Demo]


def test_chunks_end_with_their_demonstration(demo: Make) -> None:
    first, second = demo([-1.0] * 5), demo([-1.0] * 4, seed=1)
    rows = frames([first, second])
    chunks = rows.chunks(np.array([1, 3, 5]), 4)
    assert np.array_equal(chunks[0], first.action[1:5])
    assert np.array_equal(chunks[1], first.action[[3, 4, 4, 4]])
    assert np.array_equal(chunks[2], second.action)


def test_the_way_leads_to_the_next_change_of_the_gripper(demo: Make) -> None:
    rows = frames([demo([-1.0, -1.0, 1.0, 1.0, -1.0, -1.0]), demo([-1.0, -1.0], seed=1)])
    # Closed at row 2, opened at row 4, ends at row 5; the other one ends at its row 1.
    assert np.allclose(rows.way[:, 0], [0.02, 0.01, 0.02, 0.01, 0.01, 0.0, 0.01, 0.0])
    assert (rows.way[:, 1:] == 0.0).all()


def test_rows_around_a_change_weigh_more(demo: Make) -> None:
    weight = frames([demo([-1.0] * 20 + [1.0] * 20)]).weight
    assert weight.mean() == pytest.approx(1.0)
    heavy = np.flatnonzero(weight > 1.0)
    assert heavy.tolist() == list(range(16, 24))
    assert weight[heavy[0]] == pytest.approx(NEAR_WEIGHT * weight[0])


def test_statistics(demo: Make) -> None:
    one = demo([-1.0] * 50)
    rows = frames([one])
    assert np.allclose(rows.mean, one.state.mean(axis=0))
    assert np.allclose(rows.std[:9], one.state.std(axis=0)[:9])
    assert rows.std[10] > 0.0  # a component that never changes


def test_no_demonstrations(demo: Make) -> None:
    with pytest.raises(ValueError, match="at least one action each"):
        frames([])
    with pytest.raises(ValueError, match="at least one action each"):
        frames([demo([-1.0]), demo([])])
