"""Two ARX X5 arms as a MuJoCo model: published kinematics and masses, simple solid shapes of ours.

Lengths, axes, limits, masses and gains come from the contract; only shapes and colours are here.
Every geom of a robot collides with everything but its neighbours in the chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from robogate.scenes.dual_arm import camera_of
from robogate.scenes.dual_arm_config import ArmJoint, DualArmBench, Gripper
from robogate.scenes.dual_arm_spec import SIDES

JOINTS = tuple(f"joint{i}" for i in range(1, 7))
FINGERS = ("finger1", "finger2")
WRIST = "link6"
#: Collision bits: robots touch one another and the scene; objects touch robots and the table.
ROBOT_BIT, OBJECT_BIT = 1, 2

_DARK, _LIGHT, _PAD = "arm_dark", "arm_light", "arm_pad"
_COLOURS = {
    _DARK: (0.16, 0.17, 0.19, 1.0),
    _LIGHT: (0.82, 0.83, 0.85, 1.0),
    _PAD: (0.3, 0.31, 0.33, 1.0),
}
_SIDE_COLOUR = {"left": (0.95, 0.55, 0.15, 1.0), "right": (0.2, 0.6, 0.85, 1.0)}


@dataclass(frozen=True)
class Shape:
    """One solid of a link, in the link's frame.

    Attributes:
        kind: ``capsule`` from ``start`` to ``end``, or ``box`` around ``start``.
        start: (3,), m.
        end: Other end of a capsule; half extents of a box; (3,), m.
        radius: Of a capsule, m.
        colour: Material.
    """

    kind: str
    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float = 0.0
    colour: str = _LIGHT


#: The first shape of a link carries its mass.
_BASE = (
    Shape("box", (0.0, 0.0, -0.0125), (0.06, 0.06, 0.0125), colour=_DARK),
    Shape("capsule", (0.0, 0.0, 0.02), (0.0, 0.0, 0.03), 0.045),
)
_LINKS: tuple[tuple[Shape, ...], ...] = (
    (Shape("capsule", (0.02, -0.025, 0.0402), (0.02, 0.025, 0.0402), 0.036, _DARK),),
    (Shape("capsule", (0.0, 0.0, 0.0), (-0.264, 0.0, 0.0), 0.028),),
    (
        Shape("capsule", (0.06, 0.0, -0.056), (0.245, 0.0, -0.056), 0.026),
        Shape("capsule", (0.0, 0.0, 0.0), (0.06, 0.0, -0.056), 0.026, _DARK),
    ),
    (Shape("capsule", (0.0, 0.0, 0.0), (0.06575, -0.001, -0.02), 0.024, _DARK),),
    (Shape("capsule", (0.0, 0.0, 0.065), (0.02845, 0.0, 0.0825), 0.026),),
    (
        Shape("capsule", (0.02, 0.0, 0.0), (0.055, 0.0, 0.0), 0.026, _DARK),
        Shape("box", (0.085, 0.0, 0.0), (0.012, 0.056, 0.02), colour="side"),
    ),
)
#: Neighbours whose shapes meet by construction, besides a moving parent and its child.
_TOUCHING = (("base", "link1"), ("base", "link2"), ("link3", "link5"), ("link4", "link6"))


def actuator_names() -> tuple[str, ...]:
    """Names of the servos: per arm six joints and two fingers."""
    return tuple(f"{side}_{name}" for side in SIDES for name in (*JOINTS, *FINGERS))


def add_arms(spec: Any, bench: DualArmBench) -> None:
    """Add both arms, their wrist cameras and their servos to a specification."""
    for name, rgba in _COLOURS.items():
        spec.add_material(name=name, rgba=rgba, specular=0.3, shininess=0.3)
    for side in SIDES:
        spec.add_material(name=f"{side}_side", rgba=_SIDE_COLOUR[side], specular=0.3, shininess=0.3)
        _add_arm(spec, bench, side)


def _add_arm(spec: Any, bench: DualArmBench, side: str) -> None:
    arms = bench.arms
    mount = getattr(arms, side)
    body = spec.worldbody.add_body(
        name=f"{side}_base", pos=mount.position, quat=mount.orientation, gravcomp=1.0
    )
    _shapes(body, side, _BASE, arms.base_mass)
    for i, (joint, shapes) in enumerate(zip(arms.joints, _LINKS), start=1):
        body = body.add_body(
            name=f"{side}_link{i}", pos=joint.origin, quat=joint.rotation, gravcomp=1.0
        )
        _hinge(spec, body, f"{side}_joint{i}", joint)
        mass = joint.mass - (2.0 * arms.gripper.mass if i == len(_LINKS) else 0.0)
        _shapes(body, side, shapes, mass)
    _add_fingers(spec, body, side, arms.gripper)
    body.add_site(name=f"{side}_tip", pos=arms.gripper.tip)
    view = camera_of(arms.wrist_camera)
    body.add_camera(
        name=f"cam_{side}_wrist", pos=view.position, quat=view.orientation, fovy=view.fovy
    )
    for first, second in _TOUCHING:
        spec.add_exclude(bodyname1=f"{side}_{first}", bodyname2=f"{side}_{second}")


def _hinge(spec: Any, body: Any, name: str, joint: ArmJoint) -> None:
    import mujoco

    body.add_joint(
        name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=joint.axis, range=joint.limits,
        limited=mujoco.mjtLimited.mjLIMITED_TRUE, armature=joint.armature,
    )  # fmt: skip
    _servo(spec, name, joint.kp, joint.kd, joint.force)


def _add_fingers(spec: Any, wrist: Any, side: str, gripper: Gripper) -> None:
    """Both fingers slide along the wrist's y axis; a finger's position is its share of the gap."""
    import mujoco

    x, y, z = (extent / 2.0 for extent in gripper.finger_size)
    for name, sign in zip(FINGERS, (1.0, -1.0)):
        finger = wrist.add_body(
            name=f"{side}_{name}", pos=(gripper.finger_middle, sign * y, 0.0), gravcomp=1.0
        )
        finger.add_joint(
            name=f"{side}_{name}", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=(0.0, sign, 0.0),
            range=(0.0, gripper.stroke / 2.0), limited=mujoco.mjtLimited.mjLIMITED_TRUE,
            armature=gripper.armature,
        )  # fmt: skip
        finger.add_geom(
            name=f"{side}_{name}", type=mujoco.mjtGeom.mjGEOM_BOX, size=(x, y, z),
            mass=gripper.mass, material=_PAD, contype=ROBOT_BIT, conaffinity=ROBOT_BIT | OBJECT_BIT,
            friction=(gripper.friction, 0.005, 0.0001), condim=4, priority=1,
        )  # fmt: skip
        _servo(spec, f"{side}_{name}", gripper.kp, gripper.kd, gripper.force)
    # The fingers meet by design where the gripper is closed.
    spec.add_exclude(bodyname1=f"{side}_{FINGERS[0]}", bodyname2=f"{side}_{FINGERS[1]}")


def _servo(spec: Any, joint: str, kp: float, kd: float, force: float) -> None:
    """A position servo: its force is kp·(target − position) − kd·velocity, within ±force."""
    import mujoco

    servo = spec.add_actuator(
        name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT,
        gaintype=mujoco.mjtGain.mjGAIN_FIXED, biastype=mujoco.mjtBias.mjBIAS_AFFINE,
        forcelimited=mujoco.mjtLimited.mjLIMITED_TRUE, forcerange=[-force, force],
    )  # fmt: skip
    servo.gainprm[0] = kp
    servo.biasprm[1], servo.biasprm[2] = -kp, -kd


def _shapes(body: Any, side: str, shapes: tuple[Shape, ...], mass: float) -> None:
    import mujoco

    for i, shape in enumerate(shapes):
        common = {
            "material": f"{side}_side" if shape.colour == "side" else shape.colour,
            "mass": mass if i == 0 else 0.0,
            "contype": ROBOT_BIT,
            "conaffinity": ROBOT_BIT | OBJECT_BIT,
        }
        if shape.kind == "box":
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, pos=shape.start, size=shape.end, **common)
        else:
            body.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=(*shape.start, *shape.end),
                size=(shape.radius, 0.0, 0.0), **common,
            )  # fmt: skip
