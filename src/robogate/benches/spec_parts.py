"""What the scenes of every bench on MuJoCo have: solver, image settings, room, table, key light.

Each function adds to a `mujoco.MjSpec` that the bench compiles. Sizes are full extents in metres,
positions and orientations (w, x, y, z) those of the world frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robogate.contract.schema import Renderer, Vec3
from robogate.scenes.spec import Lighting, Material, SurfaceSpec

TABLE, LIGHT = "table", "key_light"

_SHADOW_MAP = 1024  # texels
_ROOM = (3.0, 3.0, 0.05)  # m: half its width, its height, half the thickness of a wall


def set_solver(spec: Any, gravity: Vec3, timestep: float) -> None:
    """Set gravity in m/s², the step in seconds, and how contacts are solved."""
    import mujoco

    spec.option.gravity = gravity
    spec.option.timestep = timestep
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    # A simulation that diverges has to be seen, not quietly put back to its start.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET


def set_visuals(spec: Any, renderer: Renderer, center: Vec3) -> None:
    """Set image size, sampling and shadows, and the point that the view is scaled about."""
    spec.visual.global_.offwidth = renderer.width
    spec.visual.global_.offheight = renderer.height
    spec.visual.quality.offsamples = renderer.multisamples
    spec.visual.quality.shadowsize = _SHADOW_MAP if renderer.shadows else 0
    spec.visual.headlight.active = 0
    spec.visual.map.znear, spec.visual.map.zfar = 0.01, 12.0
    # Fixed, so that near plane and shadow frustum do not change with what stands in the scene.
    spec.stat.extent = 1.0
    spec.stat.center = center


def add_room(spec: Any, walls: Sequence[str], touch: int) -> None:
    """Add floor and walls of plain boxes: a sky or an infinite plane costs five times as much.

    Args:
        spec: Gets them.
        walls: Where walls stand, in this order: ``-x``, ``+x`` or ``+y``.
        touch: Contact bits of what the floor holds up.
    """
    import mujoco

    for name, rgba in (("floor", (0.42, 0.44, 0.47, 1.0)), ("wall", (0.78, 0.81, 0.84, 1.0))):
        spec.add_material(name=name, rgba=rgba, specular=0.0, shininess=0.0)
    reach, height, thin = _ROOM
    places = {
        "-x": ((-reach, 0.0, height / 2), (thin, reach, height / 2)),
        "+x": ((reach, 0.0, height / 2), (thin, reach, height / 2)),
        "+y": ((0.0, reach, height / 2), (reach, thin, height / 2)),
    }
    floor = ("floor", (0.0, 0.0, -thin), (reach, reach, thin), touch)
    for name, pos, size, bits in (floor, *(("wall", *places[wall], 0) for wall in walls)):
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, pos=pos, size=size, material=name,
            contype=0, conaffinity=bits,
        )  # fmt: skip


def add_table(spec: Any, table: SurfaceSpec, touch: int) -> None:
    """Add the table, a fixed box; ``touch``: contact bits of what it holds up."""
    import mujoco

    add_material(spec, TABLE, table.material)
    body = spec.worldbody.add_body(name=TABLE, pos=table.position)
    body.add_geom(
        name=TABLE, type=mujoco.mjtGeom.mjGEOM_BOX, size=half(table.size), material=TABLE,
        friction=friction(table.material), contype=0, conaffinity=touch,
    )  # fmt: skip


def add_key_light(spec: Any, light: Lighting, renderer: Renderer) -> None:
    """Put the key light on a body, so that its direction follows from an orientation."""
    import mujoco

    body = spec.worldbody.add_body(name=LIGHT, pos=light.position, quat=light.orientation)
    body.add_light(
        name=LIGHT, type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, pos=(0.0, 0.0, 0.0),
        dir=(0.0, 0.0, -1.0), ambient=light.ambient, diffuse=light.diffuse,
        specular=light.specular, castshadow=renderer.shadows,
    )  # fmt: skip


def add_material(spec: Any, name: str, material: Material) -> None:
    """Add how a surface looks."""
    spec.add_material(
        name=name, rgba=material.rgba, specular=material.specular, shininess=material.shininess
    )


def friction(material: Material) -> Vec3:
    """Sliding, torsional and rolling friction of a surface."""
    return (material.friction, 0.005, 0.0001)


def half(size: Vec3) -> Vec3:
    """Half extents, which MuJoCo wants."""
    return (size[0] / 2, size[1] / 2, size[2] / 2)
