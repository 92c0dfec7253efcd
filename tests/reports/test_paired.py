"""Exact statistics against sums written out, published values and brute force."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robogate.reports.paired import (
    compare_pairs,
    mcnemar_exact,
    minimum_detectable_effect,
)


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [
        (0, 0, 1.0),
        (0, 5, 0.0625),
        (0, 6, 0.03125),
        (6, 0, 0.03125),
        (1, 9, 2 * (1 + 10) / 2**10),
        (3, 3, 1.0),
        (5, 15, 0.04138946533203125),
    ],
)
def test_p_value(only_a, only_b, p):
    assert mcnemar_exact(only_a, only_b) == pytest.approx(p, rel=1e-12)


def test_counts_larger_than_a_float_can_hold_a_power_of():
    assert 0.0 < mcnemar_exact(1000, 1200) < 1e-4
    assert mcnemar_exact(0, 2000) == 0.0  # below the smallest float, and no error
    with pytest.raises(ValueError, match="-1"):
        mcnemar_exact(-1, 3)


@given(st.integers(0, 60), st.integers(0, 60))
def test_p_value_is_symmetric_and_a_probability(a, b):
    assert mcnemar_exact(a, b) == mcnemar_exact(b, a)
    assert 0.0 < mcnemar_exact(a, b) <= 1.0


def power_by_enumeration(n, a, b):
    """Probability of a significant result, over all outcomes of n independent pairs."""
    ab, ba = a * (1 - b), (1 - a) * b
    total = 0.0
    for x, y in itertools.product(range(n + 1), repeat=2):
        if x + y <= n and mcnemar_exact(x, y) <= 0.05:
            ways = math.factorial(n) / (
                math.factorial(x) * math.factorial(y) * math.factorial(n - x - y)
            )
            total += ways * ab**x * ba**y * (1 - ab - ba) ** (n - x - y)
    return total


@pytest.mark.parametrize(("n", "mean"), [(12, 0.5), (20, 0.5), (20, 0.2), (30, 0.9)])
def test_detectable_effect_is_the_smallest_that_is_found(n, mean):
    effect = minimum_detectable_effect(n, mean)
    assert effect is not None

    def power(difference):
        a = min(max(mean - difference / 2, 0.0), 1.0 - difference)
        return power_by_enumeration(n, a, a + difference)

    assert power(effect) >= 0.8 > power(effect - 0.001)


@pytest.mark.parametrize("n", [6, 20, 68])
def test_at_best_all_discordant_pairs_point_one_way(n):
    effect = minimum_detectable_effect(n, None)

    def power(d):  # six of one kind are needed: 2 * 0.5**6 < 0.05 < 2 * 0.5**5
        return sum(math.comb(n, k) * d**k * (1 - d) ** (n - k) for k in range(6, n + 1))

    assert power(effect) >= 0.8 > power(effect - 0.001)


@pytest.mark.parametrize("n", range(6))
def test_five_pairs_show_nothing(n):
    assert minimum_detectable_effect(n, 0.5) is None
    assert minimum_detectable_effect(n, None) is None


def test_more_pairs_find_smaller_effects():
    effects = [minimum_detectable_effect(n, 0.5) for n in (10, 20, 50, 68, 200)]
    assert effects == sorted(effects, reverse=True) and effects[-1] < 0.15


def test_pairs_are_counted():
    outcomes = [(True, True)] * 3 + [(True, False)] * 2 + [(False, True)] * 9 + [(False, False)]
    paired = compare_pairs(outcomes, unpaired=4)
    assert (paired.pairs, paired.both, paired.only_a, paired.only_b, paired.neither) == (
        15, 3, 2, 9, 1,
    )  # fmt: skip
    assert paired.unpaired == 4
    assert paired.difference == pytest.approx(7 / 15)
    assert paired.p_value == mcnemar_exact(2, 9)


def test_no_pairs_give_no_difference():
    paired = compare_pairs([])
    assert paired.difference is None and paired.p_value == 1.0 and paired.detectable is None
