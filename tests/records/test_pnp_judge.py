"""The success state machine: six ordered stages, and no way around any of them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robogate.contract.strict import decode
from robogate.errors import EvidenceError
from robogate.records.facts import PNP_FACTS
from robogate.records.judgement import Judgement
from robogate.records.pnp_judge import STAGES, PnpTracker, read_row
from robogate.scenes.pnp import resolve
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.spec import PnpScene

BENCH = decode(
    PnpBench,
    json.loads((Path(__file__).parent.parent / "scenes" / "mujoco_pnp.json").read_text()),
)
SCENE = resolve(BENCH, "standard_objects", 11)
START = SCENE.object.position
TARGET = SCENE.target.position
REST = START[2]
N = BENCH.success.stable_actions


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of facts; the defaults are the block at rest where it started, the hand away."""

    x: float = START[0]
    y: float = START[1]
    z: float = REST
    speed: float = 0.0
    distance: float = 0.3
    width: float = 0.08
    held: float = 0.0
    push: float = 0.0

    def facts(self) -> np.ndarray:
        pose = [self.x, self.y, self.z, 1.0, 0.0, 0.0, 0.0]
        return np.array([*pose, self.speed, self.distance, self.width, self.held, self.push])


def judge(rows: Sequence[Row], scene: PnpScene = SCENE) -> Judgement:
    tracker = PnpTracker(BENCH.success, scene)
    for row in rows:
        tracker.update(row.facts())
    assert tracker.success == tracker.judgement().success
    return tracker.judgement()


def story(judgement: Judgement) -> list[str]:
    return [f"{t.action} {t.stage} {t.event}" for t in judgement.transitions]


AWAY = Row()
NEAR = Row(distance=0.01)
HELD = Row(distance=0.01, width=0.04, held=1.0, speed=0.1)
LIFTED = dataclasses.replace(HELD, z=REST + 0.1)
OVER = dataclasses.replace(LIFTED, x=TARGET[0], y=TARGET[1])
LOWERED = dataclasses.replace(OVER, z=REST)
LET_GO = dataclasses.replace(LOWERED, held=0.0, width=0.05, speed=0.0)
OPENED = dataclasses.replace(LET_GO, width=0.08)
PLACED = dataclasses.replace(OPENED, distance=0.3)
CHAIN = [AWAY, NEAR, HELD, LIFTED, OVER, LOWERED, LET_GO, OPENED]


def test_chain_in_order_succeeds() -> None:
    judgement = judge([*CHAIN, *[PLACED] * (N - 1)])
    assert judgement.success
    assert judgement.failure_stage is None
    assert story(judgement) == [
        "0 reached reached",
        "1 grasped reached",
        "2 lifted reached",
        "3 transported reached",
        "6 released reached",
        f"{6 + N - 1} stable reached",
    ]


def test_stable_takes_every_one_of_its_actions() -> None:
    judgement = judge([*CHAIN, *[PLACED] * (N - 2)])
    assert not judgement.success
    assert judgement.failure_stage == "stable"


@pytest.mark.parametrize(
    "disturbed",
    [
        dataclasses.replace(PLACED, speed=0.05),
        dataclasses.replace(PLACED, z=REST + 0.02),
        dataclasses.replace(PLACED, width=0.06),
        dataclasses.replace(PLACED, push=3.0),
    ],
    ids=["moving", "not on the table", "gripper closed again", "pushed"],
)
def test_stable_actions_have_to_be_consecutive(disturbed: Row) -> None:
    after = dataclasses.replace(PLACED, push=disturbed.push)
    almost = [*CHAIN, *[PLACED] * (N - 2), disturbed]
    assert not judge([*almost, *[after] * (N - 1)]).success
    assert judge([*almost, *[after] * N]).success


