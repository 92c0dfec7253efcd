"""The policy's side of one episode: its session, what it may see, and the time that it may take."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, cast

from robogate.episodes.answers import Answer, check_reply
from robogate.episodes.context import EpisodeContext
from robogate.episodes.inference import Cancelled, Hang, InferenceThread
from robogate.errors import RobogateError
from robogate.records.observation import Observation, PolicyObservation, project
from robogate.records.policy import (
    PolicyEpisode,
    PolicySession,
    Privileged,
    PrivilegedSession,
    Stop,
    WatchingSession,
    policy_seed,
)

T = TypeVar("T")

log = logging.getLogger(__name__)

_GATE_POLL_S = 0.1


class PolicyCalls:
    """Calls one session of a policy, which is opened by the first inference.

    Args:
        scenario_id: Of the episode.
        scene: Its resolved scene, for a privileged control alone.
        context: Of the run.
        inference: Thread that the calls are made on.
    """

    def __init__(
        self, scenario_id: str, scene: Any, context: EpisodeContext, inference: InferenceThread
    ) -> None:
        self._scenario_id = scenario_id
        self._scene = scene
        self._context = context
        self._inference = inference
        self._session: PolicySession | PrivilegedSession | None = None
        self._watching: WatchingSession | None = None
        #: Time of the last inference alone, without what it waited for other workers' calls, s.
        self.seconds = 0.0

    def infer(self, observation: Observation, number: int) -> Answer | Stop:
        """Make one inference call.

        Args:
            observation: Verified.
            number: Of the call, from 1.

        Returns:
            The checked answer, or the policy's wish to stop.

        Raises:
            EpisodeError: It failed, hung, or returned something that cannot be executed.
            Cancelled: The run is being stopped.
        """
        self.seconds = 0.0
        frozen = self._context.frozen
        ask = self._question(observation)
        # Checked there too, since reading an array of a foreign type is the policy's code.
        return self._call(lambda: check_reply(ask(), frozen), f"inference {number}")

    def watch(self, observation: Observation) -> None:
        """Show an observation to a policy that looks back, where it is not asked for actions.

        Args:
            observation: Verified.

        Raises:
            EpisodeError: It failed or hung.
            Cancelled: The run is being stopped.
        """
        if self._watching is None:
            return
        session, seen = self._watching, _own(project(observation))
        self._call(lambda: session.watch(seen), f"watching step {observation.step}")

    def close(self) -> None:
        """End the session, unless it hangs; how that goes changes nothing."""
        session, self._session = self._session, None
        if session is None or self._context.cancelled():
            return
        try:
            self._call(session.close, "closing the session")
        except (RobogateError, Cancelled) as exc:
            log.warning("scenario %s: %s", self._scenario_id, exc)

    def _question(self, observation: Observation) -> Callable[[], Any]:
        """What a session answers: a policy sees the projection, a control the scene."""
        policy = self._context.policy
        if self._session is None:
            frozen = self._context.frozen
            episode = PolicyEpisode(
                instruction=observation.instruction,
                seed=policy_seed(frozen.harness_sha256, self._scenario_id),
            )
            session = self._call(lambda: policy.open_session(episode), "opening a session")
            self._session = session
            self._watching = session if isinstance(session, WatchingSession) else None
        if policy.privileged:
            control = cast(PrivilegedSession, self._session)
            view = Privileged(self._scenario_id, self._scene, observation)
            return lambda: control.infer_privileged(view)
        asked = cast(PolicySession, self._session)
        seen = _own(project(observation))
        return lambda: asked.infer(seen)

    def _call(self, function: Callable[[], T], what: str) -> T:
        gate, cancelled = self._context.gate, self._context.cancelled
        while not gate.acquire(timeout=_GATE_POLL_S):
            if cancelled():
                raise Cancelled
        try:
            limit = self._context.frozen.bench.inference_timeout_s
            began = time.perf_counter()
            try:
                return self._inference.call(function, limit, what)
            finally:
                self.seconds = time.perf_counter() - began
        except Hang:
            # It still runs, on a thread that was given up.
            self._session = self._watching = None
            raise
        finally:
            gate.release()


def _own(seen: PolicyObservation) -> PolicyObservation:
    """Arrays of the policy's own: it may write them, even on a thread that was given up."""
    return replace(
        seen,
        state={name: value.copy() for name, value in seen.state.items()},
        images={name: image.copy() for name, image in seen.images.items()},
    )
