"""What an action has to be before anything moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from robogate.contract.schema import ActionSpace
from robogate.errors import EpisodeError
from robogate.records.observation import FloatArray


class ActionCheck:
    """Refuses what the contract's action space does not hold; nothing is clipped or cast."""

    def __init__(self, space: ActionSpace) -> None:
        """Take the space's names and bounds."""
        self._names = space.names
        self._low, self._high = np.array(space.low), np.array(space.high)

    def require(self, action: Any) -> FloatArray:
        """Return the action if it is one.

        Raises:
            EpisodeError: Another type, shape, a value that is not finite or out of range.
        """
        # A subclass may mean something else by its values, as a masked array does.
        if type(action) is not np.ndarray or action.dtype != np.float64:
            kind = f"{type(action).__name__} {getattr(action, 'dtype', '')}".strip()
            raise EpisodeError(f"action is {kind}, expected a float64 array", code="action_type")
        if action.shape != self._low.shape:
            raise EpisodeError(
                f"action has shape {action.shape}, expected {self._low.shape}",
                code="action_shape",
            )
        if not np.isfinite(action).all():
            raise EpisodeError(
                f"action {self._list(action)} is not finite", code="action_not_finite"
            )
        outside = (action < self._low) | (action > self._high)
        if outside.any():
            index = int(np.flatnonzero(outside)[0])
            raise EpisodeError(
                f"action.{self._names[index]} is {float(action[index])!r}, expected "
                f"[{self._low[index]}, {self._high[index]}]",
                code="action_out_of_range",
            )
        return action

    def _list(self, action: FloatArray) -> str:
        bad = np.flatnonzero(~np.isfinite(action))
        return ", ".join(f"{self._names[i]}={action[i]}" for i in bad)
