"""The success state machines of the dual-arm tasks, judged from task facts alone.

    click_bell:  approached → pressed
    lift_pot:    reached → grasped → lifted → held

How far an episode has got is a level; it is climbed in order, one stage from the one before, and
every fall is recorded. The last stage is final. Whether it was attained is measured after every
physics step and latched (``success_tick``); the judge checks that it could have been.

* ``approached``: a gripper tip is at the button, or has pressed it since the last row.
* ``pressed``: a gripper on the button has pushed it to the depth that counts.
* ``reached``: both gripper tips are at their handles' bars.
* ``grasped``: both fingers of both grippers touch the bar of their own handle.
* ``lifted``: grasped, risen by the lift height and upright within the largest tilt.
* ``held``: lifted in every one of the required consecutive physics steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from robogate.errors import EvidenceError
from robogate.records.facts import DUAL_ARM_FACTS
from robogate.records.judgement import Judgement
from robogate.records.result import Transition
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_spec import DualArmScene
from robogate.scenes.rotations import DEGREE, rotate, sincos
from robogate.scenes.spec import Quat

if TYPE_CHECKING:
    # A contract is composed without numpy.
    from robogate.records.observation import FloatArray

CLICK_BELL_STAGES = ("approached", "pressed")
LIFT_POT_STAGES = ("reached", "grasped", "lifted", "held")
#: Stages of every task.
STAGES = (*CLICK_BELL_STAGES, *LIFT_POT_STAGES)

_FLAGS = ("left_touch", "right_touch")
_AMOUNTS = ("left_distance", "right_distance", "depth", "peak_depth")
_COUNTS = ("tick", "held_steps", "success_tick")


def is_lifted(bench: DualArmBench, scene: DualArmScene, height: float, orientation: Quat) -> bool:
    """Whether a pot is as high and as upright as a lifted one.

    Args:
        bench: Says how far and how upright.
        scene: Says where the pot started.
        height: Of its bottom's middle, world frame, m.
        orientation: WXYZ, world frame.
    """
    if scene.pot is None or height - scene.pot.position[2] < bench.tasks.lift_pot.lift_height:
        return False
    cosine = sincos(bench.tasks.lift_pot.max_tilt * DEGREE)[1]
    return rotate(orientation, (0.0, 0.0, 1.0))[2] >= cosine


def read_row(facts: FloatArray | Sequence[float]) -> dict[str, float]:
    """Read one row of `DUAL_ARM_FACTS`.

    Raises:
        EvidenceError: Wrong length, not finite, a flag other than 0 or 1, a negative amount, a
            count that is no whole number.
    """
    values = [float(v) for v in facts]
    if len(values) != len(DUAL_ARM_FACTS):
        raise _bad(f"row of {len(values)} facts, expected {len(DUAL_ARM_FACTS)}")
    row = dict(zip(DUAL_ARM_FACTS, values))
    for name, value in row.items():
        if not math.isfinite(value):
            raise _bad(f"fact {name} is {value}, expected a finite number")
    for name in _FLAGS:
        if row[name] not in (0.0, 1.0):
            raise _bad(f"fact {name} is {row[name]}, expected 0.0 or 1.0")
    for name in (*_AMOUNTS, *_COUNTS):
        if row[name] < 0.0:
            raise _bad(f"fact {name} is {row[name]}, expected at least 0")
    for name in _COUNTS:
        if not row[name].is_integer():
            raise _bad(f"fact {name} is {row[name]}, expected a whole number")
    return row


def _bad(message: str) -> EvidenceError:
    return EvidenceError(message, code="facts")


@dataclass(frozen=True)
class _Latched:
    """What may only grow, or change once, from row to row."""

    tick: float
    peak_depth: float
    success_tick: float


class DualArmTracker:
    """The state machine of a scene's task; feed it a row of facts an observation, 0 first.

    Args:
        bench: Thresholds and clock.
        scene: Of the scenario.
    """

    def __init__(self, bench: DualArmBench, scene: DualArmScene) -> None:
        self._bench, self._scene = bench, scene
        self._stages = CLICK_BELL_STAGES if scene.task == "click_bell" else LIFT_POT_STAGES
        self._rows = 0
        self._level = 0
        self._best = 0
        self._transitions: list[Transition] = []
        self._at_reset = False
        self._last: _Latched | None = None

    @property
    def success(self) -> bool:
        """Whether every stage was reached, in order."""
        return self._level == len(self._stages)

    def update(self, facts: FloatArray) -> None:
        """Take the next row of facts, (16,). Rows after the success change nothing.

        Raises:
            EvidenceError: The row is not one of `DUAL_ARM_FACTS`, or contradicts itself or the rows
                before it.
        """
        row = read_row(facts)
        self._require_latches(row)
        self._rows += 1
        if self._rows == 1:
            self._at_reset = self._goal(row)
        if self.success:
            return
        if row["success_tick"] > 0.0:
            self._finish(row)
        else:
            self._fall(row)
            self._climb(row)

    def judgement(self) -> Judgement:
        """How the episode stands after the rows so far."""
        return Judgement(
            success=self.success,
            transitions=tuple(self._transitions),
            failure_stage=None if self.success else self._stages[self._best],
            success_at_reset=self._at_reset,
        )

    def _fall(self, row: Mapping[str, float]) -> None:
        """Lose what holds no longer, and all that stands on it."""
        kept = 0
        while kept < self._level and self._holds(self._stages[kept], row):
            kept += 1
        while self._level > kept:
            self._note(self._level, "lost")
            self._level -= 1

    def _climb(self, row: Mapping[str, float]) -> None:
        """Earn what holds now, one stage after the other; the last one is only latched."""
        for stage in self._stages[self._level : -1]:
            if not self._holds(stage, row):
                return
            self._reach()

    def _finish(self, row: Mapping[str, float]) -> None:
        """Earn the last stage, attained since the row before."""
        if self._scene.task == "click_bell" and self._level == 0:
            self._reach()  # whoever pressed it was there
        if self._level < len(self._stages) - 1:
            missing = self._stages[self._level]
            raise _bad(f"fact success_tick is {row['success_tick']:g}, '{missing}' never held")
        self._reach()

    def _reach(self) -> None:
        self._level += 1
        self._best = max(self._best, self._level)
        self._note(self._level, "reached")

    def _holds(self, stage: str, row: Mapping[str, float]) -> bool:
        """Whether a stage's own condition holds in a row."""
        distances = (row["left_distance"], row["right_distance"])
        grasped = row["left_touch"] == 1.0 and row["right_touch"] == 1.0
        if stage == "approached":
            return min(distances) <= self._bench.tasks.click_bell.approach_distance
        if stage == "reached":
            return grasped or max(distances) <= self._bench.tasks.lift_pot.reach_distance
        return grasped and (stage == "grasped" or self._is_high(row))

    def _is_high(self, row: Mapping[str, float]) -> bool:
        orientation = (row["object_qw"], row["object_qx"], row["object_qy"], row["object_qz"])
        return is_lifted(self._bench, self._scene, row["object_z"], orientation)

    def _goal(self, row: Mapping[str, float]) -> bool:
        """Whether what the task is about holds, whoever brought it about."""
        if self._scene.task == "click_bell":
            return row["depth"] >= self._bench.tasks.click_bell.press_depth
        return self._is_high(row)

    def _require_latches(self, row: Mapping[str, float]) -> None:
        """Refuse facts that no sequence of physics steps can give."""
        tick, done = row["tick"], row["success_tick"]
        last = self._last
        expected = self._rows * self._bench.timing.physics_steps_per_action
        if tick != expected + self._bench.timing.reset_physics_steps:
            raise _bad(f"fact tick is {tick:g} in row {self._rows}, expected {expected}")
        if last is not None and row["peak_depth"] < last.peak_depth:
            raise _bad("fact peak_depth has fallen")
        if last is not None and last.success_tick > 0.0 and done != last.success_tick:
            raise _bad(f"fact success_tick was {last.success_tick:g} and is {done:g}")
        if done > 0.0 and (last is None or last.success_tick == 0.0):
            since = 0.0 if last is None else last.tick
            if not since < done <= tick:
                raise _bad(f"fact success_tick is {done:g}, expected within ({since:g}, {tick:g}]")
            if self._scene.task == "lift_pot" and done < self._bench.tasks.lift_pot.hold_steps:
                raise _bad(f"fact success_tick is {done:g}, before the pot could have been held")
        if self._scene.task == "lift_pot":
            held = self._holds("lifted", row)
            if held != (row["held_steps"] > 0.0):
                raise _bad(f"fact held_steps is {row['held_steps']:g}, the pot's pose contradicts")
        else:
            pressed = row["peak_depth"] >= self._bench.tasks.click_bell.press_depth
            if pressed != (done > 0.0):
                raise _bad(f"peak_depth {row['peak_depth']} contradicts success_tick {done:g}")
        self._last = _Latched(tick, row["peak_depth"], done)

    def _note(self, level: int, event: Literal["reached", "lost"]) -> None:
        self._transitions.append(Transition(self._rows - 2, self._stages[level - 1], event))
