"""Applied-scene readback: what the compiled model and its state hold, never what the spec says.

Everything is read at every observation. Only the sealing of equal bytes is remembered: the same
bytes give the same document.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robogate.benches.pnp.robot import WRIST_CAMERA
from robogate.benches.pnp.scene_model import (
    BLOCK,
    LIGHT,
    PRIMARY_CAMERA,
    TABLE,
    TARGET,
    scheduled_push,
)
from robogate.benches.pnp.simulation import PnpSimulation
from robogate.scenes.readback import seal
from robogate.scenes.spec import PnpScene

_GROUPS = ("obstacles", "occluders", "distractors")


class AppliedScene:
    """Reads one simulation's scene back."""

    def __init__(self, simulation: PnpSimulation, scene: PnpScene) -> None:
        """Find the scene's parts and note the initial pose of what can move.

        Args:
            simulation: At observation 0.
            scene: Gives the names to look for and nothing else.
        """
        import mujoco

        self._mj, self._simulation = mujoco, simulation
        self._model, self._data = simulation.model, simulation.data
        self._groups = {
            group: tuple(body.name for body in getattr(scene, group)) for group in _GROUPS
        }
        self._light = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_LIGHT, LIGHT)
        block = self._body(BLOCK)
        self._start = np.concatenate([self._data.xpos[block], self._data.xquat[block]])
        self._fixed = [
            self._body(name) for name in (TABLE, TARGET, LIGHT, *sum(self._groups.values(), ()))
        ]
        self._fixed_geoms = [
            self._geom(name) for name in (TABLE, TARGET, *sum(self._groups.values(), ()))
        ]
        self._key: tuple[bytes, ...] = ()
        self._sealed: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        """Read everything; return the sealed document."""
        key = self._bytes()
        if key != self._key:
            self._sealed = seal(self._document())
            self._key = key
        return self._sealed

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
                "position": _floats(self._start[:3]),
                "orientation": _floats(self._start[3:]),
                "material": self._material(BLOCK),
            },
            "surface": {
                "size": self._extent(TABLE)[0],
                "position": _floats(data.xpos[self._body(TABLE)]),
                "material": self._material(TABLE),
            },
            "target": self._target(),
            "lighting": self._lighting(),
            "primary_camera": self._camera(PRIMARY_CAMERA),
            "wrist_camera": {"parent": self._parent(WRIST_CAMERA), **self._camera(WRIST_CAMERA)},
            **{g: [self._fixed_body(name) for name in names] for g, names in self._groups.items()},
            "disturbance": self._disturbance(),
            "physics": {
                "timestep_s": float(model.opt.timestep),
                "gravity": _floats(model.opt.gravity),
            },
        }

    def _target(self) -> dict[str, Any]:
        size, _ = self._extent(TARGET)
        return {
            "position": _floats(self._data.xpos[self._body(TARGET)]),
            "radius": size[0] / 2.0,
            "thickness": size[2],
            "rgba": self._material(TARGET)["rgba"],
        }

    def _lighting(self) -> dict[str, Any]:
        model, data, light = self._model, self._data, self._light
        return {
            "position": _floats(data.light_xpos[light]),
            "orientation": _floats(data.xquat[self._body(LIGHT)]),
            "direction": _floats(data.light_xdir[light]),
            "diffuse": _floats(model.light_diffuse[light]),
            "specular": _floats(model.light_specular[light]),
            "ambient": _floats(model.light_ambient[light]),
        }

    def _camera(self, name: str) -> dict[str, Any]:
        """A camera in the frame of the body that carries it."""
        model, index = self._model, self._camera_index(name)
        width, height = model.cam_resolution[index]
        return {
            "position": _floats(model.cam_pos[index]),
            "orientation": _floats(model.cam_quat[index]),
            "fovy": float(model.cam_fovy[index]),
            "width": int(width),
            "height": int(height),
        }

    def _parent(self, camera: str) -> str:
        body = int(self._model.cam_bodyid[self._camera_index(camera)])
        return str(self._mj.mj_id2name(self._model, self._mj.mjtObj.mjOBJ_BODY, body))

    def _camera_index(self, name: str) -> int:
        return int(self._mj.mj_name2id(self._model, self._mj.mjtObj.mjOBJ_CAMERA, name))

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
            "position": _floats(self._data.xpos[self._body(name)]),
            "orientation": _floats(self._data.xquat[self._body(name)]),
            "collides": bool(self._model.geom_conaffinity[self._geom(name)]),
            "material": self._material(name),
        }

    def _extent(self, name: str) -> tuple[list[float], str]:
        """Full extents and shape of a geom."""
        model, geom = self._model, self._geom(name)
        size = model.geom_size[geom]
        if model.geom_type[geom] == self._mj.mjtGeom.mjGEOM_CYLINDER:
            return _floats((2.0 * size[0], 2.0 * size[0], 2.0 * size[1])), "cylinder"
        return _floats(2.0 * size), "box"

    def _material(self, name: str) -> dict[str, Any]:
        model, geom = self._model, self._geom(name)
        material = model.geom_matid[geom]
        return {
            "rgba": _floats(model.mat_rgba[material]),
            "specular": float(model.mat_specular[material]),
            "shininess": float(model.mat_shininess[material]),
            "friction": float(model.geom_friction[geom, 0]),
        }

    def _body(self, name: str) -> int:
        return int(self._mj.mj_name2id(self._model, self._mj.mjtObj.mjOBJ_BODY, name))

    def _geom(self, name: str) -> int:
        return int(self._mj.mj_name2id(self._model, self._mj.mjtObj.mjOBJ_GEOM, name))


def _floats(values: Any) -> list[float]:
    return [float(value) for value in values]
