"""The success state machines of the dual-arm tasks: ordered stages, latched ends, no way around."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robogate.contract.strict import decode
from robogate.errors import EvidenceError
from robogate.records.benches import bench_rules
from robogate.records.dual_arm_judge import DualArmTracker, is_lifted, read_row
from robogate.records.facts import DUAL_ARM_FACTS
from robogate.records.judgement import Judgement
from robogate.scenes.dual_arm import resolve
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_spec import DualArmScene

BENCH = decode(
    DualArmBench,
    json.loads((Path(__file__).parent.parent / "scenes" / "mujoco_dual_arm.json").read_text()),
)
BELL, POT = resolve(BENCH, "click_bell", 0), resolve(BENCH, "lift_pot", 0)
PER_ACTION = BENCH.timing.physics_steps_per_action
DEEP = BENCH.tasks.click_bell.press_depth
HOLD = BENCH.tasks.lift_pot.hold_steps
FLOOR = POT.table_top
HIGH = FLOOR + BENCH.tasks.lift_pot.lift_height


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of facts; the defaults are everything where it started, both grippers away."""

    z: float = FLOOR
    quat: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    left: float = 0.3
    right: float = 0.3
    touch: tuple[float, float] = (0.0, 0.0)
    depth: float = 0.0
    peak: float = 0.0
    held: float = 0.0
    done: float = 0.0

    def facts(self, index: int) -> np.ndarray:
        distances = (self.left, self.right)
        return np.array(
            [
                index * PER_ACTION, 0.0, 0.0, self.z, *self.quat, *distances, *self.touch,
                self.depth, self.peak, self.held, self.done,
            ]
        )  # fmt: skip


def judge(scene: DualArmScene, rows: Sequence[Row]) -> Judgement:
    facts = np.array([row.facts(i) for i, row in enumerate(rows)])
    judgement = bench_rules("dual_arm").judge(BENCH, scene, facts)
    tracker = DualArmTracker(BENCH, scene)
    for row in facts:
        tracker.update(row)
    assert tracker.judgement() == judgement and tracker.success == judgement.success
    return judgement


def story(judgement: Judgement) -> list[tuple[int, str, str]]:
    return [(t.action, t.stage, t.event) for t in judgement.transitions]


AWAY, NEAR = Row(), Row(left=0.03)


def test_the_bell_is_approached_then_pressed() -> None:
    pressed = Row(left=0.01, touch=(1.0, 0.0), depth=DEEP, peak=DEEP, done=17.0)
    judgement = judge(BELL, [AWAY, NEAR, pressed, pressed.__class__(peak=DEEP, done=17.0)])
    assert judgement.success and judgement.failure_stage is None
    assert story(judgement) == [(0, "approached", "reached"), (1, "pressed", "reached")]


def test_a_press_between_two_rows_counts_although_the_gripper_is_gone() -> None:
    gone = Row(peak=DEEP, done=4.0)
    assert story(judge(BELL, [AWAY, gone])) == [
        (0, "approached", "reached"),
        (0, "pressed", "reached"),
    ]


def test_coming_near_is_not_pressing_and_is_lost_again() -> None:
    judgement = judge(BELL, [AWAY, NEAR, AWAY, Row(right=0.05)])
    assert not judgement.success and judgement.failure_stage == "pressed"
    assert [event for _, _, event in story(judgement)] == ["reached", "lost", "reached"]
    assert judge(BELL, [AWAY, AWAY]).failure_stage == "approached"


def test_a_bell_pressed_by_nobody_is_not_pressed() -> None:
    judgement = judge(BELL, [AWAY, Row(depth=DEEP)])
    assert not judgement.success and judgement.failure_stage == "approached"


def test_success_at_reset_is_seen_whoever_brought_it_about() -> None:
    assert judge(BELL, [Row(depth=DEEP)]).success_at_reset
    assert judge(POT, [Row(z=HIGH + 0.01)]).success_at_reset
    assert not judge(BELL, [AWAY]).success_at_reset
    assert not judge(POT, [AWAY]).success_at_reset


REACHED = Row(left=0.01, right=0.01)
GRASPED = Row(left=0.0, right=0.0, touch=(1.0, 1.0))


def lifted(held: int, done: int = 0) -> Row:
    return dataclasses.replace(GRASPED, z=HIGH + 0.005, held=float(held), done=float(done))


