"""Every label is a physical change in the applied scene, and every draw fits."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robogate.contract.strict import encode
from robogate.errors import ConfigError
from robogate.scenes.footprints import Footprint, footprint, gap
from robogate.scenes.pnp import VARIANTS, resolve
from robogate.scenes.pnp_check import check_scene
from robogate.scenes.pnp_clutter import finger_axis
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.rotations import rotate
from robogate.scenes.spec import PnpScene

SEEDS = st.integers(0, 2**31 - 1)
LABELS = st.sampled_from(sorted(VARIANTS))

#: What each label may change besides the block's place and yaw, and must change.
CHANGES = {
    "standard_objects": set(),
    "standard_lighting": {"lighting"},
    "centered_placement": set(),
    "small_objects": {"object.size", "object.mass"},
    "heavy_objects": {"object.size", "object.mass"},
    "edge_placement": set(),
    "occluded_objects": {"occluders"},
    "transparent_objects": {"object.material"},
    "low_lighting": {"lighting"},
    "cluttered_scene": {"obstacles", "distractors"},
    "slippery_surface": {"object.material", "surface"},
    "moving_disturbance": {"disturbance"},
    "lighting": {"lighting"},
    "object_color": {"object.material"},
    "position": set(),
    "camera": {"primary_camera"},
}


def attributes(scene: PnpScene) -> dict[str, Any]:
    flat = encode(scene)
    block = flat.pop("object")
    block.pop("position"), block.pop("orientation")
    return {**flat, **{f"object.{name}": value for name, value in block.items()}}


@given(LABELS, SEEDS)
@settings(max_examples=200)
def test_a_label_changes_its_own_attributes_and_no_other(
    bench: PnpBench, variant: str, seed: int
) -> None:
    nominal = attributes(resolve(bench, "standard_objects", 0))
    changed = attributes(resolve(bench, variant, seed))
    assert {name for name in nominal if nominal[name] != changed[name]} == CHANGES[variant]


@given(LABELS, SEEDS)
@settings(max_examples=200)
def test_every_draw_fits(bench: PnpBench, variant: str, seed: int) -> None:
    assert check_scene(resolve(bench, variant, seed)) == []


@given(SEEDS)
@settings(max_examples=30)
def test_different_labels_give_different_scenes_even_from_one_seed(
    bench: PnpBench, seed: int
) -> None:
    scenes = [encode(resolve(bench, variant, seed)) for variant in VARIANTS]
    assert all(a != b for a, b in itertools.combinations(scenes, 2))


@given(SEEDS, SEEDS)
@settings(max_examples=100)
def test_labels_that_only_place_the_block_place_it_apart(
    bench: PnpBench, one: int, other: int
) -> None:
    spawn = bench.scene.spawn

    def border(variant: str, seed: int) -> float:
        """Distance inside the spawn region's border, m."""
        x, y, _ = resolve(bench, variant, seed).object.position
        return min(x - spawn.x[0], spawn.x[1] - x, y - spawn.y[0], spawn.y[1] - y)

    assert border("standard_objects", one) >= spawn.inset - 1e-12
    assert -1e-12 <= border("edge_placement", other) <= spawn.edge_band[1] + 1e-12
    assert border("position", one) <= -spawn.outside_band[0] + 1e-12
    assert resolve(bench, "centered_placement", one).object.position[:2] == (0.5, 0.0)
    assert resolve(bench, "standard_objects", other).object.position[:2] != (0.5, 0.0)


def test_scenarios_of_one_label_differ_from_seed_to_seed(bench: PnpBench) -> None:
    for variant in VARIANTS:
        scenes = [encode(resolve(bench, variant, seed)) for seed in range(12)]
        assert all(a != b for a, b in itertools.combinations(scenes, 2)), variant


def test_resolving_is_a_pure_function(bench: PnpBench) -> None:
    for variant in VARIANTS:
        assert resolve(bench, variant, 7) == resolve(bench, variant, 7)


