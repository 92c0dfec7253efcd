"""A resolved scene as a MuJoCo model: two arms, table, bell or pot, light, cameras.

Every reset compiles a new model from the scene spec, so that nothing of an earlier episode is left.
Nothing is attached to anything by other means than contact: a pot is held by friction alone.
"""

from __future__ import annotations

from typing import Any

from robogate.benches.dual_arm.robot import OBJECT_BIT, ROBOT_BIT, add_arms
from robogate.contract.schema import Renderer
from robogate.scenes.dual_arm_config import ClickBell, DualArmBench
from robogate.scenes.dual_arm_spec import BellSpec, DualArmScene, PotSpec
from robogate.scenes.spec import Material, SurfaceSpec

TABLE, BELL, BUTTON, POT, LIGHT, HEAD_CAMERA = (
    "table", "bell", "button", "pot", "key_light", "cam_head",
)  # fmt: skip
#: Handles by the arm that is to grasp them.
BARS = {"left": "left_bar", "right": "right_bar"}

_SHADOW_MAP = 1024  # texels
_ROOM = (3.0, 3.0, 0.05)  # m: half its width, its height, half the thickness of a wall
_FOOT = 0.65  # half width of the square that a pot stands on, in radii
_POST = 0.01  # m, thickness of the posts that carry a bar


def build_model(scene: DualArmScene, bench: DualArmBench, renderer: Renderer) -> Any:
    """Compile the scene.

    Args:
        scene: What to build.
        bench: Robot and clock.
        renderer: Image size, multisampling and shadows.

    Returns:
        A `mujoco.MjModel`.
    """
    import mujoco

    spec = mujoco.MjSpec()
    spec.modelname = bench.harness_id
    spec.compiler.degree = False
    _options(spec, bench)
    _visuals(spec, renderer)
    add_arms(spec, bench)
    _room(spec)
    _table(spec, scene.table)
    if scene.bell is not None:
        _bell(spec, scene.bell, bench.tasks.click_bell)
    if scene.pot is not None:
        _pot(spec, scene.pot)
    _light(spec, scene, renderer)
    camera = scene.head_camera
    spec.worldbody.add_camera(
        name=HEAD_CAMERA, pos=camera.position, quat=camera.orientation, fovy=camera.fovy
    )
    for camera in spec.cameras:
        camera.resolution = (renderer.width, renderer.height)
    return spec.compile()


def build_robot(bench: DualArmBench) -> Any:
    """Compile the arms and their table alone: a `mujoco.MjModel` in which nothing is seen."""
    import mujoco

    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    _options(spec, bench)
    add_arms(spec, bench)
    _table(spec, bench.cell.table)
    return spec.compile()


def _options(spec: Any, bench: DualArmBench) -> None:
    import mujoco

    spec.option.gravity = bench.cell.gravity
    spec.option.timestep = bench.timing.physics_step_s
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    # Friction as stiff as the contact itself: what is grasped does not creep out of the fingers.
    spec.option.impratio = 10.0
    # A simulation that diverges has to be seen, not quietly put back to its start.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET


def _visuals(spec: Any, renderer: Renderer) -> None:
    spec.visual.global_.offwidth = renderer.width
    spec.visual.global_.offheight = renderer.height
    spec.visual.quality.offsamples = renderer.multisamples
    spec.visual.quality.shadowsize = _SHADOW_MAP if renderer.shadows else 0
    spec.visual.quality.numslices, spec.visual.quality.numstacks = 24, 8
    spec.visual.headlight.active = 0
    spec.visual.map.znear, spec.visual.map.zfar = 0.01, 12.0
    # Fixed, so that the near plane does not change with what stands in the scene.
    spec.stat.extent = 1.0
    spec.stat.center = (0.0, 0.0, 0.8)


def _room(spec: Any) -> None:
    """Floor and three walls of plain boxes: a sky or an infinite plane costs five times as much."""
    import mujoco

    for name, rgba in (("floor", (0.42, 0.44, 0.47, 1.0)), ("wall", (0.78, 0.81, 0.84, 1.0))):
        spec.add_material(name=name, rgba=rgba, specular=0.0, shininess=0.0)
    reach, height, thin = _ROOM
    for name, pos, size, touch in (
        ("floor", (0.0, 0.0, -thin), (reach, reach, thin), ROBOT_BIT | OBJECT_BIT),
        ("wall", (-reach, 0.0, height / 2), (thin, reach, height / 2), 0),
        ("wall", (reach, 0.0, height / 2), (thin, reach, height / 2), 0),
        ("wall", (0.0, reach, height / 2), (reach, thin, height / 2), 0),
    ):
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX, pos=pos, size=size, material=name,
            contype=0, conaffinity=touch,
        )  # fmt: skip


