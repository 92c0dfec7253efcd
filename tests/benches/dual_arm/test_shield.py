"""The shield on the real robot: whatever is asked for, everything is kept, braking included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robogate.benches.dual_arm.robot_copy import RobotCopy
from robogate.benches.dual_arm.shielding import make_shield
from robogate.records.observation import FloatArray
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.worker.braking import slow_down

TOLERANCE = 1e-7


@pytest.fixture(scope="session")
def robot_copy(bench: DualArmBench) -> RobotCopy:
    return RobotCopy(bench)


#: Where a sequence of commands heads for, as shares of each joint's range: ends and anything else.
goals = st.lists(
    st.tuples(*(st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0])) for _ in range(14))),
    min_size=1, max_size=4,
)  # fmt: skip
#: The reset pose with both arms turned towards each other and lowered: into the other arm or table.
inwards = st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(-0.6, 0.6))


class Follower:
    """Sends a robot somewhere through its shield and checks what comes out at every tick."""

    def __init__(self, bench: DualArmBench, robot: RobotCopy) -> None:
        self._robot, self._shield = robot, make_shield(bench, robot)
        self._between = bench.interpolation_steps
        options = self._shield.options
        self._low, self._high = np.array(options.low), np.array(options.high)
        self._velocity = np.array(options.velocity) * options.period_s
        self._change = np.array(options.acceleration) * options.period_s**2
        self._last: FloatArray = np.array(bench.reset_command)
        self._move = np.zeros(14)
        self._shield.reset(self._last)
        self.reasons: set[str] = set()

    def go(self, goal: FloatArray, ticks: int) -> None:
        for _ in range(ticks):
            decision = self._shield.check(goal)
            self.reasons.update(decision.reasons)
            self._require_kept(decision.command)

    def _require_kept(self, command: FloatArray) -> None:
        move = command - self._last
        for target in targets(self._last, command, self._between):
            assert self._robot.breaches(target) == ()
        assert (command >= self._low).all() and (command <= self._high).all()
        assert (np.abs(move) <= self._velocity + TOLERANCE).all()
        assert (np.abs(move - self._move) <= self._change + TOLERANCE).all()
        self._last, self._move = command, move
        place = command
        while True:
            assert self._robot.breaches(place) == ()
            move = slow_down(move, self._change)
            if not move.any():
                return
            after = np.clip(place + move, self._low, self._high)
            for target in targets(place, after, self._between):
                assert self._robot.breaches(target) == ()
            place = after


def targets(last: FloatArray, command: FloatArray, between: int) -> list[FloatArray]:
    """What the servos are given on the way from one command to the next."""
    return [last + i / (between + 1) * (command - last) for i in range(1, between + 1)]


@settings(max_examples=25)
@given(goals)
def test_nothing_that_is_asked_for_breaks_a_rule(
    bench: DualArmBench, robot_copy: RobotCopy, shares: list[tuple[float, ...]]
) -> None:
    follower = Follower(bench, robot_copy)
    low, high = np.array(bench.action.low), np.array(bench.action.high)
    for share in shares:
        follower.go(low + np.array(share) * (high - low), 15)


@settings(max_examples=25)
@given(inwards)
def test_arms_that_are_sent_into_each_other_stop_before(
    bench: DualArmBench, robot_copy: RobotCopy, how: tuple[float, float, float]
) -> None:
    follower = Follower(bench, robot_copy)
    goal = np.array(bench.reset_command)
    goal[[0, 7]] = (-1.3 * how[0], 1.3 * how[1])
    goal[[1, 8]] += 0.8
    goal[[4, 11]] = how[2]
    follower.go(goal, 40)


def test_hands_that_swing_past_each_other_do_not_meet_between_two_commands(
    bench: DualArmBench, robot_copy: RobotCopy
) -> None:
    rng = np.random.default_rng(1)  # draws two such meetings where nobody looks in between
    low, high = np.array(bench.action.low), np.array(bench.action.high)
    for _ in range(5):
        follower = Follower(bench, robot_copy)
        for _ in range(8):
            goal = rng.uniform(low, high)
            goal[[0, 7]] = rng.uniform(-1.6, 1.6, 2)
            goal[[1, 2, 8, 9]] = rng.uniform(0.5, 2.2, 4)
            follower.go(goal, 12)


def test_they_do_stop(bench: DualArmBench, robot_copy: RobotCopy) -> None:
    follower = Follower(bench, robot_copy)
    goal = np.array(bench.reset_command)
    goal[[0, 7]], goal[[1, 8]] = (-1.2, 1.2), 2.2
    follower.go(goal, 60)
    assert any("from the other arm" in reason for reason in follower.reasons)
    follower.go(np.array(bench.reset_command), 80)  # and can leave again
    assert np.allclose(follower._last, bench.reset_command)
