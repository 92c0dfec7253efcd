"""A bundle: one promoted result with all that proves it, in one folder named by its content.

::

    BOARD/bundles/<sha256>/
      bundle.json            every other file with its size and hash, and what the bundle is about
      statement.dsse.json    what is signed, see `robogate.evidence.statement`
      scope.txt              what a score of it says, and what it does not
      result/                the run: result, contract, identity, manifest, traces
      qualification/         qualification.json and the four control runs
      media/                 some videos, for people

The hash in the folder's name covers bundle.json, and so every file but the statement, which names
that hash. Nothing in a bundle says when or where it was promoted: equal evidence under an equal key
is the same bundle. Read here, verified in `robogate.evidence.verify_bundle`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from robogate.contract.canonical import self_hash
from robogate.contract.identity import Identity
from robogate.contract.strict import BOUND, DERIVED, MEASURED, decode, encode
from robogate.evidence.files import CONTRACT, IDENTITY, MANIFEST, RESULT, TRACES, read_document
from robogate.evidence.qualification import DOCUMENT
from robogate.evidence.qualification_record import CONTROLS

BUNDLE_SCHEMA = "robogate.bundle/1"

BUNDLES = "bundles"
#: Unfinished promotions, below the board.
STAGING = ".staging"

BUNDLE = "bundle.json"
STATEMENT = "statement.dsse.json"
SCOPE = "scope.txt"
RESULT_FOLDER = "result"
QUALIFICATION_FOLDER = "qualification"
MEDIA_FOLDER = "media"

#: The files that bundle.json does not list: itself, and the statement that is made from it.
UNLISTED = (BUNDLE, STATEMENT)

NAME = re.compile(r"[0-9a-f]{64}")
#: A relative path of plain names; none begins with a dot, so none leads out of the bundle.
PATH = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}/){0,3}[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")

_SCENARIO = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,150}")


@dataclass(frozen=True)
class BundleFile:
    """One file of a bundle.

    Attributes:
        path: Relative to the bundle, with slashes.
        bytes: Its size.
        sha256: Of its content.
    """

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class BundleRecord:
    """The document bundle.json.

    Attributes:
        schema: `BUNDLE_SCHEMA`.
        signed_by: ID of the key that signed the statement, see `robogate.evidence.signing.key_id`;
            null for an unsigned bundle.
        role: ``policy`` may be ranked, ``control`` never is.
        declared: Parts of the identity that were declared by a server and not measured.
        run_id: Of the result.
        result_sha256: The result's own hash.
        contract_sha256: What was asked.
        harness_contract_sha256: The same without the adapter: what is qualified.
        fingerprint_sha256: What it ran on.
        manifest_sha256: Which scenarios.
        qualification_id: Of the qualification in the bundle.
        files: Every file but `UNLISTED`, sorted by path.
        sha256: Of this document without this field; the bundle's name.
    """

    schema: Annotated[Literal["robogate.bundle/1"], BOUND]
    signed_by: Annotated[str | None, BOUND]
    role: Annotated[Literal["control", "policy"], BOUND]
    declared: Annotated[tuple[str, ...], DERIVED]
    run_id: Annotated[str, MEASURED]
    result_sha256: Annotated[str, DERIVED]
    contract_sha256: Annotated[str, DERIVED]
    harness_contract_sha256: Annotated[str, DERIVED]
    fingerprint_sha256: Annotated[str, DERIVED]
    manifest_sha256: Annotated[str, BOUND]
    qualification_id: Annotated[str, DERIVED]
    files: Annotated[tuple[BundleFile, ...], DERIVED]
    sha256: Annotated[str, DERIVED]


@dataclass(frozen=True)
class Bundle:
    """A bundle as it was read; nothing of it has been verified.

    Attributes:
        folder: Where it lies.
        record: Its bundle.json, decoded.
        result: Its result document.
        qualification: Its qualification document.
    """

    folder: Path
    record: BundleRecord
    result: dict[str, Any]
    qualification: dict[str, Any]


def bundle_folders(board: Path) -> list[Path]:
    """Folders of a board's bundles, sorted by name; what has no bundle's name is none.

    Raises:
        OSError: The board cannot be read.
    """
    folder = board / BUNDLES
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if NAME.fullmatch(path.name))


def read_bundle(folder: Path) -> Bundle:
    """Read a bundle's documents without verifying anything; `verify_bundle` does that.

    Raises:
        Unreadable: A document is missing or is not strict JSON.
        StrictError: bundle.json is not exactly of its schema.
    """
    record = decode(BundleRecord, read_document(folder / BUNDLE))
    return Bundle(
        folder=folder,
        record=record,
        result=read_document(folder / RESULT_FOLDER / RESULT),
        qualification=read_document(folder / QUALIFICATION_FOLDER / DOCUMENT),
    )


def run_files(result: Any) -> list[str]:
    """The files of a run that evidence consists of: its documents, and each episode's trace.

    Args:
        result: A result document, not yet believed: a name that could lead elsewhere is left out.
    """
    episodes = result.get("episodes") if type(result) is dict else None
    names = [
        episode.get("scenario_id")
        for episode in (episodes if type(episodes) is list else ())
        if type(episode) is dict and episode.get("attestation") is not None
    ]
    safe = sorted({n for n in names if type(n) is str and _SCENARIO.fullmatch(n)})
    return [RESULT, CONTRACT, IDENTITY, MANIFEST, *(f"{TRACES}/{name}.npy" for name in safe)]


def expected_files(result: Any, controls: Iterable[Any], media: Iterable[str]) -> list[str]:
    """Paths of all files that a bundle lists, sorted.

    Args:
        result: Its result document.
        controls: Result documents of the four control runs, in the order of `CONTROLS`.
        media: Names in the media folder.
    """
    paths = [SCOPE, f"{QUALIFICATION_FOLDER}/{DOCUMENT}"]
    paths += (f"{RESULT_FOLDER}/{name}" for name in run_files(result))
    for (control, _), document in zip(CONTROLS, controls):
        paths += (f"{QUALIFICATION_FOLDER}/{control}/{name}" for name in run_files(document))
    paths += (f"{MEDIA_FOLDER}/{name}" for name in media)
    return sorted(paths)


def declared_parts(identity: Identity) -> tuple[str, ...]:
    """Parts of an identity that a server declared and nobody measured."""
    parts = {
        "identity.policy": identity.policy,
        "identity.checkpoint": identity.checkpoint,
        "identity.server": identity.server,
    }
    return tuple(
        name for name, part in parts.items() if part is not None and part.origin == "declared"
    )


def assemble_bundle(
    result: dict[str, Any],
    *,
    declared: Iterable[str],
    qualification_id: str,
    files: Iterable[BundleFile],
    signed_by: str | None,
) -> dict[str, Any]:
    """The document bundle.json, from a validated result and the files."""
    document: dict[str, Any] = {
        "schema": BUNDLE_SCHEMA,
        "signed_by": signed_by,
        "role": result["contract"]["adapter"]["role"],
        "declared": list(declared),
        "run_id": result["run_id"],
        "result_sha256": result["sha256"],
        "contract_sha256": result["contract_sha256"],
        "harness_contract_sha256": result["harness_contract_sha256"],
        "fingerprint_sha256": result["fingerprint_sha256"],
        "manifest_sha256": result["manifest_sha256"],
        "qualification_id": qualification_id,
        "files": [encode(file) for file in sorted(files, key=lambda file: file.path)],
    }
    document["sha256"] = self_hash(document)
    return document


def bundle_bytes(document: dict[str, Any]) -> bytes:
    """The one form in which bundle.json is written: one top-level field a line, one file a line."""

    def compact(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    fields = []
    for key, value in document.items():
        text = compact(value)
        if key == "files":
            text = "[\n" + ",\n".join(compact(file) for file in value) + "\n]"
        fields.append(f"{compact(key)}: {text}")
    return ("{\n" + ",\n".join(fields) + "\n}\n").encode("utf-8")


def scope_bytes(result: dict[str, Any]) -> bytes:
    """The text of scope.txt."""
    return f"{result['scope']}\n".encode()
