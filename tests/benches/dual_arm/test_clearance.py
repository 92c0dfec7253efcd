"""What the shield asks at its pace is what the copy of the robot says of each command."""

from __future__ import annotations

import numpy as np
import pytest

from robogate.benches.dual_arm.clearance import Clearance
from robogate.benches.dual_arm.robot_copy import RobotCopy
from robogate.records.observation import FloatArray
from robogate.scenes.dual_arm_config import DualArmBench


@pytest.fixture(scope="module")
def robot(bench: DualArmBench) -> RobotCopy:
    return RobotCopy(bench)


def test_it_finds_what_the_copy_finds(bench: DualArmBench, robot: RobotCopy) -> None:
    clearance, rng = Clearance(bench, robot), np.random.default_rng(0)
    start, kinds = np.array(bench.reset_command), set()

    def broken(command: FloatArray) -> bool:
        said = robot.breaches(command)
        assert clearance.first_broken(command[np.newaxis]) == (0 if said else None), said
        assert tuple(clearance.breaches(command)) == said
        kinds.update(line.split(" from ")[1][:9] for line in said if " from " in line)
        return bool(said)

    for _ in range(250):
        goal = np.clip(start + rng.uniform(-2.0, 2.0, 14), bench.action.low, bench.action.high)
        if not broken(goal):
            continue
        clear = start
        for _ in range(25):  # down to where the rule begins to hold
            middle = 0.5 * (clear + goal)
            clear, goal = (clear, middle) if broken(middle) else (middle, goal)
    assert kinds == {"the table", "the other", "itself (l"} | {"itself (r"}


def test_the_first_of_several(bench: DualArmBench, robot: RobotCopy) -> None:
    clearance, start = Clearance(bench, robot), np.array(bench.reset_command)
    low = np.array(start)
    low[[1, 8]] = 2.9
    assert robot.breaches(low)
    assert clearance.first_broken(np.array([start, start])) is None
    assert clearance.first_broken(np.array([start, low, start, low])) == 1
    assert clearance.first_broken(np.empty((0, 14))) is None
