"""The bytes of a JSON document's types and values: a cheap key for work done once per document."""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from typing import Any


def exact_bytes(document: Mapping[str, Any]) -> bytes | None:
    """Types and values bit for bit, about ten times cheaper than a text; None where there are none.

    Whatever has the bytes of a plain document (`is_plain`) is that document, the order of keys
    included. They are for comparing within one process, never to be stored or sent.
    """
    try:
        # Version 2: floats as their eight bytes, and nothing that depends on shared references.
        return marshal.dumps(dict(document), 2)
    except ValueError:
        return None


def is_plain(value: Any) -> bool:
    """Whether JSON's own types are all there is: a number of numpy's has the bytes of others."""
    if type(value) is dict:
        return all(type(key) is str and is_plain(item) for key, item in value.items())
    if type(value) is list:
        return all(is_plain(item) for item in value)
    return value is None or type(value) in (bool, int, float, str)
