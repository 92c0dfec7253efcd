"""What a pick-and-place scene holds, read from the compiled model and its state."""

from __future__ import annotations

from typing import Any

import numpy as np

from robogate.benches.exact_readback import ExactReadback, floats
from robogate.benches.pnp.robot import WRIST_CAMERA
from robogate.benches.pnp.scene_model import (
    BLOCK,
    PRIMARY_CAMERA,
    TARGET,
    scheduled_push,
)
from robogate.benches.pnp.simulation import PnpSimulation
from robogate.benches.spec_parts import LIGHT, TABLE
from robogate.scenes.spec import PnpScene

_GROUPS = ("obstacles", "occluders", "distractors")


class AppliedScene(ExactReadback):
    """Reads one simulation's scene back."""

    def __init__(self, simulation: PnpSimulation, scene: PnpScene) -> None:
        """Find the scene's parts and note the initial pose of what can move.

        Args:
            simulation: At observation 0.
            scene: Gives the names to look for and nothing else.
        """
        super().__init__(simulation.model, simulation.data)
        self._simulation = simulation
        self._groups = {
            group: tuple(body.name for body in getattr(scene, group)) for group in _GROUPS
        }
        block = self._body(BLOCK)
        self._start = np.concatenate([self._data.xpos[block], self._data.xquat[block]])
        self._fixed = [
            self._body(name) for name in (TABLE, TARGET, LIGHT, *sum(self._groups.values(), ()))
        ]
        self._fixed_geoms = [
            self._geom(name) for name in (TABLE, TARGET, *sum(self._groups.values(), ()))
        ]

    def _bytes(self) -> tuple[bytes, ...]:
        """The exact bytes of every array that the document is made from."""
        model, data, simulation = self._model, self._data, self._simulation
        arrays = (
            model.opt.gravity,
            model.body_mass, model.geom_type, model.geom_size, model.geom_friction,
            model.geom_matid, model.mat_rgba, model.mat_specular, model.mat_shininess,
            model.geom_conaffinity[self._fixed_geoms],
            model.cam_bodyid, model.cam_pos, model.cam_quat, model.cam_fovy, model.cam_resolution,
            model.light_ambient, model.light_diffuse, model.light_specular,
            model.numeric_data,
            data.light_xpos, data.light_xdir,
            data.xpos[self._fixed], data.xquat[self._fixed],
            self._start,
        )  # fmt: skip
        scalars = (model.opt.timestep, simulation.push_steps)
        return (*(array.tobytes() for array in arrays), repr(scalars).encode("ascii"))

    def _document(self) -> dict[str, Any]:
        model, data = self._model, self._data
        return {
            "object": {
                "size": self._extent(BLOCK)[0],
                "mass": float(model.body_mass[self._body(BLOCK)]),
                "position": floats(self._start[:3]),
                "orientation": floats(self._start[3:]),
                "material": self._material(BLOCK),
            },
            "surface": {
                "size": self._extent(TABLE)[0],
                "position": floats(data.xpos[self._body(TABLE)]),
                "material": self._material(TABLE),
            },
            "target": self._target(),
            "lighting": self._lighting(),
            "primary_camera": self._camera(PRIMARY_CAMERA),
            "wrist_camera": self._carried_camera(WRIST_CAMERA),
            **{g: [self._fixed_body(name) for name in names] for g, names in self._groups.items()},
            "disturbance": self._disturbance(),
            "physics": self._physics(),
        }

    def _target(self) -> dict[str, Any]:
        size, _ = self._extent(TARGET)
        return {
            "position": floats(self._data.xpos[self._body(TARGET)]),
            "radius": size[0] / 2.0,
            "thickness": size[2],
            "rgba": self._material(TARGET)["rgba"],
        }

    def _disturbance(self) -> dict[str, Any] | None:
        push = scheduled_push(self._model)
        if push is None:
            return None
        return {
            "start_action": push.start_action,
            "actions": push.actions,
            "force": list(push.force),
            "applied_steps": self._simulation.push_steps,
        }

    def _fixed_body(self, name: str) -> dict[str, Any]:
        size, shape = self._extent(name)
        return {
            "name": name,
            "shape": shape,
            "size": size,
            "position": floats(self._data.xpos[self._body(name)]),
            "orientation": floats(self._data.xquat[self._body(name)]),
            "collides": bool(self._model.geom_conaffinity[self._geom(name)]),
            "material": self._material(name),
        }

    def _extent(self, name: str) -> tuple[list[float], str]:
        """Full extents and shape of a geom."""
        model, geom = self._model, self._geom(name)
        size = model.geom_size[geom]
        if model.geom_type[geom] == self._mj.mjtGeom.mjGEOM_CYLINDER:
            return floats((2.0 * size[0], 2.0 * size[0], 2.0 * size[1])), "cylinder"
        return floats(2.0 * size), "box"
