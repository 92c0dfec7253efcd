"""Optional capabilities of the dual-arm environment (stub)."""

from __future__ import annotations

from robogate.contract.schema import Renderer
from robogate.scenes.dual_arm_config import DualArmBench


class Tools:
    """Tools."""

    def __init__(self, bench: DualArmBench, renderer: Renderer, max_actions: int) -> None:
        """Take the contract's parts."""
        self._bench, self._renderer, self._max_actions = bench, renderer, max_actions
