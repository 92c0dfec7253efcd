"""Applied-scene readback: what the compiled model and its state hold, never what the spec says.

Everything is read at every observation. Only the sealing of equal bytes is remembered: the same
bytes give the same document.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robogate.benches.dual_arm.robot import FINGERS, JOINTS
from robogate.benches.dual_arm.scene_model import (
    BARS,
    BELL,
    BUTTON,
    HEAD_CAMERA,
    LIGHT,
    POT,
    TABLE,
)
from robogate.benches.dual_arm.simulation import DualArmSimulation
from robogate.scenes.dual_arm_spec import SIDES
from robogate.scenes.readback import seal


class AppliedScene:
    """Reads one simulation's scene back."""

    def __init__(self, simulation: DualArmSimulation, task: str) -> None:
        """Note the initial pose of what can move.

        Args:
            simulation: At observation 0.
            task: Name of the task that was asked for.
        """
        import mujoco

        self._mj, self._task = mujoco, task
        self._model, self._data = simulation.model, simulation.data
        names = [TABLE, LIGHT, *(f"{side}_base" for side in SIDES)]
        self._fixed = [self._body(name) for name in names]
        pot = self._body(POT)
        self._start = np.zeros(7)
        if pot >= 0:
            self._start = np.concatenate([self._data.xpos[pot], self._data.xquat[pot]])
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
        model, data = self._model, self._data
        arrays = (
            model.opt.gravity,
            model.body_pos, model.body_quat, model.body_mass,
            model.geom_size, model.geom_pos, model.geom_friction, model.geom_matid,
            model.mat_rgba, model.mat_specular, model.mat_shininess,
            model.cam_bodyid, model.cam_pos, model.cam_quat, model.cam_fovy, model.cam_resolution,
            model.light_ambient, model.light_diffuse, model.light_specular,
            model.jnt_range, model.jnt_stiffness, model.dof_damping,
            model.actuator_gainprm, model.actuator_biasprm, model.actuator_forcerange,
            data.light_xpos, data.light_xdir,
            data.xpos[self._fixed], data.xquat[self._fixed],
            self._start,
        )  # fmt: skip
        return (*(array.tobytes() for array in arrays), repr(model.opt.timestep).encode("ascii"))

    def _document(self) -> dict[str, Any]:
        model, data = self._model, self._data
        bell, pot = self._body(BELL) >= 0, self._body(POT) >= 0
        return {
            "task": self._task,
            "bell": self._bell() if bell else None,
            "pot": self._pot() if pot else None,
            "table": {
                "size": _floats(2.0 * model.geom_size[self._geom(TABLE)]),
                "position": _floats(data.xpos[self._body(TABLE)]),
                "material": self._material(TABLE),
            },
            "lighting": self._lighting(),
            "head_camera": self._camera(HEAD_CAMERA),
            "wrist_cameras": {side: self._wrist_camera(side) for side in SIDES},
            "arms": {side: self._arm(side) for side in SIDES},
            "spring": self._spring() if bell else None,
            "physics": {
                "timestep_s": float(model.opt.timestep),
                "gravity": _floats(model.opt.gravity),
            },
        }

    def _bell(self) -> dict[str, Any]:
        model, body = self._model, self._body(BELL)
        base, button = model.geom_size[self._geom(BELL)], model.geom_size[self._geom(BUTTON)]
        return {
            "position": _floats(self._data.xpos[body]),
            "orientation": _floats(self._data.xquat[body]),
            "base_radius": float(base[0]),
            "base_height": 2.0 * float(base[1]),
            "button_radius": float(button[0]),
            "button_height": 2.0 * float(button[1]),
            "base_material": self._material(BELL),
            "button_material": self._material(BUTTON),
        }

    def _spring(self) -> dict[str, Any]:
        model, joint = self._model, self._joint(BUTTON)
        return {
            "travel": float(model.jnt_range[joint, 1]),
            "stiffness": float(model.jnt_stiffness[joint].flat[0]),
            "damping": float(model.dof_damping[model.jnt_dofadr[joint]].flat[0]),
            "mass": float(model.body_mass[self._body(BUTTON)]),
        }

    def _pot(self) -> dict[str, Any]:
        model = self._model
        body, bar = model.geom_size[self._geom(POT)], self._geom(BARS["right"])
        return {
            "position": _floats(self._start[:3]),
            "orientation": _floats(self._start[3:]),
            "mass": float(model.body_mass[self._body(POT)]),
            "radius": float(body[0]),
            "height": 2.0 * float(body[1]),
            "bar_size": _floats(2.0 * model.geom_size[bar]),
            "bar_distance": float(model.geom_pos[bar, 0]),
            "bar_height": float(model.geom_pos[bar, 2]),
            "material": self._material(POT),
            "handle_material": self._material(BARS["right"]),
        }

    def _lighting(self) -> dict[str, Any]:
        model, data = self._model, self._data
        light = self._mj.mj_name2id(model, self._mj.mjtObj.mjOBJ_LIGHT, LIGHT)
        return {
            "position": _floats(data.light_xpos[light]),
            "orientation": _floats(data.xquat[self._body(LIGHT)]),
            "direction": _floats(data.light_xdir[light]),
            "diffuse": _floats(model.light_diffuse[light]),
            "specular": _floats(model.light_specular[light]),
            "ambient": _floats(model.light_ambient[light]),
        }

    def _wrist_camera(self, side: str) -> dict[str, Any]:
        name = f"cam_{side}_wrist"
        kinds = self._mj.mjtObj
        body = self._model.cam_bodyid[self._mj.mj_name2id(self._model, kinds.mjOBJ_CAMERA, name)]
        parent = self._mj.mj_id2name(self._model, kinds.mjOBJ_BODY, int(body))
        return {"parent": str(parent), **self._camera(name)}

    def _camera(self, name: str) -> dict[str, Any]:
        """A camera in the frame of the body that carries it."""
        model = self._model
        index = self._mj.mj_name2id(model, self._mj.mjtObj.mjOBJ_CAMERA, name)
        width, height = model.cam_resolution[index]
        return {
            "position": _floats(model.cam_pos[index]),
            "orientation": _floats(model.cam_quat[index]),
            "fovy": float(model.cam_fovy[index]),
            "width": int(width),
            "height": int(height),
        }

    def _arm(self, side: str) -> dict[str, Any]:
        model, data = self._model, self._data
        base = self._body(f"{side}_base")
        links = [self._body(f"{side}_link{i + 1}") for i in range(len(JOINTS))]
        joints = [self._joint(f"{side}_{name}") for name in JOINTS]
        servos = [self._servo(f"{side}_{name}") for name in JOINTS]
        fingers = [f"{side}_{name}" for name in FINGERS]
        return {
            "position": _floats(data.xpos[base]),
            "orientation": _floats(data.xquat[base]),
            "origins": [_floats(model.body_pos[link]) for link in links],
            "limits": [_floats(model.jnt_range[joint]) for joint in joints],
            "kp": _floats(model.actuator_gainprm[servos, 0]),
            "kd": _floats(-model.actuator_biasprm[servos, 2]),
            "force": _floats(model.actuator_forcerange[servos, 1]),
            "gripper": {
                "stroke": sum(float(model.jnt_range[self._joint(f), 1]) for f in fingers),
                "force": float(model.actuator_forcerange[self._servo(fingers[0]), 1]),
                "friction": float(model.geom_friction[self._geom(fingers[0]), 0]),
            },
        }

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

    def _joint(self, name: str) -> int:
        return int(self._mj.mj_name2id(self._model, self._mj.mjtObj.mjOBJ_JOINT, name))

    def _servo(self, name: str) -> int:
        return int(self._mj.mj_name2id(self._model, self._mj.mjtObj.mjOBJ_ACTUATOR, name))


def _floats(values: Any) -> list[float]:
    return [float(value) for value in values]
