"""Arguments of the methods and calls: which there are, of which type, checked before anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from robogate.errors import nearest
from robogate.worker.call_error import CallError
from robogate.worker.images import DEFAULT_QUALITY, FORMATS

_LONGEST = 4096


@dataclass(frozen=True)
class Argument:
    """One argument.

    Attributes:
        kind: A key of the readers below.
        required: Whether it must be given; one that is not given is null.
    """

    kind: str
    required: bool = True


_EPISODE = Argument("text")
_STEP = Argument("step")
_IMAGES = {
    "image_format": Argument("image_format", False),
    "quality": Argument("quality", False),
}
_TOKEN = Argument("text", False)

#: Arguments of each name.
ARGUMENTS: Mapping[str, Mapping[str, Argument]] = MappingProxyType(
    {
        "describe": {},
        "reset": {"task": Argument("text"), "seed": Argument("integer"), **_IMAGES},
        "profile": {},
        "state": {"episode_id": _EPISODE},
        "tick": {
            "episode_id": _EPISODE,
            "step": _STEP,
            "command": Argument("numbers"),
            "cameras": Argument("names", False),
            **_IMAGES,
        },
        "act": {
            "episode_id": _EPISODE,
            "step": _STEP,
            "action": Argument("numbers"),
            "token": _TOKEN,
            **_IMAGES,
        },
        "observe": {
            "episode_id": _EPISODE,
            "cameras": Argument("names", False),
            "token": _TOKEN,
            **_IMAGES,
        },
        "fk": {"command": Argument("numbers")},
        "ik": {"episode_id": _EPISODE, "arm": Argument("text"), "pose": Argument("numbers")},
        "plan": {
            "episode_id": _EPISODE,
            "arm": Argument("text"),
            "pose": Argument("numbers", False),
            "joints": Argument("numbers", False),
            "raw": Argument("flag", False),
        },
        "policy_obs": {"episode_id": _EPISODE, **_IMAGES},
        "action_spec": {},
        "register": {"identity": Argument("object")},
        "claim_outcome": {"episode_id": _EPISODE},
        "outcome": {"token": Argument("text")},
        "identity": {},
    }
)


def take(name: str, arguments: Any, allowed: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Check the arguments of a call.

    Args:
        name: Of a method or call.
        arguments: As received.
        allowed: Names that the contract lets pass; None: all of them.

    Returns:
        Every argument of that name; null where it was not given.

    Raises:
        CallError: 422, naming the first that is unknown, missing or of a wrong type.
    """
    known = {
        key: value for key, value in ARGUMENTS[name].items() if allowed is None or key in allowed
    }
    if type(arguments) is not dict:
        raise _bad(name, f"arguments are {_kind(arguments)}, expected an object")
    for key in arguments:
        if key not in known:
            raise _bad(name, f"argument {key!r:.60} is not known; {nearest(str(key), known)}")
    taken: dict[str, Any] = {}
    for key, argument in known.items():
        value = arguments.get(key)
        if value is None:
            if argument.required:
                raise _bad(name, f"argument {key!r} is missing")
            taken[key] = None
            continue
        try:
            taken[key] = _READERS[argument.kind](value)
        except ValueError as exc:
            raise _bad(name, f"argument {key!r} is {_kind(value)}, expected {exc}") from exc
    return {**dict.fromkeys(ARGUMENTS[name]), **taken}


def _bad(name: str, message: str) -> CallError:
    return CallError(422, "bad_arguments", f"{name}: {message}")


_ELEMENTS = {
    bool: "true or false", int: "numbers", float: "numbers", str: "strings", list: "lists",
    dict: "objects", type(None): "null",
}  # fmt: skip


def _kind(value: Any) -> str:
    """Say what a value is; a string is never quoted, since it may be a token."""
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) in (int, float):
        return repr(value)
    if type(value) is list:
        names = dict.fromkeys(_ELEMENTS.get(type(item), type(item).__name__) for item in value)
        return f"a list of {' and '.join(names) or 'nothing'}"
    return "a string" if type(value) is str else type(value).__name__


def _text(value: Any) -> str:
    if type(value) is not str or len(value) > _LONGEST:
        raise ValueError(f"a string of at most {_LONGEST} characters")
    return str(value)


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise ValueError("an integer")
    return int(value)


def _step(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("an integer of at least 0")
    return int(value)


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError("true or false")
    return bool(value)


def _numbers(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype != np.float64 or value.ndim != 1 or value.size > _LONGEST:
            raise ValueError(f"a list of at most {_LONGEST} numbers")
        return value
    if type(value) is not list or len(value) > _LONGEST:
        raise ValueError(f"a list of at most {_LONGEST} numbers")
    if any(type(item) not in (int, float) for item in value):
        raise ValueError(f"a list of at most {_LONGEST} numbers")
    return np.array(value, np.float64)


def _names(value: Any) -> tuple[str, ...]:
    if type(value) is not list or any(type(item) is not str for item in value):
        raise ValueError("a list of strings")
    if len(value) > 64 or len(set(value)) != len(value):
        raise ValueError("a list of at most 64 strings, each once")
    return tuple(value)


def _object(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise ValueError("an object")
    return dict(value)


def _image_format(value: Any) -> str:
    if value not in FORMATS:
        raise ValueError(f"one of {', '.join(FORMATS)}")
    return str(value)


def _quality(value: Any) -> int:
    if type(value) is not int or not 1 <= value <= 100:
        raise ValueError(f"an integer from 1 to 100 (the default is {DEFAULT_QUALITY})")
    return int(value)


_READERS: dict[str, Callable[[Any], Any]] = {
    "text": _text,
    "integer": _integer,
    "step": _step,
    "flag": _flag,
    "numbers": _numbers,
    "names": _names,
    "object": _object,
    "image_format": _image_format,
    "quality": _quality,
}
