from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from robogate.contract.schema import Renderer
from robogate.contract.strict import decode
from robogate.errors import ConfigError
from robogate.records.benches import bench_kinds, bench_rules
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.readback import readback_sha256
from robogate.scenes.spec import PnpScene

BENCH_FILE = Path(__file__).parent.parent / "scenes" / "mujoco_pnp.json"
RENDERER = Renderer("mujoco", 256, 256, 4, False, ("primary", "wrist"))


def test_kinds_are_found_by_name() -> None:
    assert "pnp" in bench_kinds()
    rules = bench_rules("pnp")
    assert (rules.kind, rules.config, rules.scene) == ("pnp", PnpBench, PnpScene)
    assert rules.cameras == ("primary", "wrist")
    assert sum(rules.state.values()) == 16
    assert len(rules.facts) == 12 and len(rules.stages) == 6 and len(rules.variants) == 16
    with pytest.raises(ConfigError, match=r"bench.kind: no kind 'pmp'; did you mean 'pnp'\?"):
        bench_rules("pmp")


def test_rules_carry_an_episode_from_label_to_judgement() -> None:
    rules = bench_rules("pnp")
    bench = decode(rules.config, json.loads(BENCH_FILE.read_text()))
    scene = rules.resolve(bench, "cluttered_scene", 3)
    assert rules.check(bench, RENDERER) == [] and rules.check_scene(scene) == []
    document = rules.expected_readback(bench, RENDERER, scene, 4)
    assert document["sha256"] == readback_sha256(document)
    assert rules.expectation(bench, RENDERER, scene).at(4) == document
    still = [*scene.object.position, *scene.object.orientation, 0.0, 0.3, 0.08, 0.0, 0.0]
    facts = np.array([still, still])
    judgement = rules.judge(bench, scene, facts)
    assert not judgement.success and judgement.failure_stage == "reached"
    tracker = rules.tracker(bench, scene)
    for row in facts:
        tracker.update(row)
    assert tracker.judgement() == judgement


def test_rules_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        bench_rules("pnp").state["joint_position"] = 8  # type: ignore[index]
