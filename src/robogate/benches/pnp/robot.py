"""The Franka Panda as a MuJoCo model, built from plain facts and thirteen low-poly meshes.

Masses, inertias, joint ranges and force limits are those of `mujoco_menagerie/franka_emika_panda`
(Apache-2.0). The meshes that serve there as collision geometry are here what is seen as well: they
are what makes rendering on a CPU fast. Robot links do not collide with one another; joint limits
keep them apart wherever the commands of this bench lead.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robogate.errors import RunError
from robogate.scenes.pnp_config import OscPose, WristMount

ARM_JOINTS = tuple(f"joint{i}" for i in range(1, 8))
FINGER_JOINTS = ("finger_joint1", "finger_joint2")
HAND = "panda_hand"
GRIP_SITE = "grip_site"
WRIST_CAMERA = "wrist"
#: Collision bits: the robot touches the scene and the block, the block also the scene.
ROBOT_BIT, BLOCK_BIT = 1, 2

_ARMATURE = 0.1  # kg·m² (arm), kg (fingers): menagerie's reflected inertia
_JOINT_DAMPING = 1.0  # N·m·s/rad, N·s/m
_FINGER_RANGE = (0.0, 0.04)  # m
_FINGER_FORCE = 100.0  # N


@dataclass(frozen=True)
class Link:
    """One link of the arm.

    Attributes:
        pos: Origin in the parent's frame, (3,), m.
        quat: WXYZ in the parent's frame, not normalised.
        limits: Joint range, rad; None for the base.
        force: Largest joint torque, N·m.
        mass: kg.
        com: Centre of mass, (3,), m.
        inertia: xx yy zz xy xz yz about the centre of mass, kg·m².
        meshes: File and colour of each mesh.
    """

    pos: tuple[float, ...]
    quat: tuple[float, ...]
    limits: tuple[float, float] | None
    force: float
    mass: float
    com: tuple[float, ...]
    inertia: tuple[float, ...]
    meshes: tuple[tuple[str, str], ...]


_WIDE = (-2.8973, 2.8973)
_ONE, _UP, _DOWN = (1.0, 0.0, 0.0, 0.0), (1.0, 1.0, 0.0, 0.0), (1.0, -1.0, 0.0, 0.0)

LINKS: tuple[Link, ...] = (
    Link(
        (0.0, 0.0, 0.0), _ONE, None, 0.0, 0.629769, (-0.041018, -0.00014, 0.049974),
        (0.00315, 0.00388, 0.004285, 8.2904e-7, 0.00015, 8.2299e-6), (("link0.stl", "white"),),
    ),
    Link(
        (0.0, 0.0, 0.333), _ONE, _WIDE, 87.0, 4.970684, (0.003875, 0.002081, -0.04762),
        (0.70337, 0.70661, 0.0091170, -0.000139, 0.006772, 0.019169), (("link1.stl", "white"),),
    ),
    Link(
        (0.0, 0.0, 0.0), _DOWN, (-1.7628, 1.7628), 87.0, 0.646926,
        (-0.003141, -0.02872, 0.003495),
        (0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704), (("link2.stl", "white"),),
    ),
    Link(
        (0.0, -0.316, 0.0), _UP, _WIDE, 87.0, 3.228604, (0.027518, 0.039252, -0.066502),
        (0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805), (("link3.stl", "white"),),
    ),
    Link(
        (0.0825, 0.0, 0.0), _UP, (-3.0718, -0.0698), 87.0, 3.587895,
        (-0.05317, 0.104419, 0.027454),
        (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641), (("link4.stl", "white"),),
    ),
    Link(
        (-0.0825, 0.384, 0.0), _DOWN, _WIDE, 12.0, 1.225946, (-0.011953, 0.041065, -0.038437),
        (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229),
        (
            ("link5_collision_0.obj", "white"),
            ("link5_collision_1.obj", "white"),
            ("link5_collision_2.obj", "white"),
        ),
    ),
    Link(
        (0.0, 0.0, 0.0), _UP, (-0.0175, 3.7525), 12.0, 1.666555, (0.060149, -0.014117, -0.010517),
        (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341), (("link6.stl", "white"),),
    ),
    Link(
        (0.088, 0.0, 0.0), _UP, _WIDE, 12.0, 0.735522, (0.010517, -0.004252, 0.061597),
        (0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741), (("link7.stl", "white"),),
    ),
)  # fmt: skip

#: Boxes of a fingertip pad: half sizes and position in the finger's frame, m.
_PADS = (
    ((0.0085, 0.004, 0.0085), (0.0, 0.0055, 0.0445)),
    ((0.003, 0.002, 0.003), (0.0055, 0.002, 0.05)),
    ((0.003, 0.002, 0.003), (-0.0055, 0.002, 0.05)),
    ((0.003, 0.002, 0.0035), (0.0055, 0.002, 0.0395)),
    ((0.003, 0.002, 0.0035), (-0.0055, 0.002, 0.0395)),
)
_FINGER_MESHES = (("finger_0.obj", "off_white"), ("finger_1.obj", "black"))
_HAND_MESH = ("hand.stl", "off_white")
_COLOURS = {
    "white": (1.0, 1.0, 1.0, 1.0),
    "off_white": (0.901961, 0.921569, 0.929412, 1.0),
    "black": (0.25, 0.25, 0.25, 1.0),
}


def mesh_files() -> tuple[str, ...]:
    """Every mesh file that the robot is built from."""
    names = [name for link in LINKS for name, _ in link.meshes]
    return (*names, _HAND_MESH[0], *(name for name, _ in _FINGER_MESHES))


def load_meshes(folder: Path) -> dict[str, bytes]:
    """Read the mesh files once, so that every reset builds from the same bytes.

    Args:
        folder: Where they lie, ``data/panda``.

    Raises:
        RunError: A file is missing.
    """
    try:
        return {name: (folder / name).read_bytes() for name in mesh_files()}
    except OSError as exc:
        raise RunError(
            f"{exc.filename}: the robot's mesh cannot be read ({exc.strerror}); run "
            "'robogate assets' to rebuild data/",
            code="asset_changed",
        ) from exc


def add_robot(spec: Any, control: OscPose, wrist: WristMount) -> None:
    """Add robot, wrist camera and actuators to a specification, base at the world's origin.

    Args:
        spec: `mujoco.MjSpec` whose assets hold `mesh_files`.
        control: Gains and grip site.
        wrist: Mount of the wrist camera; its parent has to be `HAND`.
    """
    for name, rgba in _COLOURS.items():
        spec.add_material(name=name, rgba=rgba, specular=0.5, shininess=0.25)
    for file in mesh_files():
        spec.add_mesh(name=file, file=file)
    body = spec.worldbody
    for index, link in enumerate(LINKS):
        body = body.add_body(name=f"link{index}", pos=link.pos, quat=link.quat, gravcomp=1.0)
        _inertia(body, link.mass, link.com, link.inertia)
        if link.limits is not None:
            _joint(body, ARM_JOINTS[index - 1], "hinge", (0.0, 0.0, 1.0), link.limits)
        for file, colour in link.meshes:
            _mesh(body, file, colour)
    hand = body.add_body(
        name=HAND, pos=(0.0, 0.0, 0.107), quat=(0.9238795, 0.0, 0.0, -0.3826834), gravcomp=1.0
    )
    _inertia(hand, 0.73, (-0.01, 0.0, 0.03), (0.001, 0.0025, 0.0017, 0.0, 0.0, 0.0))
    _mesh(hand, *_HAND_MESH)
    hand.add_site(name=GRIP_SITE, pos=control.grip_site)
    _add_fingers(hand)
    _add_wrist_camera(hand, wrist)
    _add_actuators(spec, control)


def _add_fingers(hand: Any) -> None:
    sides = ((FINGER_JOINTS[0], _ONE), (FINGER_JOINTS[1], (0.0, 0.0, 0.0, 1.0)))
    for name, (joint, quat) in zip(("panda_leftfinger", "panda_rightfinger"), sides):
        finger = hand.add_body(name=name, pos=(0.0, 0.0, 0.0584), quat=quat, gravcomp=1.0)
        _inertia(finger, 0.015, (0.0, 0.0, 0.0), (2.375e-6, 2.375e-6, 7.5e-7, 0.0, 0.0, 0.0))
        _joint(finger, joint, "slide", (0.0, 1.0, 0.0), _FINGER_RANGE)
        body_mesh, pad_mesh = _FINGER_MESHES
        _mesh(finger, *body_mesh)
        _mesh(finger, *pad_mesh, collides=False)
        for size, pos in _PADS:
            _pad(finger, size, pos)


def _add_wrist_camera(hand: Any, wrist: WristMount) -> None:
    if wrist.parent != HAND:
        raise RunError(
            f"bench.wrist.parent is {wrist.parent!r}, expected {HAND!r}", code="contract_mismatch"
        )
    hand.add_camera(name=WRIST_CAMERA, pos=wrist.position, quat=wrist.orientation, fovy=wrist.fovy)


def _add_actuators(spec: Any, control: OscPose) -> None:
    """Position servos: arm torque and finger force are kp·(target − position) − kd·velocity."""
    import mujoco

    fingers_move_together = spec.add_equality(
        type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT,
        name1=FINGER_JOINTS[0], name2=FINGER_JOINTS[1],
        solimp=[0.95, 0.99, 0.001, 0.5, 2.0], solref=[0.005, 1.0],
    )  # fmt: skip
    fingers_move_together.data[:5] = (0.0, 1.0, 0.0, 0.0, 0.0)
    arm = zip(ARM_JOINTS, control.arm_kp, control.arm_kd, (link.force for link in LINKS[1:]))
    fingers = ((j, control.finger_kp, control.finger_kd, _FINGER_FORCE) for j in FINGER_JOINTS)
    for joint, kp, kd, force in (*arm, *fingers):
        servo = spec.add_actuator(
            name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT,
            gaintype=mujoco.mjtGain.mjGAIN_FIXED, biastype=mujoco.mjtBias.mjBIAS_AFFINE,
            forcelimited=mujoco.mjtLimited.mjLIMITED_TRUE, forcerange=[-force, force],
        )  # fmt: skip
        servo.gainprm[0] = kp
        servo.biasprm[1], servo.biasprm[2] = -kp, -kd


def _inertia(body: Any, mass: float, com: tuple[float, ...], inertia: tuple[float, ...]) -> None:
    body.mass = mass
    body.ipos = com
    body.fullinertia = inertia
    body.explicitinertial = True


def _joint(
    body: Any, name: str, kind: str, axis: tuple[float, ...], limits: tuple[float, float]
) -> None:
    import mujoco

    types = {"hinge": mujoco.mjtJoint.mjJNT_HINGE, "slide": mujoco.mjtJoint.mjJNT_SLIDE}
    joint = body.add_joint(
        name=name, type=types[kind], axis=axis, range=limits, armature=_ARMATURE,
        limited=mujoco.mjtLimited.mjLIMITED_TRUE,
    )  # fmt: skip
    joint.damping[0] = _JOINT_DAMPING


def _mesh(body: Any, file: str, colour: str, *, collides: bool = True) -> None:
    import mujoco

    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_MESH, meshname=file, material=colour, group=0,
        contype=ROBOT_BIT if collides else 0, conaffinity=0,
    )  # fmt: skip


def _pad(body: Any, size: tuple[float, ...], pos: tuple[float, ...]) -> None:
    import mujoco

    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX, size=size, pos=pos, group=3,
        contype=ROBOT_BIT, conaffinity=0,
    )  # fmt: skip
