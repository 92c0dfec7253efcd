"""Label + seed → pick-and-place scene: a pure function of this code and the contract.

Sixteen labels, each a physical change in the scene: a few lines here and a range in the contract.
Nothing is drawn again until it fits; ranges and sectors are such that every draw fits, and
`check_scene` says so of each result.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

from robogate.errors import ConfigError, nearest
from robogate.scenes.draws import Draws
from robogate.scenes.pnp_clutter import clutter, occluder
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.pnp_nominal import drawn_light, nominal, table_top
from robogate.scenes.pnp_ranges import SceneRanges
from robogate.scenes.rotations import look_at, planar
from robogate.scenes.spec import CameraSpec, Disturbance, Material, PnpScene

Variant = Callable[[PnpScene, PnpBench, Draws], PnpScene]


def resolve(bench: PnpBench, variant: str, seed: int) -> PnpScene:
    """Resolve a label and a seed.

    Args:
        bench: Bench part of the contract.
        variant: One of `VARIANTS`.
        seed: Of the scenario.

    Raises:
        ConfigError: The variant is unknown.
    """
    if variant not in VARIANTS:
        raise ConfigError(f"no variant '{variant}'; {nearest(variant, VARIANTS)}", code="variant")
    draws = Draws(seed, variant)
    return VARIANTS[variant](nominal(bench.scene, draws), bench, draws)


def _place(scene: PnpScene, x: float, y: float) -> PnpScene:
    position = (x, y, scene.object.position[2])
    return dataclasses.replace(scene, object=dataclasses.replace(scene.object, position=position))


def _resize(scene: PnpScene, ranges: SceneRanges, edge: float, mass: float) -> PnpScene:
    x, y, _ = scene.object.position
    block = dataclasses.replace(
        scene.object,
        size=(edge, edge, edge),
        mass=mass,
        position=(x, y, table_top(ranges) + edge / 2.0),
    )
    return dataclasses.replace(scene, object=block)


def _paint(scene: PnpScene, material: Material) -> PnpScene:
    return dataclasses.replace(scene, object=dataclasses.replace(scene.object, material=material))


def _by_the_border(scene: PnpScene, ranges: SceneRanges, draws: Draws, inside: float) -> PnpScene:
    """Move the block to this distance inside one drawn side of the spawn region's border."""
    (x_low, x_high), (y_low, y_high) = ranges.spawn.x, ranges.spawn.y
    x, y, _ = scene.object.position
    side = draws.integer("object.side", (0, 3))
    if side < 2:
        x = x_low + inside if side == 0 else x_high - inside
    else:
        y = y_low + inside if side == 2 else y_high - inside
    return _place(scene, x, y)


