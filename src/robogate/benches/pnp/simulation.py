"""One episode's simulation: a model compiled from its scene, and the clock that moves it.

The only time that passes is that of `execute`: the declared number of physics steps per action,
each of the declared number of simulator steps. Nothing here outlives the episode.
"""

from __future__ import annotations

from robogate.benches.pnp.attachment import GraspAttachment
from robogate.benches.pnp.control import ArmCommand, ArmControl
from robogate.benches.pnp.robot import ARM_JOINTS, FINGER_JOINTS
from robogate.benches.pnp.scene_model import BLOCK, build_model, scheduled_push
from robogate.benches.pnp.sensing import Sensors
from robogate.contract.schema import Renderer
from robogate.records.observation import FloatArray
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.spec import PnpScene

_ARM = len(ARM_JOINTS)
_FINGERS = slice(_ARM, _ARM + len(FINGER_JOINTS))


class PnpSimulation:
    """A scene at its start, ready to execute actions.

    Attributes:
        model: `mujoco.MjModel`.
        data: `mujoco.MjData`.
        sensors: What can be measured.
        attachment: The grasp attachment.
        push_steps: Physics steps during which the disturbance was applied.
    """

    def __init__(
        self, scene: PnpScene, bench: PnpBench, renderer: Renderer, meshes: dict[str, bytes]
    ) -> None:
        """Compile the scene and put the robot into its home pose."""
        import mujoco

        self._mj, self._bench = mujoco, bench
        self.model = build_model(scene, bench, renderer, meshes)
        self.data = mujoco.MjData(self.model)
        self._push = scheduled_push(self.model)
        control = bench.control
        self.data.qpos[:_ARM] = control.home
        self.data.qpos[_FINGERS] = control.home_fingers
        self.data.ctrl[:_ARM] = control.home
        self.data.ctrl[_FINGERS] = control.home_fingers
        self.sensors = Sensors(self.model, self.data)
        self.attachment = GraspAttachment(self.model, self.data, bench.attachment)
        self._control = ArmControl(self.model, control)
        self._block = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, BLOCK)
        self.push_steps = 0
        for _ in range(bench.timing.reset_physics_steps):
            self._physics_step(control.home_fingers[0], closing=False)
        self.sensors.refresh()
        self._orientation_goal = self.sensors.hand_orientation()

    def solve(self, action: FloatArray) -> ArmCommand | None:
        """Joint targets for an action from the measured pose, or None where there are none."""
        sensors = self.sensors
        return self._control.command(
            sensors.joints(), sensors.grip_position(), sensors.hand_orientation(),
            self._orientation_goal, action[:6],
        )  # fmt: skip

    def execute(self, step: int, command: ArmCommand, gripper: float) -> None:
        """Let one action's time pass.

        Args:
            step: Index of the action.
            command: From `solve`.
            gripper: Negative opens, non-negative closes.
        """
        self._orientation_goal = command.orientation
        self.data.ctrl[:_ARM] = command.joints
        closing = gripper >= 0.0
        push = self._push
        if push is not None and not 0 <= step - push.start_action < push.actions:
            push = None
        force = self.data.xfrc_applied[self._block, :3]
        for _ in range(self._bench.timing.physics_steps_per_action):
            if push is not None:
                force[:] = push.force
            self._physics_step(self._bench.control.home_fingers[0], closing)
            # Counted is what the simulator has integrated, not what was meant to be.
            if push is not None and tuple(force) == push.force:
                self.push_steps += 1
            force[:] = 0.0
        self.attachment.carry()
        self.sensors.refresh()

    def _physics_step(self, open_position: float, closing: bool) -> None:
        attachment = self.attachment
        for _ in range(self._bench.timing.simulator_substeps):
            attachment.before_step(closing)
            if not closing:
                target = open_position
            elif attachment.width is None:
                target = 0.0
            else:
                # The fingers stay where they met the block: closing further would pass through it.
                target = attachment.width / 2
            self.data.ctrl[_FINGERS] = target
            self._mj.mj_step(self.model, self.data)
