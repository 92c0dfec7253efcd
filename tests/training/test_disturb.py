"""Disturbances stay in the action space, follow from the seed, and leave what is recorded alone."""

from __future__ import annotations

import numpy as np

from robogate.training.disturb import UNDISTURBED, Disturbances, Disturber

STILL = np.array([0.0] * 6 + [-1.0])


def executed(seed: int, index: int, count: int = 200) -> np.ndarray:
    disturber = Disturber(seed, index, Disturbances())
    return np.stack([disturber.disturb(STILL) for _ in range(count)])


def test_some_demonstrations_are_left_alone() -> None:
    assert (executed(1, UNDISTURBED) == STILL).all()
    assert (executed(1, 0) == STILL).all()
    assert (executed(1, 1) != STILL).any()


def test_it_follows_from_the_seed() -> None:
    assert np.array_equal(executed(5, 1), executed(5, 1))
    assert not np.array_equal(executed(5, 1), executed(6, 1))


def test_every_kind_happens_within_the_action_space() -> None:
    actions = np.concatenate([executed(seed, 1) for seed in range(10)])
    assert np.abs(actions).max() <= 1.0 and np.isfinite(actions).all()
    assert (actions[:, :3] != 0.0).any(axis=0).all()
    turned = np.abs(actions[:, 3:6]).max(axis=0)
    assert turned[2] > 0.1 and 0.0 < turned[0] <= 0.05 and 0.0 < turned[1] <= 0.05
    wrong = np.mean(actions[:, 6] == 1.0)
    assert 0.0 < wrong < 0.1


def test_the_controls_own_action_is_not_written_into() -> None:
    own = STILL.copy()
    disturber = Disturber(1, 1, Disturbances())
    for _ in range(50):
        disturber.disturb(own)
    assert (own == STILL).all()