def standard_objects(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Change nothing but the block's place and yaw."""
    return scene


def standard_lighting(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Move and scale the key light within a normal range."""
    light = drawn_light(bench.scene, bench.scene.standard_lighting, draws)
    return dataclasses.replace(scene, lighting=light)


def centered_placement(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Put the block at the centre of the spawn region, turned."""
    spawn = bench.scene.spawn
    return _place(scene, (spawn.x[0] + spawn.x[1]) / 2.0, (spawn.y[0] + spawn.y[1]) / 2.0)


def small_objects(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Make the block small and light."""
    small = bench.scene.small_objects
    return _resize(scene, bench.scene, small.edge, small.mass)


def heavy_objects(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Make the block large and heavy."""
    heavy = bench.scene.heavy_objects
    return _resize(scene, bench.scene, heavy.edge, heavy.mass)


def edge_placement(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Put the block just inside the spawn region's border."""
    inside = draws.uniform("object.edge", bench.scene.spawn.edge_band)
    return _by_the_border(scene, bench.scene, draws, inside)


def occluded_objects(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Stand a panel between the primary camera and the block."""
    panel = occluder(scene, table_top(bench.scene), bench.scene.occluded_objects, draws)
    return dataclasses.replace(scene, occluders=(panel,))


def transparent_objects(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Make the block see-through."""
    material = scene.object.material
    opacity = draws.uniform("object.opacity", bench.scene.transparent_objects)
    rgba = (material.rgba[0], material.rgba[1], material.rgba[2], opacity)
    return _paint(scene, dataclasses.replace(material, rgba=rgba))


def low_lighting(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Dim the key light and the ambient term."""
    light = drawn_light(bench.scene, bench.scene.low_lighting, draws)
    return dataclasses.replace(scene, lighting=light)


def cluttered_scene(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Surround the block by obstacles and distractors that leave one grasp free."""
    ranges = bench.scene.cluttered_scene
    x, y = draws.uniform("clutter.x", ranges.x), draws.uniform("clutter.y", ranges.y)
    scene = _place(scene, x, y)
    obstacles, distractors = clutter(scene, table_top(bench.scene), ranges, draws)
    return dataclasses.replace(scene, obstacles=obstacles, distractors=distractors)


def slippery_surface(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Make table and block slippery."""
    friction = draws.uniform("friction", bench.scene.slippery_surface)
    table = dataclasses.replace(scene.surface.material, friction=friction)
    surface = dataclasses.replace(scene.surface, material=table)
    block = dataclasses.replace(scene.object.material, friction=friction)
    return dataclasses.replace(_paint(scene, block), surface=surface)


def moving_disturbance(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Push the block early in the episode, so that it slides a drawn distance.

    A push of acceleration a against friction μg for T seconds moves it by aT²/2, and it coasts
    for (aT)²/(2μg) more; a is solved for from their sum.
    """
    push = bench.scene.moving_disturbance
    timing = bench.timing
    actions = draws.integer("push.actions", push.actions)
    distance = draws.uniform("push.slide", push.slide)
    grip = max(scene.object.material.friction, scene.surface.material.friction)
    brake = grip * abs(bench.scene.gravity[2])
    seconds = actions * timing.physics_steps_per_action * timing.physics_step_s
    ratio = 8.0 * distance / (brake * seconds * seconds)
    acceleration = 0.5 * brake * (math.sqrt(1.0 + ratio) - 1.0)
    strength = scene.object.mass * (acceleration + brake)
    along_x, along_y = planar(strength, draws.uniform("push.azimuth", (0.0, 360.0)))
    disturbance = Disturbance(
        start_action=draws.integer("push.start_action", push.start_action),
        actions=actions,
        force=(along_x, along_y, 0.0),
    )
    return dataclasses.replace(scene, disturbance=disturbance)


def lighting(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Randomise direction, strength and colour of the light."""
    light = drawn_light(bench.scene, bench.scene.lighting, draws)
    return dataclasses.replace(scene, lighting=light)


def object_color(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Give the block another red."""
    change = bench.scene.object_color
    red, green, blue, opacity = scene.object.material.rgba
    rgba = (
        red - draws.uniform("object.fade", change.fade),
        green + draws.uniform("object.bleed_green", change.bleed),
        blue + draws.uniform("object.bleed_blue", change.bleed),
        opacity,
    )
    return _paint(scene, dataclasses.replace(scene.object.material, rgba=rgba))


def position(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Put the block outside the spawn region, near its border."""
    outside = draws.uniform("object.outside", bench.scene.spawn.outside_band)
    return _by_the_border(scene, bench.scene, draws, -outside)


def camera(scene: PnpScene, bench: PnpBench, draws: Draws) -> PnpScene:
    """Move, turn and zoom the primary camera."""
    usual, change = bench.scene.camera, bench.scene.camera_pose
    eye = (
        usual.position[0] + draws.either_side("camera.x", change.shift),
        usual.position[1] + draws.either_side("camera.y", change.shift),
        usual.position[2] + draws.either_side("camera.z", change.shift),
    )
    point = (
        usual.look_at[0] + draws.either_side("camera.look_at_x", change.look_at_shift),
        usual.look_at[1] + draws.either_side("camera.look_at_y", change.look_at_shift),
        usual.look_at[2],
    )
    fovy = usual.fovy + draws.either_side("camera.fovy", change.fovy_shift)
    return dataclasses.replace(scene, primary_camera=CameraSpec(eye, look_at(eye, point), fovy))


#: Every label; the names are those of the public version 1 set.
VARIANTS: dict[str, Variant] = {
    rule.__name__: rule
    for rule in (
        standard_objects,
        standard_lighting,
        centered_placement,
        small_objects,
        heavy_objects,
        edge_placement,
        occluded_objects,
        transparent_objects,
        low_lighting,
        cluttered_scene,
        slippery_surface,
        moving_disturbance,
        lighting,
        object_color,
        position,
        camera,
    )
}
