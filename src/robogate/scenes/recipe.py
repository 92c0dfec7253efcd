"""Labels and seeds of the 68 scenarios, by the recipe of the public version 1 generator.

One ``default_rng(42)``; nominal, edge cases and adversarial go round their labels, domain
randomization has them in blocks and draws six numbers more per scenario before its seed. Those
numbers are version 1's own; they are drawn to keep the seeds and used for nothing. Source:
isaac-sim/IsaacLab-Arena pull request 506, ``robogate_benchmark/scenarios.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

STREAM_SEED = 42
SEED_BOUND = 2**31

#: Domain, number of scenarios, labels in turn.
CYCLED = (
    ("nominal", 20, ("standard_objects", "standard_lighting", "centered_placement")),
    (
        "edge_cases",
        15,
        (
            "small_objects",
            "heavy_objects",
            "edge_placement",
            "occluded_objects",
            "transparent_objects",
        ),
    ),
    (
        "adversarial",
        10,
        ("low_lighting", "cluttered_scene", "slippery_surface", "moving_disturbance"),
    ),
)
RANDOMIZATION = "domain_randomization"
#: Label, number of scenarios.
BLOCKS = (("lighting", 10), ("object_color", 5), ("position", 5), ("camera", 3))


@dataclass(frozen=True)
class Row:
    """One scenario before it is resolved.

    Attributes:
        domain: One of the four domains.
        variant: Its label.
        seed: In [0, 2³¹).
    """

    domain: str
    variant: str
    seed: int


def version_1_rows() -> Iterator[Row]:
    """Domain, label and seed of each of the 68 scenarios, in order."""
    import numpy as np

    stream = np.random.default_rng(STREAM_SEED)
    for domain, count, variants in CYCLED:
        for i in range(count):
            yield Row(domain, variants[i % len(variants)], int(stream.integers(0, SEED_BOUND)))
    for variant, count in BLOCKS:
        for _ in range(count):
            stream.uniform(0.3, 1.5)
            stream.uniform(0.0, 0.3)
            stream.normal(0.0, 0.01, 3)
            stream.uniform(0.0, 0.02)
            yield Row(RANDOMIZATION, variant, int(stream.integers(0, SEED_BOUND)))
