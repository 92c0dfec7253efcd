"""The policy's side of one episode: its session, what it may see, and the time that it may take."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar, cast

from robogate.episodes.answers import Answer, check_reply
from robogate.episodes.context import EpisodeContext
from robogate.episodes.inference import Cancelled, Hang, InferenceThread
from robogate.episodes.serving import Stopwatch
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
        self._counted = False
        self._stopwatch = Stopwatch()

    @property
    def seconds(self) -> float:
        """Time of the last inference alone, without what it waited for other workers' calls, s."""
        return self._stopwatch.seconds

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
        self._stopwatch.seconds = 0.0
        frozen, what = self._context.frozen, f"inference {number}"
        self._open(observation)
        # What is returned is checked where it is made: reading an array of a foreign type is the
        # policy's code too.
        if self._context.policy.privileged:
            control = cast(PrivilegedSession, self._session)
            view = Privileged(self._scenario_id, self._scene, observation)
            return self._call(lambda: check_reply(control.infer_privileged(view), frozen), what)
        session, seen = cast(PolicySession, self._session), _own(project(observation))
        batcher = self._context.batcher
        if batcher is None:
            return self._call(lambda: check_reply(session.infer(seen), frozen), what)
        with self._lost_to_a_hang():
            return batcher.infer(self._inference, session, seen, what, self._stopwatch)

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
        session = self._session
        self._forget()
        if session is None or self._context.cancelled():
            return
        try:
            self._call(session.close, "closing the session")
        except (RobogateError, Cancelled) as exc:
            log.warning("scenario %s: %s", self._scenario_id, exc)

    def _open(self, observation: Observation) -> None:
        """Open the session, where there is none yet."""
        if self._session is not None:
            return
        policy = self._context.policy
        episode = PolicyEpisode(
            instruction=observation.instruction,
            seed=policy_seed(self._context.frozen.harness_sha256, self._scenario_id),
        )
        session = self._call(lambda: policy.open_session(episode), "opening a session")
        self._session = session
        self._watching = session if isinstance(session, WatchingSession) else None
        if self._context.batcher is not None:
            self._context.batcher.opened()
            self._counted = True

    def _forget(self) -> None:
        self._session = self._watching = None
        if self._counted and self._context.batcher is not None:
            self._context.batcher.closed()
            self._counted = False

    def _call(self, function: Callable[[], T], what: str) -> T:
        with self._lost_to_a_hang():
            return self._context.gate.call(self._inference, function, what, self._stopwatch)

    @contextmanager
    def _lost_to_a_hang(self) -> Iterator[None]:
        """After a hang the session still runs, on a thread that was given up."""
        try:
            yield
        except Hang:
            self._forget()
            raise


def _own(seen: PolicyObservation) -> PolicyObservation:
    """Arrays of the policy's own: it may write them, even on a thread that was given up."""
    return replace(
        seen,
        state={name: value.copy() for name, value in seen.state.items()},
        images={name: image.copy() for name, image in seen.images.items()},
    )
