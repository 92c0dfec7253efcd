from __future__ import annotations

import numpy as np
import pytest

from robogate.benches.actions import ActionCheck
from robogate.errors import EpisodeError


def _with(index, value):
    action = np.zeros(7)
    action[index] = value
    return action


@pytest.mark.parametrize(
    ("action", "code", "message"),
    [
        (np.zeros(6), "action_shape", "action has shape (6,), expected (7,)"),
        (np.zeros((1, 7)), "action_shape", "action has shape (1, 7), expected (7,)"),
        (_with(2, np.nan), "action_not_finite", "action dz=nan is not finite"),
        (_with(6, -np.inf), "action_not_finite", "action gripper=-inf is not finite"),
        (_with(0, 1.0 + 1e-15), "action_out_of_range", None),
        (_with(6, -1.5), "action_out_of_range", "action.gripper is -1.5, expected [-1.0, 1.0]"),
        (np.zeros(7, np.float32), "action_type",
         "action is ndarray float32, expected a float64 array"),
        ([0.0] * 7, "action_type", "action is list, expected a float64 array"),
        (np.array(["0"] * 7), "action_type", None),
        (np.ma.masked_all(7), "action_type",
         "action is MaskedArray float64, expected a float64 array"),
    ],
)  # fmt: skip
def test_refused(bench, action, code, message):
    with pytest.raises(EpisodeError) as caught:
        ActionCheck(bench.action).require(action)
    assert caught.value.code == code
    assert message is None or caught.value.message == message


def test_the_bounds_themselves_are_accepted(bench):
    for value in (-1.0, 1.0, 0.0):
        action = np.full(7, value)
        assert ActionCheck(bench.action).require(action) is action