@pytest.mark.parametrize(
    ("rows", "stage"),
    [
        ([AWAY], "reached"),
        ([AWAY, NEAR], "grasped"),
        ([AWAY, NEAR, HELD], "lifted"),
        ([AWAY, NEAR, HELD, LIFTED], "transported"),
        ([AWAY, NEAR, HELD, LIFTED, OVER], "released"),
        ([AWAY, NEAR, HELD, LIFTED, OVER, LOWERED, LET_GO], "released"),
        (CHAIN, "stable"),
    ],
)
def test_failure_names_the_first_stage_that_was_never_reached(rows: list[Row], stage: str) -> None:
    assert judge(rows).failure_stage == stage


def test_drop_on_the_way_falls_back_and_keeps_the_furthest_stage() -> None:
    dropped = dataclasses.replace(LIFTED, held=0.0, distance=0.2)
    judgement = judge([AWAY, NEAR, HELD, LIFTED, dropped])
    assert story(judgement)[3:] == ["3 lifted lost", "3 grasped lost", "3 reached lost"]
    assert judgement.failure_stage == "transported"


def test_drop_beside_the_hand_keeps_reached() -> None:
    judgement = judge([AWAY, NEAR, HELD, dataclasses.replace(NEAR, width=0.05)])
    assert story(judgement)[2:] == ["2 grasped lost"]


def test_carrying_out_again_loses_transported() -> None:
    judgement = judge([AWAY, NEAR, HELD, LIFTED, OVER, LIFTED, OVER])
    assert story(judgement)[3:] == [
        "3 transported reached",
        "4 transported lost",
        "5 transported reached",
    ]


def test_release_outside_that_slides_into_the_region_is_no_release() -> None:
    outside = Row(x=TARGET[0], y=TARGET[1] - 0.1, width=0.08, speed=0.5)
    judgement = judge([AWAY, NEAR, HELD, LIFTED, outside, *[PLACED] * 30])
    assert not judgement.success
    assert judgement.failure_stage == "transported"


def test_leaving_after_release_needs_a_new_grasp() -> None:
    outside = dataclasses.replace(PLACED, y=TARGET[1] - 0.1)
    rows = [*CHAIN, outside, *[PLACED] * 30]
    judgement = judge(rows)
    assert not judgement.success
    assert "7 released lost" in story(judgement)
    beside = dataclasses.replace(HELD, x=TARGET[0], y=TARGET[1] - 0.1)
    near = dataclasses.replace(NEAR, x=beside.x, y=beside.y)
    raised = dataclasses.replace(beside, z=REST + 0.1)
    again = [outside, near, beside, raised, OVER, LOWERED, LET_GO, OPENED, *[PLACED] * N]
    assert judge([*CHAIN, *again]).success


def test_grasp_inside_the_region_after_a_push_does_not_count_as_transport() -> None:
    inside = dataclasses.replace(NEAR, x=TARGET[0], y=TARGET[1])
    rows = [AWAY, NEAR, inside, LOWERED, OVER, LOWERED, LET_GO, *[PLACED] * 30]
    judgement = judge(rows)
    assert not judgement.success
    assert judgement.failure_stage == "transported"


def test_dragging_into_the_region_does_not_count_as_transport() -> None:
    assert judge([AWAY, NEAR, HELD, LOWERED, OVER, LOWERED, *[PLACED] * 30]).failure_stage == (
        "transported"
    )


def test_regrasp_inside_after_a_carried_entry_may_be_released_again() -> None:
    regrasp = [LOWERED, OVER, LOWERED, LET_GO, OPENED]
    judgement = judge([*CHAIN, *regrasp, *[PLACED] * N])
    assert judgement.success
    assert "7 released lost" in story(judgement)


def test_opening_while_still_held_is_no_release() -> None:
    open_but_held = dataclasses.replace(LOWERED, width=0.08)
    assert judge([*CHAIN[:-2], *[open_but_held] * 30]).failure_stage == "released"


def test_regrasp_before_the_gripper_opened_falls_back() -> None:
    judgement = judge([*CHAIN[:-1], LOWERED])
    assert story(judgement)[4:] == [
        "6 transported lost",
        "6 lifted lost",
        "6 grasped lost",
        "6 grasped reached",
    ]


