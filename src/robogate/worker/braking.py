"""How far a command may move so that every limit stays keepable: braking in discrete time.

A command moves once a period. With ``d`` the displacement of the last period and ``a`` the largest
change of it, a joint that brakes moves on by ``d - a``, then ``d - 2a``, … until nothing is left.
All functions work on whole command vectors, (n,).
"""

from __future__ import annotations

import numpy as np

from robogate.records.observation import FloatArray


def largest_move(gap: FloatArray, change: FloatArray) -> FloatArray:
    """Largest displacement towards a limit after which braking still ends at or before it.

    Args:
        gap: Distance to the limit, ≥ 0, (n,).
        change: Largest change of the displacement from period to period, > 0, (n,).

    Returns:
        The largest ``d`` with ``d + (d - a) + (d - 2a) + … ≤ gap``, positive terms only, (n,).
    """
    # With k terms, d = gap / k + a (k - 1) / 2; k terms are needed while gap > a k (k - 1) / 2.
    ratio = gap / change
    terms = np.ceil(0.5 * (np.sqrt(8.0 * ratio + 1.0) - 1.0))
    terms = np.maximum(terms, 1.0)
    return gap / terms + 0.5 * change * (terms - 1.0)


def slow_down(move: FloatArray, change: FloatArray) -> FloatArray:
    """The next displacement of a joint that brakes as hard as it may, (n,)."""
    return np.asarray(np.sign(move) * np.maximum(np.abs(move) - change, 0.0))


def braking_path(
    position: FloatArray, move: FloatArray, change: FloatArray, low: FloatArray, high: FloatArray
) -> list[FloatArray]:
    """Positions that a braking robot still passes, the last one at rest; empty when it rests.

    Args:
        position: Present command, (n,).
        move: Displacement that led to it, (n,).
        change: Largest change of the displacement, (n,).
        low: Position limits; they bound what rounding may add.
        high: Likewise.
    """
    path: list[FloatArray] = []
    while True:
        move = slow_down(move, change)
        if not move.any():
            return path
        position = np.clip(position + move, low, high)
        path.append(position)
