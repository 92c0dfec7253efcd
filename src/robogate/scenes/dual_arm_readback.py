"""What the readback of a dual-arm observation must be: derived from the scene alone.

Runner and validator build it from the scene spec and the contract; the environment builds its own
from the simulator's state. They must be equal in every field.
"""

from __future__ import annotations

from typing import Any

from robogate.contract.schema import Renderer
from robogate.contract.strict import encode
from robogate.scenes.dual_arm import camera_of
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_spec import SIDES, DualArmScene
from robogate.scenes.readback import seal
from robogate.scenes.rotations import rotate

LIGHT_AXIS = (0.0, 0.0, -1.0)
WRIST_LINK = "link6"


def expected_readback(
    bench: DualArmBench, renderer: Renderer, scene: DualArmScene, step: int
) -> dict[str, Any]:
    """The sealed document that observation ``step`` must carry.

    It is the same at every step: what moves stands in it with its pose at reset.
    """
    size = {"width": renderer.width, "height": renderer.height}
    document: dict[str, Any] = encode(scene)
    document["lighting"]["direction"] = list(rotate(scene.lighting.orientation, LIGHT_AXIS))
    document["head_camera"].update(size)
    wrist = {**encode(camera_of(bench.arms.wrist_camera)), **size}
    document["wrist_cameras"] = {
        side: {"parent": f"{side}_{WRIST_LINK}", **wrist} for side in SIDES
    }
    document["arms"] = {side: _arm(bench, side) for side in SIDES}
    document["spring"] = None
    if scene.bell is not None:
        bell = bench.tasks.click_bell
        document["spring"] = {
            "travel": bell.travel,
            "stiffness": bell.stiffness,
            "damping": bell.damping,
            "mass": bell.button_mass,
        }
    document["physics"] = {
        "timestep_s": bench.timing.physics_step_s,
        "gravity": list(bench.cell.gravity),
    }
    return seal(document)


def _arm(bench: DualArmBench, side: str) -> dict[str, Any]:
    arms = bench.arms
    return {
        **encode(getattr(arms, side)),
        "origins": [list(joint.origin) for joint in arms.joints],
        "limits": [list(joint.limits) for joint in arms.joints],
        "kp": [joint.kp for joint in arms.joints],
        "kd": [joint.kd for joint in arms.joints],
        "force": [joint.force for joint in arms.joints],
        "gripper": {
            "stroke": arms.gripper.stroke,
            "force": arms.gripper.force,
            "friction": arms.gripper.friction,
        },
    }


class ReadbackExpectation:
    """`expected_readback` of one episode, computed once.

    Args:
        bench: Bench part of the contract.
        renderer: Renderer part of the contract.
        scene: The scene.
    """

    def __init__(self, bench: DualArmBench, renderer: Renderer, scene: DualArmScene) -> None:
        self._sealed = expected_readback(bench, renderer, scene, 0)

    def at(self, step: int) -> dict[str, Any]:
        """The document of observation ``step``; not to be changed by the caller."""
        return self._sealed