def test_regrasp_before_the_gripper_opened_has_to_be_let_go_anew() -> None:
    open_but_held = dataclasses.replace(LOWERED, width=0.08)
    judgement = judge([*CHAIN[:-1], LOWERED, OVER, *[open_but_held] * 30])
    assert judgement.failure_stage == "released"


def test_entry_counts_only_until_the_block_has_left() -> None:
    beside = dataclasses.replace(LET_GO, y=TARGET[1] - 0.1)
    rows = [*CHAIN[:-3], LIFTED, beside, *CHAIN[-3:-2], OVER, LOWERED, LET_GO, *[PLACED] * 2 * N]
    judgement = judge(rows)
    assert judgement.failure_stage == "released"
    assert [s for s in story(judgement) if "transported" in s] == [
        "3 transported reached",
        "4 transported lost",
    ]


def test_block_caught_while_it_still_slides_is_grasped() -> None:
    pushed = Row(push=3.0, speed=0.2)
    caught = dataclasses.replace(HELD, push=3.0)
    assert story(judge([AWAY, pushed, caught])) == ["1 reached reached", "1 grasped reached"]


def test_push_towards_the_hand_earns_nothing_until_the_block_rests() -> None:
    pushed = [dataclasses.replace(NEAR, push=3.0 * i, speed=0.2) for i in range(1, 4)]
    coasting = dataclasses.replace(NEAR, push=9.0, speed=0.1)
    assert judge([AWAY, *pushed, coasting]).transitions == ()
    resting = dataclasses.replace(coasting, speed=0.0)
    assert story(judge([AWAY, *pushed, coasting, resting])) == ["4 reached reached"]


def test_rows_after_the_success_change_nothing() -> None:
    done = [*CHAIN, *[PLACED] * N]
    assert judge([*done, AWAY, NEAR, HELD]) == judge(done)


def test_region_is_horizontal_and_its_border_belongs_to_it() -> None:
    def inside(x: float, z: float) -> bool:
        facts = Row(x=x, y=TARGET[1], z=z).facts()
        return read_row(BENCH.success, SCENE, facts).inside

    radius = SCENE.target.radius
    assert inside(TARGET[0] + radius - 1e-9, 0.9)
    assert not inside(TARGET[0] + radius + 1e-9, REST)


def test_block_inside_at_observation_0_is_said() -> None:
    assert judge([PLACED]).success_at_reset
    assert not judge([AWAY, PLACED]).success_at_reset


def test_small_and_large_blocks_rest_at_their_own_height() -> None:
    for variant in ("small_objects", "heavy_objects"):
        scene = resolve(BENCH, variant, 3)
        rest = scene.object.position[2]

        def at(row: Row, scene: PnpScene = scene, rest: float = rest) -> Row:
            away = row.x != TARGET[0]
            x, y, _ = scene.object.position if away else TARGET
            return dataclasses.replace(row, x=x, y=y, z=row.z - REST + rest)

        rows = [at(row) for row in [*CHAIN, *[PLACED] * N]]
        assert judge(rows, scene).success
        sunk = [dataclasses.replace(row, z=row.z - 0.011) for row in rows]
        assert not judge(sunk, scene).success


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("held", 0.5, "fact held is 0.5, expected 0.0 or 1.0"),
        ("object_z", float("nan"), "fact object_z is nan, expected a finite number"),
        ("gripper_width", -0.01, "fact gripper_width is -0.01, expected at least 0"),
    ],
)
def test_values_that_no_fact_can_have_are_refused(name: str, value: float, message: str) -> None:
    facts = AWAY.facts()
    facts[PNP_FACTS.index(name)] = value
    with pytest.raises(EvidenceError, match=message):
        PnpTracker(BENCH.success, SCENE).update(facts)


def test_rows_of_another_length_are_refused() -> None:
    with pytest.raises(EvidenceError, match="row of 11 facts, expected 12"):
        PnpTracker(BENCH.success, SCENE).update(AWAY.facts()[:-1])


# Random episodes. Rows come from few values each, so that chains of stages do occur.


