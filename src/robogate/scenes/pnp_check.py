"""What a pick-and-place bench and its scenes must fulfil, beyond the types.

`check_bench` looks at the contract before anything runs; `check_scene` at one resolved scene. The
manifest is generated only from a bench and scenes without a fault.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from robogate.contract.schema import Range, Renderer
from robogate.contract.strict import Fault, encode, field_types
from robogate.scenes.footprints import Footprint, footprint, gap, reaches
from robogate.scenes.pnp_config import WRIST_MOUNT, PnpBench
from robogate.scenes.spec import FixedBody, ObjectSpec, PnpScene, Quat

CAMERAS = ("primary", "wrist")
ARM_JOINTS = 7
OSC_POSE_NAMES = ("dx", "dy", "dz", "rx", "ry", "rz", "gripper")
#: Ranges of two numbers that are no (low, high): the target's place.
_NOT_BOUNDS = ("xy",)
#: A unit quaternion's norm, computed anew, is this close to 1.
_UNIT = 1e-12


def check_bench(bench: PnpBench, renderer: Renderer) -> list[Fault]:
    """What in a contract contradicts itself, or a constant of this code.

    Args:
        bench: Typed group; its ordinary ranges hold already.
        renderer: Typed group.

    Returns:
        Faults with paths under ``$.bench`` and ``$.renderer``; empty where all holds.
    """
    return [Fault(f"$.{path}", message) for path, message in _bench_faults(bench, renderer)]


def _bench_faults(bench: PnpBench, renderer: Renderer) -> Iterator[tuple[str, str]]:
    if bench.wrist != WRIST_MOUNT:
        yield "bench.wrist", f"the mount is immutable, expected {encode(WRIST_MOUNT)}"
    if renderer.cameras != CAMERAS:
        yield "renderer.cameras", f"is {list(renderer.cameras)}, expected {list(CAMERAS)}"
    if bench.action.names != OSC_POSE_NAMES:
        yield "bench.action.names", f"is {list(bench.action.names)}, expected {OSC_POSE_NAMES}"
    control, success, scene = bench.control, bench.success, bench.scene
    for name in ("home", "arm_kp", "arm_kd"):
        length = len(getattr(control, name))
        if length != ARM_JOINTS:
            yield f"bench.control.{name}", f"has {length} values, expected {ARM_JOINTS}"
    for name in ("translation_scale", "rotation_scale", "ik_damping", "finger_kp", "finger_kd"):
        yield from _above_zero(f"bench.control.{name}", getattr(control, name))
    for name in ("ik_position_tolerance", "ik_rotation_tolerance", "ik_iterations"):
        yield from _above_zero(f"bench.control.{name}", getattr(control, name))
    for name in ("across_tolerance", "along_tolerance", "release_width"):
        yield from _above_zero(f"bench.attachment.{name}", getattr(bench.attachment, name))
    for name, value in encode(success).items():
        yield from _above_zero(f"bench.success.{name}", value)
    yield from _bounds(scene, "bench.scene")
    opening = control.home_fingers[0] + control.home_fingers[1]
    if success.open_width > opening:
        yield "bench.success.open_width", f"is {success.open_width}, the gripper opens {opening} m"
    for name in ("block", "small_objects", "heavy_objects"):
        edge = getattr(scene, name).edge
        if not 0.0 < edge < success.open_width:
            limit = f"expected above 0 and below the open width {success.open_width}"
            yield f"bench.scene.{name}.edge", f"is {edge}, {limit}"
        yield from _above_zero(f"bench.scene.{name}.mass", getattr(scene, name).mass)
    spawn = scene.spawn
    if spawn.edge_band[0] < 0.0 or spawn.edge_band[1] >= spawn.inset:
        yield "bench.scene.spawn.edge_band", f"expected within [0, inset {spawn.inset})"
    if spawn.outside_band[0] <= 0.0:
        yield "bench.scene.spawn.outside_band", "expected above 0"
    margin = max(spawn.outside_band[1], scene.moving_disturbance.slide[1])
    start = Footprint(
        ((spawn.x[0] + spawn.x[1]) / 2.0, (spawn.y[0] + spawn.y[1]) / 2.0),
        (1.0, 0.0),
        ((spawn.x[1] - spawn.x[0]) / 2.0 + margin, (spawn.y[1] - spawn.y[0]) / 2.0 + margin),
    )
    if reaches(start, scene.target.xy) <= scene.target.radius:
        yield "bench.scene.target", f"lies within {margin} m of the spawn region"
    usual = scene.light.elevation
    for name, elevation in (
        ("light", (usual, usual)),
        ("standard_lighting", scene.standard_lighting.elevation),
        ("low_lighting", scene.low_lighting.elevation),
        ("lighting", scene.lighting.elevation),
    ):
        if not 0.0 < elevation[0] <= elevation[1] < 90.0:
            yield f"bench.scene.{name}.elevation", "expected above the horizon and below 90"
    if scene.gravity[2] >= 0.0:
        yield "bench.scene.gravity", "expected to point down"
    if scene.moving_disturbance.start_action[0] < 0:
        yield "bench.scene.moving_disturbance.start_action", "expected at least 0"
    if scene.moving_disturbance.actions[0] < 1:
        yield "bench.scene.moving_disturbance.actions", "expected at least 1"


def _above_zero(path: str, value: float) -> Iterator[tuple[str, str]]:
    if not value > 0:
        yield path, f"is {value}, expected above 0"


def _bounds(record: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every (low, high) of a record whose low exceeds its high."""
    cls: type = type(record)
    for name, annotation in field_types(cls).items():
        value = getattr(record, name)
        where = f"{path}.{name}"
        if annotation in (Range, tuple[int, int]) and name not in _NOT_BOUNDS:
            if value[0] > value[1]:
                yield where, f"is {list(value)}, expected low, high"
        elif hasattr(value, "__dataclass_fields__"):
            yield from _bounds(value, where)


