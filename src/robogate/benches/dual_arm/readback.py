"""What a dual-arm scene holds, read from the compiled model and its state."""

from __future__ import annotations

from typing import Any

import numpy as np

from robogate.benches.dual_arm.robot import FINGERS, JOINTS
from robogate.benches.dual_arm.scene_model import (
    BARS,
    BELL,
    BUTTON,
    HEAD_CAMERA,
    POT,
)
from robogate.benches.dual_arm.simulation import DualArmSimulation
from robogate.benches.exact_readback import ExactReadback, floats
from robogate.benches.spec_parts import LIGHT, TABLE
from robogate.scenes.dual_arm_spec import SIDES


class AppliedScene(ExactReadback):
    """Reads one simulation's scene back."""

    def __init__(self, simulation: DualArmSimulation, task: str) -> None:
        """Note the initial pose of what can move.

        Args:
            simulation: At observation 0.
            task: Name of the task that was asked for.
        """
        super().__init__(simulation.model, simulation.data)
        self._task = task
        names = [TABLE, LIGHT, *(f"{side}_base" for side in SIDES)]
        self._fixed = [self._body(name) for name in names]
        pot = self._body(POT)
        self._start = np.zeros(7)
        if pot >= 0:
            self._start = np.concatenate([self._data.xpos[pot], self._data.xquat[pot]])

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
                "size": floats(2.0 * model.geom_size[self._geom(TABLE)]),
                "position": floats(data.xpos[self._body(TABLE)]),
                "material": self._material(TABLE),
            },
            "lighting": self._lighting(),
            "head_camera": self._camera(HEAD_CAMERA),
            "wrist_cameras": {side: self._carried_camera(f"cam_{side}_wrist") for side in SIDES},
            "arms": {side: self._arm(side) for side in SIDES},
            "spring": self._spring() if bell else None,
            "physics": self._physics(),
        }

    def _bell(self) -> dict[str, Any]:
        model, body = self._model, self._body(BELL)
        base, button = model.geom_size[self._geom(BELL)], model.geom_size[self._geom(BUTTON)]
        return {
            "position": floats(self._data.xpos[body]),
            "orientation": floats(self._data.xquat[body]),
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
            "position": floats(self._start[:3]),
            "orientation": floats(self._start[3:]),
            "mass": float(model.body_mass[self._body(POT)]),
            "radius": float(body[0]),
            "height": 2.0 * float(body[1]),
            "bar_size": floats(2.0 * model.geom_size[bar]),
            "bar_distance": float(model.geom_pos[bar, 0]),
            "bar_height": float(model.geom_pos[bar, 2]),
            "material": self._material(POT),
            "handle_material": self._material(BARS["right"]),
        }

    def _arm(self, side: str) -> dict[str, Any]:
        model, data = self._model, self._data
        base = self._body(f"{side}_base")
        links = [self._body(f"{side}_link{i + 1}") for i in range(len(JOINTS))]
        joints = [self._joint(f"{side}_{name}") for name in JOINTS]
        servos = [self._servo(f"{side}_{name}") for name in JOINTS]
        fingers = [f"{side}_{name}" for name in FINGERS]
        return {
            "position": floats(data.xpos[base]),
            "orientation": floats(data.xquat[base]),
            "origins": [floats(model.body_pos[link]) for link in links],
            "limits": [floats(model.jnt_range[joint]) for joint in joints],
            "kp": floats(model.actuator_gainprm[servos, 0]),
            "kd": floats(-model.actuator_biasprm[servos, 2]),
            "force": floats(model.actuator_forcerange[servos, 1]),
            "gripper": {
                "stroke": sum(float(model.jnt_range[self._joint(f), 1]) for f in fingers),
                "force": float(model.actuator_forcerange[self._servo(fingers[0]), 1]),
                "friction": float(model.geom_friction[self._geom(fingers[0]), 0]),
            },
        }

    def _joint(self, name: str) -> int:
        return self._index(self._kinds.mjOBJ_JOINT, name)

    def _servo(self, name: str) -> int:
        return self._index(self._kinds.mjOBJ_ACTUATOR, name)
