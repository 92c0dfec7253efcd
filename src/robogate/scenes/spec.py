"""The pick-and-place scene: every physical parameter that a label and a seed resolve to.

World frame: z up, origin at the robot's base, the table in front of it along +x. Quaternions are
WXYZ and of unit length. Colours are linear RGBA in [0, 1]. Everything here is *bound*: the manifest
fixes it, and runner, adapter side and validator derive it again (protocol section 3).
"""

from __future__ import annotations

from dataclasses import dataclass

Vec3 = tuple[float, float, float]
Quat = tuple[float, float, float, float]
Rgba = tuple[float, float, float, float]


@dataclass(frozen=True)
class Material:
    """Visual and contact material of a body.

    Attributes:
        rgba: Linear colour and opacity, (4,), each in [0, 1].
        specular: Specular reflectance in [0, 1].
        shininess: Gloss in [0, 1].
        friction: Coulomb sliding coefficient of the contact, dimensionless.
    """

    rgba: Rgba
    specular: float
    shininess: float
    friction: float


@dataclass(frozen=True)
class ObjectSpec:
    """The block that has to be moved.

    Attributes:
        size: Full edge lengths, (3,), m.
        mass: kg.
        position: Centre at reset, world frame, (3,), m.
        orientation: WXYZ at reset, world frame.
        material: Surface of all six faces.
    """

    size: Vec3
    mass: float
    position: Vec3
    orientation: Quat
    material: Material


@dataclass(frozen=True)
class FixedBody:
    """A body that never moves: an obstacle, an occluder or a distractor.

    Attributes:
        name: Unique within the scene, such as ``obstacle_0``.
        shape: ``box`` or ``cylinder``.
        size: Full extents (x, y, z), (3,), m; a cylinder's first two are its diameter.
        position: Centre, world frame, (3,), m.
        orientation: WXYZ, world frame.
        collides: Whether robot and block touch it; an occluder in mid-air may be visual only.
        material: Its surface.
    """

    name: str
    shape: str
    size: Vec3
    position: Vec3
    orientation: Quat
    collides: bool
    material: Material


@dataclass(frozen=True)
class Lighting:
    """One directional key light and an ambient term.

    Attributes:
        position: Of the key light, world frame, (3,), m (matters for shadows only).
        orientation: WXYZ; the light shines along the local −z axis.
        diffuse: Linear RGB of the key light, (3,).
        specular: Linear RGB of its highlight, (3,).
        ambient: Linear RGB of the ambient term, (3,).
    """

    position: Vec3
    orientation: Quat
    diffuse: Vec3
    specular: Vec3
    ambient: Vec3


@dataclass(frozen=True)
class CameraSpec:
    """The primary camera, fixed in the world; it looks along local −z with +y up.

    Attributes:
        position: World frame, (3,), m.
        orientation: WXYZ, world frame.
        fovy: Vertical field of view, degrees.
    """

    position: Vec3
    orientation: Quat
    fovy: float


@dataclass(frozen=True)
class SurfaceSpec:
    """The table.

    Attributes:
        size: Full extents, (3,), m.
        position: Centre, world frame, (3,), m.
        material: Its top.
    """

    size: Vec3
    position: Vec3
    material: Material


@dataclass(frozen=True)
class Disturbance:
    """A bounded push at the block's centre of mass.

    Attributes:
        start_action: Index of the first action during which the force acts (0 is the first).
        actions: Number of consecutive actions during which it acts.
        force: World frame, (3,), N, constant while it acts.
    """

    start_action: int
    actions: int
    force: Vec3


@dataclass(frozen=True)
class TargetSpec:
    """The green goal disc on the table: seen, never touched.

    Attributes:
        position: Centre of the disc, world frame, (3,), m; it lies on the table's top.
        radius: Of the disc, m, and of the region: the block's centre must come to rest within this
            horizontal distance of the disc's axis.
        thickness: Of the disc, m.
        rgba: Colour of the disc.
    """

    position: Vec3
    radius: float
    thickness: float
    rgba: Rgba


@dataclass(frozen=True)
class PnpScene:
    """One fully resolved pick-and-place scene."""

    object: ObjectSpec
    surface: SurfaceSpec
    target: TargetSpec
    lighting: Lighting
    primary_camera: CameraSpec
    obstacles: tuple[FixedBody, ...]
    occluders: tuple[FixedBody, ...]
    distractors: tuple[FixedBody, ...]
    disturbance: Disturbance | None
