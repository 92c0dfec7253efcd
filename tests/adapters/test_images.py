from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from golden_data import golden

from robogate.adapters.images import (
    refuse_row_order,
    resize_area,
    resize_with_pad,
    reverse_rows,
    rotate_180,
    to_network,
)
from robogate.errors import ConfigError, EpisodeError

CARDS = golden("images.json")


def test_the_card_tells_every_transform_apart():
    card = CARDS["card"]
    views = [card, card[::-1], card[:, ::-1], card[::-1, ::-1], card.transpose(1, 0, 2)]
    assert all(not np.array_equal(a, b) for i, a in enumerate(views) for b in views[i + 1 :])


def test_transforms_give_the_golden_images():
    assert np.array_equal(rotate_180(CARDS["card"]), CARDS["rotate_180"])
    assert np.array_equal(reverse_rows(CARDS["card"]), CARDS["rows_reversed"])


def test_resizes_give_the_golden_images():
    assert np.array_equal(resize_area(CARDS["area_card"], 2), CARDS["area"])
    assert np.array_equal(resize_with_pad(CARDS["pad_card"], 10), CARDS["pad"])


@pytest.mark.parametrize("shape", [(256, 256), (240, 320), (320, 240), (224, 224), (100, 37)])
def test_padding_is_what_openpis_own_client_does(shape):
    from openpi_client import image_tools

    image = np.random.default_rng(7).integers(0, 256, (*shape, 3), np.uint8)
    assert np.array_equal(resize_with_pad(image, 224), image_tools.resize_with_pad(image, 224, 224))


def test_a_network_gets_the_transform_first_and_its_own_memory():
    card = CARDS["pad_card"]
    got = to_network(card, transform="rotate_180", resize="pad", size=10)
    assert np.array_equal(got, resize_with_pad(np.ascontiguousarray(card[::-1, ::-1]), 10))
    same = to_network(CARDS["card"], transform="none", resize="none", size=4)
    assert not np.shares_memory(same, CARDS["card"]) and same.flags.c_contiguous


def test_what_cannot_be_resized_as_declared_is_an_error():
    for how, size in (("none", 5), ("area", 5)):
        with pytest.raises(EpisodeError, match="image_resize=pad") as caught:
            to_network(CARDS["pad_card"], transform="none", resize=how, size=size)
        assert caught.value.code == "image_size"
    for keys in ({"transform": "rotate"}, {"resize": "pads"}):
        with pytest.raises(ConfigError, match="did you mean|valid"):
            to_network(CARDS["card"], **{"transform": "none", "resize": "none", "size": 4, **keys})


def test_an_upright_bench_is_never_rotated(bench):
    refuse_row_order(bench, "rotate_180")
    upright = dataclasses.replace(bench, image_row_order="top_first")
    refuse_row_order(upright, "none")
    with pytest.raises(ConfigError, match="bottom row comes first"):
        refuse_row_order(upright, "rotate_180")
