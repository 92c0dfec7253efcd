from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from robogate.contract.strict import encode
from robogate.errors import EvidenceError
from robogate.records.episode_hash import episode_sha256, seal_episode, semantic_sha256
from robogate.records.result import Episode, EpisodeTiming, ErrorInfo

EPISODE = Episode(
    index=3,
    scenario_id="03_x_00",
    domain="d",
    variant="x",
    seed=7,
    outcome="error",
    ending="error",
    failure_stage=None,
    transitions=(),
    steps=0,
    scene={"mass": 0.5},
    applied_scene=None,
    applied_scene_sha256=None,
    attestation=None,
    timing=EpisodeTiming("a", "b", "e", 1, 0.5, 0.5, (), 0.0, 0.0, 0.0, 0.0),
    diagnostics={"n": 1.5},
    error=ErrorInfo("bad_reply", "m", None, 0),
    semantic_sha256="",
    sha256="",
)
VOLATILE = {"timing", "semantic_sha256", "sha256"}


def test_a_sealed_record_holds_and_sealing_again_changes_nothing() -> None:
    sealed = seal_episode(EPISODE)
    document = encode(sealed)
    assert sealed.semantic_sha256 == semantic_sha256(document)
    assert sealed.sha256 == episode_sha256(document)
    assert seal_episode(sealed) == sealed


CHANGES: dict[str, Any] = {
    "index": 4, "scenario_id": "y", "domain": "e", "variant": "z", "seed": 8, "outcome": "failure",
    "ending": "step_limit", "failure_stage": "reached", "transitions": ({"action": 1},), "steps": 1,
    "scene": {"mass": 0.25}, "applied_scene": {}, "applied_scene_sha256": "f", "attestation": {},
    "timing": None, "diagnostics": {}, "error": None,
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_every_field_counts_and_time_alone_does_not_matter(name: str) -> None:
    assert set(CHANGES) | VOLATILE == {f.name for f in dataclasses.fields(Episode)} | VOLATILE
    before = seal_episode(EPISODE)
    after = seal_episode(dataclasses.replace(EPISODE, **{name: CHANGES[name]}))
    assert after.sha256 != before.sha256
    assert (after.semantic_sha256 != before.semantic_sha256) == (name not in VOLATILE)


def test_a_record_without_a_json_form_is_refused() -> None:
    with pytest.raises(EvidenceError):
        seal_episode(dataclasses.replace(EPISODE, diagnostics={"x": float("nan")}))
