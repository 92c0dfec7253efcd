"""Task + seed → dual-arm scene: a pure function of this code and the contract.

The label of a scenario is its task. Seeds are contiguous from a declared start and none is left
out: where a control cannot solve a scene, the control or the ranges are changed, never the list.
"""

from __future__ import annotations

from collections.abc import Iterator

from robogate.errors import ConfigError, nearest
from robogate.scenes.draws import Draws
from robogate.scenes.dual_arm_config import TASKS, ClickBell, DualArmBench, LiftPot, View
from robogate.scenes.dual_arm_spec import BellSpec, DualArmScene, PotSpec
from robogate.scenes.recipe import Row
from robogate.scenes.rotations import about_z, look_at
from robogate.scenes.spec import CameraSpec, Lighting

#: Group of every scenario of this bench: no seed was looked at before it was listed.
DOMAIN = "unscreened"
#: First seed of every manifest of this bench.
FIRST_SEED = 0


def rows(task: str, count: int) -> Iterator[Row]:
    """Domain, label and seed of the first ``count`` scenarios of a task, in order."""
    for seed in range(FIRST_SEED, FIRST_SEED + count):
        yield Row(DOMAIN, task, seed)


def resolve(bench: DualArmBench, variant: str, seed: int) -> DualArmScene:
    """Resolve a task and a seed.

    Args:
        bench: Bench part of the contract.
        variant: One of `TASKS`.
        seed: Of the scenario.

    Raises:
        ConfigError: The task is unknown.
    """
    if variant not in TASKS:
        raise ConfigError(f"no variant '{variant}'; {nearest(variant, TASKS)}", code="variant")
    draws = Draws(seed, variant)
    cell, tasks = bench.cell, bench.tasks
    top = cell.table.position[2] + cell.table.size[2] / 2.0
    return DualArmScene(
        task=variant,
        bell=_bell(tasks.click_bell, top, draws) if variant == "click_bell" else None,
        pot=_pot(tasks.lift_pot, top, draws) if variant == "lift_pot" else None,
        table=cell.table,
        lighting=Lighting(
            position=cell.light.position,
            orientation=look_at(cell.light.position, cell.light.look_at),
            diffuse=cell.light.diffuse,
            specular=cell.light.specular,
            ambient=cell.light.ambient,
        ),
        head_camera=camera_of(cell.head_camera),
    )


def camera_of(view: View) -> CameraSpec:
    """A camera's pose in the frame of its view; it looks along local −z with +y up."""
    return CameraSpec(view.position, look_at(view.position, view.look_at), view.fovy)


def _bell(task: ClickBell, top: float, draws: Draws) -> BellSpec:
    return BellSpec(
        position=(draws.either_side("bell.x", task.x), draws.uniform("bell.y", task.y), top),
        orientation=(1.0, 0.0, 0.0, 0.0),
        base_radius=task.base_radius,
        base_height=task.base_height,
        button_radius=task.button_radius,
        button_height=task.button_height,
        base_material=task.base_material,
        button_material=task.button_material,
    )


def _pot(task: LiftPot, top: float, draws: Draws) -> PotSpec:
    return PotSpec(
        position=(draws.uniform("pot.x", task.x), draws.uniform("pot.y", task.y), top),
        orientation=about_z(draws.uniform("pot.yaw", task.yaw)),
        mass=task.mass,
        radius=task.radius,
        height=task.height,
        bar_size=task.bar_size,
        bar_distance=task.bar_distance,
        bar_height=task.bar_height,
        material=task.material,
        handle_material=task.handle_material,
    )
