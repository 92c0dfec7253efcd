from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from robogate.contract.schema import ActionSpace
from robogate.episodes.actions import check_chunk
from robogate.errors import EpisodeError

NAMES = ("dx", "dy", "dz", "rx", "ry", "rz", "gripper")
SPACE = ActionSpace(NAMES, (-1.0,) * 7, (1.0,) * 7, "osc_pose_delta")
GOOD = [0.5, -0.25, 0.0, 1.0, -1.0, 0.125, -0.0]


class Tensor:
    """What a framework's array looks like from outside."""

    def __init__(self, values: Any, error: Exception | None = None) -> None:
        self._values, self._error = values, error

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self._error:
            raise self._error
        return np.asarray(self._values, dtype=dtype)


def check(reply: Any, execute: int = 1, check_range: bool = True) -> tuple[Any, ...]:
    return check_chunk(reply, SPACE, execute=execute, check_range=check_range)


def refusal(reply: Any, **options: Any) -> tuple[str, str]:
    with pytest.raises(EpisodeError) as caught:
        check(reply, **options)
    return caught.value.code, caught.value.message


@pytest.mark.parametrize(
    "reply",
    [
        [np.array(GOOD)],
        (np.array(GOOD),),
        [GOOD],
        [tuple(GOOD)],
        np.array([GOOD]),
        np.array([GOOD], "f4"),
        [np.array(GOOD, ">f8")],
        [Tensor(GOOD)],
        [[np.float32(v) for v in GOOD]],
    ],
)
def test_every_form_of_numbers_gives_the_same_action(reply: Any) -> None:
    (action,) = check(reply)
    assert action.dtype == np.dtype("<f8") and action.flags.owndata
    assert action.tobytes() == np.array(GOOD, "<f8").tobytes()


def test_integers_are_numbers() -> None:
    (action,) = check([np.array([1, 0, -1, 0, 0, 0, 1])])
    assert action.tolist() == [1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("reply", "code", "message"),
    [
        (np.ma.masked_array([GOOD]), "action_type", "the policy returned a masked array: a "),
        ([np.ma.masked_array(GOOD)], "action_type", "action 0 is a masked array: a masked value"),
        (None, "action_type", "the policy returned nothing, expected a sequence of actions of 7 "),
        ("left", "action_type", "the policy returned str 'left', expected a sequence of actions"),
        (0.5, "action_type", "the policy returned float, expected a sequence of actions"),
        ({"action": GOOD}, "action_type", "the policy returned dict {'action': "),
        (np.array("left"), "action_type", "the policy returned an array of shape (), expected"),
        ([], "empty_chunk", "the policy returned no action, expected a sequence of actions of 7 "),
        (np.zeros((0, 7)), "empty_chunk", "the policy returned no action"),
        (["left"] * 7, "action_type", "action 0 is str 'left', expected 7 numbers"),
        ([["0.5"] * 7], "action_type", "action 0 holds str '0.5', expected 7 numbers"),
        ([[*GOOD[:6], True]], "action_type", "action 0 holds bool True, expected 7 numbers"),
        ([[*GOOD[:6], None]], "action_type", "action 0 holds nothing, expected 7 numbers"),
        ([[*GOOD[:6], 1j]], "action_type", "action 0 holds complex, expected 7 numbers"),
        ([np.array(["0.5"] * 7)], "action_type", "action 0 holds <U3, expected 7 numbers"),
        ([np.array(GOOD, object)], "action_type", "action 0 holds object, expected 7 numbers"),
        ([np.ones(7, bool)], "action_type", "action 0 holds bool, expected 7 numbers"),
        ([Tensor(0, RuntimeError("on the GPU\nx"))], "action_type",
         "action 0 of type Tensor is not an array (RuntimeError: on the GPU)"),
        (np.array(GOOD), "action_shape", "the policy returned an array of shape (7,), expected"),
        (GOOD, "action_shape", "action 0 is one number, expected a chunk"),
        ([np.zeros(6)], "action_shape", "action 0 has shape (6,), expected (7,)"),
        ([GOOD, GOOD[:6]], "action_shape", "action 1 has shape (6,), expected (7,)"),
        ([np.zeros((1, 7))], "action_shape", "action 0 has shape (1, 7), expected (7,)"),
        ([[*GOOD[:2], math.nan, *GOOD[3:]]], "action_not_finite",
         "action 0: 'dz' is nan, expected a finite number"),
        ([GOOD, [math.inf, *GOOD[1:]]], "action_not_finite",
         "action 1: 'dx' is inf, expected a finite number"),
        ([[*GOOD[:6], 1.0000000000000002]], "action_out_of_range",
         "action 0: 'gripper' is 1.0000000000000002, expected [-1, 1]"),
        ([[-1.5, *GOOD[1:]]], "action_out_of_range", "action 0: 'dx' is -1.5, expected [-1, 1]"),
    ],
)  # fmt: skip
def test_bad_replies_say_what_is_wrong(reply: Any, code: str, message: str) -> None:
    got, text = refusal(reply)
    assert got == code
    assert text.startswith(message)


def test_the_range_is_required_of_what_is_executed_and_the_rest_of_everything() -> None:
    far = [2.0, *GOOD[1:]]
    assert len(check([GOOD, far, GOOD], execute=1)) == 3
    assert refusal([GOOD, far, GOOD], execute=2) == (
        "action_out_of_range",
        "action 1: 'dx' is 2.0, expected [-1, 1]",
    )
    assert refusal([GOOD, [math.nan] * 7], execute=1)[0] == "action_not_finite"
    assert refusal([GOOD, GOOD[:3]], execute=1)[0] == "action_shape"


def test_a_shield_that_limits_gets_what_is_out_of_range() -> None:
    (action,) = check([[2.0, *GOOD[1:]]], check_range=False)
    assert action[0] == 2.0
    assert refusal([[math.inf, *GOOD[1:]]], check_range=False)[0] == "action_not_finite"


def test_a_chunk_may_be_shorter_than_what_is_executed() -> None:
    assert len(check([GOOD] * 3, execute=8)) == 3


def test_what_is_returned_is_not_the_policys() -> None:
    mine = np.array(GOOD)
    (action,) = check([mine])
    mine[:] = 0.0
    assert action.tolist() == GOOD


@given(
    chunk=hnp.arrays("f8", st.tuples(st.integers(1, 4), st.just(7)), elements=st.floats()),
    execute=st.integers(1, 5),
)
def test_what_passes_is_exactly_what_was_returned(chunk: Any, execute: int) -> None:
    finite = bool(np.isfinite(chunk).all())
    inside = bool((np.abs(chunk[:execute]) <= 1.0).all())
    if finite and inside:
        actions = check(list(chunk), execute=execute)
        assert b"".join(a.tobytes() for a in actions) == chunk.tobytes()
    else:
        expected = "action_out_of_range" if finite else "action_not_finite"
        assert refusal(list(chunk), execute=execute)[0] == expected


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=20,
)


@given(reply=JUNK)
def test_no_reply_breaks_the_check(reply: Any) -> None:
    try:
        actions = check(reply)
    except EpisodeError as exc:
        assert exc.code.startswith(("action_", "empty_"))
        assert "\n" not in exc.message and len(exc.message) < 300
    else:
        assert all(np.isfinite(a).all() and a.shape == (7,) for a in actions)
