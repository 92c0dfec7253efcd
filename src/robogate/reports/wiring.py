"""What stands between a bench and a policy, in one line: the fields of the adapter group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Who the policy is, which is shown elsewhere; everything else says how it is driven.
_WHO = frozenset(
    {
        "kind",
        "version",
        "benches",
        "role",
        "model",
        "revision",
        "checkpoint_sha256",
        "target",
        "options",
    }
)


def wiring(adapter: Mapping[str, Any]) -> dict[str, str]:
    """How a policy is driven, by the names of the contract's fields.

    Args:
        adapter: That group of a contract document; fields of kinds to come are shown as well.
    """
    return {
        name.replace("_", " "): {True: "yes", False: "no"}[value]
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
        for name, value in adapter.items()
        if name not in _WHO
    }


def wiring_line(adapter: Mapping[str, Any]) -> str:
    """The same as one line."""
    return ", ".join(f"{name} {value}" for name, value in wiring(adapter).items())
