"""Task and seed → scene, the readback that it must give, and what contradicts itself."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from robogate.contract.canonical import sha256_json
from robogate.contract.layout import checkout_root, manifests_dir
from robogate.contract.schema import Renderer
from robogate.contract.strict import decode, encode
from robogate.errors import ConfigError
from robogate.scenes.dual_arm import FIRST_SEED, resolve, rows
from robogate.scenes.dual_arm_check import CAMERAS, check_bench, check_scene
from robogate.scenes.dual_arm_config import TASKS, DualArmBench
from robogate.scenes.dual_arm_readback import ReadbackExpectation, expected_readback
from robogate.scenes.dual_arm_spec import DualArmScene, button_top
from robogate.scenes.manifest import load_manifest, resolve_again
from robogate.scenes.readback import compare, readback_sha256

COPY = Path(__file__).with_name("mujoco_dual_arm.json")
BENCH = decode(DualArmBench, json.loads(COPY.read_text()))
RENDERER = Renderer("mujoco", 320, 240, 4, False, CAMERAS)


@pytest.mark.skipif(checkout_root() is None, reason="conf/ lies in a checkout")
def test_copy_equals_the_configuration() -> None:
    yaml = pytest.importorskip("yaml", reason="the light core reads no YAML")
    root = checkout_root()
    assert root is not None
    committed = yaml.safe_load((root / "conf/bench/mujoco_dual_arm.yaml").read_text())
    copy = json.loads(COPY.read_text())
    for part in ("arms", "limits", "cell", "tasks", "timing", "action", "reset_command"):
        assert copy[part] == committed[part], f"copy {part} to {COPY}"


def test_a_scene_is_a_pure_function_of_task_and_seed() -> None:
    for task in TASKS:
        scenes = [resolve(BENCH, task, seed) for seed in range(20)]
        assert scenes == [resolve(BENCH, task, seed) for seed in range(20)]
        assert len({sha256_json(encode(scene)) for scene in scenes}) == 20
        assert all(check_scene(scene) == [] for scene in scenes)
        assert decode(DualArmScene, encode(scenes[0])) == scenes[0]


def test_places_stay_within_their_ranges_and_use_them() -> None:
    bell, pot = BENCH.tasks.click_bell, BENCH.tasks.lift_pot
    bells = [resolve(BENCH, "click_bell", seed).bell for seed in range(200)]
    xs = [b.position[0] for b in bells if b is not None]
    assert len(xs) == 200
    assert all(bell.x[0] <= abs(x) <= bell.x[1] for x in xs)
    assert 60 < sum(x < 0 for x in xs) < 140, "both arms get their share"
    pots = [resolve(BENCH, "lift_pot", seed).pot for seed in range(200)]
    for axis, bounds in ((0, pot.x), (1, pot.y)):
        values = [p.position[axis] for p in pots if p is not None]
        assert bounds[0] <= min(values) and max(values) <= bounds[1]
        assert max(values) - min(values) > 0.9 * (bounds[1] - bounds[0])


def test_unknown_task() -> None:
    with pytest.raises(ConfigError, match="no variant 'lift_pan'; did you mean 'lift_pot'?"):
        resolve(BENCH, "lift_pan", 0)


@pytest.mark.parametrize("task", TASKS)
def test_committed_manifests_hold_contiguous_unscreened_seeds(task: str) -> None:
    full = load_manifest(manifests_dir() / f"{task}.json")
    quick = load_manifest(manifests_dir() / f"{task}_quick.json")
    assert [s.seed for s in full.scenarios] == list(range(FIRST_SEED, FIRST_SEED + 50))
    assert quick.scenarios == full.scenarios[:10]
    assert quick.sha256 != full.sha256
    assert resolve_again(full, lambda variant, seed: resolve(BENCH, variant, seed)) == []
    assert [row.seed for row in rows(task, 3)] == [0, 1, 2]


def test_the_scene_is_what_stands_on_the_table() -> None:
    scene = resolve(BENCH, "click_bell", 1)
    assert scene.bell is not None
    assert button_top(scene.bell)[2] == pytest.approx(0.74 + 0.03 + 0.02)
    pot = resolve(BENCH, "lift_pot", 1).pot
    wrong = dataclasses.replace(scene, pot=pot)
    assert [fault.path for fault in check_scene(wrong)] == ["$.pot"]
    floating = dataclasses.replace(scene.bell, position=(0.1, -0.1, 0.8))
    faults = check_scene(dataclasses.replace(scene, bell=floating))
    assert [str(fault) for fault in faults] == ["$.bell.position: does not stand on the table"]
    beside = dataclasses.replace(scene.bell, position=(0.9, -0.1, scene.table_top))
    faults = check_scene(dataclasses.replace(scene, bell=beside))
    assert [str(fault) for fault in faults] == ["$.bell.position: is not on the table"]


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, (dict, list)):
            yield from _leaves(item, (*path, key))
        elif item is not None:
            yield (*path, key), item


@pytest.mark.parametrize("task", TASKS)
def test_the_readback_holds_every_number_of_the_scene(task: str) -> None:
    scene = resolve(BENCH, task, 2)
    document = expected_readback(BENCH, RENDERER, scene, 0)
    assert document["sha256"] == readback_sha256(document)
    assert ReadbackExpectation(BENCH, RENDERER, scene).at(7) == document
    encoded = encode(scene)
    count = 0
    for path, value in _leaves(encoded):
        if isinstance(value, float):
            changed = json.loads(json.dumps(encoded))
            target = changed
            for key in path[:-1]:
                target = target[key]
            target[path[-1]] = value + 0.125
            other = expected_readback(BENCH, RENDERER, decode(DualArmScene, changed), 0)
            assert other["sha256"] != document["sha256"], path
            count += 1
    assert count > 40


def test_the_readback_covers_what_the_contract_adds() -> None:
    scene = resolve(BENCH, "click_bell", 2)
    document = expected_readback(BENCH, RENDERER, scene, 0)
    bell = dataclasses.replace(BENCH.tasks.click_bell, stiffness=50.0)
    soft = dataclasses.replace(BENCH, tasks=dataclasses.replace(BENCH.tasks, click_bell=bell))
    faults = compare(expected_readback(soft, RENDERER, scene, 0), document)
    assert {fault.path for fault in faults} == {"$.spring.stiffness", "$.sha256"}
    left = dataclasses.replace(BENCH.arms.left, position=(-0.2, -0.45, 0.765))
    moved = dataclasses.replace(BENCH, arms=dataclasses.replace(BENCH.arms, left=left))
    faults = compare(expected_readback(moved, RENDERER, scene, 0), document)
    assert {fault.path for fault in faults} == {"$.arms.left.position[0]", "$.sha256"}
    assert document["wrist_cameras"]["right"]["parent"] == "right_link6"


def test_the_committed_bench_contradicts_nothing() -> None:
    assert check_bench(BENCH, RENDERER) == []


def _changed(path: str, value: Any) -> DualArmBench:
    document = json.loads(COPY.read_text())
    *parents, last = path.split(".")
    target = document
    for key in parents:
        target = target[int(key)] if isinstance(target, list) else target[key]
    target[int(last) if isinstance(target, list) else last] = value
    return decode(DualArmBench, document)


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        ("reset_command", [0.0] * 13, "$.bench.reset_command"),
        ("reset_command.6", 1.5, "$.bench.reset_command"),
        ("interpolation_steps", 10, "$.bench.interpolation_steps"),
        ("timing.simulator_substeps", 2, "$.bench.timing.simulator_substeps"),
        ("action.semantics", "osc_pose_delta", "$.bench.action.semantics"),
        ("action.high.0", 2.0, "$.bench.action.high"),
        ("arms.joints.2.kp", 0.0, "$.bench.arms.joints[2].kp"),
        ("arms.joints.0.rotation.0", 0.9, "$.bench.arms.joints[0].rotation"),
        ("arms.left.orientation.0", 0.5, "$.bench.arms.left.orientation"),
        ("arms.gripper.force", -1.0, "$.bench.arms.gripper.force"),
        ("limits.arm_distance", -0.1, "$.bench.limits.arm_distance"),
        ("limits.workspace_low.2", 2.0, "$.bench.limits.workspace_low[2]"),
        ("cell.gravity.2", 9.81, "$.bench.cell.gravity"),
        ("tasks.click_bell.press_depth", 0.02, "$.bench.tasks.click_bell.press_depth"),
        ("tasks.click_bell.y", [0.1, -0.1], "$.bench.tasks.click_bell.y"),
        ("tasks.lift_pot.hold_steps", 5, "$.bench.tasks.lift_pot.hold_steps"),
        ("tasks.lift_pot.bar_distance", 0.05, "$.bench.tasks.lift_pot.bar_distance"),
        ("tasks.lift_pot.mass", 0.0, "$.bench.tasks.lift_pot.mass"),
    ],
)
def test_contradictions_are_named(path: str, value: Any, where: str) -> None:
    assert where in [fault.path for fault in check_bench(_changed(path, value), RENDERER)]


def test_cameras_are_those_of_the_bench() -> None:
    other = dataclasses.replace(RENDERER, cameras=("primary", "wrist"))
    assert [fault.path for fault in check_bench(BENCH, other)] == ["$.renderer.cameras"]
