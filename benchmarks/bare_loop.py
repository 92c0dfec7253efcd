"""What cannot be avoided: step MuJoCo, render two cameras, read the pixels. Nothing else.

    (a part of control_step.py)

The models are those of the evaluation, compiled by the bench's own scene builder; the loop is a
plain one with MuJoCo's own functions and buffers that are used again. Prints the CPU time of one
action.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import mujoco
import numpy as np

from robogate.benches.pnp.robot import load_meshes
from robogate.benches.pnp.simulation import PnpSimulation
from robogate.benches.rendering import CameraRenderer, GlContext
from robogate.episodes.verify import is_blank
from scenes import subject

WARM_UP = 5


class Loop:
    """One scene; arm and gripper do what they do under the zero-action control."""

    def __init__(self, simulation: PnpSimulation, gl: GlContext, frozen: Any) -> None:
        renderer, timing = frozen.renderer, frozen.bench.timing
        self._steps = timing.physics_steps_per_action * timing.simulator_substeps
        self._model, self._data = simulation.model, simulation.data
        self._data.ctrl[7:9] = 0.0
        # Made by the bench, so that context and flags are the evaluation's; drawing is done here.
        self._owner = CameraRenderer(
            gl, self._model, renderer, renderer.cameras, frozen.bench.image_row_order
        )
        self._scene, self._option = self._owner._scene, self._owner._option
        self._context, self._perturb = self._owner._context, self._owner._perturb
        self._cameras = [self._owner._cameras[name] for name in renderer.cameras]
        self._rect = mujoco.MjrRect(0, 0, renderer.width, renderer.height)
        shape = (renderer.height, renderer.width, 3)
        self.images = [np.empty(shape, np.uint8) for _ in self._cameras]

    def act(self) -> None:
        """Let the time of one action pass and render both cameras."""
        model, data, scene, rect = self._model, self._data, self._scene, self._rect
        for _ in range(self._steps):
            mujoco.mj_step(model, data)
        for camera, image in zip(self._cameras, self.images):
            mujoco.mjv_updateScene(
                model, data, self._option, self._perturb, camera,
                mujoco.mjtCatBit.mjCAT_ALL.value, scene,
            )  # fmt: skip
            mujoco.mjr_render(rect, scene, self._context)
            mujoco.mjr_readPixels(image, None, rect, self._context)

    def close(self) -> None:
        """Free what was uploaded."""
        self._owner.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--actions", type=int, default=100, help="in each of the scenes")
    actions = parser.parse_args().actions
    work = subject("zero", actions)
    frozen = work.point.frozen
    meshes = load_meshes(work.point.assets_dir / "panda")
    gl = GlContext("egl", frozen.renderer.width, frozen.renderer.height)
    spent = 0.0
    for scene in work.scenes:
        loop = Loop(PnpSimulation(scene, frozen.bench, frozen.renderer, meshes), gl, frozen)
        loop.act()
        first = [image.copy() for image in loop.images]
        for _ in range(WARM_UP):
            loop.act()
        began = time.process_time()
        for _ in range(actions):
            loop.act()
        spent += time.process_time() - began
        if any(is_blank(image) for image in loop.images):
            sys.exit("a frame is blank: nothing was rendered")
        if all(np.array_equal(a, b) for a, b in zip(first, loop.images)):
            sys.exit("no frame has changed: not rendered")
        loop.close()
    gl.close()
    print(json.dumps({"cpu_s": spent / (actions * len(work.scenes))}))


if __name__ == "__main__":
    main()
