"""A careful forger: whatever was edited, every hash is made to fit and the bundle signed again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bad.material import NAMES
from robogate.contract.canonical import canonical_bytes, self_hash
from robogate.contract.strict import encode
from robogate.evidence.bundle import UNLISTED, bundle_bytes
from robogate.evidence.bundle_tree import measured_file
from robogate.evidence.qualification import assemble_qualification
from robogate.evidence.qualification_checks import read_control
from robogate.evidence.signing import envelope_text, key_id, parse_envelope
from robogate.evidence.statement import assemble_statement, statement_bytes
from robogate.records.contract import thaw

Edit = Callable[[Any], Any]


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def write(path: Path, value: Any) -> None:
    put(path, json.dumps(value).encode())


def put(path: Path, data: bytes) -> None:
    """Write a file of a bundle, whose files are read-only."""
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


class Forger:
    """Edits a copy of a bundle.

    Args:
        folder: The copy.
        builder: Of synthetic runs.
        key: Private key that signs again; None for an unsigned bundle.
    """

    def __init__(self, folder: Path, builder: Any, key: Any) -> None:
        self.folder, self.builder, self.key = folder, builder, key

    def edit(self, name: str, edit: Edit) -> None:
        """Edit a JSON document and keep every hash as it is."""
        document = read(self.folder / name)
        edit(document)
        write(self.folder / name, document)

    def edit_result(self, edit: Edit, run: str = "result") -> None:
        """Edit a result and make the hashes in it fit."""
        path = self.folder / run / "result.json"
        document = read(path)
        edit(document)
        write(path, self.builder.rehash(document))

    def edit_trace(self, position: int, edit: Edit, run: str = "result") -> None:
        """Edit a trace, and make its calls, its hash and its chains fit."""

        def both(trace: Any, calls: Any) -> tuple[Any, Any]:
            trace = edit(trace)
            frozen = thaw(read(self.folder / run / "contract.json"))
            return trace, self.builder.fitting_calls(frozen, trace, calls)

        self.edit_trace_file(position, both, run)

    def edit_calls(self, position: int, edit: Edit, run: str = "result") -> None:
        """Edit the calls of a trace, and make its hash and chains fit."""
        self.edit_trace_file(position, lambda trace, calls: (trace, edit(calls)), run)

    def edit_trace_file(
        self, position: int, edit: Callable[[Any, Any], tuple[Any, Any]], run: str
    ) -> None:
        """Edit rows and calls of a trace, and make its hash and chains fit."""

        def refit(document: Any) -> None:
            self.builder.edit_trace_file(self.folder / run, document, position, edit, put)

        self.edit_result(refit, run)

    def replace_run(self, spec: Any, run: str = "result") -> None:
        """Put another run, valid in itself, in the place of one."""
        shutil.rmtree(self.folder / run)
        self.builder.write(self.folder / run, spec)

    def copy_run(self, source: Path, run: str) -> None:
        shutil.rmtree(self.folder / run)
        shutil.copytree(source, self.folder / run)

    def requalify(self) -> None:
        """Make the qualification follow from whatever the controls are, and bind the result."""
        runs = [read_control(name, self.folder / "qualification" / name) for name in NAMES]
        document = assemble_qualification(runs)
        write(self.folder / "qualification" / "qualification.json", document)
        bound = {"qualification_id": document["qualification_id"]}
        self.edit_result(lambda result: result.update(bound))

    def seal(self, edit: Edit | None = None, statement: Edit | None = None) -> None:
        """Make bundle.json and the statement follow from the files, and sign.

        Args:
            edit: Changes bundle.json before its hash is taken.
            statement: Changes the statement before it is signed.
        """
        result = read(self.folder / "result" / "result.json")
        document = read(self.folder / "bundle.json")
        paths = (
            p.relative_to(self.folder).as_posix() for p in self.folder.rglob("*") if is_plain(p)
        )
        document["files"] = [
            encode(measured_file(self.folder, path))
            for path in sorted(paths)
            if path not in UNLISTED
        ]
        taken = ("run_id", "contract_sha256", "harness_contract_sha256", "fingerprint_sha256",
                 "manifest_sha256", "qualification_id")  # fmt: skip
        document.update({key: result.get(key) or document[key] for key in taken})
        document["result_sha256"] = result.get("sha256", document["result_sha256"])
        document["signed_by"] = None if self.key is None else key_id(self.key.public_key())
        if edit is not None:
            edit(document)
        document["sha256"] = self_hash(document)
        put(self.folder / "bundle.json", bundle_bytes(document))
        self.sign(self._statement(document, result), statement)

    def _statement(self, document: Any, result: Any) -> Any:
        own = measured_file(self.folder, "bundle.json")
        try:
            return assemble_statement(document, own, result)
        except (KeyError, TypeError, AttributeError):
            # The result is of no shape that a statement can be made of: sign the files at least.
            stated = self.payload()
            stated["subject"] = [
                {"name": file["path"], "digest": {"sha256": file["sha256"]}}
                for file in (*document["files"], encode(own))
            ]
            return stated

    def payload(self) -> Any:
        data = (self.folder / "statement.dsse.json").read_bytes()
        return json.loads(parse_envelope(data, "")[1])

    def sign(self, statement: Any, edit: Edit | None = None) -> None:
        if edit is not None:
            edit(statement)
        try:
            payload = statement_bytes(statement)
        except TypeError:
            payload = canonical_bytes(encode(statement))
        put(self.folder / "statement.dsse.json", envelope_text(payload, self.key).encode())


def is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
