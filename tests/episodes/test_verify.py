from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robogate.episodes.verify import ObservationVerifier, are_identical, is_blank
from robogate.errors import RunError
from robogate.records.digests import registration_sha256
from robogate.records.observation import Observation

if TYPE_CHECKING:
    from toy_world import World


@given(
    colour=st.tuples(*[st.integers(0, 255)] * 3),
    size=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    at=st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 2)),
)
def test_an_image_is_blank_when_every_channel_is_constant(
    colour: tuple[int, int, int], size: tuple[int, int], at: tuple[int, int, int]
) -> None:
    image = np.zeros((*size, 3), np.uint8)
    image[:] = colour
    assert is_blank(image)
    other = image.copy()
    assert are_identical(image, other)
    spot = (at[0] % size[0], at[1] % size[1], at[2])
    other[spot] ^= 1
    # One pixel is all there is of a 1×1 image: it stays constant in every channel.
    assert is_blank(other) == (size == (1, 1))
    assert not are_identical(image, other)


@pytest.mark.parametrize("rows", [slice(0, 1), slice(-1, None)])
def test_a_single_row_keeps_an_image_from_being_blank(rows: slice) -> None:
    image = np.full((256, 256, 3), 9, np.uint8)
    image[rows] = 10
    assert not is_blank(image)


@pytest.fixture
def observed(world: World) -> tuple[ObservationVerifier, Callable[[Any], Observation]]:
    """A verifier that has accepted three observations, and what makes the next one."""
    from toy_env import create
    from toy_world import RULES

    frozen, scenario = world.frozen, world.manifest.scenarios[0]
    environment = create(**world.options())
    environment.register(world.registration)
    first = environment.reset(scenario.id, scenario.seed)
    scene = RULES.resolve(frozen.bench, scenario.variant, scenario.seed)
    verifier = ObservationVerifier(
        frozen, RULES, scenario, scene, registration_sha256(world.registration)
    )
    for step in range(3):
        verifier.verify(replace(first, step=step), step)

    def following(change: Any) -> Observation:
        assert first.evaluator is not None
        applied = change(dict(first.evaluator.applied_scene))
        return replace(first, step=3, evaluator=replace(first.evaluator, applied_scene=applied))

    return verifier, following


def _with_mass(value: Any) -> Any:
    return lambda applied: {**applied, "object": {**applied["object"], "mass": value}}


def test_the_readback_of_a_later_observation_is_compared_again(
    observed: tuple[ObservationVerifier, Callable[[Any], Observation]], world: World
) -> None:
    verifier, following = observed
    same = following(lambda applied: dict(reversed(applied.items())))
    verifier.verify(same, 3)
    mass = same.evaluator.applied_scene["object"]["mass"] if same.evaluator else 0.0
    for other in (np.nextafter(mass, 1.0).item(), str(mass), None, True, {"of": mass}):
        with pytest.raises(RunError, match=r"observation 3: .*object\.mass") as caught:
            verifier.verify(following(_with_mass(other)), 3)
        assert caught.value.code == "readback_mismatch"


def test_bytes_that_only_look_like_a_number_are_no_readback(
    observed: tuple[ObservationVerifier, Callable[[Any], Observation]],
) -> None:
    verifier, following = observed
    same = following(lambda applied: applied)
    assert same.evaluator is not None
    mass = same.evaluator.applied_scene["object"]["mass"]
    verifier.verify(following(_with_mass(np.float64(mass))), 3)  # a float, by its text
    with pytest.raises(RunError, match="not a JSON document"):
        verifier.verify(following(_with_mass(np.float64(mass).tobytes())), 3)
