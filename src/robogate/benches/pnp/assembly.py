"""From a frozen contract and the files that it binds to an environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from robogate.benches.bound_manifest import load_bound_manifest, resolve_scenes
from robogate.benches.pnp.environment import PnpEnvironment
from robogate.contract.assets import load_inventory, verify_tree
from robogate.contract.layout import manifests_dir
from robogate.errors import RunError
from robogate.records.benches import bench_rules
from robogate.records.contract import thaw
from robogate.scenes.manifest import resolve_again
from robogate.scenes.pnp_config import PnpBench


def assemble(contract: Mapping[str, Any], manifest: Path, assets: Path, gl: str) -> PnpEnvironment:
    """Check what the contract binds, resolve every scene, and build the environment.

    Args:
        contract: The contract's document.
        manifest: Scenario manifest file.
        assets: Folder of the pinned assets.
        gl: OpenGL backend.
    """
    frozen = thaw(contract)
    bench = frozen.bench
    if not isinstance(bench, PnpBench):
        raise RunError(f"bench {bench.kind!r} is no pick-and-place", code="contract_mismatch")
    scenarios = load_bound_manifest(manifest, frozen)
    inventory = load_inventory(manifests_dir() / bench.assets.inventory)
    faults = verify_tree(assets, inventory)
    if inventory.assets_sha256 != bench.assets.sha256 or faults:
        detail = str(faults[0]) if faults else "the inventory is another one than the contract's"
        raise RunError(f"{assets}: {detail}; run 'robogate assets'", code="asset_changed")
    rules = bench_rules(bench.kind)
    stale = resolve_again(scenarios, lambda variant, seed: rules.resolve(bench, variant, seed))
    if stale:
        raise RunError(
            f"{manifest}: {stale[0]}; the contract's bench resolves to other scenes",
            code="manifest_changed",
        )
    return PnpEnvironment(
        bench,
        frozen.renderer,
        frozen.budget.max_actions,
        resolve_scenes(scenarios, rules, bench),
        rules,
        assets / inventory.root,
        gl,
        frozen.document,
    )
