"""The success state machine of pick-and-place: six ordered stages, judged from task facts alone.

    reached → grasped → lifted → transported → released → stable

How far the block has got is a level between 0 (nothing holds) and 6 (success, which is final). A
level is only climbed in order, each stage from the one before it, and every fall is recorded.

* A block that is let go before it was carried into the region falls back to ``reached`` or nothing.
* ``transported`` needs the block to *enter* the region while held and lifted. In the region by any
  other way (pushed, dragged, thrown) it has to be carried out and in again.
* ``released`` needs the held block to be let go inside the region and the gripper to open; leaving
  the region after that falls back, so that only a new grasp can go on.
* ``stable`` needs consecutive actions at rest in the region with the gripper open.
* While a disturbance pushes the block, and until it has come to rest, no stage is earned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from robogate.errors import EvidenceError
from robogate.records.facts import PNP_FACTS
from robogate.records.judgement import Judgement
from robogate.records.result import Transition
from robogate.scenes.pnp_config import Success
from robogate.scenes.spec import PnpScene

if TYPE_CHECKING:
    # A contract is composed without numpy.
    from robogate.records.observation import FloatArray

STAGES = ("reached", "grasped", "lifted", "transported", "released", "stable")
REACHED, GRASPED, LIFTED, TRANSPORTED, RELEASED, STABLE = range(1, len(STAGES) + 1)


@dataclass(frozen=True)
class PnpRow:
    """One row of facts, as what the stages are about.

    Attributes:
        near: The grip site is at the block.
        held: The block is attached.
        high: Its centre is above its initial height by the lift height.
        inside: Its centre is within the region's radius of the target's axis.
        open: The gripper counts as open.
        slow: The block is below the stable speed.
        low: It is as high as it is when it lies on the table.
        push_steps: Physics steps during which the disturbance has acted so far.
    """

    near: bool
    held: bool
    high: bool
    inside: bool
    open: bool
    slow: bool
    low: bool
    push_steps: float


def read_row(success: Success, scene: PnpScene, facts: FloatArray | Sequence[float]) -> PnpRow:
    """Read one row of `PNP_FACTS`.

    Raises:
        EvidenceError: Wrong length, not finite, a flag other than 0 or 1, a negative amount.
    """
    values = [float(v) for v in facts]
    if len(values) != len(PNP_FACTS):
        raise EvidenceError(f"row of {len(values)} facts, expected {len(PNP_FACTS)}", code="facts")
    fact = dict(zip(PNP_FACTS, values))
    for name, value in fact.items():
        if not math.isfinite(value):
            raise EvidenceError(f"fact {name} is {value}, expected a finite number", code="facts")
    if fact["held"] not in (0.0, 1.0):
        raise EvidenceError(f"fact held is {fact['held']}, expected 0.0 or 1.0", code="facts")
    for name in ("object_speed", "grip_distance", "gripper_width", "push_steps"):
        if fact[name] < 0.0:
            raise EvidenceError(f"fact {name} is {fact[name]}, expected at least 0", code="facts")
    dx = fact["object_x"] - scene.target.position[0]
    dy = fact["object_y"] - scene.target.position[1]
    height = fact["object_z"]
    top = scene.surface.position[2] + scene.surface.size[2] / 2.0
    return PnpRow(
        near=fact["grip_distance"] <= success.reach_distance,
        held=fact["held"] == 1.0,
        high=height >= scene.object.position[2] + success.lift_height,
        inside=dx * dx + dy * dy <= scene.target.radius * scene.target.radius,
        open=fact["gripper_width"] >= success.open_width,
        slow=fact["object_speed"] <= success.stable_speed,
        low=abs(height - top - scene.object.size[2] / 2.0) <= success.rest_height,
        push_steps=fact["push_steps"],
    )


class PnpTracker:
    """The state machine; feed it one row of facts an observation, observation 0 first.

    Args:
        success: Thresholds.
        scene: Of the scenario.
    """

    def __init__(self, success: Success, scene: PnpScene) -> None:
        self._thresholds = success
        self._scene = scene
        self._rows = 0
        self._level = 0
        self._best = 0
        self._transitions: list[Transition] = []
        self._inside_at_reset = False
        self._previous: PnpRow | None = None
        self._disturbed = False
        self._carried_in = False  # the block is inside, and came in held and lifted
        self._let_go = False  # let go inside, but the gripper has not opened yet
        self._still = 0  # consecutive actions at rest

    @property
    def success(self) -> bool:
        """Whether every stage was reached, in order."""
        return self._level == STABLE

    def update(self, facts: FloatArray) -> None:
        """Take the next row of facts, (12,). Rows after the success change nothing.

        Raises:
            EvidenceError: The row is not one of `PNP_FACTS`.
        """
        row = read_row(self._thresholds, self._scene, facts)
        if self._rows == 0:
            self._inside_at_reset = row.inside
        if not self.success:
            self._watch_disturbance(row)
            self._fall(row)
            self._climb(row)
        self._previous = row
        self._rows += 1

    def judgement(self) -> Judgement:
        """How the episode stands after the rows so far."""
        return Judgement(
            success=self.success,
            transitions=tuple(self._transitions),
            failure_stage=None if self.success else STAGES[self._best],
            success_at_reset=self._inside_at_reset,
        )

    def _watch_disturbance(self, row: PnpRow) -> None:
        before = 0.0 if self._previous is None else self._previous.push_steps
        if row.push_steps > before:
            self._disturbed = True
        elif row.held or row.slow:
            self._disturbed = False

    def _fall(self, row: PnpRow) -> None:
        """Lose what no longer holds."""
        was_held = self._previous is not None and self._previous.held
        if not row.inside:
            self._carried_in = False
        if self._level in (GRASPED, LIFTED, TRANSPORTED) and not self._let_go:
            if row.held:
                if self._level == TRANSPORTED and not row.inside:
                    self._lose_down_to(LIFTED)
            elif self._level == TRANSPORTED and row.inside:
                self._let_go = True
            else:
                self._lose_down_to(REACHED)
        elif self._let_go or self._level == RELEASED:
            if not row.inside or (row.held and not was_held):
                self._lose_down_to(REACHED)
        if self._level == REACHED and not row.near and not row.held:
            self._lose_down_to(0)

    def _climb(self, row: PnpRow) -> None:
        """Earn what holds now, one stage after the other."""
        if self._disturbed:
            self._still = 0
            return
        if self._level == 0 and row.near:
            self._reach(REACHED)
        if self._level == REACHED and row.held:
            self._reach(GRASPED)
        if self._level == GRASPED and row.held and row.high:
            self._reach(LIFTED)
        if self._level == LIFTED and row.held and row.inside:
            entered = self._previous is not None and not self._previous.inside
            self._carried_in = self._carried_in or entered
            if self._carried_in:
                self._reach(TRANSPORTED)
        if self._level == TRANSPORTED and self._let_go and row.open:
            self._let_go = False
            self._reach(RELEASED)
        if self._level == RELEASED:
            self._still = self._still + 1 if row.open and row.slow and row.low else 0
            if self._still >= self._thresholds.stable_actions:
                self._reach(STABLE)

    def _reach(self, level: int) -> None:
        self._level = level
        self._best = max(self._best, level)
        self._note(level, "reached")

    def _lose_down_to(self, level: int) -> None:
        while self._level > level:
            self._note(self._level, "lost")
            self._level -= 1
        self._let_go = False
        self._still = 0

    def _note(self, level: int, event: Literal["reached", "lost"]) -> None:
        self._transitions.append(
            Transition(action=self._rows - 1, stage=STAGES[level - 1], event=event)
        )