def holding(since: int) -> list[Row]:
    """Rows from the one in which the pot is lifted until it has been held for long enough."""
    rows: list[Row] = []
    while not rows or rows[-1].done == 0.0:
        tick = (since + len(rows)) * PER_ACTION
        held = 3 + PER_ACTION * len(rows)
        rows.append(lifted(held, tick - held + HOLD if held >= HOLD else 0))
    return rows


def test_the_pot_is_reached_grasped_lifted_and_held() -> None:
    judgement = judge(POT, [AWAY, REACHED, GRASPED, *holding(3)])
    assert judgement.success
    assert [stage for _, stage, _ in story(judgement)] == ["reached", "grasped", "lifted", "held"]
    assert [event for _, _, event in story(judgement)] == ["reached"] * 4


def test_a_drop_after_it_was_held_changes_nothing() -> None:
    rows = [AWAY, REACHED, GRASPED, *holding(3)]
    assert judge(POT, [*rows, Row(done=rows[-1].done)]) == judge(POT, rows)


def test_a_dropped_pot_loses_its_stages_and_has_to_be_lifted_again() -> None:
    judgement = judge(POT, [AWAY, GRASPED, lifted(4), REACHED, AWAY])
    assert not judgement.success and judgement.failure_stage == "held"
    assert story(judgement)[3:] == [
        (2, "lifted", "lost"),
        (2, "grasped", "lost"),
        (3, "reached", "lost"),
    ]


@pytest.mark.parametrize("touch", [(1.0, 0.0), (0.0, 1.0)])
def test_one_arm_lifts_nothing(touch: tuple[float, float]) -> None:
    row = dataclasses.replace(lifted(0), touch=touch)
    judgement = judge(POT, [AWAY, REACHED, row, row])
    assert not judgement.success and judgement.failure_stage == "grasped"


def test_a_tilted_pot_is_not_lifted() -> None:
    limit = math.radians(BENCH.tasks.lift_pot.max_tilt)
    for angle, expected in ((limit * 0.99, True), (limit * 1.01, False)):
        quat = (math.cos(angle / 2), math.sin(angle / 2), 0.0, 0.0)
        assert is_lifted(BENCH, POT, HIGH + 1e-6, quat) is expected
    assert not is_lifted(BENCH, POT, HIGH - 1e-6, (1.0, 0.0, 0.0, 0.0))
    assert not is_lifted(BENCH, BELL, 2.0, (1.0, 0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("scene", "rows", "message"),
    [
        (BELL, [AWAY, Row(done=4.0)], "contradicts success_tick"),
        (BELL, [AWAY, Row(peak=DEEP)], "contradicts success_tick"),
        (BELL, [AWAY, Row(peak=DEEP, done=11.0)], "expected within"),
        (BELL, [Row(peak=DEEP, done=1.0)], "expected within"),
        (BELL, [AWAY, Row(peak=DEEP, done=4.0), Row(peak=DEEP, done=14.0)], "was 4 and is 14"),
        (BELL, [AWAY, Row(peak=DEEP, done=4.0), Row(peak=DEEP)], "was 4 and is 0"),
        (BELL, [AWAY, Row(peak=0.004), Row(peak=0.003)], "peak_depth has fallen"),
        (POT, [AWAY, REACHED, GRASPED, Row(done=25.0)], "before the pot could have been held"),
        (POT, [AWAY] * 13 + [Row(done=float(HOLD))], "'reached' never held"),
        (POT, [AWAY, Row(held=3.0)], "the pot's pose contradicts"),
        (POT, [AWAY, lifted(0)], "the pot's pose contradicts"),
    ],
)
def test_facts_that_no_physics_gives_are_refused(
    scene: DualArmScene, rows: list[Row], message: str
) -> None:
    with pytest.raises(EvidenceError, match=message):
        judge(scene, rows)


def test_ticks_count_the_physics_steps_of_every_action() -> None:
    tracker = DualArmTracker(BENCH, BELL)
    tracker.update(AWAY.facts(0))
    with pytest.raises(EvidenceError, match="tick is 20 in row 1, expected 10"):
        tracker.update(AWAY.facts(2))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tick", -10.0),
        ("tick", 0.5),
        ("left_touch", 0.5),
        ("right_distance", -0.1),
        ("object_z", math.nan),
        ("held_steps", 1.5),
    ],
)
def test_values_that_no_fact_can_have(name: str, value: float) -> None:
    facts: Any = AWAY.facts(0)
    facts[DUAL_ARM_FACTS.index(name)] = value
    with pytest.raises(EvidenceError, match=name):
        read_row(facts)
    with pytest.raises(EvidenceError, match="row of 15 facts, expected 16"):
        read_row(facts[:-1])
