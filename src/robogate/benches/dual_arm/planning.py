"""Inverse kinematics and motion plans for one arm: mink solves poses, ruckig times the way.

Answers to questions, not commands: nothing here moves the robot, and every waypoint still has to
pass the shield when it is sent. Equal questions in equal states have equal answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robogate.benches.dual_arm.commands import to_positions
from robogate.benches.dual_arm.robot import JOINTS
from robogate.benches.dual_arm.robot_copy import RobotCopy
from robogate.records.observation import FloatArray
from robogate.scenes.dual_arm_check import ARM_JOINTS, ARM_VALUES
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_spec import SIDES

_SOLVER = "daqp"
_ITERATIONS = 200
_STALLED = 1e-7  # rad: a step this small changes nothing
_DAMPING = 1e-6
_POSITION_TOLERANCE, _ROTATION_TOLERANCE = 1e-4, 1e-3  # m, rad
#: Joint distance between two configurations of a way that are checked, rad.
_RESOLUTION = 0.02
#: Time to reach a joint's largest acceleration, s.
_RISE = 0.1


class Planner:
    """Plans for the arms of a bench.

    Args:
        bench: Robot, limits and clock.
        robot: Copy of the robot to think with.

    Attributes:
        jerk: Largest jerk of each joint of a timed motion, rad/s³.
    """

    def __init__(self, bench: DualArmBench, robot: RobotCopy) -> None:
        self._bench, self._robot = bench, robot
        self.jerk = tuple(joint.acceleration / _RISE for joint in bench.arms.joints)

    def inverse(self, command: FloatArray, side: str, pose: FloatArray) -> FloatArray | None:
        """Joints of an arm within limits whose ``link6`` has a pose.

        Args:
            command: Present joints and grippers of both arms, (14,).
            side: Of the arm.
            pose: x, y, z, qw, qx, qy, qz; world frame; the quaternion of unit length.

        Returns:
            (6,), rad, or None where none was found from the present joints, the reset command and
            an arm that faces the pose, in this order.
        """
        start = SIDES.index(side) * ARM_VALUES
        present = command[start : start + ARM_JOINTS]
        reset = np.array(self._bench.reset_command[start : start + ARM_JOINTS])
        mount = getattr(self._bench.arms, side)
        facing = np.array(reset)
        azimuth = math.atan2(pose[1] - mount.position[1], pose[0] - mount.position[0])
        facing[0] = azimuth - 2.0 * math.atan2(mount.orientation[3], mount.orientation[0])
        for guess in (present, reset, facing):
            trial = np.array(command)
            trial[start : start + ARM_JOINTS] = guess
            solved = self._solve(trial, side, pose)
            if solved is not None:
                return solved
        return None

    def _solve(self, trial: FloatArray, side: str, pose: FloatArray) -> FloatArray | None:
        import mink

        model, indices = self._robot.model, self._robot.indices
        arm = SIDES.index(side) * (ARM_JOINTS + 2)
        address = indices.qpos[arm : arm + ARM_JOINTS]
        moving = set(indices.dof[arm : arm + ARM_JOINTS])
        configuration = mink.Configuration(model)
        configuration.update(to_positions(trial, self._bench.arms.gripper.stroke))
        task = mink.FrameTask(
            f"{side}_{JOINTS[-1].replace('joint', 'link')}", "body",
            position_cost=1.0, orientation_cost=1.0, lm_damping=1e-3,
        )  # fmt: skip
        task.set_target(mink.SE3(np.concatenate([pose[3:], pose[:3]])))
        still = mink.DofFreezingTask(model, [i for i in range(model.nv) if i not in moving])
        limits = [mink.ConfigurationLimit(model)]
        for _ in range(_ITERATIONS):
            error = task.compute_error(configuration)
            if (
                np.linalg.norm(error[:3]) <= _POSITION_TOLERANCE
                and np.linalg.norm(error[3:]) <= _ROTATION_TOLERANCE
            ):
                return self._clipped(configuration.q[address])
            try:
                velocity = mink.solve_ik(
                    configuration, [task], 1.0, _SOLVER,
                    damping=_DAMPING, limits=limits, constraints=[still],
                )  # fmt: skip
            except mink.NoSolutionFound:
                return None
            if np.abs(velocity).max() < _STALLED:
                return None
            configuration.integrate_inplace(velocity, 1.0)
        return None

    def _clipped(self, joints: FloatArray) -> FloatArray:
        """Joints without the solver's last rounding beyond a limit."""
        limits = np.array([joint.limits for joint in self._bench.arms.joints])
        return np.clip(joints, limits[:, 0], limits[:, 1])

    def way(self, command: FloatArray, side: str, goal: FloatArray) -> FloatArray | None:
        """Corners of a way from an arm's present joints to a goal, straight from each to the next.

        Tried are the straight way, and the ways over the reset command, over the reset command
        turned towards the goal, and over both. The other arm stays where it is.

        Args:
            command: In force, (14,).
            side: Of the arm.
            goal: (6,), rad.

        Returns:
            (n, 6), rad: the first of these that keeps joint limits and distances, start and goal
            included; None where none does.
        """
        start = SIDES.index(side) * ARM_VALUES
        limits = np.array([joint.limits for joint in self._bench.arms.joints])
        if ((goal < limits[:, 0]) | (goal > limits[:, 1])).any():
            return None
        present = command[start : start + ARM_JOINTS]
        reset = np.array(self._bench.reset_command[start : start + ARM_JOINTS])
        towards = np.array([goal[0], *reset[1:]])
        corners: tuple[list[FloatArray], ...] = ([], [reset], [towards], [reset, towards])
        for between in corners:
            way = [present, *between, goal]
            if all(self._free(command, start, a, b) for a, b in zip(way, way[1:])):
                return np.array(way)
        return None

    def _free(self, command: FloatArray, start: int, a: FloatArray, b: FloatArray) -> bool:
        """Whether a straight way keeps every distance; where it begins is as it is."""
        trial = np.array(command)
        count = max(1, math.ceil(float(np.abs(b - a).max()) / _RESOLUTION))
        for i in range(1, count + 1):
            trial[start : start + ARM_JOINTS] = a + (i / count) * (b - a)
            if self._robot.breaches(trial):
                return False
        return True

    def timed(self, way: FloatArray) -> FloatArray:
        """Commands of an arm along a way, one a control period, at rest at every corner.

        Args:
            way: Joint configurations, (n, 6), rad; the first is where the arm is.

        Returns:
            (k, 6), rad; the last is the goal.
        """
        commands: list[list[float]] = []
        for a, b in zip(way.tolist(), way.tolist()[1:]):
            commands += self._segment(a, b)
        return np.array(commands or [way[-1]])

    def _segment(self, a: Sequence[float], b: Sequence[float]) -> list[list[float]]:
        import ruckig

        request = ruckig.InputParameter(ARM_JOINTS)
        request.current_position, request.target_position = list(a), list(b)
        joints = self._bench.arms.joints
        request.max_velocity = [joint.velocity for joint in joints]
        request.max_acceleration = [joint.acceleration for joint in joints]
        request.max_jerk = list(self.jerk)
        # In phase, so that the way stays the straight one whose distances were checked.
        request.synchronization = ruckig.Synchronization.Phase
        trajectory = ruckig.Trajectory(ARM_JOINTS)
        ruckig.Ruckig(ARM_JOINTS).calculate(request, trajectory)
        period = 1.0 / self._bench.timing.control_hz
        count = math.ceil(trajectory.duration / period - 1e-9)
        samples = [min(i * period, trajectory.duration) for i in range(1, count)]
        return [*([float(q) for q in trajectory.at_time(t)[0]] for t in samples), list(b)]
