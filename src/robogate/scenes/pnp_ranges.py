"""What a pick-and-place scene is resolved from: constants, and the ranges of the named draws.

Lengths are m, masses kg, angles degrees, actions count from 0. A range is (low, high). A *factor*
multiplies the nominal value. Every number here is hashed into the contract.
"""

from __future__ import annotations

from dataclasses import dataclass

from robogate.contract.schema import Range, Vec3
from robogate.scenes.spec import Material, Rgba


@dataclass(frozen=True)
class TableConst:
    """The table, a box that stands on the floor.

    Attributes:
        size: Full extents, (3,), m.
        position: Centre, world frame, (3,), m.
        material: Its top.
    """

    size: Vec3
    position: Vec3
    material: Material


@dataclass(frozen=True)
class TargetConst:
    """The goal disc, lying on the table.

    Attributes:
        xy: Centre, world frame, (2,), m.
        radius: Of disc and success region, m.
        thickness: Of the disc, m.
        rgba: Colour.
    """

    xy: Range
    radius: float
    thickness: float
    rgba: Rgba


@dataclass(frozen=True)
class BlockConst:
    """The nominal block.

    Attributes:
        edge: Of the cube, m.
        mass: kg.
        yaw: Range of its rotation about +z, degrees.
        material: Surface.
    """

    edge: float
    mass: float
    yaw: Range
    material: Material


@dataclass(frozen=True)
class SpawnRange:
    """Where the block's centre starts.

    Attributes:
        x: Of the spawn region, m.
        y: Of the spawn region, m.
        inset: Least distance to its border, m, for all but ``edge_placement`` and ``position``.
        edge_band: Distance inside the border for ``edge_placement``, m; below ``inset``.
        outside_band: Distance outside the border for ``position``, m.
    """

    x: Range
    y: Range
    inset: float
    edge_band: Range
    outside_band: Range


@dataclass(frozen=True)
class LightConst:
    """The nominal light: a directional key light at the table's centre, and an ambient term.

    Attributes:
        azimuth: Where it shines from, from +x towards +y, degrees.
        elevation: Above the horizon, degrees; below 90.
        distance: Of the light from the centre of the table's top, m.
        key: Linear RGB of the key light, (3,).
        highlight: Linear RGB of its highlight, (3,).
        ambient: Linear RGB of the ambient term, (3,).
    """

    azimuth: float
    elevation: float
    distance: float
    key: Vec3
    highlight: Vec3
    ambient: Vec3


@dataclass(frozen=True)
class CameraConst:
    """The nominal primary camera.

    Attributes:
        position: World frame, (3,), m.
        look_at: Point in the centre of the image, world frame, (3,), m.
        fovy: Vertical field of view, degrees.
    """

    position: Vec3
    look_at: Vec3
    fovy: float


@dataclass(frozen=True)
class CubeConst:
    """Another size of block.

    Attributes:
        edge: m.
        mass: kg.
    """

    edge: float
    mass: float


@dataclass(frozen=True)
class LightRange:
    """Another light.

    Attributes:
        azimuth_offset: Magnitude of the change of azimuth, either way, degrees.
        elevation: degrees.
        key_factor: Of the key light and its highlight.
        ambient_factor: Of the ambient term.
        tint: Red up and blue down by this share, or the reverse.
    """

    azimuth_offset: Range
    elevation: Range
    key_factor: Range
    ambient_factor: Range
    tint: Range


@dataclass(frozen=True)
class OccluderRange:
    """A panel that stands on the table, on the line from the primary camera to the block.

    Attributes:
        distance: Horizontal, from the block's centre towards the camera, m.
        width: m.
        thickness: m.
        overlap: How far its top rises above the line of sight to the block's centre, m.
        material: Surface.
    """

    distance: Range
    width: float
    thickness: float
    overlap: Range
    material: Material


@dataclass(frozen=True)
class ClutterRange:
    """Obstacles and distractors around the block, placed in sectors that leave one grasp free.

    The free finger axis is the block's horizontal axis that lies furthest from the way to the
    target; *behind* is along the other one, away from the target.

    Attributes:
        x: Where the block may start, m, so that every body stands on the table.
        y: Where it may start, m, so that an obstacle fits on the way to the target.
        way_share: Distance of the first obstacle, as a share of the way.
        way_offset: Its magnitude sideways, m.
        flank_distance: Of the other two obstacles from the block's centre, m.
        flank_angle: Of them from straight behind, one to each side, degrees.
        obstacle_width: Horizontal extent of the obstacles, m.
        obstacle_height: m.
        obstacle_material: Surface.
        side_distance: Of two distractors along the finger axis, one to each side, m.
        side_angle: Magnitude of their angle from it, degrees.
        back_distance: Of the third distractor behind the block, m.
        back_angle: Magnitude of its angle from straight behind, degrees.
        distractor_edge: Of the cubes, m; low enough to pass below the palm.
        distractor_materials: Surface of each of the three.
    """

    x: Range
    y: Range
    way_share: Range
    way_offset: Range
    flank_distance: Range
    flank_angle: Range
    obstacle_width: float
    obstacle_height: Range
    obstacle_material: Material
    side_distance: Range
    side_angle: Range
    back_distance: Range
    back_angle: Range
    distractor_edge: float
    distractor_materials: tuple[Material, Material, Material]


@dataclass(frozen=True)
class PushRange:
    """A push that makes the block slide a drawn distance, by Coulomb friction.

    Attributes:
        start_action: First action of the push.
        actions: Its length.
        slide: Distance from the first to the last motion, m.
    """

    start_action: tuple[int, int]
    actions: tuple[int, int]
    slide: Range


@dataclass(frozen=True)
class ColourRange:
    """Another red.

    Attributes:
        fade: Taken off the red channel.
        bleed: Added to green and to blue, drawn for each.
    """

    fade: Range
    bleed: Range


@dataclass(frozen=True)
class CameraRange:
    """Another pose of the primary camera; each magnitude is drawn per axis, with either sign.

    Attributes:
        shift: Of the position, m.
        look_at_shift: Of the point in the centre of the image, in x and y, m.
        fovy_shift: Of the field of view, degrees.
    """

    shift: Range
    look_at_shift: Range
    fovy_shift: Range


@dataclass(frozen=True)
class SceneRanges:
    """Everything that the resolver reads.

    Attributes:
        gravity: World frame, (3,), m/s².
        table: The table.
        target: The goal.
        block: The nominal block.
        spawn: Where it starts.
        light: The nominal light.
        camera: The nominal primary camera.
        standard_lighting: Light of that variant.
        small_objects: Block of that variant.
        heavy_objects: Block of that variant.
        occluded_objects: Occluder of that variant.
        transparent_objects: Opacity of the block, in that variant.
        low_lighting: Light of that variant.
        cluttered_scene: Obstacles and distractors of that variant.
        slippery_surface: Friction of table and block, in that variant.
        moving_disturbance: Push of that variant.
        lighting: Light of that variant (domain randomization).
        object_color: Block's colour of that variant (domain randomization).
        camera_pose: Camera of the variant ``camera`` (domain randomization).
    """

    gravity: Vec3
    table: TableConst
    target: TargetConst
    block: BlockConst
    spawn: SpawnRange
    light: LightConst
    camera: CameraConst
    standard_lighting: LightRange
    small_objects: CubeConst
    heavy_objects: CubeConst
    occluded_objects: OccluderRange
    transparent_objects: Range
    low_lighting: LightRange
    cluttered_scene: ClutterRange
    slippery_surface: Range
    moving_disturbance: PushRange
    lighting: LightRange
    object_color: ColourRange
    camera_pose: CameraRange
