"""The checkpoint of the behaviour-cloning policy: a network and a document that says what it is.

A checkpoint is a folder of two files. `policy.json` states what the network was trained to see and
to answer; every field of it is compared with the contract, and the network's own inputs and outputs
with the document, before an episode begins. Each refusal names file and field.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from robogate.adapters.bc_features import CAMERAS, STATE_SIZE
from robogate.contract.adapter_schema import LearnedAdapter
from robogate.contract.canonical import loads_strict, self_hash
from robogate.contract.files import read_bounded
from robogate.contract.schema import Bench
from robogate.contract.strict import StrictError, decode
from robogate.errors import EvidenceError, RunError

DOCUMENT, NETWORK = "policy.json", "policy.onnx"
SCHEMA = "robogate.bc_checkpoint/1"
_MAX_DOCUMENT, _MAX_NETWORK = 1 << 20, 1 << 26
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True)
class SeenByNetwork:
    """What goes in.

    Attributes:
        cameras: In the order of the network's inputs.
        image_size: Side of the square pictures, pixels.
        image_resize: How they come to that size.
        image_transform: Applied to the protocol image before that.
        image_row_order: Of the bench that it was trained on.
        state_layout: What the state consists of.
        state_mean: Subtracted from it, (16,).
        state_std: What the rest is divided by, (16,), above 0.
    """

    cameras: tuple[str, ...]
    image_size: int
    image_resize: str
    image_transform: str
    image_row_order: str
    state_layout: str
    state_mean: tuple[float, ...]
    state_std: tuple[float, ...]


@dataclass(frozen=True)
class SaidByNetwork:
    """What comes out.

    Attributes:
        chunk: Actions of one inference.
        names: Component of each action.
        semantics: What an action means.
        gripper_decode: What its gripper component means.
    """

    chunk: int
    names: tuple[str, ...]
    semantics: str
    gripper_decode: str


@dataclass(frozen=True)
class Origin:
    """Where it comes from: for the record, compared with nothing.

    Attributes:
        dataset_sha256: Of the demonstrations' index.
        environment_sha256: Of the environment that they were recorded in.
        refused_manifest_sha256: Manifest whose seeds and scenes they were kept apart from.
        demonstrations: How many.
        frames: Their actions.
        step: Training step of this checkpoint.
        steps: Of the whole training.
        recipe: How it was trained.
        framework: Name and version.
    """

    dataset_sha256: str
    environment_sha256: str
    refused_manifest_sha256: str
    demonstrations: int
    frames: int
    step: int
    steps: int
    recipe: dict[str, Any]
    framework: str


@dataclass(frozen=True)
class BcCheckpoint:
    """`policy.json`.

    Attributes:
        schema: Of this document.
        model: Name of the model.
        network_sha256: Of `policy.onnx`.
        seen: What goes in.
        said: What comes out.
        origin: Where it comes from.
        sha256: Self-hash.
    """

    schema: Literal["robogate.bc_checkpoint/1"]
    model: str
    network_sha256: str
    seen: SeenByNetwork
    said: SaidByNetwork
    origin: Origin
    sha256: str


def read_checkpoint(folder: Path, adapter: LearnedAdapter, bench: Bench) -> BcCheckpoint:
    """Read a checkpoint's document and check it against the contract; the network stays closed.

    Raises:
        RunError: ``checkpoint``: a file is missing or is another one, or a field does not fit; the
            message names the file and the first fields.
    """
    path = folder / DOCUMENT
    if not folder.is_dir():
        raise _refusal(folder, f"is no folder; expected one with {DOCUMENT} and {NETWORK}")
    try:
        document = loads_strict(read_bounded(path, _MAX_DOCUMENT), source=str(path))
        checkpoint = decode(BcCheckpoint, document)
    except StrictError as exc:
        raise _refusal(path, exc.message) from exc
    except EvidenceError as exc:
        raise RunError(
            f"{exc.message}; adapter.checkpoint has to be a folder that 'robogate train "
            "checkpoints' wrote",
            code="checkpoint",
        ) from exc
    if checkpoint.sha256 != self_hash(document):
        raise _refusal(path, f"$.sha256: is {checkpoint.sha256:.80}, recomputed another one")
    faults = [*_form_faults(checkpoint), *_contract_faults(checkpoint, adapter, bench)]
    if faults:
        raise _refusal(path, "; ".join(f"$.{where}: {what}" for where, what in faults[:5]))
    return checkpoint


def read_network(folder: Path, checkpoint: BcCheckpoint) -> bytes:
    """The network's bytes, which are the ones that the document names.

    Raises:
        RunError: ``checkpoint``.
    """
    path = folder / NETWORK
    try:
        data = read_bounded(path, _MAX_NETWORK)
    except EvidenceError as exc:
        raise RunError(exc.message, code="checkpoint") from exc
    found = hashlib.sha256(data).hexdigest()
    if found != checkpoint.network_sha256:
        raise _refusal(
            path,
            f"has SHA-256 {found}, {DOCUMENT} states $.network_sha256 {checkpoint.network_sha256}; "
            "take both from one training",
        )
    return data


def check_network(
    folder: Path, checkpoint: BcCheckpoint, inputs: dict[str, Any], outputs: dict[str, Any]
) -> None:
    """Compare what a loaded network takes and gives with what the document states.

    Args:
        folder: Of the checkpoint.
        checkpoint: The document.
        inputs: Name to (element type, shape); a size that is free is a string or None.
        outputs: The same.

    Raises:
        RunError: ``checkpoint``.
    """
    seen, said = checkpoint.seen, checkpoint.said
    picture = ("tensor(uint8)", (None, seen.image_size, seen.image_size, 3))
    wanted: dict[str, Any] = dict.fromkeys(seen.cameras, picture)
    wanted["state"] = ("tensor(float)", (None, len(seen.state_mean)))
    answer = {"actions": ("tensor(float)", (None, said.chunk, len(said.names)))}
    for what, found, expected in (("input", inputs, wanted), ("output", outputs, answer)):
        if list(found) != list(expected):
            raise _refusal(
                folder / NETWORK, f"has {what}s {list(found)}, expected {list(expected)}"
            )
        for name, (kind, shape) in found.items():
            free = tuple(n if type(n) is int else None for n in shape)
            if (kind, free) != expected[name]:
                raise _refusal(
                    folder / NETWORK,
                    f"{what} {name}: is {kind} {free}, expected {expected[name][0]} "
                    f"{expected[name][1]} (None: any number of observations)",
                )


def _form_faults(checkpoint: BcCheckpoint) -> Iterator[tuple[str, str]]:
    """What must hold in the document alone."""
    seen, origin = checkpoint.seen, checkpoint.origin
    for name, digest in (
        ("network_sha256", checkpoint.network_sha256),
        ("origin.dataset_sha256", origin.dataset_sha256),
        ("origin.environment_sha256", origin.environment_sha256),
        ("origin.refused_manifest_sha256", origin.refused_manifest_sha256),
    ):
        if len(digest) != 64 or not _HEX.issuperset(digest):
            yield name, f"is {digest!r:.80}, expected 64 lower-case hexadecimal digits"
    for name in ("state_mean", "state_std"):
        values = getattr(seen, name)
        if len(values) != STATE_SIZE:
            yield f"seen.{name}", f"has {len(values)} values, expected {STATE_SIZE}"
        for index, value in enumerate(values):
            if not math.isfinite(value) or (name == "state_std" and not value > 0.0):
                what = "a finite number" if name == "state_mean" else "a finite number above 0"
                yield f"seen.{name}[{index}]", f"is {value}, expected {what}"


def _contract_faults(
    checkpoint: BcCheckpoint, adapter: LearnedAdapter, bench: Bench
) -> Iterator[tuple[str, str]]:
    """What the network was trained for, where the contract asks for something else."""
    seen, said = checkpoint.seen, checkpoint.said
    if adapter.model not in (None, checkpoint.model):
        yield "model", f"is {checkpoint.model!r}, adapter.model is {adapter.model!r}"
    for where, stated, key, asked in (
        ("seen.cameras", seen.cameras, "cameras of the adapter", CAMERAS),
        ("seen.image_size", seen.image_size, "adapter.image_size", adapter.image_size),
        ("seen.image_resize", seen.image_resize, "adapter.image_resize", adapter.image_resize),
        (
            "seen.image_transform",
            seen.image_transform,
            "adapter.image_transform",
            adapter.image_transform,
        ),
        (
            "seen.image_row_order",
            seen.image_row_order,
            "bench.image_row_order",
            bench.image_row_order,
        ),
        ("seen.state_layout", seen.state_layout, "adapter.state_layout", adapter.state_layout),
        ("said.chunk", said.chunk, "adapter.chunk", adapter.chunk),
        ("said.names", said.names, "bench.action.names", bench.action.names),
        ("said.semantics", said.semantics, "bench.action.semantics", bench.action.semantics),
        (
            "said.gripper_decode",
            said.gripper_decode,
            "adapter.gripper_decode",
            adapter.gripper_decode,
        ),
    ):
        if stated != asked:
            yield where, f"is {stated!r}, {key} is {asked!r}"


def _refusal(path: Path, what: str) -> RunError:
    return RunError(f"{path}: {what}", code="checkpoint")
