"""Optional capabilities of the dual-arm environment: what a program may ask beside stepping.

Their types, units and frames are those of `robogate.records.capabilities`. Nothing here tells how
an episode stands, where the object is, or which seed it has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from robogate.benches.dual_arm.planning import Planner
from robogate.benches.dual_arm.robot_copy import RobotCopy
from robogate.benches.dual_arm.shielding import shield_options
from robogate.benches.dual_arm.simulation import DualArmSimulation
from robogate.contract.schema import Renderer
from robogate.errors import UsageError
from robogate.records.observation import FloatArray
from robogate.records.robot import (
    ActionSpec,
    ArmSpec,
    Calibration,
    CameraProfile,
    GripperProfile,
    IkResult,
    JointGroup,
    PlannerLimits,
    PlanResult,
    RobotProfile,
    RobotState,
)
from robogate.scenes.dual_arm_check import ACTION_NAMES, ARM_JOINTS, ARM_VALUES
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_readback import WRIST_LINK
from robogate.scenes.dual_arm_spec import SIDES
from robogate.worker.embodiments import intrinsics

if TYPE_CHECKING:
    from robogate.records.observation import Observation

#: MuJoCo's camera axes (x right, y up, looking along −z) in OpenCV's (x right, y down, z forward).
_OPENCV = np.array([1.0, -1.0, -1.0])
_UNIT = 1e-3  # of a requested quaternion's norm


class Tools:
    """What the environment offers beside the core interface."""

    def __init__(self, bench: DualArmBench, renderer: Renderer, max_actions: int) -> None:
        """Take the contract's parts and make the robot's copy."""
        self._bench, self._renderer, self._max_actions = bench, renderer, max_actions
        self._robot = RobotCopy(bench)
        self._planner = Planner(bench, self._robot)

    def _simulation(self, episode_id: str) -> tuple[DualArmSimulation, int, bool]:
        """An episode's simulation, its step and whether it has ended."""
        raise NotImplementedError

    def observe(self, episode_id: str) -> Observation:
        """The present observation."""
        raise NotImplementedError

    def profile(self) -> RobotProfile:
        """Static facts; the same in every episode."""
        bench = self._bench
        arms, gripper = bench.arms, bench.arms.gripper
        parents = ("world", *(f"{side}_{WRIST_LINK}" for side in SIDES))
        groups = []
        for i, side in enumerate(SIDES):
            start, last = i * ARM_VALUES, i * ARM_VALUES + ARM_JOINTS
            names = ACTION_NAMES[start:last]
            groups.append(JointGroup(f"{side}_arm", side, "arm", start, names))
            names = ACTION_NAMES[last : last + 1]
            groups.append(JointGroup(f"{side}_gripper", side, "gripper", last, names))
        return RobotProfile(
            names=bench.action.names,
            low=bench.action.low,
            high=bench.action.high,
            joint_groups=tuple(groups),
            start_command=bench.reset_command,
            control_hz=bench.timing.control_hz,
            cameras=tuple(
                CameraProfile(name, self._renderer.width, self._renderer.height, parent)
                for name, parent in zip(self._renderer.cameras, parents)
            ),
            image_row_order=bench.image_row_order,
            arm_bases={
                "left": (*arms.left.position, *arms.left.orientation),
                "right": (*arms.right.position, *arms.right.orientation),
            },
            gripper=GripperProfile(0.0, 1.0, gripper.stroke, gripper.tip),
            planner=PlannerLimits(
                velocity=tuple(joint.velocity for joint in arms.joints),
                acceleration=tuple(joint.acceleration for joint in arms.joints),
                jerk=self._planner.jerk,
            ),
            shield=shield_options(bench),
            return_to_start=False,
            step_limit=self._max_actions,
        )

    def action_spec(self) -> ActionSpec:
        """Mounts, limits and rates."""
        arms, timing = self._bench.arms, self._bench.timing
        return ActionSpec(
            arms={
                side: ArmSpec(
                    mount=(*mount.position, *mount.orientation),
                    low=tuple(joint.limits[0] for joint in arms.joints),
                    high=tuple(joint.limits[1] for joint in arms.joints),
                    velocity=tuple(joint.velocity for joint in arms.joints),
                )
                for side, mount in (("left", arms.left), ("right", arms.right))
            },
            control_hz=timing.control_hz,
            physics_hz=1.0 / timing.physics_step_s,
        )

    def state(self, episode_id: str) -> RobotState:
        """What the robot feels now; renders nothing."""
        simulation, step, ended = self._simulation(episode_id)
        return RobotState(episode_id, step, ended, simulation.state(), np.array(simulation.command))

    def calibration(self, episode_id: str) -> Mapping[str, Calibration]:
        """Every camera at the present state, by name; renders nothing."""
        simulation, _, _ = self._simulation(episode_id)
        model, data = simulation.model, simulation.data
        width, height = self._renderer.width, self._renderer.height
        cameras = {}
        for name in self._renderer.cameras:
            camera = model.camera(name).id
            pose = np.eye(4)
            pose[:3, :3] = data.cam_xmat[camera].reshape(3, 3) * _OPENCV
            pose[:3, 3] = data.cam_xpos[camera]
            inner = intrinsics(width, height, float(model.cam_fovy[camera]))
            cameras[name] = Calibration(width, height, inner, pose)
        return cameras

    def policy_obs(self, episode_id: str) -> Mapping[str, Any]:
        """The observation in the form that RoboDojo's evaluation client hands to a policy.

        Grippers are their last commands there.
        """
        simulation, _, _ = self._simulation(episode_id)
        observation = self.observe(episode_id)
        measured = observation.state["joint_position"]
        state: dict[str, Any] = {}
        for i, side in enumerate(SIDES):
            start = i * ARM_VALUES
            state[f"{side}_arm_joint_state"] = np.array(measured[start : start + ARM_JOINTS])
            state[f"{side}_ee_joint_state"] = np.array([simulation.command[start + ARM_JOINTS]])
            state[f"{side}_ee_pose"] = np.array(observation.state[f"{side}_ee_pose"])
        return {
            "instruction": observation.instruction,
            "additional_info": {"frequency": self._bench.timing.control_hz},
            "vision": {name: {"color": image} for name, image in observation.images.items()},
            "state": state,
        }

    def fk(self, command: FloatArray) -> Mapping[str, FloatArray]:
        """Pose of each arm's ``link6`` at a command, (7,) by arm; nothing moves.

        Raises:
            UsageError: Wrong dimension or not finite.
        """
        values = _numbers(command, len(ACTION_NAMES), "command")
        return {side: self._robot.wrist_pose(values, side) for side in SIDES}

    def ik(self, episode_id: str, arm: str, pose: FloatArray) -> IkResult:
        """Joints of one arm that bring its ``link6`` to a pose, from the present joints.

        Raises:
            UsageError: No such arm, or no pose.
            EpisodeError: ``out_of_order``: another episode is the present one.
        """
        present = self._simulation(episode_id)[0].joint_position()
        joints = self._planner.inverse(present, _side(arm), _pose(pose))
        return IkResult(joints is not None, joints)

    def plan(
        self,
        episode_id: str,
        arm: str,
        pose: FloatArray | None = None,
        joints: FloatArray | None = None,
        raw: bool = False,
    ) -> PlanResult:
        """Plan from the present command to a pose or to joints; nothing moves.

        Arms and table are kept clear of; the object is not looked at: touching it is the task.

        Raises:
            UsageError: No such arm, both goals or none, or no pose.
            EpisodeError: ``out_of_order``: another episode is the present one.
        """
        side = _side(arm)
        present = np.array(self._simulation(episode_id)[0].command)
        goal: FloatArray | None
        if pose is not None and joints is None:
            goal = self._planner.inverse(present, side, _pose(pose))
        elif joints is not None and pose is None:
            goal = _numbers(joints, ARM_JOINTS, "joints")
        else:
            raise UsageError("plan: give exactly one of pose and joints", code="arguments")
        way = None if goal is None else self._planner.way(present, side, goal)
        if way is None:
            return PlanResult(False, None)
        return PlanResult(True, way if raw else self._planner.timed(way))


def _side(arm: str) -> str:
    if arm not in SIDES:
        raise UsageError(f"arm is {arm!r:.40}, expected left or right", code="arguments")
    return arm


def _pose(pose: FloatArray) -> FloatArray:
    values = _numbers(pose, 7, "pose")
    norm = math.sqrt(sum(c * c for c in values[3:].tolist()))
    if abs(norm - 1.0) > _UNIT:
        raise UsageError(f"pose: quaternion of length {norm:g}, expected 1", code="arguments")
    values[3:] /= norm
    return values


def _numbers(values: Any, length: int, name: str) -> FloatArray:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise UsageError(f"{name}: is no list of numbers", code="arguments") from exc
    if array.shape != (length,) or not np.isfinite(array).all():
        what = f"expected {length} finite numbers"
        raise UsageError(f"{name}: is {array.tolist()!r:.80}, {what}", code="arguments")
    return array
