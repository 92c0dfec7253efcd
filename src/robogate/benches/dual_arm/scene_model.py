"""A resolved scene as a MuJoCo model: two arms, table, bell or pot, light, cameras.

Every reset compiles a new model from the scene spec, so that nothing of an earlier episode is left.
Nothing is attached to anything by other means than contact: a pot is held by friction alone.
"""

from __future__ import annotations

from typing import Any

from robogate.benches.dual_arm.robot import OBJECT_BIT, ROBOT_BIT, add_arms
from robogate.benches.spec_parts import (
    TABLE,
    add_key_light,
    add_material,
    add_room,
    add_table,
    friction,
    half,
    set_solver,
    set_visuals,
)
from robogate.contract.schema import Renderer
from robogate.scenes.dual_arm_config import ClickBell, DualArmBench
from robogate.scenes.dual_arm_spec import BellSpec, DualArmScene, PotSpec
from robogate.scenes.spec import SurfaceSpec

BELL, BUTTON, POT, HEAD_CAMERA = "bell", "button", "pot", "cam_head"
#: Handles by the arm that is to grasp them.
BARS = {"left": "left_bar", "right": "right_bar"}

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
    set_visuals(spec, renderer, center=(0.0, 0.0, 0.8))
    spec.visual.quality.numslices, spec.visual.quality.numstacks = 24, 8
    add_arms(spec, bench)
    add_room(spec, ("-x", "+x", "+y"), ROBOT_BIT | OBJECT_BIT)
    _table(spec, scene.table)
    if scene.bell is not None:
        _bell(spec, scene.bell, bench.tasks.click_bell)
    if scene.pot is not None:
        _pot(spec, scene.pot)
    add_key_light(spec, scene.lighting, renderer)
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
    set_solver(spec, bench.cell.gravity, bench.timing.physics_step_s)
    # Friction as stiff as the contact itself: what is grasped does not creep out of the fingers.
    spec.option.impratio = 10.0


def _table(spec: Any, table: SurfaceSpec) -> None:
    add_table(spec, table, ROBOT_BIT | OBJECT_BIT)
    for side in BARS:
        # The bases stand on the table, which is what mounts are for.
        spec.add_exclude(bodyname1=TABLE, bodyname2=f"{side}_base")


def _bell(spec: Any, bell: BellSpec, task: ClickBell) -> None:
    """A fixed base and a button that slides down against a spring, its weight compensated."""
    import mujoco

    add_material(spec, BELL, bell.base_material)
    add_material(spec, BUTTON, bell.button_material)
    body = spec.worldbody.add_body(name=BELL, pos=bell.position, quat=bell.orientation)
    body.add_geom(
        name=BELL, type=mujoco.mjtGeom.mjGEOM_CYLINDER, pos=(0.0, 0.0, bell.base_height / 2.0),
        size=(bell.base_radius, bell.base_height / 2.0, 0.0), material=BELL,
        friction=friction(bell.base_material), contype=0, conaffinity=ROBOT_BIT,
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
        material=BUTTON, friction=friction(bell.button_material),
        contype=0, conaffinity=ROBOT_BIT,
    )  # fmt: skip


def _pot(spec: Any, pot: PotSpec) -> None:
    """A cylinder that stands on a square foot, and on either side a bar on two posts."""
    import mujoco

    add_material(spec, POT, pot.material)
    add_material(spec, "handle", pot.handle_material)
    inside = tuple(0.45 * c for c in pot.material.rgba[:3])
    spec.add_material(name="pot_inside", rgba=(*inside, 1.0), specular=0.1, shininess=0.1)
    body = spec.worldbody.add_body(name=POT, pos=pot.position, quat=pot.orientation)
    body.add_freejoint(name=POT)
    middle = (0.0, 0.0, pot.height / 2.0)
    body.add_geom(
        name=POT, type=mujoco.mjtGeom.mjGEOM_CYLINDER, pos=middle,
        size=(pot.radius, pot.height / 2.0, 0.0), mass=0.8 * pot.mass, material=POT,
        friction=friction(pot.material), contype=0, conaffinity=ROBOT_BIT,
    )  # fmt: skip
    foot = _FOOT * pot.radius
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, pos=middle, size=(foot, foot, pot.height / 2.0), group=3,
        mass=0.0, friction=friction(pot.material), contype=OBJECT_BIT, conaffinity=0,
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
        "friction": friction(pot.handle_material),
        "contype": OBJECT_BIT,
        "conaffinity": ROBOT_BIT,
    }
    x = sign * pot.bar_distance
    body.add_geom(
        name=name, pos=(x, 0.0, pot.bar_height), size=half(pot.bar_size),
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