def check_scene(scene: PnpScene) -> list[Fault]:
    """What is wrong with a resolved scene: bodies in one another, off the table, in the target.

    Returns:
        Faults with paths under ``$``; empty where all holds.
    """
    faults = [Fault(f"$.{path}", message) for path, message in _quaternion_faults(scene)]
    faults += [Fault(f"$.{path}", message) for path, message in _colour_faults(scene)]
    bodies: list[tuple[str, FixedBody | ObjectSpec]] = [("object", scene.object)]
    for group in ("obstacles", "occluders", "distractors"):
        bodies += [(f"{group}[{i}]", body) for i, body in enumerate(getattr(scene, group))]
    top = scene.surface.position[2] + scene.surface.size[2] / 2.0
    table = footprint(scene.surface.size, scene.surface.position, (1.0, 0.0, 0.0, 0.0))
    goal = (scene.target.position[0], scene.target.position[1])
    places = [footprint(b.size, b.position, b.orientation) for _, b in bodies]
    for i, (path, body) in enumerate(bodies):
        if abs(body.position[2] - body.size[2] / 2.0 - top) > 1e-9:
            faults.append(Fault(f"$.{path}.position", "does not stand on the table"))
        if any(reaches(table, corner) > 0.0 for corner in places[i].corners):
            faults.append(Fault(f"$.{path}.position", "reaches beyond the table"))
        if reaches(places[i], goal) <= scene.target.radius:
            faults.append(Fault(f"$.{path}.position", "reaches into the target region"))
        for j in range(i):
            if gap(places[i], places[j]) <= 0.0:
                faults.append(Fault(f"$.{path}.position", f"overlaps {bodies[j][0]}"))
    names = [body.name for _, body in bodies if isinstance(body, FixedBody)]
    if len(set(names)) != len(names):
        faults.append(Fault("$", f"two fixed bodies share a name: {sorted(names)}"))
    return faults


def _colour_faults(scene: PnpScene) -> Iterator[tuple[str, str]]:
    colours = [
        ("object.material.rgba", scene.object.material.rgba),
        ("surface.material.rgba", scene.surface.material.rgba),
        ("target.rgba", scene.target.rgba),
    ]
    for group in ("obstacles", "occluders", "distractors"):
        for i, body in enumerate(getattr(scene, group)):
            colours.append((f"{group}[{i}].material.rgba", body.material.rgba))
    for path, rgba in colours:
        if not all(0.0 <= channel <= 1.0 for channel in rgba):
            yield path, f"is {list(rgba)}, expected within [0, 1]"
    light = scene.lighting
    for name in ("diffuse", "specular", "ambient"):
        if not all(channel >= 0.0 for channel in getattr(light, name)):
            yield f"lighting.{name}", f"is {list(getattr(light, name))}, expected at least 0"


def _quaternion_faults(scene: PnpScene) -> Iterator[tuple[str, str]]:
    quats: list[tuple[str, Quat]] = [
        ("object", scene.object.orientation),
        ("lighting", scene.lighting.orientation),
        ("primary_camera", scene.primary_camera.orientation),
    ]
    for group in ("obstacles", "occluders", "distractors"):
        for i, body in enumerate(getattr(scene, group)):
            quats.append((f"{group}[{i}]", body.orientation))
    for path, quat in quats:
        if abs(math.sqrt(sum(c * c for c in quat)) - 1.0) > _UNIT:
            yield f"{path}.orientation", "is not of unit length"
