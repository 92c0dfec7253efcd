"""`adapter=xpolicylab`: a policy server of XPolicyLab, pinned to one commit, for two ARX X5 arms.

One connection an episode: ``hello``, ``reset``, then ``infer`` as often as actions are needed, and
``trial_end``. Ids are random: neither they nor any payload tells the policy a seed, a scenario or a
success. A frame is sent once; a reply must carry the id of its request.

The server holds one model for all connections, and a reset resets it for all of them. So one
episode at a time is open.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping
from typing import Any

from robogate.adapters.attestation import identify
from robogate.adapters.loaded import LoadedPolicy
from robogate.adapters.remote import (
    before_first_reset,
    exchange_limit,
    loaded,
    plain,
    require_same,
    require_server,
)
from robogate.adapters.websocket_client import WebSocketClient
from robogate.adapters.wire import wire_error
from robogate.adapters.xpolicylab_layout import (
    require_dual_arm,
    xpolicylab_chunk,
    xpolicylab_observation,
)
from robogate.adapters.xpolicylab_wire import REVISION, Request, dump
from robogate.adapters.xpolicylab_wire import load as load_frame
from robogate.contract.adapter_schema import XPolicyLabAdapter
from robogate.contract.schema import Adapter, Bench
from robogate.errors import EpisodeError, RunError
from robogate.records.location import PolicyLocation
from robogate.records.observation import PolicyObservation
from robogate.records.policy import PolicyEpisode, Reply


class XPolicyLabConnection:
    """One connection, its handshake made.

    Args:
        url: Where the server listens.
        evaluation_id: Of the run.
        limit_s: For connecting and for the handshake, each, s.

    Raises:
        EpisodeError: There is no such server.
    """

    def __init__(self, url: str, evaluation_id: str, limit_s: float) -> None:
        self._evaluation_id = evaluation_id
        self.trial_id: str | None = None
        self.step = 0
        # Compressed, as the servers' library does by default.
        self._client = WebSocketClient(url, compression="deflate")
        self._client.connect(limit_s)
        hello = self.call("hello", {}, limit_s)
        #: What the server says of itself.
        self.said: dict[str, Any] = {
            "protocol": f"xpolicylab@{REVISION}",
            **{key: plain(value) for key, value in hello.items() if key != "ok"},
        }

    def call(self, kind: str, payload: Mapping[str, Any], limit_s: float) -> Mapping[str, Any]:
        """Send one request, once, and return the payload of its reply."""
        request = Request(
            kind, str(uuid.uuid4()), self._evaluation_id, self.trial_id, self.step, payload
        )
        try:
            message = self._client.exchange(dump(request), limit_s)
            if isinstance(message, str):
                raise wire_error(f"{kind} is answered by text: {message[:200]!r}")
            return load_frame(message, request)
        except EpisodeError:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """Whether no exchange has failed and it was not closed."""
        return self._client.alive

    def close(self) -> None:
        """Close it; may be called twice."""
        self._client.close()


class XPolicyLabSession:
    """One episode on a connection of its own."""

    def __init__(
        self,
        connection: XPolicyLabConnection,
        adapter: XPolicyLabAdapter,
        bench: Bench,
        limit_s: float,
    ) -> None:
        self._connection, self._adapter, self._bench = connection, adapter, bench
        self._limit_s = limit_s

    def infer(self, observation: PolicyObservation) -> Reply:
        """Send the observation, once, and return the actions of the answer.

        Raises:
            EpisodeError: Late, lost, of another request, unreadable, or not the actions that the
                contract says.
        """
        sent = xpolicylab_observation(observation, self._bench)
        reply = self._connection.call("infer", {"observation": sent}, self._limit_s)
        self._connection.step += 1
        if "actions" not in reply:
            raise wire_error(f"infer_result has no 'actions' but {', '.join(list(reply)[:9])}")
        chunk = xpolicylab_chunk(reply["actions"], self._adapter)
        return Reply(chunk, prompt=sent["instruction"], backend_calls=1)

    def close(self) -> None:
        """Tell the server that the trial is over, and nothing of how it went."""
        try:
            if self._connection.alive:
                trial = {"trial_id": self._connection.trial_id}
                self._connection.call("trial_end", trial, self._limit_s)
        finally:
            self._connection.close()


class XPolicyLabPolicy:
    """A server that was found."""

    def __init__(self, adapter: XPolicyLabAdapter, bench: Bench, url: str) -> None:
        self._adapter, self._bench, self._url = adapter, bench, url
        self._limit_s = exchange_limit(bench.inference_timeout_s)
        self._warm_up_s = exchange_limit(adapter.warmup_timeout_s)
        self._evaluation_id = str(uuid.uuid4())
        self._opening = threading.Lock()
        self._current: XPolicyLabConnection | None = None
        connection = XPolicyLabConnection(url, self._evaluation_id, self._limit_s)
        #: What the server says of itself.
        self.said: Mapping[str, Any] = connection.said
        connection.close()

    def identity(self) -> Mapping[str, Any]:
        """What the server says of itself."""
        return self.said

    def warm_up(self, example: PolicyObservation) -> Reply:
        """Make the first inference, which is slow."""
        session = self._open(self._warm_up_s)
        try:
            return session.infer(example)
        finally:
            session.close()

    def open_session(self, episode: PolicyEpisode) -> XPolicyLabSession:
        """Connect anew and reset the model; the same server must answer.

        Raises:
            EpisodeError: It cannot be reached, or does not reset.
            RunError: Another server answers, or another episode is open.
        """
        return self._open(self._limit_s)

    def close(self) -> None:
        """Every session closes its own connection."""

    def _open(self, limit_s: float) -> XPolicyLabSession:
        with self._opening:
            if self._current is not None and self._current.alive:
                raise RunError(
                    "an XPolicyLab server holds one model for all connections, and another episode "
                    "is using it: run with runtime.workers=1",
                    code="load",
                )
            connection = XPolicyLabConnection(self._url, self._evaluation_id, limit_s)
            self._current = connection
        try:
            require_same(connection.said, self.said, self._url)
            connection.trial_id = str(uuid.uuid4())
            connection.call("reset", {"trial_id": connection.trial_id}, limit_s)
        except BaseException:
            connection.close()
            raise
        return XPolicyLabSession(connection, self._adapter, self._bench, limit_s)


def load(
    adapter: Adapter, bench: Bench, modules: tuple[str, ...], location: PolicyLocation
) -> LoadedPolicy:
    """Find the server.

    Raises:
        ConfigError: The contract fits neither the bench nor the protocol.
        RunError: ``connect``.
    """
    if not isinstance(adapter, XPolicyLabAdapter):
        raise TypeError(f"expected an XPolicyLabAdapter, got {type(adapter).__name__}")
    require_dual_arm(adapter, bench)
    url = require_server(adapter, location)
    with before_first_reset("connect"):
        policy = XPolicyLabPolicy(adapter, bench, url)
    return loaded(policy, adapter, modules, identify(adapter, location, policy.said))
