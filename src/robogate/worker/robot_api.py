"""The robot API: what each name does with the environment, in the environment's own thread."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from robogate.contract.strict import StrictError, decode, encode
from robogate.errors import EpisodeError
from robogate.records.capabilities import CAPABILITIES, HasTick
from robogate.records.environment import Environment, Registration
from robogate.records.observation import Observation
from robogate.records.robot import RobotState
from robogate.worker.call_error import NOTHING_MOVED, CallError, from_environment
from robogate.worker.contracts import Contract
from robogate.worker.embodiments import Embodiment
from robogate.worker.encoding import ArrayCodec, encode_evaluator
from robogate.worker.outcome_guard import OutcomeGuard
from robogate.worker.plain import plain
from robogate.worker.requests import Request
from robogate.worker.robot_view import RobotView

log = logging.getLogger(__name__)

Arguments = Mapping[str, Any]

#: Names that every robot has; the others are capabilities of the environment.
_ALWAYS = (
    "describe", "reset", "state", "act", "observe", "register", "claim_outcome", "outcome",
    "identity",
)  # fmt: skip
#: Capabilities that are handed what a client gave, and whose result is passed on as it is.
_TOOLS = ("profile", "fk", "ik", "plan", "policy_obs", "action_spec")
#: Who acts where a program drives a robot and has not said who it is.
_PROGRAM = Registration("0" * 64, "program", "1", "0" * 64, None, None, None, None, None)


class RobotApi:
    """Serves one environment; used by the thread that owns it.

    Args:
        environment: Built.
        contract: What a client may ask for and sees.
        embodiment: Where cameras are, for contracts that take it from there.
        about: Said by ``describe`` beside name and tools.

    Raises:
        UsageError: The contract needs what this robot does not say.
    """

    def __init__(
        self,
        environment: Environment,
        contract: Contract,
        embodiment: Embodiment | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self._environment, self._contract = environment, contract
        self._about = dict(about or {})
        self._description = environment.describe()
        self._view = RobotView(environment, contract, embodiment)
        self._guard = OutcomeGuard()
        self._registered = False
        self._episode_id: str | None = None
        self._step = 0
        self._in_doubt = False
        capabilities = {name for name in CAPABILITIES if hasattr(environment, name)}
        allowed = {*contract.methods, *contract.calls}
        #: Names that this robot offers under its contract.
        self.offered = frozenset({*_ALWAYS, *capabilities} & allowed)
        self._methods: dict[str, Callable[[Arguments, ArrayCodec], Any]] = {
            "describe": self._describe,
            "register": self._register,
            "reset": self._reset,
            "state": self._state,
            "tick": self._tick,
            "act": self._act,
            "observe": self._observe,
            "claim_outcome": lambda given, _: self._guard.claim(given["episode_id"]),
            "outcome": self._outcome,
            "identity": lambda *_: dict(environment.identity()),
            **{name: self._tool(getattr(environment, name)) for name in capabilities & {*_TOOLS}},
        }

    @property
    def name(self) -> str:
        """Of the harness that is served."""
        return self._description.name

    def perform(self, request: Request) -> Any:
        """Do what a request asks for.

        Returns:
            What the client sees of the result; arrays as the request's codec packed them.

        Raises:
            CallError: It was refused, or it failed.
        """
        try:
            result = self._methods[request.name](request.arguments, request.codec)
            return self._contract.pass_on(request.name, result)
        except CallError:
            raise
        except Exception as exc:
            error = from_environment(exc)
            if error.kind == "internal":
                log.exception("%s failed", request.name)
            raise error from exc

    def _describe(self, given: Arguments, codec: ArrayCodec) -> Any:
        about = self._description
        return {
            "protocol_version": about.protocol_version,
            "name": about.name,
            "tools": sorted(self.offered - {"describe", "reset"}),
            "bench": about.bench,
            **self._about,
        }

    def _register(self, given: Arguments, codec: ArrayCodec) -> Any:
        try:
            registration = decode(Registration, given["identity"], "identity")
        except StrictError as exc:
            raise CallError(422, "bad_arguments", f"register: {exc.message}") from exc
        self._registered = True
        return self._environment.register(registration)

    def _reset(self, given: Arguments, codec: ArrayCodec) -> Any:
        self._episode_id = None
        self._guard.begin(None)
        if not self._registered and "tick" in self.offered:
            self._environment.register(_PROGRAM)
        observation = self._environment.reset(given["task"], given["seed"])
        self._episode_id, self._step = observation.episode_id, observation.step
        self._in_doubt = False
        self._guard.begin(observation.episode_id)
        return self._view.observation(observation, codec)

    def _state(self, given: Arguments, codec: ArrayCodec) -> Any:
        return self._view.encode_state(self._now(given["episode_id"]), codec)

    def _tick(self, given: Arguments, codec: ArrayCodec) -> Any:
        robot = self._environment
        assert isinstance(robot, HasTick)  # otherwise it is not offered
        episode_id, step = self._next(given)
        cameras = self._view.cameras(episode_id, given["cameras"] or ())
        executed = False
        try:
            decision = self._move(lambda: robot.tick(episode_id, step, given["command"]))
        except EpisodeError as exc:
            if exc.code == "out_of_order" or exc.code not in NOTHING_MOVED:
                raise
            shield = {"verdict": "reject", "command": None, "reasons": [exc.message]}
        else:
            executed = decision.verdict in ("accept", "limit")
            self._step += executed
            shield = plain(decision, codec)
        state = self._now(episode_id)
        result = {
            "executed": executed,
            "shield": shield,
            "state": self._view.encode_state(state, codec),
        }
        if cameras:
            result["observation"] = self._view.look(state, cameras, codec)
        return result

    def _act(self, given: Arguments, codec: ArrayCodec) -> Any:
        token = given["token"]
        if token is not None:
            self._guard.require(token)  # before anything moves
        episode_id, step = self._next(given)
        answer = self._move(lambda: self._environment.step(episode_id, step, given["action"]))
        self._step += answer.executed
        seen, executed = answer.observation, answer.command
        if executed is None and answer.executed:
            executed = given["action"]
        result = {
            "executed": answer.executed,
            "shield": {
                "verdict": answer.verdict,
                "command": None if executed is None else plain(executed, codec),
                "reasons": list(answer.reasons),
            },
            "observation": None if seen is None else self._view.observation(seen, codec),
        }
        if token is not None:
            result["evaluator"] = None if seen is None else _evaluator(seen, codec)
        return result

    def _observe(self, given: Arguments, codec: ArrayCodec) -> Any:
        token, episode_id = given["token"], given["episode_id"]
        if token is not None:
            self._guard.require(token)
        state = self._now(episode_id)
        cameras = self._view.cameras(episode_id, given["cameras"])
        result = {
            "state": self._view.encode_state(state, codec),
            **self._view.look(state, cameras, codec),
        }
        if token is not None:
            seen = self._environment.observe(episode_id)
            for name in ("protocol_version", "episode_id", "instruction", "registration_sha256"):
                result[name] = getattr(seen, name)
            result["evaluator"] = _evaluator(seen, codec)
        return result

    def _outcome(self, given: Arguments, codec: ArrayCodec) -> Any:
        return encode(self._environment.outcome(self._guard.require(given["token"])))

    def _tool(self, method: Callable[..., Any]) -> Callable[[Arguments, ArrayCodec], Any]:
        def call(given: Arguments, codec: ArrayCodec) -> Any:
            if "episode_id" in given:
                self._require_present(given["episode_id"])
            skipped = ("image_format", "quality")
            wanted = {k: v for k, v in given.items() if v is not None and k not in skipped}
            return plain(method(**wanted), codec)

        return call

    def _now(self, episode_id: str) -> RobotState:
        self._require_present(episode_id)
        return self._view.state(episode_id)

    def _next(self, given: Arguments) -> tuple[str, int]:
        """The key of a motion, if it is exactly the next one."""
        episode_id, step = given["episode_id"], given["step"]
        self._require_present(episode_id)
        if step != self._step:
            raise _stale(f"it is for step {step}, the next is {self._step}; nothing moved")
        return episode_id, step

    def _require_present(self, episode_id: str) -> None:
        if episode_id != self._episode_id:
            raise _stale("that episode is not the present one; nothing moved")
        if self._in_doubt:
            raise _stale("the episode ended in an error; nothing moves until a reset")

    def _move(self, execute: Callable[[], Any]) -> Any:
        """Make a motion; one that may have happened in part is never made again."""
        self._in_doubt = True
        try:
            answer = execute()
        except EpisodeError as exc:
            self._in_doubt = exc.code not in NOTHING_MOVED
            raise
        self._in_doubt = False
        return answer


def _stale(message: str) -> CallError:
    return CallError(409, "out_of_order", message, "episode")


def _evaluator(observation: Observation, codec: ArrayCodec) -> Any:
    half = observation.evaluator
    return None if half is None else encode_evaluator(half, codec)
