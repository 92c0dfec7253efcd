from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robogate.errors import ConfigError, EpisodeError, RunError
from robogate.records.shield import Decision, ShieldOptions
from robogate.worker.braking import braking_path, largest_move, resting_place, slow_down
from robogate.worker.shield import Shield

PERIOD = 0.04
OPTIONS = ShieldOptions(
    mode="enforce",
    names=("a", "b", "grip"),
    low=(-1.0, 0.0, 0.0),
    high=(1.0, 3.0, 1.0),
    velocity=(3.0, 2.0, 4.0),
    acceleration=(20.0, 5.0, 40.0),
    period_s=PERIOD,
)
START = np.array([0.0, 1.5, 1.0])
TOLERANCE = 1e-7

LOW, HIGH = np.array(OPTIONS.low), np.array(OPTIONS.high)
VELOCITY = np.array(OPTIONS.velocity) * PERIOD
CHANGE = np.array(OPTIONS.acceleration) * PERIOD**2


class Rules:
    """Geometric rules of a test: what a function says of one command."""

    def __init__(self, breaches: Callable[[np.ndarray[Any, Any]], Sequence[str]]) -> None:
        self.breaches = breaches

    def first_broken(self, commands: np.ndarray[Any, Any]) -> int | None:
        return next((i for i, command in enumerate(commands) if self.breaches(command)), None)


def shield(rule: Any = None, **changes: Any) -> Shield:
    made = Shield(dataclasses.replace(OPTIONS, **changes), rule and Rules(rule))
    made.reset(START)
    return made


def wall(command: np.ndarray[Any, Any]) -> Sequence[str]:
    """A rule that couples components: the first two may not add up to more than 2."""
    return ["behind the wall"] if command[0] + command[1] > 2.0 else []


components = st.one_of(
    st.floats(-1.5, 3.5), st.floats(-1e300, 1e300), st.sampled_from([-1.0, 0.0, 1.0, 3.0])
)
commands = st.lists(st.tuples(components, components, components), min_size=1, max_size=40)


def assert_keeps(executed: list[np.ndarray[Any, Any]], geometry: Any = None) -> None:
    """Position, velocity, acceleration and rules hold, for what was executed and while braking."""
    positions = np.array([START, START, *executed])
    moves = np.diff(positions, axis=0)
    assert (positions >= LOW).all() and (positions <= HIGH).all()
    assert (np.abs(moves) <= VELOCITY + TOLERANCE).all()
    assert (np.abs(np.diff(moves, axis=0)) <= CHANGE + TOLERANCE).all()
    for command, move in zip(executed, moves[1:]):
        place = command
        for _ in range(200):
            assert geometry is None or not geometry(place)
            move = slow_down(move, CHANGE)
            if not move.any():
                break
            place = place + move  # not clipped: the limits have to hold without help
            assert (place >= LOW - TOLERANCE).all() and (place <= HIGH + TOLERANCE).all()
        else:
            raise AssertionError("it does not come to rest")


@settings(max_examples=150)
@given(commands)
def test_no_sequence_of_commands_breaks_a_limit(asked: list[tuple[float, ...]]) -> None:
    guard = shield()
    executed = [guard.check(np.array(command)).command for command in asked]
    assert_keeps(executed)


@settings(max_examples=150)
@given(commands)
def test_no_sequence_of_commands_breaks_a_geometric_rule(asked: list[tuple[float, ...]]) -> None:
    guard = shield(wall, arm_distance=0.01)
    decisions = [guard.check(np.array(command)) for command in asked]
    assert_keeps([decision.command for decision in decisions], wall)


@settings(max_examples=80)
@given(commands)
def test_a_decision_says_what_it_did(asked: list[tuple[float, ...]]) -> None:
    guard = shield(wall, arm_distance=0.01)
    for command in asked:
        wanted = np.array(command)
        decision = guard.check(wanted)
        if decision.verdict == "accept":
            assert np.array_equal(decision.command, wanted) and decision.reasons == ()
        else:
            assert decision.verdict == "limit" and decision.reasons


