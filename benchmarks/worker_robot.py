"""A robot without a simulator, and a bare ASGI echo: the two ends that worker.py measures."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robogate.errors import EpisodeError
from robogate.records.environment import Description, Outcome, StepResult
from robogate.records.observation import Evaluator, Observation
from robogate.records.robot import (
    CameraProfile,
    GripperProfile,
    JointGroup,
    RobotProfile,
    RobotState,
)
from robogate.records.shield import Decision, ShieldOptions
from robogate.worker.shield import Shield

JOINTS = 14
SIZE = 256
CAMERAS = ("first", "second")
NAMES = tuple(f"joint{i}" for i in range(JOINTS))
OPTIONS = ShieldOptions(
    "enforce", NAMES, (-3.0,) * JOINTS, (3.0,) * JOINTS, (3.0,) * JOINTS, (20.0,) * JOINTS, 0.04
)


class IdleRobot:
    """Does everything but simulate and render: its images are there, its shield is real."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._images = {
            name: rng.integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8) for name in CAMERAS
        }
        self._scene = {"schema": "1.1.0", "values": [float(i) for i in range(200)]}
        self._shield = Shield(OPTIONS)
        self._command = np.zeros(JOINTS)
        self._step = 0

    def describe(self) -> Description:
        return Description(1, "idle", "idle", ())

    def identity(self) -> Mapping[str, Any]:
        return {}

    def register(self, registration: Any) -> str:
        return "0" * 64

    def reset(self, scenario_id: str, seed: int) -> Observation:
        self._step, self._command = 0, np.zeros(JOINTS)
        self._shield.reset(self._command)
        return self.observe("idle")

    def tick(self, episode_id: str, step: int, command: Any) -> Decision:
        if step != self._step:
            raise EpisodeError("out of order", code="out_of_order")
        decision = self._shield.check(command)
        self._command = decision.command
        self._step += 1
        return decision

    def step(self, episode_id: str, step: int, action: Any) -> StepResult:
        decision = self.tick(episode_id, step, action)
        return StepResult(True, decision.verdict, decision.reasons, self.observe(episode_id))

    def state(self, episode_id: str) -> RobotState:
        pose = np.arange(7.0)
        values = {"joint_position": self._command, "left_ee_pose": pose, "right_ee_pose": pose}
        return RobotState("idle", self._step, False, values, self._command)

    def render(self, episode_id: str, cameras: Sequence[str]) -> Mapping[str, Any]:
        return self._images

    def observe(self, episode_id: str) -> Observation:
        values = self.state(episode_id).values
        half = Evaluator("idle", 1, self._scene, False, np.zeros(12), {"contacts": 3})
        return Observation(
            "1.0.0", "idle", self._step, "wait", values, self._images, "0" * 64, False, half
        )

    def outcome(self, episode_id: str) -> Outcome:
        return Outcome(False, self._step, False, False, None, None)

    def close(self) -> None:
        pass

    def profile(self) -> RobotProfile:
        group = JointGroup("arm", "left", "arm", 0, NAMES)
        return RobotProfile(
            NAMES, OPTIONS.low, OPTIONS.high, (group,), (0.0,) * JOINTS, 25.0,
            tuple(CameraProfile(name, SIZE, SIZE, "world") for name in CAMERAS), "top_first",
            {"left": (0.0,) * 7}, GripperProfile(0.0, 1.0, 0.1, (0.0,) * 3), None, OPTIONS,
            False, None,
        )  # fmt: skip


def create() -> IdleRobot:
    return IdleRobot()


def echo() -> None:
    """Serve a bare ASGI application that answers with as many bytes as the path says."""
    import socket

    import uvicorn

    async def app(scope: Any, receive: Any, send: Any) -> None:
        more = True
        while more:
            more = (await receive()).get("more_body", False)
        body = bytes(int(scope["path"][1:]))
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", loop="asyncio",
        timeout_keep_alive=3600,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    sys.exit(echo())
