"""Observations and arrays as message parts, decoded strictly.

A message is JSON-able but for its arrays, which an `ArrayCodec` puts wherever its transport carries
them best: raw buffers beside the message in a pipe, extension types in msgpack.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from robogate.contract.strict import Fault, StrictError, encode
from robogate.records.observation import Evaluator, Observation

Array = NDArray[Any]
#: The only element types that a message may carry.
ARRAY_TYPES = ("<f8", "|u1")


class ArrayCodec(Protocol):
    """Puts arrays into a message and takes them out again."""

    def pack(self, array: Array) -> Any:
        """Return what stands for the array in the message; its bytes may travel elsewhere."""
        ...

    def unpack(self, value: Any, path: str) -> Array:
        """Return the array that ``value`` stands for, owned by the caller.

        Raises:
            StrictError: ``value`` stands for no array of an accepted type.
        """
        ...


class DocumentCodec(ABC):
    """An `ArrayCodec` that also carries documents which seldom change, for less than their text."""

    @abstractmethod
    def pack_document(self, document: Mapping[str, Any]) -> Any:
        """Return what stands for the document in the message."""

    @abstractmethod
    def unpack_document(self, value: Any, path: str) -> Any:
        """Return what ``value`` stands for; it may be shared, so it is not to be changed.

        Raises:
            StrictError: ``value`` stands for no document.
        """


#: Fields of an observation and their exact types; ``object`` is checked by its own decoder.
OBSERVATION_FIELDS: dict[str, type] = {
    "protocol_version": str,
    "episode_id": str,
    "step": int,
    "instruction": str,
    "state": dict,
    "images": dict,
    "registration_sha256": str,
    "done": bool,
    "evaluator": object,
}
EVALUATOR_FIELDS: dict[str, type] = {
    "scenario_id": str,
    "seed": int,
    "applied_scene": dict,
    "success": bool,
    "facts": object,
    "diagnostics": dict,
}


def encode_observation(
    observation: Observation, codec: ArrayCodec, *, with_evaluator: bool = True
) -> dict[str, Any]:
    """Turn an observation into a message part.

    Args:
        observation: To encode.
        codec: Packs its arrays.
        with_evaluator: False leaves the field out, for those whom it is not for.
    """
    names = [name for name in OBSERVATION_FIELDS if name != "evaluator"]
    fields: dict[str, Any] = {name: getattr(observation, name) for name in names}
    fields["state"] = {
        name: codec.pack(np.asarray(value, dtype="<f8"))
        for name, value in observation.state.items()
    }
    fields["images"] = {name: codec.pack(image) for name, image in observation.images.items()}
    if with_evaluator:
        half = observation.evaluator
        fields["evaluator"] = None if half is None else encode_evaluator(half, codec)
    return fields


def encode_evaluator(half: Evaluator, codec: ArrayCodec) -> dict[str, Any]:
    """Turn the evaluator's half of an observation into a message part."""
    fields = {name: getattr(half, name) for name in EVALUATOR_FIELDS}
    fields["facts"] = codec.pack(np.asarray(half.facts, dtype="<f8"))
    fields["diagnostics"] = encode(half.diagnostics)
    if isinstance(codec, DocumentCodec):
        fields["applied_scene"] = codec.pack_document(half.applied_scene)
    return fields


def decode_observation(value: Any, codec: ArrayCodec, path: str) -> Observation:
    """Read an observation; its arrays are the caller's own.

    Raises:
        StrictError: It is not exactly one.
    """
    fields = take_fields(value, path, OBSERVATION_FIELDS)
    if fields["evaluator"] is not None:
        fields["evaluator"] = decode_evaluator(fields["evaluator"], codec, f"{path}.evaluator")
    fields["state"] = {
        name: take_array(item, f"{path}.state.{name}", codec, "<f8", 1)
        for name, item in fields["state"].items()
    }
    fields["images"] = {
        name: take_array(item, f"{path}.images.{name}", codec, "|u1", 3)
        for name, item in fields["images"].items()
    }
    return Observation(**fields)


def decode_evaluator(value: Any, codec: ArrayCodec, path: str) -> Evaluator:
    """Read the evaluator's half of an observation.

    Raises:
        StrictError: It is not exactly one.
    """
    if isinstance(codec, DocumentCodec) and type(value) is dict and "applied_scene" in value:
        scene = codec.unpack_document(value["applied_scene"], f"{path}.applied_scene")
        value = {**value, "applied_scene": scene}
    fields = take_fields(value, path, EVALUATOR_FIELDS)
    facts = take_array(fields["facts"], f"{path}.facts", codec, "<f8", 1)
    return Evaluator(**{**fields, "facts": facts})


def take_array(value: Any, path: str, codec: ArrayCodec, dtype: str, ndim: int) -> Array:
    """Take an array out of a message and check its element type and number of dimensions."""
    array = codec.unpack(value, path)
    if array.dtype.str != dtype or array.ndim != ndim:
        actual = f"{array.dtype.str} with {array.ndim} dimension(s)"
        refuse(path, f"is an array of {actual}, expected {dtype} with {ndim}")
    return array


def take_fields(value: Any, path: str, kinds: Mapping[str, type]) -> dict[str, Any]:
    """Check an object's keys and the exact types of its values; ``object`` accepts any."""
    if type(value) is not dict:
        refuse(path, f"is {type(value).__name__}, expected object")
    if value.keys() != kinds.keys():
        faults = [Fault(f"{path}.{k}", "unknown field") for k in value if k not in kinds]
        faults += [Fault(f"{path}.{k}", "missing field") for k in kinds if k not in value]
        raise StrictError(faults)
    for name, kind in kinds.items():
        if kind is not object and type(value[name]) is not kind:
            actual = type(value[name]).__name__
            refuse(f"{path}.{name}", f"is {actual}, expected {kind.__name__}")
    return dict(value)


def refuse(path: str, message: str) -> NoReturn:
    """Raise a `StrictError` about one value."""
    raise StrictError([Fault(path, message)])
