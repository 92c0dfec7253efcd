from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from robogate.contract.schema import Renderer
from robogate.scenes.footprints import Footprint, gap, reaches
from robogate.scenes.pnp import resolve
from robogate.scenes.pnp_check import check_bench, check_scene
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.spec import PnpScene


def changed(record: Any, path: str, value: Any) -> Any:
    name, _, rest = path.partition(".")
    inner = changed(getattr(record, name), rest, value) if rest else value
    return dataclasses.replace(record, **{name: inner})


def test_committed_bench_has_no_fault(bench: PnpBench, renderer: Renderer) -> None:
    assert check_bench(bench, renderer) == []


@pytest.mark.parametrize(
    ("path", "value", "where", "message"),
    [
        ("wrist.fovy", 60.0, "wrist", "the mount is immutable"),
        ("wrist.position", (0.05, 0.0, 0.0), "wrist", "the mount is immutable"),
        ("action.names", ("x",), "action.names", "is ['x'], expected"),
        ("control.home", (0.0,) * 6, "control.home", "has 6 values, expected 7"),
        ("control.ik_damping", 0.0, "control.ik_damping", "is 0.0, expected above 0"),
        ("attachment.release_width", -0.1, "attachment.release_width", "expected above 0"),
        ("success.stable_actions", 0, "success.stable_actions", "is 0, expected above 0"),
        ("success.open_width", 0.09, "success.open_width", "the gripper opens 0.08 m"),
        ("scene.heavy_objects.edge", 0.07, "scene.heavy_objects.edge", "below the open width 0.07"),
        ("scene.block.mass", 0.0, "scene.block.mass", "expected above 0"),
        ("scene.spawn.edge_band", (0.0, 0.03), "scene.spawn.edge_band", "within [0, inset 0.03)"),
        ("scene.spawn.outside_band", (0.0, 0.03), "scene.spawn.outside_band", "expected above 0"),
        ("scene.spawn.x", (0.65, 0.35), "scene.spawn.x", "is [0.65, 0.35], expected low, high"),
        (
            "scene.moving_disturbance.actions",
            (4, 2),
            "scene.moving_disturbance.actions",
            "is [4, 2], expected low, high",
        ),
        ("scene.target.xy", (0.4, 0.2), "scene.target", "lies within 0.04 m of the spawn region"),
        (
            "scene.lighting.elevation",
            (35.0, 90.0),
            "scene.lighting.elevation",
            "above the horizon and below 90",
        ),
        ("scene.gravity", (0.0, 0.0, 9.81), "scene.gravity", "expected to point down"),
        (
            "scene.moving_disturbance.start_action",
            (-1, 4),
            "scene.moving_disturbance.start_action",
            "expected at least 0",
        ),
        (
            "scene.moving_disturbance.actions",
            (0, 4),
            "scene.moving_disturbance.actions",
            "expected at least 1",
        ),
    ],
)
def test_contradictions_are_named(
    bench: PnpBench, renderer: Renderer, path: str, value: Any, where: str, message: str
) -> None:
    (fault,) = check_bench(changed(bench, path, value), renderer)
    assert fault.path == f"$.bench.{where}"
    assert message in fault.message


def test_renderer_has_the_protocols_cameras(bench: PnpBench, renderer: Renderer) -> None:
    other = dataclasses.replace(renderer, cameras=("wrist", "primary"))
    (fault,) = check_bench(bench, other)
    assert str(fault) == (
        "$.renderer.cameras: is ['wrist', 'primary'], expected ['primary', 'wrist']"
    )


@pytest.fixture
def cluttered(bench: PnpBench) -> PnpScene:
    return resolve(bench, "cluttered_scene", 4)


def test_body_in_the_block_is_a_fault(cluttered: PnpScene) -> None:
    x, y, _ = cluttered.object.position
    first, *others = cluttered.obstacles
    moved = dataclasses.replace(first, position=(x + 0.03, y, first.position[2]))
    scene = dataclasses.replace(cluttered, obstacles=(moved, *others))
    assert [str(f) for f in check_scene(scene)] == ["$.obstacles[0].position: overlaps object"]


def test_bodies_in_one_another_beside_the_table_and_in_the_target(cluttered: PnpScene) -> None:
    a, b, c = cluttered.obstacles
    height = a.size[2] / 2 + 0.3
    scene = dataclasses.replace(
        cluttered,
        obstacles=(
            dataclasses.replace(a, position=(0.35, 0.37, height)),
            dataclasses.replace(b, position=(0.79, 0.3, b.size[2] / 2 + 0.3)),
            dataclasses.replace(c, position=(0.6, 0.3, c.size[2] / 2 + 0.31), name="obstacle_0"),
        ),
    )
    assert {str(f) for f in check_scene(scene)} == {
        "$.obstacles[0].position: reaches into the target region",
        "$.obstacles[1].position: reaches beyond the table",
        "$.obstacles[2].position: does not stand on the table",
        "$: two fixed bodies share a name: ['distractor_0', 'distractor_1', 'distractor_2',"
        " 'obstacle_0', 'obstacle_0', 'obstacle_1']",
    }


def test_quaternion_of_another_length_is_a_fault(cluttered: PnpScene) -> None:
    light = dataclasses.replace(cluttered.lighting, orientation=(1.0, 1e-5, 0.0, 0.0))
    faults = check_scene(dataclasses.replace(cluttered, lighting=light))
    assert [str(f) for f in faults] == ["$.lighting.orientation: is not of unit length"]


def test_colours_that_are_none_are_faults(cluttered: PnpScene) -> None:
    scene = changed(cluttered, "object.material.rgba", (1.2, 0.0, 0.0, 1.0))
    scene = changed(scene, "lighting.diffuse", (0.5, -0.1, 0.5))
    assert [str(f) for f in check_scene(scene)] == [
        "$.object.material.rgba: is [1.2, 0.0, 0.0, 1.0], expected within [0, 1]",
        "$.lighting.diffuse: is [0.5, -0.1, 0.5], expected at least 0",
    ]


def test_gap_and_reach_of_turned_rectangles() -> None:
    upright = Footprint((0.0, 0.0), (1.0, 0.0), (0.5, 0.5))
    half = 2**-0.5
    turned = Footprint((2.0, 0.0), (half, half), (0.5, 0.5))
    assert gap(upright, turned) == pytest.approx(1.5 - half)
    assert gap(turned, upright) == gap(upright, turned)
    assert gap(upright, dataclasses.replace(turned, centre=(0.9, 0.0))) < 0.0
    assert reaches(upright, (0.2, -0.4)) == 0.0
    assert reaches(upright, (0.5 + 3.0, 0.5 + 4.0)) == pytest.approx(5.0)