def rows(**fixed: st.SearchStrategy[float]) -> st.SearchStrategy[Row]:
    places = st.sampled_from([(START[0], START[1]), (TARGET[0], TARGET[1]), (0.35, 0.21)])
    parts: dict[str, st.SearchStrategy[float]] = {
        "z": st.sampled_from([REST, REST + 0.02, REST + 0.1]),
        "speed": st.sampled_from([0.0, 0.01, 0.3]),
        "distance": st.sampled_from([0.0, 0.04, 0.2]),
        "width": st.sampled_from([0.04, 0.06, 0.08]),
        "held": st.sampled_from([0.0, 1.0]),
        "push": st.sampled_from([0.0, 0.0, 0.0, 3.0]),
    }
    parts.update(fixed)
    return st.builds(lambda place, **rest: Row(x=place[0], y=place[1], **rest), places, **parts)


@st.composite
def episodes(draw: st.DrawFn) -> list[Row]:
    """Random rows with pieces of a real chain in between."""
    pieces = st.one_of(
        st.lists(rows(), max_size=4),
        st.sampled_from([CHAIN, CHAIN[:4], CHAIN[2:6], CHAIN[5:], [PLACED] * N, [OPENED] * 4]),
    )
    return [row for piece in draw(st.lists(pieces, max_size=12)) for row in piece]


@given(episodes())
@settings(max_examples=200)
def test_success_implies_six_ordered_stages_and_a_release_inside(episode: list[Row]) -> None:
    judgement = judge(episode)
    present: list[str] = []
    for transition in judgement.transitions:
        assert -1 <= transition.action < len(episode) - 1
        if transition.event == "reached":
            assert transition.stage == STAGES[len(present)]
            present.append(transition.stage)
        else:
            assert transition.stage == present.pop()
    actions = [t.action for t in judgement.transitions]
    assert actions == sorted(actions)
    assert judgement.success == (present == list(STAGES))
    reached = {t.stage for t in judgement.transitions if t.event == "reached"}
    missing = [stage for stage in STAGES if stage not in reached]
    assert judgement.failure_stage == (missing[0] if missing else None)
    if judgement.success:
        assert any(
            before.held == 1.0 and after.held == 0.0 and distance(after) <= SCENE.target.radius
            for before, after in zip(episode, episode[1:])
        )
        last = judgement.transitions[-1].action + 1
        assert all(r.width >= 0.07 and not r.held for r in episode[last - N + 1 : last + 1])


@given(st.lists(rows(held=st.just(0.0)), max_size=60))
@settings(max_examples=200)
def test_block_that_is_never_held_is_never_grasped(episode: list[Row]) -> None:
    judgement = judge([*episode, *[PLACED] * 2 * N])
    assert not judgement.success
    assert judgement.failure_stage in ("reached", "grasped")


@given(st.lists(rows(held=st.just(1.0)), max_size=60))
@settings(max_examples=100)
def test_block_that_is_never_let_go_is_never_released(episode: list[Row]) -> None:
    assert not {t.stage for t in judge(episode).transitions} & {"released", "stable"}


@given(st.lists(rows(), min_size=1, max_size=40))
@settings(max_examples=100)
def test_judging_row_by_row_or_all_at_once_is_the_same(episode: list[Row]) -> None:
    tracker = PnpTracker(BENCH.success, SCENE)
    for count, row in enumerate(episode, 1):
        tracker.update(row.facts())
        assert tracker.judgement() == judge(episode[:count])


@given(st.lists(st.lists(st.floats(-5.0, 5.0), min_size=12, max_size=12), max_size=30))
@settings(max_examples=100)
def test_any_finite_facts_are_judged_or_refused_never_a_crash(table: list[list[float]]) -> None:
    tracker = PnpTracker(BENCH.success, SCENE)
    for facts in table:
        try:
            tracker.update(np.array(facts))
        except EvidenceError as exc:
            assert exc.code == "facts"
    assert tracker.judgement().success is False


def distance(row: Row) -> float:
    return float(np.hypot(row.x - TARGET[0], row.y - TARGET[1]))
