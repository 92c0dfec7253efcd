"""From a frozen contract and the manifest that it binds to an environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robogate.benches.bound_manifest import load_bound_manifest, resolve_scenes
from robogate.benches.dual_arm.environment import DualArmEnvironment
from robogate.errors import RunError
from robogate.records.benches import bench_rules
from robogate.records.contract import thaw
from robogate.scenes.dual_arm_config import DualArmBench


def assemble(contract: Mapping[str, Any], manifest: Path, gl: str) -> DualArmEnvironment:
    """Check what the contract binds, resolve every scene, and build the environment.

    Args:
        contract: The contract's document.
        manifest: Scenario manifest file.
        gl: OpenGL backend.
    """
    frozen = thaw(contract)
    bench = frozen.bench
    if not isinstance(bench, DualArmBench):
        raise RunError(f"bench {bench.kind!r} has not two arms", code="contract_mismatch")
    scenarios = load_bound_manifest(manifest, frozen)
    rules = bench_rules(bench.kind)
    return DualArmEnvironment(
        frozen,
        bench,
        resolve_scenes(scenarios, rules, bench),
        rules,
        gl,
    )
