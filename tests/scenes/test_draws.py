from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from robogate.scenes.draws import Draws

#: The first 53 bits of a SHA-256, computed once and written down.
UNIT = 0.6690023653647535
DRAWS = st.builds(Draws, st.integers(0, 2**31 - 1), st.sampled_from(["lighting", "camera"]))


def test_draws_are_the_same_on_every_machine() -> None:
    draws = Draws(191664964, "standard_objects")
    assert draws.unit("object.x") == UNIT
    assert draws.uniform("object.x", (0.38, 0.62)) == round(0.38 + UNIT * 0.24, 6)


def test_draws_depend_on_seed_label_and_name_and_on_nothing_else() -> None:
    draws = Draws(1, "lighting")
    first = draws.unit("a")
    draws.unit("b")
    assert draws.unit("a") == first
    others = {
        draws.unit("b"),
        Draws(2, "lighting").unit("a"),
        Draws(1, "camera").unit("a"),
    }
    assert len(others | {first}) == 4


@given(DRAWS, st.floats(-10.0, 10.0), st.floats(0.0, 5.0))
def test_uniform_stays_within_its_bounds(draws: Draws, low: float, span: float) -> None:
    assert low <= draws.uniform("x", (low, low + span)) <= low + span


@given(DRAWS)
def test_either_side_has_the_magnitude(draws: Draws) -> None:
    assert 0.25 <= abs(draws.either_side("x", (0.25, 0.5))) <= 0.5


def test_either_side_takes_both_sides() -> None:
    signs = {Draws(seed, "camera").either_side("x", (1.0, 2.0)) > 0.0 for seed in range(20)}
    assert signs == {False, True}


def test_integer_takes_both_ends_and_nothing_outside() -> None:
    drawn = {Draws(seed, "camera").integer("x", (2, 4)) for seed in range(60)}
    assert drawn == {2, 3, 4}