@settings(max_examples=50)
@given(commands, st.integers(0, 40), st.sampled_from(["nan", "inf", "short", "list", "int"]))
def test_a_rejected_command_changes_nothing(
    asked: list[tuple[float, ...]], at: int, how: str
) -> None:
    plain, disturbed = shield(), shield()
    for i, command in enumerate(asked):
        if i == at % len(asked):
            with pytest.raises(EpisodeError):
                disturbed.check(malformed(how))
        wanted = np.array(command)
        assert same(plain.check(wanted), disturbed.check(wanted))


def malformed(how: str) -> Any:
    if how == "list":
        return [0.0, 0.0, 0.0]
    if how == "int":
        return np.zeros(3, int)
    if how == "masked":
        return np.ma.masked_all(3)
    if how == "short":
        return np.zeros(2)
    return np.array([0.0, float(how), 0.0])


def same(a: Decision, b: Decision) -> bool:
    return (
        a.verdict == b.verdict and a.reasons == b.reasons and np.array_equal(a.command, b.command)
    )


@pytest.mark.parametrize(
    ("how", "code", "message"),
    [
        ("nan", "action_not_finite", r"command is not finite: b=nan"),
        ("inf", "action_not_finite", r"command is not finite: b=inf"),
        ("short", "action_shape", r"command has shape \(2,\), expected \(3,\)"),
        ("list", "action_type", "command is list, expected a float64 array"),
        ("int", "action_type", "command is ndarray int64, expected a float64 array"),
        ("masked", "action_type", "command is MaskedArray float64, expected a float64 array"),
    ],
)
@pytest.mark.parametrize("mode", ["enforce", "check", "ik"])
def test_a_malformed_command_is_an_error_in_every_mode(
    mode: str, how: str, code: str, message: str
) -> None:
    with pytest.raises(EpisodeError, match=message) as caught:
        shield(mode=mode).check(malformed(how))
    assert caught.value.code == code


@pytest.mark.parametrize("mode", ["check", "ik"])
def test_these_modes_replace_nothing(mode: str) -> None:
    guard = shield(mode=mode)
    far = np.array([1.0, 0.0, 0.0])  # in one period; their limits are the controller's business
    assert same(guard.check(far), Decision("accept", far, ()))
    with pytest.raises(EpisodeError, match=r"grip is 1.5, expected \[0, 1\]") as caught:
        guard.check(np.array([0.0, 0.0, 1.5]))
    assert caught.value.code == "action_out_of_range"


def test_a_limited_command_is_the_nearest_admissible_one() -> None:
    guard = shield()
    decision = guard.check(np.array([1.0, 1.5, 1.0]))
    assert decision.verdict == "limit"
    assert decision.command == pytest.approx([0.032, 1.5, 1.0])
    assert decision.reasons == ("a: velocity limit 3/s",)
    decision = guard.check(np.array([0.1, 1.5, 1.0]))
    assert decision.command == pytest.approx([0.032 + 0.064, 1.5, 1.0])
    assert decision.reasons == ("a: acceleration limit 20/s²",)
    decision = guard.check(np.array([0.1, 1.5, 1.0]))  # it cannot stop that soon
    assert decision.command == pytest.approx([0.096 + 0.032, 1.5, 1.0])


def test_reasons_name_the_limit_in_the_way() -> None:
    guard = shield()
    seen: set[str] = set()
    for _ in range(40):
        seen.update(guard.check(np.array([0.0, 9.0, 1.0])).reasons)
    assert "b is 9.0, expected [0, 3]" in seen
    assert "b: velocity limit 2/s" in seen
    # Faster than this, it could not stop at 3 any more.
    assert guard.check(np.array([0.0, 3.0, 1.0])).command[1] == pytest.approx(3.0)


def test_a_robot_that_is_held_at_a_wall_can_still_move_along_it() -> None:
    guard = shield(wall, arm_distance=0.01)
    for _ in range(60):
        decision = guard.check(np.array([0.9, 1.6, 0.0]))
    assert decision.reasons[-1] == "behind the wall"
    assert decision.command[0] + decision.command[1] == pytest.approx(2.0, abs=0.05)
    for _ in range(60):
        decision = guard.check(np.array([0.0, 1.5, 0.0]))
    assert decision.verdict == "accept" and decision.command == pytest.approx([0.0, 1.5, 0.0])


