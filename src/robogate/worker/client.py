"""An environment behind HTTP; the runner cannot tell it from one in its own process.

Motion is never retried. Where a reply is lost, the worker is asked for its state, to say what
became of the motion, and the episode is an error either way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from robogate.contract.strict import StrictError, decode, encode
from robogate.errors import EpisodeError, RobogateError, RunError
from robogate.records.capabilities import CAPABILITIES
from robogate.records.environment import Description, Outcome, Registration, StepResult
from robogate.records.observation import FloatArray, Observation
from robogate.scenes.readback import compare
from robogate.worker.call_error import KINDS
from robogate.worker.deadlines import Deadlines
from robogate.worker.encoding import decode_observation, take_array, take_fields
from robogate.worker.http_client import (
    CONNECT_S,
    Refused,
    ReplyLost,
    Unreachable,
    WorkerConnection,
)
from robogate.worker.wire import MsgpackCodec
from robogate.worker.world import World

PROTOCOL_VERSION = 1
_CODEC = MsgpackCodec()


class RemoteEnvironment:
    """An `Environment` served by a worker.

    Every method but `kill` is for one thread at a time.

    Args:
        url: ``http://HOST:PORT``.
        token: Bearer token, where the worker wants one.
        deadlines: When a call counts as hanging.
        world: What must be served; None: anything.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        deadlines: Deadlines | None = None,
        world: World | None = None,
    ) -> None:
        self._deadlines = deadlines or Deadlines()
        self._world = world
        self._connection: WorkerConnection | None = WorkerConnection(url, token)
        self._checked = False
        self._was_reset = False
        self._killed = False
        self._identity: dict[str, Any] | None = None
        self._registration: Registration | None = None
        self._token = ""
        self._first: Observation | None = None

    def describe(self) -> Description:
        """Say what the environment is."""
        return self._check_world()

    def identity(self) -> Mapping[str, Any]:
        """Report the identity that the worker measured in its own process."""
        if self._identity is None:
            self._identity = self._ask_identity()
        return self._identity

    def register(self, registration: Registration) -> str:
        """Bind who acts; a worker that is reached anew is told the same."""
        self._ensure_world()
        echo = self._tell(registration)
        self._registration = registration
        return echo

    def reset(self, scenario_id: str, seed: int) -> Observation:
        """Build the scene anew, claim its outcome and return observation 0."""
        self._ensure_world()
        self._was_reset = True
        arguments = {"task": scenario_id, "seed": seed}
        first = self._request("reset", arguments, self._deadlines.reset, "reset")
        if type(first) is not dict or type(first.get("episode_id")) is not str:
            self._fail_reply("reset", "is no observation")
        episode_id = first["episode_id"]
        token = self._call("claim_outcome", {"episode_id": episode_id})
        if type(token) is not str:
            self._fail_reply("claim_outcome", "is no token")
        self._token = token
        seen = self._call("observe", {"episode_id": episode_id, "token": token, "cameras": []})
        if type(seen) is not dict or "evaluator" not in seen:
            self._fail_reply("observe", "has no evaluator half")
        self._first = self._observation("reset", {**first, "evaluator": seen["evaluator"]})
        return self._first

    def step(self, episode_id: str, step: int, action: FloatArray) -> StepResult:
        """Execute one action if, and only if, it is the next one."""
        arguments = {
            "episode_id": episode_id,
            "step": step,
            "action": _CODEC.pack(np.asarray(action, "<f8")),
            "token": self._token,
        }
        reply = self._call("act", arguments)
        kinds = {"executed": bool, "shield": dict, "observation": object, "evaluator": object}
        try:
            fields = take_fields(reply, "$", kinds)
            shield = take_fields(
                fields["shield"], "$.shield", {"verdict": str, "command": object, "reasons": list}
            )
            instead = None
            if shield["verdict"] == "limit":
                instead = take_array(shield["command"], "$.shield.command", _CODEC, "<f8", 1)
        except StrictError as exc:
            self._fail_reply("act", f"is not one: {exc.message}")
        reasons = tuple(str(reason) for reason in shield["reasons"])
        observation = None
        if fields["observation"] is not None:
            if type(fields["observation"]) is not dict:
                self._fail_reply("act", "has no observation")
            whole = {**fields["observation"], "evaluator": fields["evaluator"]}
            observation = self._observation("act", whole)
        return StepResult(fields["executed"], shield["verdict"], reasons, observation, instead)

    def observe(self, episode_id: str) -> Observation:
        """Return the present observation again."""
        seen = self._call("observe", {"episode_id": episode_id, "token": self._token})
        names = ("protocol_version", "episode_id", "instruction", "registration_sha256")
        try:
            state = dict(seen["state"])
            whole = {name: seen[name] for name in (*names, "images", "evaluator")}
            whole.update(step=state.pop("step"), done=state.pop("ended"), state=state)
        except (KeyError, TypeError, ValueError) as exc:
            self._fail_reply("observe", f"is no observation ({exc})")
        return self._observation("observe", whole)

    def outcome(self, episode_id: str) -> Outcome:
        """Return how the episode stands."""
        reply = self._call("outcome", {"token": self._token})
        try:
            return decode(Outcome, reply)
        except StrictError as exc:
            self._fail_reply("outcome", f"is none: {exc.message}")

    def close(self) -> None:
        """Leave the worker; it goes on and serves others."""
        self._drop()

    def kill(self) -> None:
        """Leave at once and for good, from any thread; a call in progress fails."""
        self._killed = True
        connection = self._connection
        if connection is not None:
            connection.abort()

    def _check_world(self) -> Description:
        about = self._request("describe", {}, self._deadlines.step, "describe")
        try:
            version, name, bench = about["protocol_version"], about["name"], about["bench"]
            tools = tuple(tool for tool in CAPABILITIES if tool in about["tools"])
            description = Description(int(version), str(name), str(bench), tools)
        except (KeyError, TypeError, ValueError) as exc:
            self._fail_reply("describe", f"is none ({exc})")
        if version != PROTOCOL_VERSION:
            raise RunError(
                f"the worker speaks protocol {version!r}, expected {PROTOCOL_VERSION}",
                code="protocol_version",
            )
        if self._world is not None:
            self._world.require(about)
        self._checked = True
        return description

    def _ensure_world(self) -> None:
        """After a connection was lost, make sure that what is reached now is what was before."""
        if self._checked:
            return
        self._check_world()
        if self._identity is not None:
            faults = compare(self._ask_identity(), self._identity)
            if faults:
                raise RunError(
                    f"the worker's identity changed: {faults[0]}", code="identity_mismatch"
                )
        if self._registration is not None:
            self._tell(self._registration)

    def _ask_identity(self) -> dict[str, Any]:
        reply = self._call("identity", {})
        if type(reply) is not dict:
            self._fail_reply("identity", "is none")
        return reply

    def _tell(self, registration: Registration) -> str:
        reply = self._call("register", {"identity": encode(registration)})
        if type(reply) is not str:
            self._fail_reply("register", "is no hash")
        return reply

    def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        wanted = {"name": name, "arguments": arguments}
        return self._request("call", wanted, self._deadlines.step, name)

    def _request(self, method: str, arguments: dict[str, Any], limit_s: float, name: str) -> Any:
        try:
            return self._reach().request(method, arguments, limit_s)
        except Refused as exc:
            raise self._refused(exc, name) from exc
        except (Unreachable, ReplyLost) as exc:
            text = f"{name}: {exc.message}"
            if name in ("act", "reset") and isinstance(exc, ReplyLost):
                text += self._what_became(arguments)
            code, text = self._explain(exc, text)
            self._drop()
            raise self._lost(code, text) from exc

    def _reach(self) -> WorkerConnection:
        """The connection, opened where it is not."""
        if self._connection is None or self._killed:
            raise self._lost("connection_lost", "the run is being stopped")
        return self._connection

    def _drop(self) -> None:
        """Leave the connection; whoever answers next is checked before a reset."""
        self._checked = False
        if self._connection is not None:
            self._connection.close()

    def _explain(self, error: RobogateError, text: str) -> tuple[str, str]:
        """Code and text of a lost connection."""
        return ("connection_lost" if isinstance(error, Unreachable) else error.code), text

    def _lost(self, code: str, text: str) -> RobogateError:
        if not self._was_reset:
            return RunError(text, code="connect")
        return EpisodeError(text, code=code)

    def _refused(self, error: Refused, name: str) -> RobogateError:
        text = f"{name}: {error.message}"
        if error.kind in KINDS:
            return KINDS[error.kind](error.message, code=error.code)
        if error.status == 401 and error.code == "unauthorized":
            text += "; set HARNESS_WORKER_TOKEN to the worker's own"
        if not self._was_reset:
            return RunError(text, code="connect")
        if error.kind == "internal":
            code = "reset_failed" if name == "reset" else "environment_exception"
            return EpisodeError(text, code=code)
        return EpisodeError(text, code="connection_lost" if error.status == 503 else "bad_reply")

    def _what_became(self, arguments: dict[str, Any]) -> str:
        """Ask what became of a motion whose reply was lost; it is not sent again."""
        motion = arguments.get("arguments")
        if self._killed or self._connection is None or motion is None:
            return ""
        wanted = {"name": "state", "arguments": {"episode_id": motion["episode_id"]}}
        try:
            state = self._connection.request("call", wanted, CONNECT_S)
            step = int(state["step"])
        except (RobogateError, KeyError, TypeError, ValueError):
            return "; whether the motion was executed is unknown"
        done = "was executed" if step > motion["step"] else "was not executed"
        return f"; the worker says that the motion {done}"

    def _observation(self, name: str, value: Any) -> Observation:
        try:
            return decode_observation(value, _CODEC, "$")
        except (StrictError, TypeError) as exc:
            self._fail_reply(name, f"is no observation: {exc}")

    def _fail_reply(self, name: str, what: str) -> NoReturn:
        self._drop()
        raise self._lost("bad_reply", f"the reply to {name} {what}")
