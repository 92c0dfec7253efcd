"""The index of demonstrations: what was recorded, where, and what it was kept apart from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from robogate.contract.canonical import read_json, self_hash
from robogate.contract.strict import StrictError, decode
from robogate.errors import EvidenceError
from robogate.training.disturb import Disturbances

INDEX = "demos.json"


@dataclass(frozen=True)
class DemoRow:
    """One demonstration.

    Attributes:
        id: Of its scene; names its file.
        variant: Label.
        seed: Of the scene.
        actions: Its length; 0 where it did not end in success and was dropped.
        sha256: Of what was kept.
    """

    id: str
    variant: str
    seed: int
    actions: int
    sha256: str


@dataclass(frozen=True)
class DemoIndex:
    """`demos.json`.

    Attributes:
        schema: Of this document.
        stream: Which seeds.
        environment_sha256: Of the environment that they were recorded in.
        refused_manifest_sha256: Manifest none of whose seeds and scenes is among them.
        instruction: The bench's sentence.
        control_hz: Actions per simulated second.
        image_size: Side of the pictures, pixels.
        image_row_order: Of the pictures.
        disturbances: How strong they were.
        recorded: Demonstrations that ended in success.
        dropped: Those that did not.
        frames: Actions of those recorded.
        demos: Each of them.
        sha256: Self-hash.
    """

    schema: Literal["robogate.demos/1"]
    stream: str
    environment_sha256: str
    refused_manifest_sha256: str
    instruction: str
    control_hz: float
    image_size: int
    image_row_order: str
    disturbances: Disturbances
    recorded: int
    dropped: int
    frames: int
    demos: tuple[DemoRow, ...]
    sha256: str


def read_index(path: Path) -> DemoIndex:
    """Read an index.

    Raises:
        EvidenceError: It is none, or its hash does not hold.
    """
    document = read_json(path)
    try:
        index = decode(DemoIndex, document)
    except StrictError as exc:
        raise EvidenceError(f"{path}: {exc.message}", code="demos") from exc
    if index.sha256 != self_hash(document):
        raise EvidenceError(f"{path}: $.sha256 does not hold", code="demos")
    return index
