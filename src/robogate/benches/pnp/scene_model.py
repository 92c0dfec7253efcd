"""A resolved scene as a MuJoCo model: robot, table, block, target, lights, cameras, fixed bodies.

Every reset compiles a new model from the scene spec, so that nothing of an earlier episode is left.
A pair of surfaces slides with the larger of its two friction coefficients.
"""

from __future__ import annotations

from typing import Any

from robogate.benches.pnp.robot import BLOCK_BIT, ROBOT_BIT, add_robot
from robogate.contract.schema import Renderer
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.spec import Disturbance, FixedBody, Material, PnpScene

BLOCK, TABLE, TARGET, LIGHT, PRIMARY_CAMERA = "block", "table", "target", "key_light", "primary"
PUSH = "push"

_SHADOW_MAP = 1024  # texels
_ROOM = (3.0, 3.0, 0.05)  # m: half its width, its height, half the thickness of a wall


def build_model(
    scene: PnpScene, bench: PnpBench, renderer: Renderer, meshes: dict[str, bytes]
) -> Any:
    """Compile the scene.

    Args:
        scene: What to build.
        bench: Robot, control and clock.
        renderer: Image size, multisampling and shadows.
        meshes: Mesh files by name.

    Returns:
        A `mujoco.MjModel`.
    """
    import mujoco

    spec = mujoco.MjSpec()
    spec.modelname = bench.harness_id
    spec.compiler.degree = False
    spec.assets = meshes
    _options(spec, bench)
    _visuals(spec, renderer)
    add_robot(spec, bench.control, bench.wrist)
    _room(spec)
    _table(spec, scene)
    _block(spec, scene)
    _target(spec, scene)
    for fixed in (*scene.obstacles, *scene.occluders, *scene.distractors):
        _fixed(spec, fixed)
    _light(spec, scene, renderer)
    camera = scene.primary_camera
    spec.worldbody.add_camera(
        name=PRIMARY_CAMERA, pos=camera.position, quat=camera.orientation, fovy=camera.fovy
    )
    for camera in spec.cameras:
        camera.resolution = (renderer.width, renderer.height)
    if scene.disturbance is not None:
        push = scene.disturbance
        data = (float(push.start_action), float(push.actions), *push.force)
        spec.add_numeric(name=PUSH, data=data, size=len(data))
    return spec.compile()


def scheduled_push(model: Any) -> Disturbance | None:
    """The push that a compiled model holds; the simulation applies what stands here."""
    import mujoco

    index = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_NUMERIC, PUSH)
    if index < 0:
        return None
    address = int(model.numeric_adr[index])
    start, actions, x, y, z = (float(v) for v in model.numeric_data[address : address + 5])
    return Disturbance(int(start), int(actions), (x, y, z))


def _options(spec: Any, bench: PnpBench) -> None:
    import mujoco

    spec.option.gravity = bench.scene.gravity
    spec.option.timestep = bench.timing.physics_step_s / bench.timing.simulator_substeps
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    # A simulation that diverges has to be seen, not quietly put back to its start.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET


def _visuals(spec: Any, renderer: Renderer) -> None:
    spec.visual.global_.offwidth = renderer.width
    spec.visual.global_.offheight = renderer.height
    spec.visual.quality.offsamples = renderer.multisamples
    spec.visual.quality.shadowsize = _SHADOW_MAP if renderer.shadows else 0
    spec.visual.headlight.active = 0
    spec.visual.map.znear, spec.visual.map.zfar = 0.01, 12.0
    # Fixed, so that near plane and shadow frustum do not change with what stands in the scene.
    spec.stat.extent = 1.0
    spec.stat.center = (0.4, 0.0, 0.4)


