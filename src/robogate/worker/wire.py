"""Bodies of ``/rpc``: JSON, or the same values in msgpack with arrays as they are.

In msgpack an array is extension type 1, whose data is the msgpack array ``[dtype, shape, bytes]``
with dtype ``<f8`` or ``|u1``, C order. In JSON a float array is a list and an image a data URL.
Nothing else is accepted: no pickle, no object array, no other extension type, no compression.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from robogate.contract.canonical import MAX_DEPTH, MAX_INTEGER, loads_strict
from robogate.errors import EvidenceError, RobogateError
from robogate.worker.encoding import ARRAY_TYPES, Array, ArrayCodec, refuse
from robogate.worker.images import DEFAULT_QUALITY, to_data_url

JSON = "application/json"
MSGPACK = "application/msgpack"
MEDIA_TYPES = (JSON, MSGPACK)

_ARRAY = 1


class WireError(RobogateError):
    """A body is not what it has to be."""

    default_code = "malformed"


class MsgpackCodec:
    """Arrays travel as extension types; they are already arrays when a message is read."""

    def pack(self, array: Array) -> Any:
        """Return the array's extension type."""
        import msgpack

        name = array.dtype.str
        if name not in ARRAY_TYPES:
            raise TypeError(f"array of {name}, expected one of {ARRAY_TYPES}")
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        return msgpack.ExtType(_ARRAY, msgpack.packb([name, list(array.shape), data]))

    def unpack(self, value: Any, path: str) -> Array:
        """Return the array, owned by the caller."""
        if not isinstance(value, np.ndarray):
            refuse(path, f"is {type(value).__name__}, expected an array")
        return value


class JsonCodec:
    """Float arrays travel as lists, images as data URLs.

    Args:
        image_format: ``png`` or ``jpeg``.
        quality: Of a JPEG.
    """

    def __init__(self, image_format: str = "png", quality: int = DEFAULT_QUALITY) -> None:
        self._format, self._quality = image_format, quality

    def pack(self, array: Array) -> Any:
        """Return the array's list or data URL.

        Raises:
            WireError: A value is not finite, which JSON cannot say.
        """
        if array.dtype == np.uint8 and array.ndim == 3:
            return to_data_url(array, self._format, self._quality)
        if not np.isfinite(array).all():
            raise WireError("a value is not finite; ask in msgpack to see it", code="not_finite")
        return array.tolist()

    def unpack(self, value: Any, path: str) -> Array:
        """Return a list of numbers as an array."""
        if type(value) is not list or any(type(item) not in (int, float) for item in value):
            refuse(path, "is not a list of numbers")
        return np.array(value, "<f8")


def codec_of(media: str, image_format: str, quality: int) -> ArrayCodec:
    """How arrays travel in a media type.

    Args:
        media: One of `MEDIA_TYPES`.
        image_format: ``raw``, ``png`` or ``jpeg``.
        quality: Of a JPEG.
    """
    if image_format == "raw":
        return MsgpackCodec()
    return JsonCodec(image_format, quality) if media == JSON else _Encoded(image_format, quality)


class _Encoded(MsgpackCodec):
    """Msgpack whose images are data URLs all the same."""

    def __init__(self, image_format: str, quality: int) -> None:
        self._images = JsonCodec(image_format, quality)

    def pack(self, array: Array) -> Any:
        is_image = array.dtype == np.uint8 and array.ndim == 3
        return self._images.pack(array) if is_image else super().pack(array)


def dump(value: Any, media: str) -> bytes:
    """Write a body.

    Raises:
        TypeError: It holds something that has no form in this media type.
        ValueError: It holds a number that JSON cannot say.
    """
    if media == JSON:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        return text.encode("utf-8")
    import msgpack

    return bytes(msgpack.packb(value, use_bin_type=True))


def load(data: bytes, media: str) -> Any:
    """Read a body; in msgpack, arrays come out as arrays of the reader's own.

    Raises:
        WireError: It is malformed, nested too deeply, or holds what no message may hold.
    """
    if media == JSON:
        try:
            return loads_strict(data, source="body")
        except EvidenceError as exc:
            raise WireError(exc.message) from exc
    import msgpack

    try:
        value = msgpack.unpackb(data, object_pairs_hook=_unique, ext_hook=_array)
    except WireError:
        raise
    except (ValueError, msgpack.UnpackException, TypeError, OverflowError) as exc:
        why = " ".join(str(exc).split()) or type(exc).__name__
        raise WireError(f"body: not msgpack: {why:.120}") from exc
    _require_plain(value)
    return value


def _unique(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise WireError("body: a map has a key twice")
    return mapping


def _array(code: int, data: bytes) -> Array:
    import msgpack

    if code != _ARRAY:
        raise WireError(f"body: extension type {code} is not known, expected {_ARRAY} (an array)")
    parts = msgpack.unpackb(data)
    if type(parts) is not list or len(parts) != 3:
        raise WireError("body: an array is not [dtype, shape, bytes]")
    name, shape, raw = parts
    if name not in ARRAY_TYPES:
        raise WireError(f"body: array of {name!r:.20}, expected one of {', '.join(ARRAY_TYPES)}")
    if type(shape) is not list or any(type(n) is not int or n < 0 for n in shape):
        raise WireError("body: an array has no valid shape")
    dtype = np.dtype(name)
    if type(raw) is not bytes or math.prod(shape) * dtype.itemsize != len(raw) or len(shape) > 8:
        raise WireError("body: an array's bytes do not fill its shape")
    return np.frombuffer(raw, dtype).reshape(shape).copy()


def _require_plain(value: Any) -> None:
    """Refuse what JSON would not hold either, arrays excepted."""
    waiting: list[tuple[Any, int]] = [(value, 1)]
    while waiting:
        item, depth = waiting.pop()
        kind = type(item)
        if kind is dict or kind is list:
            if depth > MAX_DEPTH:
                raise WireError(f"body: nested deeper than {MAX_DEPTH} levels")
            if kind is dict:
                if not all(type(key) is str for key in item):
                    raise WireError("body: a map has a key that is not a string")
                item = item.values()
            waiting.extend((part, depth + 1) for part in item)
        elif kind is int:
            if abs(item) > MAX_INTEGER:
                raise WireError("body: an integer exceeds 2^53 - 1")
        elif not (item is None or kind in (bool, float, str, np.ndarray)):
            raise WireError(f"body: holds {kind.__name__}, which no message may hold")
