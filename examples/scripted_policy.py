"""A policy that is blind: it reaches for where the block most often is, and puts it on the target.

Try it with

    python -m robogate adapter=python adapter.target=examples.scripted_policy:BlindPick

It reads nothing but its own hand's position and the gripper's opening, so it earns a low score, but
a real one: it may serve as the first row of a ranking, and as a start for a policy of your own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robogate.records.observation import PolicyObservation

OPEN, CLOSE = -1.0, 1.0
#: One action moves the hand by this much at the most, m.
SCALE = 0.05


class BlindPick:
    """Runs through a list of waypoints with the hand's orientation as it is at the start.

    Args:
        x: Where to grasp, world frame, m.
        y: Likewise.
        z: Likewise; the centre of a 4 cm block on the table is at 0.32.
    """

    def __init__(self, x: float = 0.5, y: float = 0.0, z: float = 0.322) -> None:
        """Lay out the way: place of the hand, gripper, actions to wait once there."""
        target_x, target_y = 0.35, 0.30
        self._way = [
            ((x, y, 0.42), OPEN, 0),
            ((x, y, z), OPEN, 2),
            ((x, y, z), CLOSE, 6),
            ((x, y, 0.42), CLOSE, 0),
            ((target_x, target_y, 0.42), CLOSE, 2),
            ((target_x, target_y, z + 0.003), CLOSE, 2),
            ((target_x, target_y, z + 0.003), OPEN, 6),
            ((target_x, target_y, 0.42), OPEN, 0),
        ]
        self._next, self._waited = 0, 0

    def reset(self, instruction: str) -> None:
        """Begin an episode; this policy does the same whatever it is told."""
        self._next, self._waited = 0, 0

    def act(self, observation: PolicyObservation) -> NDArray[np.float64]:
        """Return one action, (7,): move towards the present waypoint."""
        place, gripper, wait = self._way[self._next]
        away = np.array(place) - observation.state["ee_position"]
        if np.linalg.norm(away) < 0.006:
            self._waited += 1
            if self._waited > wait and self._next < len(self._way) - 1:
                self._next, self._waited = self._next + 1, 0
        step = np.clip(away / SCALE, -0.6, 0.6)
        return np.array([*step, 0.0, 0.0, 0.0, gripper])