def _room(spec: Any) -> None:
    """Floor and two walls of plain boxes: a sky or an infinite plane costs five times as much."""
    import mujoco

    for name, rgba in (("floor", (0.42, 0.44, 0.47, 1.0)), ("wall", (0.78, 0.81, 0.84, 1.0))):
        spec.add_material(name=name, rgba=rgba, specular=0.0, shininess=0.0)
    reach, height, thin = _ROOM
    for name, pos, size, touch in (
        ("floor", (0.0, 0.0, -thin), (reach, reach, thin), ROBOT_BIT | BLOCK_BIT),
        ("wall", (-reach, 0.0, height / 2), (thin, reach, height / 2), 0),
        ("wall", (0.0, reach, height / 2), (reach, thin, height / 2), 0),
    ):
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, pos=pos, size=size, material=name,
            contype=0, conaffinity=touch,
        )  # fmt: skip


def _table(spec: Any, scene: PnpScene) -> None:
    import mujoco

    surface = scene.surface
    _material(spec, TABLE, surface.material)
    body = spec.worldbody.add_body(name=TABLE, pos=surface.position)
    body.add_geom(
        name=TABLE, type=mujoco.mjtGeom.mjGEOM_BOX, size=_half(surface.size), material=TABLE,
        friction=_friction(surface.material), contype=0, conaffinity=ROBOT_BIT | BLOCK_BIT,
    )  # fmt: skip


def _block(spec: Any, scene: PnpScene) -> None:
    import mujoco

    block = scene.object
    _material(spec, BLOCK, block.material)
    body = spec.worldbody.add_body(name=BLOCK, pos=block.position, quat=block.orientation)
    body.add_freejoint(name=BLOCK)
    body.add_geom(
        name=BLOCK, type=mujoco.mjtGeom.mjGEOM_BOX, size=_half(block.size), mass=block.mass,
        material=BLOCK, friction=_friction(block.material),
        contype=BLOCK_BIT, conaffinity=ROBOT_BIT,
    )  # fmt: skip


def _target(spec: Any, scene: PnpScene) -> None:
    import mujoco

    target = scene.target
    spec.add_material(name=TARGET, rgba=target.rgba, specular=0.0, shininess=0.0)
    body = spec.worldbody.add_body(name=TARGET, pos=target.position)
    body.add_geom(
        name=TARGET, type=mujoco.mjtGeom.mjGEOM_CYLINDER, material=TARGET,
        size=(target.radius, target.thickness / 2, 0.0), contype=0, conaffinity=0,
    )  # fmt: skip


def _fixed(spec: Any, fixed: FixedBody) -> None:
    import mujoco

    size = _half(fixed.size)
    if fixed.shape == "cylinder":
        kind, size = mujoco.mjtGeom.mjGEOM_CYLINDER, (size[0], size[2], 0.0)
    else:
        kind = mujoco.mjtGeom.mjGEOM_BOX
    _material(spec, fixed.name, fixed.material)
    body = spec.worldbody.add_body(name=fixed.name, pos=fixed.position, quat=fixed.orientation)
    body.add_geom(
        name=fixed.name, type=kind, size=size, material=fixed.name,
        friction=_friction(fixed.material), contype=0,
        conaffinity=ROBOT_BIT | BLOCK_BIT if fixed.collides else 0,
    )  # fmt: skip


def _light(spec: Any, scene: PnpScene, renderer: Renderer) -> None:
    """Put the key light on a body, so that its direction follows from an orientation."""
    import mujoco

    light = scene.lighting
    body = spec.worldbody.add_body(name=LIGHT, pos=light.position, quat=light.orientation)
    body.add_light(
        name=LIGHT, type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, pos=(0.0, 0.0, 0.0),
        dir=(0.0, 0.0, -1.0), ambient=light.ambient, diffuse=light.diffuse,
        specular=light.specular, castshadow=renderer.shadows,
    )  # fmt: skip


def _material(spec: Any, name: str, material: Material) -> None:
    spec.add_material(
        name=name, rgba=material.rgba, specular=material.specular, shininess=material.shininess
    )


def _friction(material: Material) -> tuple[float, float, float]:
    return (material.friction, 0.005, 0.0001)


def _half(size: tuple[float, float, float]) -> tuple[float, float, float]:
    return (size[0] / 2, size[1] / 2, size[2] / 2)
