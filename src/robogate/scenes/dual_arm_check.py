"""What a dual-arm bench and its scenes must fulfil, beyond the types."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from robogate.contract.schema import Renderer
from robogate.contract.strict import Fault
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_spec import SIDES, DualArmScene, button_top
from robogate.scenes.footprints import footprint, reaches

CAMERAS = ("cam_head", "cam_left_wrist", "cam_right_wrist")
ARM_JOINTS = 6
#: Joints and gripper of one arm.
ARM_VALUES = ARM_JOINTS + 1
ACTION_NAMES = tuple(
    f"{side}_{part}"
    for side in SIDES
    for part in (*(f"joint{i}" for i in range(1, ARM_JOINTS + 1)), "gripper")
)
_UNIT = 1e-9  # of a quaternion's norm


def check_bench(bench: DualArmBench, renderer: Renderer) -> list[Fault]:
    """What in a contract contradicts itself, or a constant of this code.

    Args:
        bench: Typed group; its ordinary ranges hold already.
        renderer: Typed group.

    Returns:
        Faults with paths under ``$.bench`` and ``$.renderer``; empty where all holds.
    """
    faults = [Fault(f"$.{path}", message) for path, message in _bench_faults(bench, renderer)]
    return faults or [Fault(f"$.{path}", message) for path, message in _value_faults(bench)]


def _bench_faults(bench: DualArmBench, renderer: Renderer) -> Iterator[tuple[str, str]]:
    """Names, lengths and what the rest of the checks rely on."""
    if renderer.cameras != CAMERAS:
        yield "renderer.cameras", f"is {list(renderer.cameras)}, expected {list(CAMERAS)}"
    if bench.action.names != ACTION_NAMES:
        yield "bench.action.names", f"is {list(bench.action.names)}, expected {list(ACTION_NAMES)}"
    if bench.action.semantics != "joint_position_absolute":
        yield "bench.action.semantics", "expected joint_position_absolute"
    for path, value, length in (
        ("arms.joints", bench.arms.joints, ARM_JOINTS),
        ("reset_command", bench.reset_command, len(ACTION_NAMES)),
    ):
        if len(value) != length:
            yield f"bench.{path}", f"has {len(value)} values, expected {length}"
    if bench.timing.simulator_substeps != 1:
        # Success is judged after every physics step: none may be hidden in another.
        yield "bench.timing.simulator_substeps", "expected 1"
    if not 0 <= bench.interpolation_steps < bench.timing.physics_steps_per_action:
        yield "bench.interpolation_steps", "expected within [0, timing.physics_steps_per_action)"


def _value_faults(bench: DualArmBench) -> Iterator[tuple[str, str]]:
    joints, gripper = bench.arms.joints, bench.arms.gripper
    low = [*(joint.limits[0] for joint in joints), 0.0] * len(SIDES)
    high = [*(joint.limits[1] for joint in joints), 1.0] * len(SIDES)
    for name, bounds, expected in (
        ("low", bench.action.low, low),
        ("high", bench.action.high, high),
    ):
        if list(bounds) != expected:
            yield f"bench.action.{name}", f"differs from arms.joints: expected {expected}"
    for name, value, lowest, highest in zip(ACTION_NAMES, bench.reset_command, low, high):
        if not lowest <= value <= highest:
            yield "bench.reset_command", f"{name} is {value}, expected [{lowest}, {highest}]"
    for i, joint in enumerate(joints):
        yield from _positive(f"bench.arms.joints[{i}]", joint, ("origin", "axis", "limits"))
    yield from _positive("bench.arms.gripper", gripper, ("tip",))
    for side in SIDES:
        yield from _unit(f"bench.arms.{side}.orientation", getattr(bench.arms, side).orientation)
    for i, joint in enumerate(joints):
        yield from _unit(f"bench.arms.joints[{i}].rotation", joint.rotation)
        yield from _unit(f"bench.arms.joints[{i}].axis", joint.axis)
    limits = bench.limits
    for i, (a, b) in enumerate(zip(limits.workspace_low, limits.workspace_high)):
        if not a < b:
            yield f"bench.limits.workspace_low[{i}]", f"is {a}, expected below {b}"
    for name in ("arm_distance", "self_distance", "table_distance"):
        if getattr(limits, name) < 0.0:
            yield f"bench.limits.{name}", f"is {getattr(limits, name)}, expected at least 0"
    if bench.cell.gravity[2] >= 0.0:
        yield "bench.cell.gravity", "expected to point down"
    yield from _task_faults(bench)


def _task_faults(bench: DualArmBench) -> Iterator[tuple[str, str]]:
    bell, pot = bench.tasks.click_bell, bench.tasks.lift_pot
    for name, task, signed in (
        ("click_bell", bell, ("x", "y")),
        ("lift_pot", pot, ("x", "y", "yaw")),
    ):
        yield from _positive(f"bench.tasks.{name}", task, signed)
        for key in signed:
            bounds = getattr(task, key)
            if bounds[0] > bounds[1]:
                yield f"bench.tasks.{name}.{key}", f"is {list(bounds)}, expected low, high"
    if not bell.press_depth < bell.travel <= bell.button_height:
        yield "bench.tasks.click_bell.press_depth", "expected below travel, and that within height"
    if pot.bar_distance - pot.bar_size[0] / 2.0 <= pot.radius:
        yield "bench.tasks.lift_pot.bar_distance", "the handle's bar lies within the pot"
    if pot.bar_size[0] >= bench.arms.gripper.stroke:
        yield "bench.tasks.lift_pot.bar_size", f"does not fit between fingers {pot.bar_size[0]} m"
    if pot.hold_steps < 2 * bench.timing.physics_steps_per_action:
        # The judge has to see the pot lifted before it can see it held.
        yield "bench.tasks.lift_pot.hold_steps", "expected at least two actions' physics steps"


def _positive(path: str, record: Any, but: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Every number of a record must be above 0, except in the named fields."""
    for item in dataclasses.fields(record):
        value = getattr(record, item.name)
        numbers = value if isinstance(value, tuple) else (value,)
        if item.name in (*but, "rotation") or not isinstance(numbers[0], (int, float)):
            continue
        if not all(number > 0 for number in numbers):
            yield f"{path}.{item.name}", f"is {value}, expected above 0"


def _unit(path: str, value: tuple[float, ...]) -> Iterator[tuple[str, str]]:
    if abs(math.sqrt(sum(c * c for c in value)) - 1.0) > _UNIT:
        yield path, "is not of unit length"


def check_scene(scene: DualArmScene) -> list[Fault]:
    """What is wrong with a resolved scene: no object, or one that does not stand on the table.

    Returns:
        Faults with paths under ``$``; empty where all holds.
    """
    faults: list[Fault] = []
    table = footprint(scene.table.size, scene.table.position, (1.0, 0.0, 0.0, 0.0))
    objects = {"click_bell": ("bell", scene.bell), "lift_pot": ("pot", scene.pot)}
    for task, (name, item) in objects.items():
        if (item is None) == (scene.task == task):
            faults.append(Fault(f"$.{name}", f"does not go with task '{scene.task}'"))
        elif item is not None:
            if abs(item.position[2] - scene.table_top) > 1e-9:
                faults.append(Fault(f"$.{name}.position", "does not stand on the table"))
            if reaches(table, (item.position[0], item.position[1])) > 0.0:
                faults.append(Fault(f"$.{name}.position", "is not on the table"))
    if scene.bell is not None and button_top(scene.bell)[2] <= scene.table_top:
        faults.append(Fault("$.bell", "its button is not above the table"))
    return faults
