"""A resolved scene as a MuJoCo model: robot, table, block, target, lights, cameras, fixed bodies.

Every reset compiles a new model from the scene spec, so that nothing of an earlier episode is left.
A pair of surfaces slides with the larger of its two friction coefficients.
"""

from __future__ import annotations

from typing import Any

from robogate.benches.pnp.robot import BLOCK_BIT, ROBOT_BIT, add_robot
from robogate.benches.spec_parts import (
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
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.spec import Disturbance, FixedBody, PnpScene

BLOCK, TARGET, PRIMARY_CAMERA = "block", "target", "primary"
PUSH = "push"


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
    timing = bench.timing
    set_solver(spec, bench.scene.gravity, timing.physics_step_s / timing.simulator_substeps)
    set_visuals(spec, renderer, center=(0.4, 0.0, 0.4))
    add_robot(spec, bench.control, bench.wrist)
    add_room(spec, ("-x", "+y"), ROBOT_BIT | BLOCK_BIT)
    add_table(spec, scene.surface, ROBOT_BIT | BLOCK_BIT)
    _block(spec, scene)
    _target(spec, scene)
    for fixed in (*scene.obstacles, *scene.occluders, *scene.distractors):
        _fixed(spec, fixed)
    add_key_light(spec, scene.lighting, renderer)
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


def _block(spec: Any, scene: PnpScene) -> None:
    import mujoco

    block = scene.object
    add_material(spec, BLOCK, block.material)
    body = spec.worldbody.add_body(name=BLOCK, pos=block.position, quat=block.orientation)
    body.add_freejoint(name=BLOCK)
    body.add_geom(
        name=BLOCK, type=mujoco.mjtGeom.mjGEOM_BOX, size=half(block.size), mass=block.mass,
        material=BLOCK, friction=friction(block.material),
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

    size = half(fixed.size)
    if fixed.shape == "cylinder":
        kind, size = mujoco.mjtGeom.mjGEOM_CYLINDER, (size[0], size[2], 0.0)
    else:
        kind = mujoco.mjtGeom.mjGEOM_BOX
    add_material(spec, fixed.name, fixed.material)
    body = spec.worldbody.add_body(name=fixed.name, pos=fixed.position, quat=fixed.orientation)
    body.add_geom(
        name=fixed.name, type=kind, size=size, material=fixed.name,
        friction=friction(fixed.material), contype=0,
        conaffinity=ROBOT_BIT | BLOCK_BIT if fixed.collides else 0,
    )  # fmt: skip
