"""Two processes that do the same get the same bits, images included."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("hydra", reason="conf/ is composed by Hydra")

SCRIPT = """
import hashlib, sys
import numpy as np
from robogate.adapters.dual_arm_oracle import DualArmOracleSession
from robogate.benches.dual_arm import create_environment
from robogate.config.compose import compose
from robogate.records.environment import Registration
from robogate.records.policy import Privileged

(point,) = compose(["bench=mujoco_dual_arm", "track=lift_pot_quick", "adapter=oracle"])
environment = create_environment(
    point.frozen.document, str(point.manifest_path), str(point.assets_dir), sys.argv[1]
)
environment.register(Registration("c" * 64, "oracle", "1", "a" * 64, None, None, None, None, None))
observation = environment.reset("03_lift_pot_03", 3)
session = DualArmOracleSession(point.frozen.bench)
scene = environment._scenarios["03_lift_pot_03"][1]
digest = hashlib.sha256()
for step in range(60):
    for name, value in sorted({**observation.state, **observation.images}.items()):
        digest.update(name.encode() + value.tobytes())
    digest.update(observation.evaluator.facts.tobytes())
    digest.update(observation.evaluator.applied_scene["sha256"].encode())
    (action,) = session.infer_privileged(Privileged("s", scene, observation))
    observation = environment.step(observation.episode_id, step, action).observation
print(digest.hexdigest())
environment.close()
"""


def test_bits_are_equal_across_processes(gl: str) -> None:
    digests = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, gl], capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stderr
        digests.append(done.stdout.split()[-1])
    assert digests[0] == digests[1] and len(digests[0]) == 64
