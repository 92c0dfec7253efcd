"""The key to an episode's outcome: claimed once by whoever drives it, and by nobody after that."""

from __future__ import annotations

import hmac
import secrets

from robogate.worker.call_error import CallError

_BYTES = 32


class OutcomeGuard:
    """Gives out one token an episode; a new episode, or a new process, voids it."""

    def __init__(self) -> None:
        self._token: str | None = None
        self._episode_id: str | None = None

    def begin(self, episode_id: str | None) -> None:
        """An episode begins (None: there is none any more); the token before is void."""
        self._token, self._episode_id = None, episode_id

    def claim(self, episode_id: str) -> str:
        """The token of the present episode, 256 random bits in hex.

        Raises:
            CallError: 409: another episode is the present one, or it was claimed before.
        """
        if episode_id != self._episode_id:
            raise CallError(409, "out_of_order", "claim_outcome: that episode is not the present")
        if self._token is not None:
            raise CallError(409, "claimed", "claim_outcome: it has been claimed; reset first")
        self._token = secrets.token_hex(_BYTES)
        return self._token

    def require(self, token: str) -> str:
        """The episode that a token is for.

        Raises:
            CallError: 401: it is not the present episode's.
        """
        # Compared even where there is none, so that the time says nothing about that either.
        expected = self._token or secrets.token_hex(_BYTES)
        if not hmac.compare_digest(token.encode("utf-8", "replace"), expected.encode()):
            raise CallError(401, "outcome_token", "the token is not the present episode's")
        assert self._episode_id is not None
        return self._episode_id
