"""A test double: two one-jointed arms with grippers and cameras, and every capability."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from stub_env import misbehave

from robogate.errors import EpisodeError, RunError, UsageError
from robogate.records.capabilities import CAPABILITIES
from robogate.records.digests import registration_sha256
from robogate.records.environment import Description, Outcome, Registration, StepResult
from robogate.records.observation import Evaluator, FloatArray, Image, Observation
from robogate.records.robot import (
    ActionSpec,
    ArmSpec,
    Calibration,
    CameraProfile,
    GripperProfile,
    IkResult,
    JointGroup,
    PlanResult,
    RobotProfile,
    RobotState,
)
from robogate.records.shield import Decision, ShieldOptions
from robogate.worker.shield import Shield
from waiting import stop_at

NAMES = ("left_joint", "left_gripper", "right_joint", "right_gripper")
START = (0.0, 1.0, 0.0, 1.0)
CAMERAS = ("cam_head", "cam_left_wrist", "cam_right_wrist")
SIZE = (12, 8)  # width, height
OPTIONS = ShieldOptions(
    "enforce", NAMES, (-1.0, 0.0, -1.0, 0.0), (1.0, 1.0, 1.0, 1.0), (3.0,) * 4, (40.0,) * 4, 0.04
)
#: What nobody may see who has no token: it stands in the evaluator's half and in the outcome only.
SECRET_SEED = 918273645
LIMIT = 50
#: Grippers are measured a little off their command.
MEASURED = 0.75


class StubRobot:
    """Executes commands exactly.

    Args:
        log: Gets a line for each motion.
        barrier: Of a `waiting.Barrier`, where its motions stop.
        child: Whether it starts a process.
    """

    def __init__(
        self, log: str | None = None, barrier: str | None = None, child: bool = False
    ) -> None:
        self._log, self._barrier = log, barrier
        self._shield = Shield(OPTIONS)
        self._registration = ""
        self._episodes = 0
        self._steps = 0
        self._command = np.array(START)
        self.rendered: list[str] = []
        self._child = None
        if child:
            self._child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            print("child", self._child.pid, file=sys.stderr, flush=True)

    def describe(self) -> Description:
        return Description(1, "stub-robot", "stub", CAPABILITIES)

    def identity(self) -> Mapping[str, Any]:
        return {"simulator": "none"}

    def register(self, registration: Registration) -> str:
        self._registration = registration_sha256(registration)
        return self._registration

    def reset(self, scenario_id: str, seed: int) -> Observation:
        if not self._registration:
            raise RunError("reset before register", code="registration_mismatch")
        misbehave(scenario_id)
        self._episodes += 1
        self._steps = 0
        self._command = np.array(START)
        self._shield.reset(self._command)
        return self.observe(self._id)

    def step(self, episode_id: str, step: int, action: FloatArray) -> StepResult:
        decision = self.tick(episode_id, step, action)
        instead = decision.command if decision.verdict == "limit" else None
        observation = self.observe(episode_id)
        return StepResult(True, decision.verdict, decision.reasons, observation, instead)

    def tick(self, episode_id: str, step: int, command: FloatArray) -> Decision:
        if episode_id != self._id or step != self._steps:
            raise EpisodeError("stale; nothing moved", code="out_of_order")
        if self._steps >= LIMIT:
            raise EpisodeError("it has ended", code="out_of_order")
        if command.size and command[0] == -0.5:
            raise ZeroDivisionError(f"success=False seed={SECRET_SEED}")
        if command.size and command[0] == -0.6:
            stop_at(self._barrier)
            time.sleep(3600)
        decision = self._shield.check(command)
        stop_at(self._barrier)
        self._steps += 1
        self._command = decision.command
        if self._log is not None:
            with open(self._log, "a") as stream:
                stream.write(f"{episode_id} {step}\n")
        return decision

    def observe(self, episode_id: str) -> Observation:
        return Observation(
            protocol_version="1.0.0",
            episode_id=self._id,
            step=self._steps,
            instruction="do it",
            state=self.state(episode_id).values,
            images=self.render(episode_id, CAMERAS),
            registration_sha256=self._registration,
            done=self._steps >= LIMIT,
            evaluator=Evaluator(
                scenario_id="secret_scenario",
                seed=SECRET_SEED,
                applied_scene={"schema": "1.1.0", "sha256": "0" * 64},
                success=self._steps >= 3,
                facts=np.array([1.0, 2.0]),
                diagnostics={"verdict": "secret_diagnostics"},
            ),
        )

    def outcome(self, episode_id: str) -> Outcome:
        return Outcome(self._steps >= 3, self._steps, False, False, 0.5, None)

    def close(self) -> None:
        misbehave(os.environ.get("STUB_CLOSE", ""))

    def profile(self) -> RobotProfile:
        return RobotProfile(
            names=NAMES,
            low=OPTIONS.low,
            high=OPTIONS.high,
            joint_groups=tuple(
                JointGroup(
                    name, name.split("_")[0], "gripper" if "gripper" in name else "arm", i, (name,)
                )
                for i, name in enumerate(NAMES)
            ),
            start_command=START,
            control_hz=25.0,
            cameras=tuple(CameraProfile(name, *SIZE, "world") for name in CAMERAS),
            image_row_order="top_first",
            arm_bases={"left": (0.0,) * 7, "right": (0.0,) * 7},
            gripper=GripperProfile(0.0, 1.0, 0.08, (0.1, 0.0, 0.0)),
            planner=None,
            shield=OPTIONS,
            return_to_start=False,
            step_limit=LIMIT,
        )

    def state(self, episode_id: str) -> RobotState:
        joints = self._command * [1.0, MEASURED, 1.0, MEASURED]
        values = {"joint_position": joints, **self.fk(self._command)}
        values = {key: value for key, value in values.items() if key not in ("left", "right")}
        values.update({f"{k}_ee_pose": v for k, v in self.fk(self._command).items()})
        return RobotState(self._id, self._steps, self._steps >= LIMIT, values, self._command)

    def render(self, episode_id: str, cameras: Sequence[str]) -> Mapping[str, Image]:
        self.rendered.extend(cameras)
        width, height = SIZE
        return {
            name: np.full((height, width, 3), 40 * i + self._steps, np.uint8)
            + np.arange(3, dtype=np.uint8)
            for i, name in enumerate(CAMERAS)
            if name in cameras
        }

    def calibration(self, episode_id: str) -> Mapping[str, Calibration]:
        return {name: Calibration(*SIZE, 5.0 * np.eye(3), 2.0 * np.eye(4)) for name in CAMERAS}

    def fk(self, command: FloatArray) -> Mapping[str, FloatArray]:
        if command.shape != (4,):
            raise UsageError(f"command has shape {command.shape}", code="arguments")
        return {
            "left": np.array([command[0], 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
            "right": np.array([command[2], 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
        }

    def ik(self, episode_id: str, arm: str, pose: FloatArray) -> IkResult:
        return IkResult(True, pose[:1]) if abs(pose[0]) <= 1 else IkResult(False, None)

    def plan(
        self,
        episode_id: str,
        arm: str,
        pose: FloatArray | None = None,
        joints: FloatArray | None = None,
        raw: bool = False,
    ) -> PlanResult:
        goal = pose if pose is not None else joints
        assert goal is not None
        return PlanResult(True, np.array([[goal[0] / 2], [goal[0]]])[raw:])

    def policy_obs(self, episode_id: str) -> Mapping[str, Any]:
        return {
            "instruction": "do it",
            "additional_info": {"frequency": 25},
            "vision": {n: {"color": i} for n, i in self.render(episode_id, CAMERAS).items()},
            "state": {"left_ee_joint_state": [1.0]},
            "seed": SECRET_SEED,
        }

    def action_spec(self) -> ActionSpec:
        arm = ArmSpec((0.0,) * 7, (-1.0,), (1.0,), (3.0,))
        return ActionSpec({"left": arm, "right": arm}, 25.0, 250.0)

    @property
    def _id(self) -> str:
        return f"{os.getpid()}-{self._episodes}"


def create(log: str | None = None, barrier: str | None = None, child: bool = False) -> StubRobot:
    return StubRobot(log, barrier, child)


def create_slowly(seconds: float) -> StubRobot:
    time.sleep(seconds)
    return StubRobot()


def create_until(how: str, closed: str) -> StubRobot:
    """Start a process, say so, and wait: for a signal where the way to wait lets one through.

    Args:
        how: ``plain``; ``swallow`` (takes whatever a signal raises for its own and goes on);
            ``other`` (makes another error of it); ``native`` (waits where no handler runs).
        closed: File that is written when the robot is closed.
    """
    made = ClosingRobot(closed)
    libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(128)
    try:
        print("building", file=sys.stderr, flush=True)
        while how == "native":
            libc.pthread_mutex_lock(mutex)
        time.sleep(600)
    except BaseException as exc:
        if how == "other":
            raise ImportError("the simulator could not be loaded") from exc
        if how in ("plain", "native"):
            raise
    return made


def create_broken(closed: str) -> StubRobot:
    ClosingRobot(closed)
    raise ZeroDivisionError


class ClosingRobot(StubRobot):
    """Writes a file when it is closed."""

    def __init__(self, closed: str) -> None:
        super().__init__(child=True)
        self._closed = closed

    def close(self) -> None:
        with open(self._closed, "w") as stream:
            stream.write("closed")


def create_slow_to_reset(closed: str) -> StubRobot:
    return SlowlyResetRobot(closed)


class SlowlyResetRobot(ClosingRobot):
    """Says when a reset has begun, and takes its time."""

    def reset(self, scenario_id: str, seed: int) -> Observation:
        print("resetting", file=sys.stderr, flush=True)
        time.sleep(0.3)
        return super().reset(scenario_id, seed)


def create_with_forks(closed: str) -> StubRobot:
    """Fork a process as `multiprocessing` does, and end it by a signal at every reset."""
    return ForkingRobot(closed)


class ForkingRobot(ClosingRobot):
    """As simulators do that keep a helper process for each scene."""

    def reset(self, scenario_id: str, seed: int) -> Observation:
        pid = os.fork()
        if pid == 0:
            time.sleep(600)
            os._exit(0)
        os.kill(pid, signal.SIGTERM)
        _, status = os.waitpid(pid, 0)
        if os.WTERMSIG(status) != signal.SIGTERM:
            raise RunError(f"the forked process ended with {status}", code="fork")
        return super().reset(scenario_id, seed)
