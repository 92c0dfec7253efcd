"""What the readback of a pick-and-place observation must be: derived from the scene alone.

Runner, adapter side and validator build it from the scene spec; an environment builds its
own from the simulator's state. They must be equal in every field (protocol section 3).
"""

from __future__ import annotations

from typing import Any

from robogate.contract.schema import Renderer
from robogate.contract.strict import encode
from robogate.scenes.pnp_config import WRIST_MOUNT, PnpBench
from robogate.scenes.readback import seal
from robogate.scenes.rotations import rotate
from robogate.scenes.spec import PnpScene

LIGHT_AXIS = (0.0, 0.0, -1.0)


def applied_steps(bench: PnpBench, scene: PnpScene, step: int) -> int:
    """Physics steps during which the disturbance has acted by observation ``step``.

    Args:
        bench: Bench part of the contract.
        scene: The scene.
        step: Actions executed before the observation.
    """
    if scene.disturbance is None:
        return 0
    actions = min(max(step - scene.disturbance.start_action, 0), scene.disturbance.actions)
    return actions * bench.timing.physics_steps_per_action


def expected_readback(
    bench: PnpBench, renderer: Renderer, scene: PnpScene, step: int
) -> dict[str, Any]:
    """The sealed document that observation ``step`` must carry.

    Initial poses of what can move stand unchanged in every observation; of a disturbance, what was
    applied so far. The wrist mount is this code's constant, whatever the contract says.
    """
    size = {"width": renderer.width, "height": renderer.height}
    document: dict[str, Any] = encode(scene)
    document["lighting"]["direction"] = list(rotate(scene.lighting.orientation, LIGHT_AXIS))
    document["primary_camera"].update(size)
    document["wrist_camera"] = {**encode(WRIST_MOUNT), **size}
    document["physics"] = {
        "timestep_s": bench.timing.physics_step_s / bench.timing.simulator_substeps,
        "gravity": list(bench.scene.gravity),
    }
    if scene.disturbance is not None:
        document["disturbance"]["applied_steps"] = applied_steps(bench, scene, step)
    return seal(document)


class ReadbackExpectation:
    """`expected_readback` of one episode, computed once per distinct document.

    Args:
        bench: Bench part of the contract.
        renderer: Renderer part of the contract.
        scene: The scene.
    """

    def __init__(self, bench: PnpBench, renderer: Renderer, scene: PnpScene) -> None:
        self._arguments = (bench, renderer, scene)
        self._sealed: dict[int, dict[str, Any]] = {}

    def at(self, step: int) -> dict[str, Any]:
        """The document of observation ``step``; not to be changed by the caller."""
        bench, _, scene = self._arguments
        applied = applied_steps(bench, scene, step)
        if applied not in self._sealed:
            self._sealed[applied] = expected_readback(*self._arguments, step)
        return self._sealed[applied]
