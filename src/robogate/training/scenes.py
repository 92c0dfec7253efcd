"""Scenes to train on: the bench's own labels under seeds that no evaluation uses.

A seed follows from the name of its stream and its place in it. Whatever seeds come out, they are
compared with the evaluation's manifest, and one that it contains is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from robogate.contract.canonical import sha256_json
from robogate.contract.strict import encode
from robogate.errors import UsageError
from robogate.scenes.manifest import Manifest

#: ``demos`` are learned from, ``validation`` chooses between variants of the training.
STREAMS = ("demos", "validation")


@dataclass(frozen=True)
class TrainingScene:
    """One scene to train on.

    Attributes:
        index: Place in its stream.
        variant: Label.
        seed: In [0, 2³¹).
        scene: Resolved on the bench.
    """

    index: int
    variant: str
    seed: int
    scene: Any

    @property
    def id(self) -> str:
        """Unique within the stream; safe as a file name."""
        return f"{self.index:05d}_{self.variant}"


def training_seed(stream: str, index: int) -> int:
    """The seed at a place of a stream, in [0, 2³¹)."""
    text = f"robogate.training/1|{stream}|{index}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def training_scenes(
    stream: str, count: int, manifest: Manifest, resolve: Callable[[str, int], Any]
) -> list[TrainingScene]:
    """The first scenes of a stream, its labels in turn, none of them in the manifest.

    Args:
        stream: One of `STREAMS`.
        count: How many.
        manifest: Of the evaluation; its labels are used, its seeds and scenes refused.
        resolve: (variant, seed) → scene.

    Raises:
        UsageError: ``training_overlap``: the manifest has a seed or a scene of the stream.
    """
    if stream not in STREAMS:
        raise UsageError(f"no stream {stream!r}; expected one of {', '.join(STREAMS)}")
    variants = list(dict.fromkeys(s.variant for s in manifest.scenarios))
    scenes = []
    for index in range(count):
        variant, seed = variants[index % len(variants)], training_seed(stream, index)
        scenes.append(TrainingScene(index, variant, seed, resolve(variant, seed)))
    refuse_overlap(scenes, manifest)
    return scenes


def refuse_overlap(scenes: Iterable[TrainingScene], manifest: Manifest) -> None:
    """Refuse scenes that the evaluation contains, by seed and by content.

    Raises:
        UsageError: ``training_overlap``, naming both.
    """
    seeds = {s.seed: s.id for s in manifest.scenarios}
    digests = {s.scene_sha256: s.id for s in manifest.scenarios}
    for scene in scenes:
        digest = sha256_json(encode(scene.scene))
        twin = seeds.get(scene.seed) or digests.get(digest)
        if twin is not None:
            what = "seed" if scene.seed in seeds else "scene"
            raise UsageError(
                f"training scene {scene.id} has the {what} of scenario {twin} in manifest "
                f"{manifest.name}; a policy must not be trained on what it is tested on: use "
                "another stream",
                code="training_overlap",
            )
