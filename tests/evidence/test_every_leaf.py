"""Any single value of a result is changed, and every hash made to fit: what is derived or bound is
refused. What was measured is refused by its hash, as long as that is not made to fit too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from bad.leaves import HASHES, kinds, measured, others, replaced

from robogate.evidence.validator import validate_document

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
