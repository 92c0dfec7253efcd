"""Any single value of a result is changed, and every hash made to fit: what is derived or bound is
refused. What was measured is refused by its hash, as long as that is not made to fit too."""

from __future__ import annotations

import copy
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from robogate.contract.strict import MEASURED, leaf_origins
from robogate.evidence.validator import validate_document
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
    document = copy.deepcopy(document)
    keys = [int(k) if k.isdigit() else k for k in re.findall(r"[^.\[\]$]+", path)]
    parent = document
    for key in keys[:-1]:
        parent = parent[key]
    parent[keys[-1]] = value
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


#: The quick tests take every ninth leaf, the slow ones all.
EVERY = pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])


class Judge:
    """Validates edited documents of one run against the files beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.document, *beside = (
            json.loads((folder / f"{name}.json").read_text())
            for name in ("result", "contract", "identity", "manifest")
        )
        self.beside = dict(zip(("contract", "identity", "manifest"), beside))

    def refuses(self, document: Any) -> bool:
        return not validate_document(document, folder=self.folder, **self.beside).holds


@pytest.fixture(scope="module")
def judge(builder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaves") / "run"
    spec = builder.Spec(endings=("success", "error", "policy_stop", "control_rejected"))
    yield Judge(builder.write(folder, spec))
    shutil.rmtree(folder)


@EVERY
def test_a_changed_leaf_is_refused_unless_it_was_measured(judge, builder, every):
    held, tried = [], 0
    for path, value in list(kinds(judge.document).items())[::every]:
        if HASHES.fullmatch(path):
            continue
        for other in others(path, value):
            tried += 1
            forged = replaced(judge.document, path, other)
            try:
                forged = builder.rehash(forged)
            except (TypeError, KeyError, AttributeError):
                continue  # no longer of a shape that has episodes
            if not judge.refuses(forged) and not measured(path):
                held.append(f"{path}: {value!r} -> {other!r}")
    assert held == []
    assert tried > 800 // every


@EVERY
def test_a_changed_leaf_is_refused_while_hashes_are_kept(judge, every):
    held = []
    for path, value in list(kinds(judge.document).items())[1::every]:
        other = others(path, value)[0]
        if not judge.refuses(replaced(judge.document, path, other)):
            held.append(f"{path}: {value!r} -> {other!r}")
    assert held == []


@EVERY
def test_a_removed_field_is_refused(judge, builder, every):
    def parents(value, path="$"):
        if isinstance(value, dict):
            yield path, value
            for key, item in value.items():
                yield from parents(item, f"{path}.{key}")
        elif isinstance(value, list) and value:
            yield from parents(value[-1], f"{path}[{len(value) - 1}]")

    fields = [
        (path, parent, key)
        for path, parent in parents(judge.document)
        if path != "$" and not path.endswith((".diagnostics", ".options"))
        for key in parent
        if not HASHES.fullmatch(f"{path}.{key}")  # put back by making the hashes fit
    ]
    held = []
    for path, parent, key in fields[2::every]:
        smaller = {k: v for k, v in parent.items() if k != key}
        forged = replaced(judge.document, path, smaller)
        try:
            forged = builder.rehash(forged)
        except KeyError:
            pass  # no longer of a shape that has episodes
        if not judge.refuses(forged):
            held.append(f"{path}.{key}")
    assert held == []
