"""Optional capabilities of the dual-arm environment: what a program may ask beside stepping.

Every answer is plain JSON values. Lengths are m, angles rad, poses [x, y, z, qw, qx, qy, qz] of
``link6`` in the environment frame, which is the world frame. Nothing here tells how an episode
stands, where the object is, or which seed it has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from robogate.benches.dual_arm.planning import Planner
from robogate.benches.dual_arm.robot_copy import RobotCopy
from robogate.benches.dual_arm.simulation import DualArmSimulation
from robogate.contract.schema import Renderer
from robogate.contract.strict import encode
from robogate.errors import EpisodeError
from robogate.records.observation import FloatArray
from robogate.scenes.dual_arm_check import ACTION_NAMES, ARM_JOINTS, ARM_VALUES
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_spec import SIDES

if TYPE_CHECKING:
    from robogate.records.observation import Observation

#: Columns of MuJoCo's camera axes in OpenCV's: x right, y down, z forward.
_OPENCV = np.array([1.0, -1.0, -1.0])
_UNIT = 1e-3  # of a requested quaternion's norm


class Tools:
    """What the environment offers beside the core interface."""

    def __init__(self, bench: DualArmBench, renderer: Renderer, max_actions: int) -> None:
        """Take the contract's parts and make the robot's copy."""
        self._bench, self._renderer, self._max_actions = bench, renderer, max_actions
        self.robot = RobotCopy(bench)
        self._planner = Planner(bench, self.robot)

    def _simulation(self, episode_id: str) -> tuple[DualArmSimulation, int, bool]:
        """An episode's simulation, its step and whether it has ended."""
        raise NotImplementedError

    def observe(self, episode_id: str) -> Observation:
        """The present observation."""
        raise NotImplementedError

    def profile(self) -> dict[str, Any]:
        """Static facts of robot, control, cameras, planner and shield."""
        bench = self._bench
        arms = bench.arms
        return {
            "bench": bench.kind,
            "joint_groups": {
                side: {
                    "joints": list(ACTION_NAMES[i * ARM_VALUES : i * ARM_VALUES + ARM_JOINTS]),
                    "gripper": ACTION_NAMES[i * ARM_VALUES + ARM_JOINTS],
                    "indices": list(range(i * ARM_VALUES, (i + 1) * ARM_VALUES)),
                }
                for i, side in enumerate(SIDES)
            },
            "action": encode(bench.action),
            "control_hz": bench.timing.control_hz,
            "timing": encode(bench.timing),
            "interpolation_steps": bench.interpolation_steps,
            "reset_command": list(bench.reset_command),
            "cameras": list(self._renderer.cameras),
            "image_size": [self._renderer.width, self._renderer.height],
            "image_row_order": bench.image_row_order,
            "environment_frame": "world",
            "arm_bases": {side: encode(getattr(arms, side)) for side in SIDES},
            "gripper": encode(arms.gripper),
            "gripper_feedback": "measured",
            "planner": {
                "ik": "mink",
                "timing": "ruckig",
                "velocity": [joint.velocity for joint in arms.joints],
                "acceleration": [joint.acceleration for joint in arms.joints],
            },
            "shield": {"mode": bench.shield, "limits": self.limits()},
            "return_to_start": False,
            "step_limit": self._max_actions,
        }

    def limits(self) -> dict[str, Any]:
        """What a command has to keep, value by value in the order of a command, and in space."""
        arms, gripper = self._bench.arms, self._bench.arms.gripper
        velocity = [*(joint.velocity for joint in arms.joints), gripper.velocity]
        acceleration = [*(joint.acceleration for joint in arms.joints), gripper.acceleration]
        return {
            "low": list(self._bench.action.low),
            "high": list(self._bench.action.high),
            "velocity": velocity * len(SIDES),
            "acceleration": acceleration * len(SIDES),
            **encode(self._bench.limits),
        }

    def action_spec(self) -> dict[str, Any]:
        """Per arm its mount, joint limits and velocity limits; the control rates."""
        arms, timing = self._bench.arms, self._bench.timing
        return {
            "arms": {
                side: {
                    "mount": [*mount.position, *mount.orientation],
                    "joint_limits": [list(joint.limits) for joint in arms.joints],
                    "velocity_limits": [joint.velocity for joint in arms.joints],
                }
                for side, mount in (("left", arms.left), ("right", arms.right))
            },
            "control_hz": timing.control_hz,
            "physics_hz": 1.0 / timing.physics_step_s,
        }

    def state(self, episode_id: str) -> dict[str, Any]:
        """Step, whether the episode takes no more actions, joints and poses; renders nothing."""
        simulation, step, ended = self._simulation(episode_id)
        values = {name: value.tolist() for name, value in simulation.state().items()}
        return {"step": step, "ended": ended, "step_limit": self._max_actions, **values}

    def calibration(self, episode_id: str) -> dict[str, Any]:
        """Intrinsics and camera-to-world matrix of every camera, OpenCV convention.

        x points right, y down, z into the scene; a pixel's centre has half-integer coordinates.
        """
        simulation, _, _ = self._simulation(episode_id)
        model, data = simulation.model, simulation.data
        width, height = self._renderer.width, self._renderer.height
        cameras = {}
        for name in self._renderer.cameras:
            camera = model.camera(name).id
            focal = height / 2.0 / math.tan(math.radians(float(model.cam_fovy[camera])) / 2.0)
            pose = np.eye(4)
            pose[:3, :3] = data.cam_xmat[camera].reshape(3, 3) * _OPENCV
            pose[:3, 3] = data.cam_xpos[camera]
            cameras[name] = {
                "intrinsics": [
                    [focal, 0.0, width / 2.0],
                    [0.0, focal, height / 2.0],
                    [0.0, 0.0, 1.0],
                ],
                "camera_to_world": pose.tolist(),
                "image_size": [width, height],
            }
        return cameras

    def policy_obs(self, episode_id: str) -> dict[str, Any]:
        """The observation in the form that RoboDojo's evaluation client hands to a policy.

        Grippers are their last commands there; images are arrays, (height, width, 3) uint8.
        """
        simulation, _, _ = self._simulation(episode_id)
        observation = self.observe(episode_id)
        measured = observation.state["joint_position"]
        state: dict[str, Any] = {}
        for i, side in enumerate(SIDES):
            start = i * ARM_VALUES
            state[f"{side}_arm_joint_state"] = measured[start : start + ARM_JOINTS].tolist()
            state[f"{side}_ee_joint_state"] = [float(simulation.command[start + ARM_JOINTS])]
            state[f"{side}_ee_pose"] = observation.state[f"{side}_ee_pose"].tolist()
        return {
            "instruction": observation.instruction,
            "additional_info": {"frequency": self._bench.timing.control_hz},
            "vision": {name: {"color": image} for name, image in observation.images.items()},
            "state": state,
        }

    def fk(self, command: Sequence[float]) -> dict[str, list[float]]:
        """Pose of each arm's ``link6`` at a command, (14,)."""
        values = _numbers(command, len(ACTION_NAMES), "command")
        return {side: self.robot.wrist_pose(values, side) for side in SIDES}

    def ik(self, episode_id: str, arm: str, pose: Sequence[float]) -> dict[str, Any]:
        """Joints of an arm that reach a pose, found from its present joints.

        Returns:
            ``success`` and ``joints``, (6,) or null.
        """
        present = self._present(episode_id)
        joints = self._planner.inverse(present, _side(arm), _pose(pose))
        return {"success": joints is not None, "joints": joints}

    def plan(
        self,
        episode_id: str,
        arm: str,
        pose: Sequence[float] | None = None,
        joints: Sequence[float] | None = None,
        raw: bool = False,
    ) -> dict[str, Any]:
        """A motion of an arm from its present joints to a pose or to joints; the other arm stays.

        Args:
            episode_id: Of the present episode.
            arm: ``left`` or ``right``.
            pose: Of ``link6``; give this or ``joints``.
            joints: (6,), rad.
            raw: Whether the corners of the planner's own way are wanted, untimed.

        Returns:
            ``success`` and ``waypoints``, (k, 6): one a control period, or the corners. The object
            is not looked at: touching it is what a task is about.
        """
        side = _side(arm)
        present = self._present(episode_id)
        if (pose is None) == (joints is None):
            raise _refused("plan: give either pose or joints")
        if pose is not None:
            goal = self._planner.inverse(present, side, _pose(pose))
        else:
            goal = _numbers(joints, ARM_JOINTS, "joints").tolist()
            if any(
                not joint.limits[0] <= q <= joint.limits[1]
                for q, joint in zip(goal, self._bench.arms.joints)
            ):
                goal = None
        way = None if goal is None else self._planner.way(present, side, goal)
        if way is None:
            return {"success": False, "waypoints": []}
        return {"success": True, "waypoints": way if raw else self._planner.timed(way)}

    def _present(self, episode_id: str) -> FloatArray:
        return self._simulation(episode_id)[0].joint_position()


def _side(arm: str) -> str:
    if arm not in SIDES:
        raise _refused(f"arm is {arm!r:.40}, expected left or right")
    return arm


def _pose(pose: Sequence[float]) -> list[float]:
    values = _numbers(pose, 7, "pose")
    norm = math.sqrt(sum(float(c) * float(c) for c in values[3:]))
    if abs(norm - 1.0) > _UNIT:
        raise _refused(f"pose has a quaternion of length {norm:g}, expected 1")
    return [*values[:3].tolist(), *(values[3:] / norm).tolist()]


def _numbers(values: Any, length: int, name: str) -> FloatArray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise _refused(f"{name} is no list of numbers") from exc
    if array.shape != (length,) or not np.isfinite(array).all():
        raise _refused(f"{name} is {values!r:.80}, expected {length} finite numbers")
    return array


def _refused(message: str) -> EpisodeError:
    return EpisodeError(message, code="bad_arguments")
