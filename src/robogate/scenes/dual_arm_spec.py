"""The dual-arm scene: every physical parameter that a task and a seed resolve to.

World frame, which is the bench's environment frame as well: z up, origin on the floor below the
middle of the table, the two arms at its near edge facing +y. Quaternions are WXYZ and of unit
length. Everything here is *bound*: the manifest fixes it, and whoever holds the contract derives it
again.
"""

from __future__ import annotations

from dataclasses import dataclass

from robogate.scenes.spec import CameraSpec, Lighting, Material, Quat, SurfaceSpec, Vec3

SIDES = ("left", "right")


@dataclass(frozen=True)
class BellSpec:
    """A desk bell, fixed to the table: a dome with a button on a spring.

    Attributes:
        position: Centre of its bottom, world frame, (3,), m.
        orientation: WXYZ, world frame.
        base_radius: Of the dome, m.
        base_height: Of the dome, m.
        button_radius: m.
        button_height: From the dome's top to the top of the released button, m.
        base_material: Surface of the dome.
        button_material: Surface of the button.
    """

    position: Vec3
    orientation: Quat
    base_radius: float
    base_height: float
    button_radius: float
    button_height: float
    base_material: Material
    button_material: Material


@dataclass(frozen=True)
class PotSpec:
    """A pot with a handle on either side, free to move.

    A handle is a bar that lies across the pot's x axis, carried by two posts.

    Attributes:
        position: Centre of its bottom at reset, world frame, (3,), m.
        orientation: WXYZ at reset, world frame; the right handle lies along the pot's +x.
        mass: Of the pot with its handles, kg.
        radius: Of the body, m.
        height: Of the body, m.
        bar_size: Of each bar in the pot's axes, (3,), m.
        bar_distance: From the pot's axis to the middle of each bar, m.
        bar_height: From the bottom to the middle of each bar, m.
        material: Surface of the body.
        handle_material: Surface of bars and posts.
    """

    position: Vec3
    orientation: Quat
    mass: float
    radius: float
    height: float
    bar_size: Vec3
    bar_distance: float
    bar_height: float
    material: Material
    handle_material: Material


@dataclass(frozen=True)
class DualArmScene:
    """One fully resolved dual-arm scene.

    Attributes:
        task: ``click_bell`` or ``lift_pot``.
        bell: Of ``click_bell``, else null.
        pot: Of ``lift_pot``, else null.
        table: Both arms and the object stand on it.
        lighting: One key light and an ambient term.
        head_camera: Fixed in the world.
    """

    task: str
    bell: BellSpec | None
    pot: PotSpec | None
    table: SurfaceSpec
    lighting: Lighting
    head_camera: CameraSpec

    @property
    def table_top(self) -> float:
        """Height of the table's top, world frame, m."""
        return self.table.position[2] + self.table.size[2] / 2.0


def button_top(bell: BellSpec) -> Vec3:
    """Middle of the released button's top, world frame, m."""
    x, y, z = bell.position
    return (x, y, z + bell.base_height + bell.button_height)
