"""A program's side: drive a robot behind HTTP.

    with Robot("http://127.0.0.1:8000") as robot:
        first = robot.reset("00_click_bell_00", seed=0)
        answer = robot.tick(command, cameras=["cam_head"])

Arrays come as numpy arrays. A tick is sent once; where its reply is lost, `Robot.state` says if
it was executed. Units and frames are those of `robogate.records.capabilities`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robogate.contract.strict import encode
from robogate.records.environment import Registration
from robogate.worker.http_client import WorkerConnection
from robogate.worker.server import TOKEN_VARIABLE
from robogate.worker.wire import MsgpackCodec

_CODEC = MsgpackCodec()


class Robot:
    """One robot, driven by one program.

    Every method raises `robogate.worker.http_client.Refused` where the worker refuses, and
    `ReplyLost` or `Unreachable` where there is no answer.

    Args:
        url: ``http://HOST:PORT``.
        token: Bearer token; that of ``HARNESS_WORKER_TOKEN`` where None.
        limit_s: How long an answer may take, s.

    Attributes:
        episode_id: Of the present episode; empty before a reset.
        step: That the next tick is for.
    """

    def __init__(self, url: str, token: str | None = None, limit_s: float = 60.0) -> None:
        self._connection = WorkerConnection(url, token or os.environ.get(TOKEN_VARIABLE) or None)
        self._limit = limit_s
        self.episode_id = ""
        self.step = 0

    def __enter__(self) -> Robot:
        """Use it in a ``with`` statement."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave the worker; it goes on."""
        self.close()

    def close(self) -> None:
        """Leave the worker; it goes on."""
        self._connection.close()

    def describe(self) -> dict[str, Any]:
        """Protocol version, name, and the names that `call` takes."""
        answer: dict[str, Any] = self._connection.request("describe", {}, self._limit)
        return answer

    def reset(self, task: str, seed: int) -> dict[str, Any]:
        """Begin an episode; return its first observation."""
        arguments = {"task": task, "seed": seed}
        first: dict[str, Any] = self._connection.request("reset", arguments, self._limit)
        self.episode_id, self.step = first["episode_id"], first["step"]
        return first

    def call(self, name: str, **arguments: Any) -> Any:
        """Call one of the robot's names; arrays among the arguments are packed."""
        packed = {
            key: _CODEC.pack(value.astype("<f8")) if isinstance(value, np.ndarray) else value
            for key, value in arguments.items()
        }
        return self._connection.request("call", {"name": name, "arguments": packed}, self._limit)

    def register(self, registration: Registration) -> str:
        """Say who acts, for robots that want to know before a reset."""
        return str(self.call("register", identity=encode(registration)))

    def profile(self) -> dict[str, Any]:
        """Static facts: joint groups, limits, rate, cameras."""
        facts: dict[str, Any] = self.call("profile")
        return facts

    def state(self) -> dict[str, Any]:
        """The present state; takes over its step, as after a lost reply."""
        state: dict[str, Any] = self.call("state", episode_id=self.episode_id)
        self.step = state["step"]
        return state

    def tick(self, command: ArrayLike, cameras: Sequence[str] = ()) -> dict[str, Any]:
        """Send one command: absolute joint targets, (n,).

        Returns:
            ``executed``, ``shield`` (verdict, command, reasons), ``state`` and, with cameras,
            ``observation``.
        """
        answer: dict[str, Any] = self.call(
            "tick",
            episode_id=self.episode_id,
            step=self.step,
            command=np.asarray(command, np.float64),
            cameras=list(cameras),
        )
        self.step = answer["state"]["step"]
        return answer

    def act(self, action: ArrayLike) -> dict[str, Any]:
        """Send one action, for robots that take actions instead of joint targets, (n,)."""
        answer: dict[str, Any] = self.call(
            "act",
            episode_id=self.episode_id,
            step=self.step,
            action=np.asarray(action, np.float64),
        )
        self.step += bool(answer["executed"])
        return answer

    def observe(self, cameras: Sequence[str] | None = None) -> dict[str, Any]:
        """State, images, intrinsics and camera poses; of all cameras where None."""
        wanted = {} if cameras is None else {"cameras": list(cameras)}
        seen: dict[str, Any] = self.call("observe", episode_id=self.episode_id, **wanted)
        return seen

    def fk(self, command: ArrayLike) -> dict[str, Any]:
        """Pose of each arm's ``link6`` at a command."""
        poses: dict[str, Any] = self.call("fk", command=np.asarray(command, np.float64))
        return poses

    def ik(self, arm: str, pose: ArrayLike) -> dict[str, Any]:
        """Joints of one arm that reach a pose, from the present ones: ``success``, ``joints``."""
        goal = np.asarray(pose, np.float64)
        found: dict[str, Any] = self.call("ik", episode_id=self.episode_id, arm=arm, pose=goal)
        return found

    def plan(
        self,
        arm: str,
        pose: ArrayLike | None = None,
        joints: ArrayLike | None = None,
        raw: bool = False,
    ) -> dict[str, Any]:
        """Plan one arm's motion to a pose or to joints: ``success``, ``waypoints``."""
        goals = {"pose": pose, "joints": joints}
        given = {k: np.asarray(v, np.float64) for k, v in goals.items() if v is not None}
        path: dict[str, Any] = self.call(
            "plan", episode_id=self.episode_id, arm=arm, raw=raw, **given
        )
        return path
