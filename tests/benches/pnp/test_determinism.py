"""Equal actions give bit-equal observations: in one process, after others, and across processes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from robogate.benches.pnp import create_environment
from robogate.records.digests import flatten_state, images_digest
from robogate.records.environment import Registration

ACTIONS = 12
REGISTRATION = Registration("c" * 64, "zero", "1", "a" * 64, None, None, None, None, None)


@pytest.fixture(scope="module")
def options(gl):
    """What `create_environment` takes, of the committed contract."""
    pytest.importorskip("hydra")
    from robogate.config.compose import compose

    point = compose(["bench=mujoco_pnp", "adapter=zero"])[0]
    return {
        "contract": point.frozen.document,
        "manifest": str(point.manifest_path),
        "assets": str(point.assets_dir),
        "gl": gl,
    }


def _scenarios(options, *variants):
    document = json.loads(open(options["manifest"]).read())
    found = {s["variant"]: (s["id"], s["seed"]) for s in document["scenarios"]}
    return [found[v] for v in variants]


def episode(environment, scenario_id, seed):
    """Digest over all observations of one episode under fixed, varied actions."""
    rng = np.random.default_rng(11)
    observation = environment.reset(scenario_id, seed)
    digest = hashlib.sha256()
    for step in range(ACTIONS + 1):
        digest.update(images_digest(observation.images))
        digest.update(flatten_state(observation.state).tobytes())
        digest.update(observation.evaluator.facts.tobytes())
        digest.update(observation.evaluator.applied_scene["sha256"].encode())
        if step < ACTIONS:
            action = rng.uniform(-1.0, 1.0, 7) * (0.6, 0.6, 0.6, 0.1, 0.1, 0.3, 1.0)
            result = environment.step(observation.episode_id, step, action)
            assert result.executed
            observation = result.observation
    return digest.hexdigest()


def _run(options, scenarios):
    environment = create_environment(**options)
    environment.register(REGISTRATION)
    digests = [episode(environment, *scenario) for scenario in scenarios]
    environment.close()
    return digests


CHILD = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("determinism", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
request = json.load(sys.stdin)
print(json.dumps(module._run(request["options"], request["scenarios"])))
"""


def _child(options, scenarios):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, __file__],
        input=json.dumps({"options": options, "scenarios": scenarios}),
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_nothing_survives_a_reset_or_depends_on_the_process(options):
    push, clutter = _scenarios(options, "moving_disturbance", "cluttered_scene")
    here = _run(options, [push, clutter, push])
    assert here[0] == here[2] != here[1]
    # Another process, another order, and another number of render threads.
    there = _child({**options, "render_threads": 0}, [clutter, push])
    assert there == [here[1], here[0]]


def test_another_seed_is_another_episode(options):
    lighting, dark = _scenarios(options, "lighting", "low_lighting")
    first, second = _run(options, [lighting, dark])
    assert first != second
