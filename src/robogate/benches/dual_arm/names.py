"""Where the parts of a compiled dual-arm model are: indices by name, looked up once."""

from __future__ import annotations

from typing import Any

from robogate.benches.dual_arm.robot import FINGERS, JOINTS, WRIST
from robogate.benches.dual_arm.scene_model import BARS, BELL, BUTTON, POT
from robogate.errors import RunError
from robogate.scenes.dual_arm_spec import SIDES

TIP = "tip"


class Indices:
    """Indices of joints, servos, bodies and geoms in one model.

    Attributes:
        qpos: Per value of a joint-space vector of both arms with fingers (16): position address.
        dof: The same for velocities.
        servo: The same for actuators.
        wrist: Body of each arm's ``link6``.
        tip: Site of each arm's gripper tip.
        fingers: Geoms of each arm's two fingers.
        button: Geom of the button, or −1.
        bars: Geom of each arm's handle, or −1.
        bell: Body of the bell, or −1.
        button_qpos: Position address of the button, or −1.
        pot_qpos: Position address of the pot, or −1.
    """

    def __init__(self, model: Any) -> None:
        """Look everything up.

        Raises:
            RunError: A part of the robot is missing.
        """
        import mujoco

        kinds = mujoco.mjtObj

        def find(kind: Any, name: str, *, optional: bool = False) -> int:
            index = int(mujoco.mj_name2id(model, kind, name))
            if index < 0 and not optional:
                raise RunError(f"the model has no '{name}'", code="contract_mismatch")
            return index

        names = [f"{side}_{part}" for side in SIDES for part in (*JOINTS, *FINGERS)]
        joints = [find(kinds.mjOBJ_JOINT, name) for name in names]
        self.qpos = [int(model.jnt_qposadr[joint]) for joint in joints]
        self.dof = [int(model.jnt_dofadr[joint]) for joint in joints]
        self.servo = [find(kinds.mjOBJ_ACTUATOR, name) for name in names]
        self.wrist = {side: find(kinds.mjOBJ_BODY, f"{side}_{WRIST}") for side in SIDES}
        self.tip = {side: find(kinds.mjOBJ_SITE, f"{side}_{TIP}") for side in SIDES}
        self.fingers = {
            side: tuple(find(kinds.mjOBJ_GEOM, f"{side}_{finger}") for finger in FINGERS)
            for side in SIDES
        }
        self.button = find(kinds.mjOBJ_GEOM, BUTTON, optional=True)
        self.bars = {side: find(kinds.mjOBJ_GEOM, BARS[side], optional=True) for side in SIDES}
        self.bell = find(kinds.mjOBJ_BODY, BELL, optional=True)
        button = find(kinds.mjOBJ_JOINT, BUTTON, optional=True)
        pot = find(kinds.mjOBJ_JOINT, POT, optional=True)
        self.button_qpos = -1 if button < 0 else int(model.jnt_qposadr[button])
        self.pot_qpos = -1 if pot < 0 else int(model.jnt_qposadr[pot])
