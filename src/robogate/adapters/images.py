"""Image conversions that stand between a bench and a network, each one named in the contract.

Every function takes and returns (height, width, 3) uint8 RGB and leaves its argument alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robogate.contract.schema import Bench
from robogate.errors import ConfigError, EpisodeError, nearest
from robogate.records.observation import Image

TRANSFORMS = ("none", "rotate_180", "rows_reversed")
RESIZES = ("none", "pad", "area")


def rotate_180(image: Image) -> Image:
    """Rows and columns reversed.

    Of an image whose bottom row comes first, which is what LIBERO's environment returns, it makes
    the upright but left-right mirrored view on which the LIBERO networks were trained.
    """
    return np.ascontiguousarray(image[::-1, ::-1])


def reverse_rows(image: Image) -> Image:
    """Rows reversed: of an image whose bottom row comes first, the true upright view."""
    return np.ascontiguousarray(image[::-1])


def resize_with_pad(image: Image, size: int) -> Image:
    """Fit an image into a square without distortion; bilinear, black on both sides.

    The sizes are rounded down, as openpi's client does, so that its networks see the same pixels.
    """
    height, width = image.shape[:2]
    if (height, width) == (size, size):
        return np.ascontiguousarray(image)
    ratio = max(height, width) / size
    fitted_height, fitted_width = int(height / ratio), int(width / ratio)
    top, left = (size - fitted_height) // 2, (size - fitted_width) // 2
    square = np.zeros((size, size, 3), np.uint8)
    square[top : top + fitted_height, left : left + fitted_width] = _resampled(
        image, fitted_height, fitted_width, "BILINEAR"
    )
    return square


def resize_area(image: Image, size: int) -> Image:
    """Scale a square image; each pixel is the mean of the area that it covers.

    Raises:
        EpisodeError: ``image_size``: it is not square, so that scaling would distort it.
    """
    height, width = image.shape[:2]
    if height != width:
        raise _size_error(f"area scaling takes square images, this one is {width} x {height}")
    return np.ascontiguousarray(image) if height == size else _resampled(image, size, size, "BOX")


def to_network(image: Image, *, transform: str, resize: str, size: int | None) -> Image:
    """The image that a backend gets: transformed first, then resized.

    Args:
        image: Of the bench, rows ordered as its contract declares.
        transform: ``adapter.image_transform``.
        resize: ``adapter.image_resize``.
        size: ``adapter.image_size``, px; None leaves it, and goes with no resize.

    Returns:
        (size, size, 3) uint8, contiguous, sharing nothing with ``image``.

    Raises:
        EpisodeError: ``image_size``: nothing is to be resized, and it has another size.
        ConfigError: There is no such transform or resize.
    """
    if transform == "rotate_180":
        image = rotate_180(image)
    elif transform == "rows_reversed":
        image = reverse_rows(image)
    elif transform != "none":
        raise ConfigError(f"adapter.image_transform: no '{transform}'; {_near(transform)}")
    if resize == "none":
        if size is not None and image.shape[:2] != (size, size):
            height, width = image.shape[:2]
            raise _size_error(f"adapter.image_resize is none and the camera gives {width}x{height}")
        resized = image
    elif size is None:
        raise ConfigError("adapter.image_size: is null, expected the side to resize to, in pixels")
    elif resize == "pad":
        resized = resize_with_pad(image, size)
    elif resize == "area":
        resized = resize_area(image, size)
    else:
        raise ConfigError(f"adapter.image_resize: no '{resize}'; {nearest(resize, RESIZES)}")
    return np.array(resized, dtype=np.uint8, order="C")


def refuse_row_order(bench: Bench, transform: str) -> None:
    """Refuse LIBERO's rotation on a bench whose images are upright already.

    There it would give an upside-down picture that no network was trained on.

    Raises:
        ConfigError: It would.
    """
    if transform != "none" and bench.image_row_order != "bottom_first":
        raise ConfigError(
            f"adapter.image_transform: is '{transform}', which is for images whose bottom row "
            f"comes first; bench '{bench.kind}' is {bench.image_row_order}: use 'none'",
            code="adapter",
        )


def _resampled(image: Image, height: int, width: int, how: str) -> Image:
    from PIL import Image as Pillow

    method: Any = Pillow.Resampling[how]
    scaled = Pillow.fromarray(np.ascontiguousarray(image)).resize((width, height), method)
    return np.asarray(scaled, dtype=np.uint8)


def _near(transform: str) -> str:
    return nearest(transform, TRANSFORMS)


def _size_error(what: str) -> EpisodeError:
    return EpisodeError(
        f"{what}: set adapter.image_resize=pad, or choose the renderer's size", code="image_size"
    )
