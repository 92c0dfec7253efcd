"""Two policies on the same scenarios: the exact McNemar test, and what a sample can tell at all.

Both are exact sums over binomial counts: no distribution is approximated, and there is no sample so
small that the test is not valid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

FloatArray = np.ndarray[Any, np.dtype[np.float64]]

#: Level of the two-sided test and power at which an effect counts as detectable.
ALPHA = 0.05
POWER = 0.8


@dataclass(frozen=True)
class Paired:
    """Outcomes of A and B on the scenarios that both scored.

    Attributes:
        pairs: Scenarios that both scored.
        both: Both succeeded.
        only_a: Only A did.
        only_b: Only B did.
        neither: Neither did.
        unpaired: Scenarios that not both of them scored; they count nowhere.
        p_value: Exact two-sided McNemar p-value; 1.0 where nothing is discordant.
        detectable: Smallest difference of the success rates that so many pairs find at `ALPHA` with
            `POWER`, where the outcomes of A and B on a scenario are unrelated; None where no
            difference is.
        detectable_at_best: The same where every discordant pair points the same way.
    """

    pairs: int
    both: int
    only_a: int
    only_b: int
    neither: int
    unpaired: int
    p_value: float
    detectable: float | None
    detectable_at_best: float | None

    @property
    def difference(self) -> float | None:
        """Success rate of B minus that of A over the pairs; None without one."""
        return (self.only_b - self.only_a) / self.pairs if self.pairs else None


def compare_pairs(outcomes: Sequence[tuple[bool, bool]], unpaired: int = 0) -> Paired:
    """Compare two policies on paired scenarios.

    Args:
        outcomes: Success of A and of B on each scenario that both scored.
        unpaired: Scenarios that were left out.
    """
    both = sum(a and b for a, b in outcomes)
    only_a = sum(a and not b for a, b in outcomes)
    only_b = sum(b and not a for a, b in outcomes)
    n = len(outcomes)
    mean = (2 * both + only_a + only_b) / (2 * n) if n else 0.5
    return Paired(
        pairs=n,
        both=both,
        only_a=only_a,
        only_b=only_b,
        neither=n - both - only_a - only_b,
        unpaired=unpaired,
        p_value=mcnemar_exact(only_a, only_b),
        detectable=minimum_detectable_effect(n, mean),
        detectable_at_best=minimum_detectable_effect(n, None),
    )


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """Two-sided p-value of the exact McNemar test: discordant pairs as throws of a fair coin.

    Args:
        only_a: Pairs in which only A succeeded.
        only_b: Pairs in which only B did.

    Raises:
        ValueError: A count is negative.
    """
    if min(only_a, only_b) < 0:
        raise ValueError(f"discordant counts {only_a} and {only_b}, expected none below 0")
    n, k = only_a + only_b, min(only_a, only_b)
    tail = sum(math.comb(n, i) for i in range(k + 1))
    # Integers until the last division: a power of two this large is no float.
    return float(min(1.0, 2 * tail / 2**n))


def minimum_detectable_effect(
    n: int, mean: float | None, *, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """Smallest difference of two success rates that the exact test finds often enough.

    Args:
        n: Number of pairs.
        mean: Mean of the two rates, in [0, 1], where A and B succeed independently of one another;
            None for the best case: every discordant pair points the same way.
        alpha: Level of the two-sided test.
        power: How often the difference has to be found.

    Returns:
        The difference, in (0, 1], to a thousandth; None where not even 1.0 is found.
    """
    critical = _critical(n, alpha)

    def found(step: int) -> bool:
        return _power(n, step / 1000.0, mean, critical) >= power

    if not found(1000):
        return None
    low, high = 0, 1000  # power grows with the difference
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high / 1000.0


def _critical(n: int, alpha: float) -> list[int]:
    """By number of discordant pairs, the largest smaller count that is significant; −1 for none."""
    return [
        int(np.searchsorted(np.cumsum(_binomial(d, d // 2, 0.5)), alpha / 2, side="right")) - 1
        for d in range(n + 1)
    ]


def _power(n: int, difference: float, mean: float | None, critical: Sequence[int]) -> float:
    """Probability that the test is significant."""
    if mean is None:
        share, towards_b = difference, 1.0
    else:
        a = min(max(mean - difference / 2, 0.0), 1.0 - difference)
        b = a + difference
        towards_a = a * (1 - b)
        share = towards_a + (1 - a) * b
        towards_b = 1.0 - towards_a / share if share else 0.5
    total = 0.0
    for d, (weight, k) in enumerate(zip(_binomial(n, n, share), critical)):
        if k >= 0 and weight > 1e-15:
            tails = _binomial(d, k, towards_b).sum() + _binomial(d, k, 1.0 - towards_b).sum()
            total += float(weight * tails)
    return total


def _binomial(n: int, top: int, p: float) -> FloatArray:
    """Probabilities of 0 to ``top`` successes in n throws, (top + 1,)."""
    k = np.arange(top + 1)
    if p <= 0.0 or p >= 1.0:
        certain: FloatArray = (k == (n if p >= 1.0 else 0)).astype(np.float64)
        return certain
    factorials = np.cumsum(np.log(np.maximum(np.arange(n + 1), 1)))
    ways = factorials[n] - factorials[k] - factorials[n - k]
    logarithms = ways + k * math.log(p) + (n - k) * math.log1p(-p)
    return np.asarray(np.exp(logarithms), dtype=np.float64)