def test_unknown_label_names_the_nearest(bench: PnpBench) -> None:
    with pytest.raises(ConfigError, match=r"no variant 'low_lightning'; did you mean 'low_light"):
        resolve(bench, "low_lightning", 1)


@given(SEEDS)
@settings(max_examples=50)
def test_blocks_have_the_sizes_of_version_1(bench: PnpBench, seed: int) -> None:
    for variant, edge, mass in (
        ("standard_objects", 0.04, 0.1),
        ("small_objects", 0.02, 0.02),
        ("heavy_objects", 0.05, 2.0),
    ):
        block = resolve(bench, variant, seed).object
        assert (block.size, block.mass) == ((edge, edge, edge), mass)
        assert block.position[2] == pytest.approx(0.3 + edge / 2, abs=1e-12)


@given(SEEDS)
@settings(max_examples=100)
def test_panel_hides_the_blocks_centre_from_the_camera_and_leaves_the_hand_room(
    bench: PnpBench, seed: int
) -> None:
    scene = resolve(bench, "occluded_objects", seed)
    (panel,) = scene.occluders
    assert panel.collides
    assert crosses(scene.primary_camera.position, scene.object.position, panel)
    place = footprint(panel.size, panel.position, panel.orientation)
    for axis in (finger_axis(scene), across(finger_axis(scene))):
        assert gap(hand(scene, axis), place) > 0.03


@given(SEEDS)
@settings(max_examples=200)
def test_clutter_leaves_one_grasp_free_all_the_way_down(bench: PnpBench, seed: int) -> None:
    scene = resolve(bench, "cluttered_scene", seed)
    bodies = (*scene.obstacles, *scene.distractors)
    assert [b.name for b in bodies] == [
        *(f"obstacle_{i}" for i in range(3)),
        *(f"distractor_{i}" for i in range(3)),
    ]
    axis = finger_axis(scene)
    for body in bodies:
        assert body.collides
        place = footprint(body.size, body.position, body.orientation)
        assert gap(fingers(scene, axis), place) > 0.02
        if body.position[2] + body.size[2] / 2 > PALM_HEIGHT:
            assert gap(hand(scene, axis), place) > 0.02
            goal = Footprint(scene.target.position[:2], axis, HAND)
            assert gap(goal, place) > 0.02
    colours = {body.material.rgba for body in scene.distractors}
    assert len(colours) == 3
    # No second "red block", and nothing of the target's green.
    assert all(
        min(math.dist(c, scene.object.material.rgba), math.dist(c, scene.target.rgba)) > 0.4
        for c in colours
    )


@given(SEEDS)
@settings(max_examples=100)
def test_an_obstacle_stands_on_the_way_to_the_target(bench: PnpBench, seed: int) -> None:
    scene = resolve(bench, "cluttered_scene", seed)
    assert crosses(
        (*scene.object.position[:2], 0.35), (*scene.target.position[:2], 0.35), scene.obstacles[0]
    )


@given(SEEDS)
@settings(max_examples=100)
def test_push_moves_the_block_as_far_as_drawn(bench: PnpBench, seed: int) -> None:
    """Integrate Coulomb friction in small steps and compare with the range of the contract."""
    scene = resolve(bench, "moving_disturbance", seed)
    push, ranges = scene.disturbance, bench.scene.moving_disturbance
    assert push is not None and push.force[2] == 0.0
    assert ranges.start_action[0] <= push.start_action <= ranges.start_action[1]
    assert ranges.actions[0] <= push.actions <= ranges.actions[1]
    brake, dt, speed, way, time = 0.6 * 9.81, 1e-4, 0.0, 0.0, 0.0
    drive = math.hypot(*push.force) / scene.object.mass
    assert drive > brake
    while time < push.actions * 0.05 or speed > 0.0:
        speed = max(speed + ((drive if time < push.actions * 0.05 else 0.0) - brake) * dt, 0.0)
        way += speed * dt
        time += dt
    assert ranges.slide[0] - 5e-4 <= way <= ranges.slide[1] + 5e-4


