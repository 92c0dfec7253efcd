"""What a client sees of a robot's state and cameras, as the contract shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robogate.errors import UsageError, nearest
from robogate.records.capabilities import HasCalibration, HasProfile, HasRender, HasState
from robogate.records.environment import Environment
from robogate.records.observation import Image, Observation
from robogate.records.robot import Calibration, RobotState
from robogate.worker.call_error import CallError
from robogate.worker.contracts import Contract
from robogate.worker.embodiments import Embodiment, nominal_calibration
from robogate.worker.encoding import ArrayCodec, encode_observation
from robogate.worker.plain import plain


class RobotView:
    """The one place where state and images are read for a client.

    Args:
        environment: Built.
        contract: Says how grippers are shown and where calibration comes from.
        embodiment: Where cameras are, for contracts that take it from there.

    Raises:
        UsageError: The contract needs what this robot does not say, or an embodiment.
    """

    def __init__(
        self, environment: Environment, contract: Contract, embodiment: Embodiment | None
    ) -> None:
        self._environment, self._contract = environment, contract
        self._embodiment = embodiment
        self._profile = environment.profile() if isinstance(environment, HasProfile) else None
        if contract.calibration == "embodiment" and embodiment is None:
            raise UsageError(f"--contract {contract.name} needs --embodiment")
        if contract.grippers == "commanded" and not (
            self._profile is not None and isinstance(environment, HasState)
        ):
            raise UsageError(
                f"--contract {contract.name} needs a robot that says its profile and state; "
                "this one does not"
            )

    def state(self, episode_id: str) -> RobotState:
        """The present state; nothing is rendered where the robot can say it without."""
        robot = self._environment
        if not isinstance(robot, HasState):
            seen = robot.observe(episode_id)
            return RobotState(episode_id, seen.step, seen.done, seen.state, np.zeros(0))
        state = robot.state(episode_id)
        if self._contract.grippers == "measured" or self._profile is None:
            return state
        joints = np.array(state.values["joint_position"])
        for group in self._profile.joint_groups:
            if group.kind == "gripper":
                place = slice(group.start, group.start + len(group.names))
                joints[place] = state.command[place]
        shown = {**state.values, "joint_position": joints}
        return RobotState(state.episode_id, state.step, state.ended, shown, state.command)

    def encode_state(self, state: RobotState, codec: ArrayCodec) -> dict[str, Any]:
        """A state as a message part."""
        return {"step": state.step, "ended": state.ended, **plain(state.values, codec)}

    def observation(self, observation: Observation, codec: ArrayCodec) -> dict[str, Any]:
        """An observation without its evaluator's half, as a message part."""
        fields = encode_observation(observation, codec, with_evaluator=False)
        if self._contract.grippers == "commanded":
            fields["state"] = plain(self.state(observation.episode_id).values, codec)
        return fields

    def cameras(self, episode_id: str, asked: Sequence[str] | None) -> tuple[str, ...]:
        """The cameras asked for; all of them where None.

        Raises:
            CallError: 422: there is no such camera.
        """
        if self._profile is not None:
            known = [camera.name for camera in self._profile.cameras]
        elif asked == ():
            known = []
        else:
            known = list(self._environment.observe(episode_id).images)
        for name in asked or ():
            if name not in known:
                hint = nearest(name, known)
                raise CallError(422, "bad_arguments", f"no camera {name!r:.60}; {hint}")
        return tuple(known if asked is None else asked)

    def look(self, state: RobotState, cameras: Sequence[str], codec: ArrayCodec) -> dict[str, Any]:
        """Images, and where they were taken from, as a message part.

        Nothing but the cameras asked for is rendered.
        """
        images = self._images(state.episode_id, cameras) if cameras else {}
        found = self._calibration(state) if cameras else {}
        return {
            "images": {name: codec.pack(images[name]) for name in cameras},
            "intrinsics": {
                name: codec.pack(found[name].intrinsics) for name in cameras if name in found
            },
            "camera_to_world": {
                name: codec.pack(found[name].camera_to_world) for name in cameras if name in found
            },
            "image_size": {name: list(images[name].shape[1::-1]) for name in cameras},
        }

    def _images(self, episode_id: str, cameras: Sequence[str]) -> Mapping[str, Image]:
        robot = self._environment
        if isinstance(robot, HasRender):
            return robot.render(episode_id, cameras)
        return robot.observe(episode_id).images

    def _calibration(self, state: RobotState) -> Mapping[str, Calibration]:
        robot, source = self._environment, self._contract.calibration
        if source == "robot" and isinstance(robot, HasCalibration):
            return robot.calibration(state.episode_id)
        if source == "embodiment" and self._embodiment is not None and self._profile is not None:
            poses = {arm: state.values[f"{arm}_ee_pose"] for arm in self._profile.arm_bases}
            return nominal_calibration(self._embodiment, self._profile.cameras, poses)
        return {}
