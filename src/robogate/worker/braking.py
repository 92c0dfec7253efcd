"""How far a command may move so that every limit stays keepable: braking in discrete time.

A command moves once a period. With ``d`` the displacement of the last period and ``a`` the largest
change of it, a joint that brakes moves on by ``d - a``, then ``d - 2a``, … until nothing is left.
All functions work on whole command vectors, (n,).
"""

from __future__ import annotations

import math

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


def braking_path(move: FloatArray, change: FloatArray) -> FloatArray:
    """How far a braking robot still moves.

    Args:
        move: Displacement of the last period, (n,).
        change: Largest change of the displacement, > 0, (n,).

    Returns:
        (k, n): from the present command to that of each period until it rests, the last one at
        rest; k is 0 where it rests already.
    """
    speed = np.abs(move)
    periods = math.ceil(float((speed / change).max())) - 1
    if periods < 1:
        return np.empty((0, len(move)))
    later = np.arange(1.0, periods + 1.0)[:, np.newaxis]
    left = np.maximum(speed - later * change, 0.0)
    return np.asarray((np.sign(move) * left).cumsum(axis=0))


def resting_place(move: FloatArray, change: FloatArray) -> FloatArray:
    """The last row of `braking_path`, zeros where there is none, to rounding: (n,)."""
    speed = np.abs(move)
    terms = np.ceil(speed / change) - 1.0
    left = terms * speed - 0.5 * change * terms * (terms + 1.0)
    return np.asarray(np.copysign(np.maximum(left, 0.0), move))
