from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robogate.episodes.verify import are_identical, is_blank


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
