"""Nothing of the evaluation is trained on."""

from __future__ import annotations

import dataclasses

import pytest

from robogate.errors import UsageError
from robogate.scenes.manifest import Manifest
from robogate.scenes.pnp import resolve
from robogate.scenes.pnp_config import PnpBench
from robogate.training.scenes import STREAMS, TrainingScene, refuse_overlap, training_scenes


def scenes(bench: PnpBench, manifest: Manifest, stream: str, count: int) -> list[TrainingScene]:
    return training_scenes(stream, count, manifest, lambda v, s: resolve(bench, v, s))


def test_every_label_in_turn(bench: PnpBench, manifest: Manifest) -> None:
    found = scenes(bench, manifest, "demos", 32)
    labels = [scene.variant for scene in found]
    assert set(labels) == {s.variant for s in manifest.scenarios}
    assert labels[:16] == labels[16:]
    assert len({scene.id for scene in found}) == 32


def test_streams_share_nothing_with_the_manifest_or_each_other(
    bench: PnpBench, manifest: Manifest
) -> None:
    seeds = [s.seed for s in manifest.scenarios]
    for stream in STREAMS:
        seeds += [scene.seed for scene in scenes(bench, manifest, stream, 640)]
    assert len(seeds) == len(set(seeds)) == 68 + 2 * 640


def test_a_longer_stream_begins_with_the_shorter(bench: PnpBench, manifest: Manifest) -> None:
    assert scenes(bench, manifest, "demos", 20)[:9] == scenes(bench, manifest, "demos", 9)


def test_a_seed_of_the_manifest_is_refused(bench: PnpBench, manifest: Manifest) -> None:
    scenario = manifest.scenarios[3]
    # Under another label it resolves to another scene; the seed alone is enough.
    scene = TrainingScene(0, "position", scenario.seed, resolve(bench, "position", scenario.seed))
    with pytest.raises(UsageError, match=rf"has the seed of scenario {scenario.id}") as caught:
        refuse_overlap([scene], manifest)
    assert caught.value.code == "training_overlap"


def test_a_scene_of_the_manifest_is_refused(bench: PnpBench, manifest: Manifest) -> None:
    scenario = manifest.scenarios[3]
    copied = TrainingScene(7, "any", 5, resolve(bench, scenario.variant, scenario.seed))
    with pytest.raises(UsageError, match=rf"00007_any has the scene of scenario {scenario.id}"):
        refuse_overlap([copied], manifest)


def test_a_stream_that_meets_the_manifest(bench: PnpBench, manifest: Manifest) -> None:
    unlucky = scenes(bench, manifest, "demos", 5)[4].seed
    rows = (dataclasses.replace(manifest.scenarios[0], seed=unlucky), *manifest.scenarios[1:])
    with pytest.raises(UsageError, match="must not be trained on what it is tested on"):
        scenes(bench, dataclasses.replace(manifest, scenarios=rows), "demos", 5)


def test_an_unknown_stream(bench: PnpBench, manifest: Manifest) -> None:
    with pytest.raises(UsageError, match="no stream 'test'"):
        scenes(bench, manifest, "test", 1)