def test_the_way_to_a_stop_is_asked_for_too() -> None:
    asked: list[float] = []

    def note(command: np.ndarray[Any, Any]) -> Sequence[str]:
        asked.append(float(command[0]))
        return []

    guard = shield(note, workspace_low=(0.0, 0.0, 0.0), workspace_high=(1.0, 1.0, 1.0))
    for place in (0.03, 0.09, 0.18):
        asked.clear()
        assert guard.check(np.array([place, 1.5, 1.0])).verdict == "accept"
    assert sorted(asked) == pytest.approx([0.18, 0.238, 0.264])


@settings(max_examples=150)
@given(st.floats(0.0, 10.0), st.floats(1e-4, 1.0))
def test_the_largest_move_stops_exactly_at_the_limit(gap: float, change: float) -> None:
    changes = np.array([change])
    move = largest_move(np.array([gap]), changes)
    ahead = move + braking_path(move, changes)
    assert (ahead[-1] if len(ahead) else move) == pytest.approx(gap, abs=1e-9)


@settings(max_examples=150)
@given(st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=2), st.floats(1e-2, 1.0))
def test_the_way_to_a_stop_and_its_end(moves: list[float], change: float) -> None:
    move, changes = np.array(moves), np.array([change, 0.7 * change])
    path, place, left = braking_path(move, changes), np.zeros(2), move
    for row in path:
        left = slow_down(left, changes)
        place = place + left
        assert row == pytest.approx(place, abs=1e-12)
    assert not slow_down(left, changes).any() or np.abs(slow_down(left, changes)).max() < 1e-15
    assert resting_place(move, changes) == pytest.approx(place, abs=1e-12)


def thin_wall(command: np.ndarray[Any, Any]) -> Sequence[str]:
    """A rule that a fast robot may keep before and after a period, and break in between."""
    return ["in the wall"] if 0.40 < command[0] < 0.42 else []


def test_no_command_jumps_over_what_is_thinner_than_a_move() -> None:
    targets, ahead = 9, np.array([1.0, 1.5, 1.0])
    leaping = Shield(OPTIONS, Rules(thin_wall))
    leaping.reset(START)
    assert [leaping.check(ahead).command for _ in range(20)][-1][0] > 0.42

    guard = Shield(OPTIONS, Rules(thin_wall), targets)
    guard.reset(START)
    last = START
    for _ in range(20):
        decision = guard.check(ahead)
        for i in range(1, targets + 1):
            assert not thin_wall(last + i / targets * (decision.command - last))
        last = decision.command
    assert decision.reasons[-1] == "in the wall" and 0.35 < last[0] <= 0.40


def pond(command: np.ndarray[Any, Any]) -> Sequence[str]:
    """A rule that a robot may keep where it would come to rest, and break on its way there."""
    return ["in the pond"] if 0.1 < command[0] < 0.3 else []


def test_what_is_in_the_way_of_a_place_that_is_clear() -> None:
    guard = Shield(OPTIONS, Rules(pond), 9)
    guard.reset(START)
    ahead = np.array([1.0, 1.5, 1.0])
    executed = [guard.check(ahead).command for _ in range(30)]
    assert_keeps(executed, pond)
    assert 0.0 < executed[-1][0] <= 0.1


def test_a_start_that_breaks_a_rule_is_refused() -> None:
    with pytest.raises(RunError, match="b is 4.0, expected"):
        Shield(OPTIONS).reset(np.array([0.0, 4.0, 0.0]))
    with pytest.raises(RunError, match="behind the wall"):
        Shield(OPTIONS, Rules(wall)).reset(np.array([0.9, 2.0, 0.0]))
    with pytest.raises(EpisodeError, match="before a reset"):
        Shield(OPTIONS).check(START)


@pytest.mark.parametrize(
    "changes",
    [
        {"low": (0.0, 0.0)},
        {"high": (1.0, float("inf"), 1.0)},
        {"velocity": (3.0, 0.0, 1.0)},
        {"acceleration": ()},
        {"period_s": 0.0},
        {"low": (2.0, 0.0, 0.0)},
        {"table_distance": 0.0},
    ],
)
def test_options_that_contradict_themselves_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="shield"):
        shield(**changes)
