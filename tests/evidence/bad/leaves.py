"""Every leaf of a JSON document, other values for it, and what protects it."""

from __future__ import annotations

import copy
import math
import re
from typing import Any

from robogate.contract.strict import MEASURED, leaf_origins
from robogate.records.result import Result

WORDS = {
    "outcome": ["success", "failure", "control_rejected", "error"],
    "ending": ["success", "step_limit", "policy_stop", "control_rejected", "error"],
    "status": ["complete", "partial", "development", "error"],
    "event": ["reached", "lost"],
}
#: Recomputed from the rest: making the hashes fit puts the right value back.
HASHES = re.compile(r"\$\.sha256|\$\.episodes\[\d+\]\.(sha256|semantic_sha256)")


def leaves(value: Any, path: str = "$"):
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}")
    elif isinstance(value, list) and value:
        for i, item in enumerate(value):
            yield from leaves(item, f"{path}[{i}]")
    else:
        yield path, value


def replaced(document: Any, path: str, value: Any) -> Any:
    """A copy of a document in which the leaf at a path of `leaves` is another value."""

    def put(parent: Any, at: str) -> bool:
        items = parent.items() if isinstance(parent, dict) else enumerate(parent)
        for key, item in list(items):
            here = f"{at}.{key}" if isinstance(parent, dict) else f"{at}[{key}]"
            if here == path:
                parent[key] = value
                return True
            # Keys may hold dots, so the path is followed, not taken apart.
            inside = path.startswith((f"{here}.", f"{here}["))
            if inside and isinstance(item, (dict, list)) and put(item, here):
                return True
        return False

    document = copy.deepcopy(document)
    assert put(document, "$"), path
    return document


def others(path: str, value: Any) -> list[Any]:
    """Other values for a leaf: of the same type first, then of another."""
    name = path.rpartition(".")[2]
    if name in WORDS:
        return [word for word in WORDS[name] if word != value]
    if type(value) is bool:
        return [not value, int(value)]
    if type(value) is int:
        return [value + 1, float(value)]
    if type(value) is float:
        return [math.nextafter(value, 9.0), *([int(value)] if value.is_integer() else [])]
    if type(value) is str:
        changed = value[:-1] + ("0" if value[-1:] != "0" else "1")
        return [changed, value + " ", None]
    if value is None:
        return ["x", 1.5]
    return [{"x": 1}] if value == {} else [[1.0]]


#: What depends on how an episode ended is changed in each of them.
OF_EACH = re.compile(r"\.(outcome|ending|failure_stage|steps|error|attestation\.\w+)$")


def kinds(document: Any) -> dict[str, Any]:
    """One leaf of each kind: of those whose paths differ in indices alone, one takes its turn."""
    groups: dict[str, list[tuple[str, Any]]] = {}
    for path, value in leaves(document):
        kind = path if OF_EACH.search(path) else re.sub(r"\[\d+\]", "[]", path)
        groups.setdefault(kind, []).append((path, value))
    return dict(group[i % len(group)] for i, group in enumerate(groups.values()))


ORIGINS = [
    (re.compile(re.escape(p).replace(r"\[\]", r"\[\d+\]").replace(r"\.\*", r"\.[^.\[]+")), origin)
    for p, origin in leaf_origins(Result)
]


def measured(path: str) -> bool:
    """Whether a leaf is protected by its hash alone."""
    for pattern, origin in ORIGINS:
        match = pattern.match(path)
        if match and (match.end() == len(path) or path[match.end()] in ".["):
            return origin is MEASURED
    # A null in place of a record: what its fields are, it is.
    inner = {o for p, o in leaf_origins(Result) if p.startswith(re.sub(r"\[\d+\]", "[]", path))}
    return inner == {MEASURED}
