"""The nominal pick-and-place scene, and its light: what every label starts from."""

from __future__ import annotations

from robogate.scenes.draws import Draws
from robogate.scenes.pnp_ranges import LightRange, SceneRanges
from robogate.scenes.rotations import about_z, look_at, planar
from robogate.scenes.spec import (
    CameraSpec,
    Lighting,
    ObjectSpec,
    PnpScene,
    SurfaceSpec,
    TargetSpec,
    Vec3,
)


def table_top(ranges: SceneRanges) -> float:
    """Height of the table's top, world frame, m."""
    return ranges.table.position[2] + ranges.table.size[2] / 2.0


def nominal(ranges: SceneRanges, draws: Draws) -> PnpScene:
    """The scene that every label starts from: nominal but for the block's place and yaw."""
    block, spawn, target = ranges.block, ranges.spawn, ranges.target
    top = table_top(ranges)
    x = draws.uniform("object.x", (spawn.x[0] + spawn.inset, spawn.x[1] - spawn.inset))
    y = draws.uniform("object.y", (spawn.y[0] + spawn.inset, spawn.y[1] - spawn.inset))
    return PnpScene(
        object=ObjectSpec(
            size=(block.edge, block.edge, block.edge),
            mass=block.mass,
            position=(x, y, top + block.edge / 2.0),
            orientation=about_z(draws.uniform("object.yaw", block.yaw)),
            material=block.material,
        ),
        surface=SurfaceSpec(ranges.table.size, ranges.table.position, ranges.table.material),
        target=TargetSpec(
            position=(target.xy[0], target.xy[1], top + target.thickness / 2.0),
            radius=target.radius,
            thickness=target.thickness,
            rgba=target.rgba,
        ),
        lighting=light(ranges, ranges.light.azimuth, ranges.light.elevation),
        primary_camera=CameraSpec(
            ranges.camera.position,
            look_at(ranges.camera.position, ranges.camera.look_at),
            ranges.camera.fovy,
        ),
        obstacles=(),
        occluders=(),
        distractors=(),
        disturbance=None,
    )


def light(
    ranges: SceneRanges,
    azimuth: float,
    elevation: float,
    key: float = 1.0,
    ambient: float = 1.0,
    tint: float = 0.0,
) -> Lighting:
    """A directional light at the centre of the table's top.

    Args:
        ranges: Nominal light and table.
        azimuth: Where it shines from, degrees.
        elevation: Above the horizon, degrees.
        key: Factor of key light and highlight.
        ambient: Factor of the ambient term.
        tint: Red up and blue down by this share.
    """
    nominal_light = ranges.light
    centre = (ranges.table.position[0], ranges.table.position[1], table_top(ranges))
    flat, height = planar(nominal_light.distance, elevation)
    across, along = planar(flat, azimuth)
    position = (centre[0] + across, centre[1] + along, centre[2] + height)

    def coloured(rgb: Vec3, factor: float) -> Vec3:
        return (rgb[0] * factor * (1.0 + tint), rgb[1] * factor, rgb[2] * factor * (1.0 - tint))

    return Lighting(
        position=position,
        orientation=look_at(position, centre),
        diffuse=coloured(nominal_light.key, key),
        specular=coloured(nominal_light.highlight, key),
        ambient=coloured(nominal_light.ambient, ambient),
    )


def drawn_light(ranges: SceneRanges, change: LightRange, draws: Draws) -> Lighting:
    """The nominal light, changed by what is drawn within ``change``."""
    return light(
        ranges,
        azimuth=ranges.light.azimuth
        + draws.either_side("light.azimuth_offset", change.azimuth_offset),
        elevation=draws.uniform("light.elevation", change.elevation),
        key=draws.uniform("light.key_factor", change.key_factor),
        ambient=draws.uniform("light.ambient_factor", change.ambient_factor),
        tint=draws.either_side("light.tint", change.tint),
    )
