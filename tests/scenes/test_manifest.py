"""The committed 68 scenarios, and that no byte of their file can change unseen."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robogate.contract.canonical import self_hash, sha256_json
from robogate.contract.layout import manifests_dir
from robogate.contract.schema import Budget
from robogate.contract.strict import StrictError, decode, encode
from robogate.errors import EvidenceError
from robogate.scenes.manifest import (
    Manifest,
    generate,
    load_manifest,
    manifest_text,
    parse_manifest,
    resolve_again,
    select,
)
from robogate.scenes.pnp import VARIANTS, resolve
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.recipe import version_1_rows
from robogate.scenes.spec import PnpScene

FILE = manifests_dir() / "fair_pnp_v2.json"
#: SHA-256 of "domain,variant,seed" lines of the public recipe's 68 scenarios.
ROWS_SHA256 = "48c294b8c4200968110d37ed4b7ecaa8df6c46860c32c3b0600a2aad0c2bdeea"


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return load_manifest(FILE)


def test_counts_are_the_protocols(manifest: Manifest) -> None:
    assert len(manifest.scenarios) == 68
    assert Counter(s.domain for s in manifest.scenarios) == {
        "nominal": 20,
        "edge_cases": 15,
        "adversarial": 10,
        "domain_randomization": 23,
    }
    assert {s.variant for s in manifest.scenarios} == set(VARIANTS)
    assert Counter(s.variant for s in manifest.scenarios) == {
        **dict.fromkeys(("standard_objects", "standard_lighting"), 7),
        "centered_placement": 6,
        **dict.fromkeys(("small_objects", "heavy_objects", "edge_placement"), 3),
        **dict.fromkeys(("occluded_objects", "transparent_objects"), 3),
        **dict.fromkeys(("low_lighting", "cluttered_scene"), 3),
        **dict.fromkeys(("slippery_surface", "moving_disturbance"), 2),
        "lighting": 10,
        "object_color": 5,
        "position": 5,
        "camera": 3,
    }


def test_seeds_are_the_public_recipes(manifest: Manifest) -> None:
    def digest(rows: Any) -> str:
        lines = "\n".join(f"{row.domain},{row.variant},{row.seed}" for row in rows)
        return hashlib.sha256(lines.encode()).hexdigest()

    assert (manifest.scenarios[0].seed, manifest.scenarios[67].seed) == (191664964, 1781959904)
    assert digest(manifest.scenarios) == ROWS_SHA256
    assert digest(version_1_rows()) == ROWS_SHA256


def test_identifiers_are_stable_file_names(manifest: Manifest) -> None:
    ids = [s.id for s in manifest.scenarios]
    assert ids[0] == "00_standard_objects_00"
    assert ids[3] == "03_standard_objects_01"
    assert ids[67] == "67_camera_02"
    assert ids == sorted(set(ids))
    assert manifest.scenario(ids[5]).index == 5
    with pytest.raises(EvidenceError, match="has no scenario 'nowhere'"):
        manifest.scenario("nowhere")


def test_all_scenes_are_distinct_scenes(manifest: Manifest) -> None:
    scenes = [decode(PnpScene, s.scene) for s in manifest.scenarios]
    assert all(a != b for a, b in itertools.combinations(scenes, 2))
    assert len({s.scene_sha256 for s in manifest.scenarios}) == 68


def test_scenes_resolve_to_what_is_committed(manifest: Manifest, bench: PnpBench) -> None:
    again = generate(
        manifest.name,
        manifest.bench,
        manifest.task,
        version_1_rows(),
        lambda variant, seed: resolve(bench, variant, seed),
    )
    assert manifest_text(again) == FILE.read_text()
    assert resolve_again(manifest, lambda v, s: resolve(bench, v, s)) == []


def test_another_resolver_is_noticed(manifest: Manifest, bench: PnpBench) -> None:
    faults = resolve_again(manifest, lambda v, s: resolve(bench, v, s + (v == "camera")))
    assert [f.path for f in faults] == [f"$.scenarios[{i}].scene_sha256" for i in (65, 66, 67)]


def sealed(document: dict[str, Any]) -> dict[str, Any]:
    for scenario in document["scenarios"]:
        scenario["scene_sha256"] = sha256_json(scenario["scene"])
    return {**document, "sha256": self_hash(document)}


Change = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["scenarios"][3].update(seed=7), r"\$.sha256: is .*, recomputed"),
        (
            lambda d: d["scenarios"][3]["scene"]["object"].update(mass=0.2),
            r"\$.scenarios\[3\].scene_sha256: is .*, recomputed",
        ),
        (lambda d: d.update(sha256="0" * 64), r"\$.sha256: is 0000"),
        (
            lambda d: d["scenarios"][3].update(index=3.0),
            r"\$.scenarios\[3\].index: is number 3.0, expected integer",
        ),
        (lambda d: d["scenarios"][3].update(note=""), r"\$.scenarios\[3\].note: unknown field"),
        (lambda d: d["scenarios"][3].pop("domain"), r"\$.scenarios\[3\].domain: missing field"),
        (lambda d: d.update(schema="robogate.manifest/2"), r"\$.schema: is 'robogate.manifest/2'"),
    ],
)
def test_changed_manifests_do_not_load(tmp_path: Path, change: Change, message: str) -> None:
    document = json.loads(FILE.read_text())
    change(document)
    file = tmp_path / "m.json"
    file.write_text(json.dumps(document))
    with pytest.raises(EvidenceError, match=f"m.json: {message}") as caught:
        load_manifest(file)
    assert caught.value.code == "manifest"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s[4].update(index=5), r"\[4\].index: is 5, expected 4"),
        (lambda s: s[4].update(id=s[2]["id"]), r"\[4\].id: is that of \$.scenarios\[2\], too"),
        (lambda s: s[4].update(seed=s[2]["seed"]), r"\[4\].seed: is that of \$.scenarios\[2\]"),
        (lambda s: s[4].update(id="../etc"), r"\[4\].id: is '../etc', not safe as a file name"),
        (lambda s: s.clear(), r"\$.scenarios: is empty"),
    ],
)
def test_resealed_manifests_still_have_to_be_one(
    change: Callable[[list[dict[str, Any]]], Any], message: str
) -> None:
    document = json.loads(FILE.read_text())
    change(document["scenarios"])
    with pytest.raises(StrictError, match=message):
        parse_manifest(sealed(document))


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=r"nothing.json: cannot be read"):
        load_manifest(tmp_path / "nothing.json")


def test_text_round_trips(manifest: Manifest) -> None:
    assert parse_manifest(json.loads(manifest_text(manifest))) == manifest
    assert copy.deepcopy(encode(manifest))["sha256"] == self_hash(encode(manifest))


def test_smoke_budget_takes_the_first_of_each_variant(manifest: Manifest) -> None:
    assert select(manifest, Budget("standard", 300, "all")) == manifest.scenarios
    chosen = select(manifest, Budget("smoke", 300, "first_of_each_variant"))
    assert [s.index for s in chosen] == [0, 1, 2, *range(20, 25), *range(35, 39), 45, 55, 60, 65]
    assert [s.variant for s in chosen] == list(VARIANTS)
    with pytest.raises(ValueError, match="budget.subset: 'half' is unknown"):
        select(manifest, Budget("x", 300, "half"))
