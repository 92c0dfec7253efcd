"""What belongs to one episode and ends with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robogate.benches.dual_arm.readback import AppliedScene
from robogate.benches.dual_arm.simulation import DualArmSimulation
from robogate.benches.rendering import CameraRenderer
from robogate.records.observation import Evaluator, FloatArray, Image, Observation
from robogate.records.shield import Decision


@dataclass
class Episode:
    """One episode.

    Attributes:
        id: Random.
        scenario_id: Of the manifest.
        seed: The scenario's.
        simulation: Its world.
        cameras: Draws that world.
        readback: Reads the scene that was applied.
        tracker: Judges, from the facts.
        facts: Of the present state.
        decision: The shield's on the last command executed; None before the first.
        observation: Of the present state, once it was asked for.
        images: Of the present state, those that were asked for.
        steps: Commands executed.
        limited: How many of them the shield replaced by others.
        failed: Whether it ended in an error, so that nothing is known of its state.
    """

    id: str
    scenario_id: str
    seed: int
    simulation: DualArmSimulation
    cameras: CameraRenderer
    readback: AppliedScene
    tracker: Any
    facts: FloatArray
    decision: Decision | None = None
    observation: Observation | None = None
    images: dict[str, Image] = field(default_factory=dict)
    steps: int = 0
    limited: int = 0
    failed: bool = False

    def draw(self, cameras: Sequence[str]) -> dict[str, Image]:
        """Images of some cameras at the present state, each rendered once."""
        missing = [name for name in cameras if name not in self.images]
        self.images.update(self.cameras.render(self.simulation.data, missing))
        return {name: self.images[name] for name in cameras}

    def evaluator(self) -> Evaluator:
        """The evaluator's half of the present observation."""
        simulation, decision = self.simulation, self.decision
        return Evaluator(
            scenario_id=self.scenario_id,
            seed=self.seed,
            applied_scene=self.readback.read(),
            success=bool(self.tracker.success),
            facts=self.facts,
            diagnostics={
                "contacts": int(simulation.data.ncon),
                "verdict": "none" if decision is None else decision.verdict,
                "limited": self.limited,
                "lag": float(np.abs(simulation.joint_position() - simulation.command).max()),
            },
        )