def _table(spec: Any, table: SurfaceSpec) -> None:
    import mujoco

    _material(spec, TABLE, table.material)
    body = spec.worldbody.add_body(name=TABLE, pos=table.position)
    body.add_geom(
        name=TABLE, type=mujoco.mjtGeom.mjGEOM_BOX, size=_half(table.size), material=TABLE,
        friction=_friction(table.material), contype=0, conaffinity=ROBOT_BIT | OBJECT_BIT,
    )  # fmt: skip
    for side in BARS:
        # The bases stand on the table, which is what mounts are for.
        spec.add_exclude(bodyname1=TABLE, bodyname2=f"{side}_base")


def _bell(spec: Any, bell: BellSpec, task: ClickBell) -> None:
    """A fixed base and a button that slides down against a spring, its weight compensated."""
    import mujoco

    _material(spec, BELL, bell.base_material)
    _material(spec, BUTTON, bell.button_material)
    body = spec.worldbody.add_body(name=BELL, pos=bell.position, quat=bell.orientation)
    body.add_geom(
        name=BELL, type=mujoco.mjtGeom.mjGEOM_CYLINDER, pos=(0.0, 0.0, bell.base_height / 2.0),
        size=(bell.base_radius, bell.base_height / 2.0, 0.0), material=BELL,
        friction=_friction(bell.base_material), contype=0, conaffinity=ROBOT_BIT,
    )  # fmt: skip
    button = body.add_body(
        name=BUTTON, pos=(0.0, 0.0, bell.base_height + bell.button_height / 2.0), gravcomp=1.0
    )
    joint = button.add_joint(
        name=BUTTON, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=(0.0, 0.0, -1.0),
        range=(0.0, task.travel), limited=mujoco.mjtLimited.mjLIMITED_TRUE,
    )  # fmt: skip
    joint.stiffness[0], joint.damping[0] = task.stiffness, task.damping
    button.add_geom(
        name=BUTTON, type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        size=(bell.button_radius, bell.button_height / 2.0, 0.0), mass=task.button_mass,
        material=BUTTON, friction=_friction(bell.button_material),
        contype=0, conaffinity=ROBOT_BIT,
    )  # fmt: skip


def _pot(spec: Any, pot: PotSpec) -> None:
    """A cylinder that stands on a square foot, and on either side a bar on two posts."""
    import mujoco

    _material(spec, POT, pot.material)
    _material(spec, "handle", pot.handle_material)
    inside = tuple(0.45 * c for c in pot.material.rgba[:3])
    spec.add_material(name="pot_inside", rgba=(*inside, 1.0), specular=0.1, shininess=0.1)
    body = spec.worldbody.add_body(name=POT, pos=pot.position, quat=pot.orientation)
    body.add_freejoint(name=POT)
    middle = (0.0, 0.0, pot.height / 2.0)
    body.add_geom(
        name=POT, type=mujoco.mjtGeom.mjGEOM_CYLINDER, pos=middle,
        size=(pot.radius, pot.height / 2.0, 0.0), mass=0.8 * pot.mass, material=POT,
        friction=_friction(pot.material), contype=0, conaffinity=ROBOT_BIT,
    )  # fmt: skip
    foot = _FOOT * pot.radius
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, pos=middle, size=(foot, foot, pot.height / 2.0), group=3,
        mass=0.0, friction=_friction(pot.material), contype=OBJECT_BIT, conaffinity=0,
    )  # fmt: skip
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CYLINDER, pos=(0.0, 0.0, pot.height), mass=0.0,
        size=(0.9 * pot.radius, 0.0005, 0.0), material="pot_inside", contype=0, conaffinity=0,
    )  # fmt: skip
    for side, sign in (("left", -1.0), ("right", 1.0)):
        _handle(body, pot, BARS[side], sign)


def _handle(body: Any, pot: PotSpec, name: str, sign: float) -> None:
    import mujoco

    common = {
        "type": mujoco.mjtGeom.mjGEOM_BOX,
        "material": "handle",
        "friction": _friction(pot.handle_material),
        "contype": OBJECT_BIT,
        "conaffinity": ROBOT_BIT,
    }
    x = sign * pot.bar_distance
    body.add_geom(
        name=name, pos=(x, 0.0, pot.bar_height), size=_half(pot.bar_size),
        mass=0.08 * pot.mass, **common,
    )  # fmt: skip
    inner = 0.8 * pot.radius
    outer = pot.bar_distance - pot.bar_size[0] / 2.0
    across = pot.bar_size[1] / 2.0 - _POST / 2.0
    for offset in (-across, across):
        body.add_geom(
            pos=(sign * (inner + outer) / 2.0, offset, pot.bar_height),
            size=((outer - inner) / 2.0, _POST / 2.0, pot.bar_size[2] / 2.0),
            mass=0.01 * pot.mass, **common,
        )  # fmt: skip


def _light(spec: Any, scene: DualArmScene, renderer: Renderer) -> None:
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
