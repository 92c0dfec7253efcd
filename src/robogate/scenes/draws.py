"""Named draws: a number in [0, 1) for a seed, a variant and a name, and what is made of it.

A draw is the first 53 bits of a SHA-256. It depends on no random stream: adding a draw or asking in
another order changes no other one, and every Python on every machine draws the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

#: Decimals that a drawn quantity is rounded to: micrometres, millionths of a degree.
DECIMALS = 6


@dataclass(frozen=True)
class Draws:
    """Every draw of one scenario.

    Attributes:
        seed: Of the scenario.
        variant: Its label.
    """

    seed: int
    variant: str

    def unit(self, name: str) -> float:
        """A number in [0, 1), uniform, of 53 bits."""
        text = f"robogate.draw/1|{self.seed}|{self.variant}|{name}"
        return (int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 11) / 2**53

    def uniform(self, name: str, bounds: tuple[float, float]) -> float:
        """A number within ``bounds``, rounded to `DECIMALS`."""
        low, high = bounds
        return min(max(round(low + self.unit(name) * (high - low), DECIMALS), low), high)

    def either_side(self, name: str, magnitude: tuple[float, float]) -> float:
        """A number whose magnitude lies within ``magnitude``, of either sign."""
        sign = -1.0 if self.unit(f"{name}.sign") < 0.5 else 1.0
        return sign * self.uniform(name, magnitude)

    def integer(self, name: str, bounds: tuple[int, int]) -> int:
        """An integer within ``bounds``, both included."""
        low, high = bounds
        return low + int(self.unit(name) * (high - low + 1))
