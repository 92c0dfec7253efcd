"""The checkpoint in the repository: it fits the committed configuration, and it acts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from bc_checkpoints import observation

from robogate.config.compose import compose
from robogate.contract.canonical import sha256_file
from robogate.contract.layout import checkout_root, manifests_dir

pytest.importorskip("hydra", reason="conf/ is composed by Hydra")
pytest.importorskip("onnxruntime", reason="the extra 'bc' is not installed")

PINNED = (checkout_root() or Path()) / "examples" / "bc_pnp"
pytestmark = pytest.mark.skipif(not PINNED.is_dir(), reason="the examples lie in a checkout")


def test_it_is_small_and_whole() -> None:
    document = json.loads((PINNED / "policy.json").read_text())
    assert sorted(path.name for path in PINNED.iterdir()) == ["policy.json", "policy.onnx"]
    assert (PINNED / "policy.onnx").stat().st_size < 2_000_000
    assert sha256_file(PINNED / "policy.onnx") == document["network_sha256"]


def test_it_was_kept_apart_from_the_scenarios_that_it_is_tested_on() -> None:
    document = json.loads((PINNED / "policy.json").read_text())
    manifest = json.loads((manifests_dir() / "fair_pnp_v2.json").read_text())
    assert document["origin"]["refused_manifest_sha256"] == manifest["sha256"]


def test_it_loads_under_the_committed_configuration_and_answers_in_range() -> None:
    from robogate.adapters.registry import load_policy
    from robogate.records.policy import PolicyEpisode

    [point] = compose(["adapter=bc", f"adapter.checkpoint={PINNED}"])
    adapter = point.frozen.adapter
    assert adapter.transfer == "in_environment" and adapter.checkpoint_sha256 is not None
    policy = load_policy(adapter, point.frozen.bench, point.location)
    session = policy.open_session(PolicyEpisode(point.frozen.bench.instruction, 1))
    reply = session.infer(observation())
    actions = np.stack(reply.chunk)
    assert actions.shape == (8, 7) and np.abs(actions).max() <= 1.0
    assert set(actions[:, 6]) <= {-1.0, 1.0}
    turns = np.linalg.norm(actions[:, 3:6], axis=1)
    assert ((turns == 0.0) | (turns >= 0.06 - 1e-6)).all()
    policy.close()