@given(SEEDS)
@settings(max_examples=50)
def test_light_shines_down_on_the_table_and_dim_is_dimmer_than_normal(
    bench: PnpBench, seed: int
) -> None:
    lights = {
        variant: resolve(bench, variant, seed).lighting
        for variant in ("standard_objects", "standard_lighting", "low_lighting", "lighting")
    }
    for light in lights.values():
        x, y, z = rotate(light.orientation, (0.0, 0.0, -1.0))
        assert z < -0.5
        reach = (light.position[2] - 0.3) / -z
        hit = (light.position[0] + reach * x, light.position[1] + reach * y)
        assert hit == pytest.approx((0.5, 0.0), abs=1e-9)
    assert 0.0 < lights["low_lighting"].diffuse[1] < 0.5 * lights["standard_lighting"].diffuse[1]
    assert lights["low_lighting"].ambient[1] > 0.05
    red, _, blue = lights["lighting"].diffuse
    assert not 0.9 < red / blue < 1.1


@given(SEEDS)
@settings(max_examples=50)
def test_colours_stay_red(bench: PnpBench, seed: int) -> None:
    red, green, blue, opacity = resolve(bench, "object_color", seed).object.material.rgba
    assert 0.5 < red < 0.8 and max(green, blue) < 0.6 * red + 0.05 and opacity == 1.0


@given(LABELS, SEEDS)
@settings(max_examples=100)
def test_camera_has_block_target_and_home_in_view(bench: PnpBench, variant: str, seed: int) -> None:
    scene = resolve(bench, variant, seed)
    for point in (scene.object.position, scene.target.position, (0.307, 0.0, 0.49)):
        across_deg, up_deg = in_view(scene, point)
        assert max(abs(across_deg), abs(up_deg)) < scene.primary_camera.fovy / 2 - 3


# The hand of the pinned meshes: half extents along and across the fingers' motion, m. Its palm is
# 0.03 m above the grip site, which is at the block's centre; the outside of an open finger is
# 0.066 m from it.
HAND = (0.104, 0.032)
FINGERS = (0.0663, 0.0105)
PALM_HEIGHT = 0.34


def hand(scene: PnpScene, axis: tuple[float, float]) -> Footprint:
    return Footprint(scene.object.position[:2], axis, HAND)


def fingers(scene: PnpScene, axis: tuple[float, float]) -> Footprint:
    return Footprint(scene.object.position[:2], axis, FINGERS)


def across(axis: tuple[float, float]) -> tuple[float, float]:
    return (-axis[1], axis[0])


def crosses(start: Any, end: Any, body: Any) -> bool:
    """Whether a segment passes through an upright box."""
    low, high = 0.0, 1.0
    a = local(start, body)
    b = local(end, body)
    for i in range(3):
        step = b[i] - a[i]
        if abs(step) < 1e-9:  # parallel to these two sides: between them, or not
            if abs(a[i]) >= body.size[i] / 2:
                return False
            continue
        first, second = sorted((sign * body.size[i] / 2 - a[i]) / step for sign in (-1, 1))
        low, high = max(low, first), min(high, second)
    return low < high


def local(point: Any, body: Any) -> tuple[float, float, float]:
    w, x, y, z = body.orientation
    offset = tuple(p - c for p, c in zip(point, body.position))
    return rotate((w, -x, -y, -z), offset)  # type: ignore[arg-type]


def in_view(scene: PnpScene, point: Any) -> tuple[float, float]:
    w, x, y, z = scene.primary_camera.orientation
    offset = tuple(p - c for p, c in zip(point, scene.primary_camera.position))
    right, up, back = rotate((w, -x, -y, -z), offset)  # type: ignore[arg-type]
    return math.degrees(math.atan2(right, -back)), math.degrees(math.atan2(up, -back))
