"""Demonstrations as what a network is trained on: one row per action, targets that look ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robogate.adapters.bc_features import CAMERAS
from robogate.training.demos import Demo

#: Component of the gripper command, and of the grip site's position in the layout ``pnp_16``.
GRIPPER = 6
EE = slice(9, 12)
#: Weight of a row within this many actions of a change of the gripper; of any other: 1.
NEAR, NEAR_WEIGHT = 4, 3.0


@dataclass(frozen=True)
class Frames:
    """N rows of all demonstrations, one after the other.

    Attributes:
        images: Camera to (N, size, size, 3) uint8.
        state: (N, 16) float64, layout ``pnp_16``.
        action: (N, 7) float64.
        last: Index of the last row of each row's demonstration, (N,).
        way: From the grip site to where it is when the gripper's command changes next, or at the
            end; (N, 3), m. It is hindsight about the robot's own motion, not about the scene.
        weight: How often a row is drawn, (N,), mean 1.
        mean: Of the state, (16,).
        std: Of the state, (16,), nowhere 0.
    """

    images: dict[str, NDArray[np.uint8]]
    state: NDArray[np.float64]
    action: NDArray[np.float64]
    last: NDArray[np.int64]
    way: NDArray[np.float64]
    weight: NDArray[np.float64]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]

    def chunks(self, rows: NDArray[np.int64], length: int) -> NDArray[np.float64]:
        """The next actions from each row on, (B, length, 7); beyond the end, the last one."""
        ahead = rows[:, None] + np.arange(length)
        chunks: NDArray[np.float64] = self.action[np.minimum(ahead, self.last[rows][:, None])]
        return chunks


def frames(demos: Sequence[Demo]) -> Frames:
    """Put demonstrations one after the other.

    Raises:
        ValueError: There is no demonstration, or one without an action.
    """
    if not demos or any(len(demo.action) == 0 for demo in demos):
        raise ValueError("expected demonstrations of at least one action each")
    lengths = [len(demo.action) for demo in demos]
    state = np.concatenate([demo.state for demo in demos])
    std = state.std(axis=0)
    weight = np.concatenate([_weight(demo.action) for demo in demos])
    return Frames(
        images={name: np.concatenate([demo.images[name] for demo in demos]) for name in CAMERAS},
        state=state,
        action=np.concatenate([demo.action for demo in demos]),
        last=np.repeat(np.cumsum(lengths) - 1, lengths),
        way=np.concatenate([_way(demo) for demo in demos]),
        weight=weight / weight.mean(),
        mean=state.mean(axis=0),
        std=np.maximum(std, 1e-3),
    )


def _changes(action: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows whose gripper command differs from the one before."""
    closes = action[:, GRIPPER] >= 0.0
    return np.flatnonzero(closes[1:] != closes[:-1]) + 1


def _way(demo: Demo) -> NDArray[np.float64]:
    position = demo.state[:, EE]
    rows = np.arange(len(position))
    stops = np.append(_changes(demo.action), len(position) - 1)
    following = stops[np.minimum(np.searchsorted(stops, rows, side="right"), len(stops) - 1)]
    way: NDArray[np.float64] = position[following] - position
    return way


def _weight(action: NDArray[np.float64]) -> NDArray[np.float64]:
    weight = np.ones(len(action))
    for change in _changes(action):
        weight[max(change - NEAR, 0) : change + NEAR] = NEAR_WEIGHT
    return weight
