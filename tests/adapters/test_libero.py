from __future__ import annotations

import numpy as np
import pytest
from golden_data import golden

from robogate.adapters.libero import decode_gripper, libero_state
from robogate.errors import ConfigError, EpisodeError
from robogate.records.observation import PolicyObservation

STATES = golden("libero_states.json")["cases"]
GRIPPER = golden("gripper.json")


def seen(case) -> PolicyObservation:
    names = ("ee_position", "ee_orientation", "finger_position")
    return PolicyObservation(0, "", {name: np.array(case[name]) for name in names}, {})


@pytest.mark.parametrize("case", STATES, ids=lambda case: case["name"])
def test_states_give_the_golden_eight(case):
    got = libero_state(seen(case))
    assert got.shape == (8,) and got.dtype == np.float64
    assert np.allclose(got, case["expected"], rtol=0.0, atol=case["tolerance"])


def test_a_scalar_part_beyond_one_is_one():
    case = {**STATES[0], "ee_orientation": [1.0 + 1e-12, 0.0, 0.0, 0.0]}
    assert libero_state(seen(case))[3:6].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("decode", ["unit_open", "environment"])
def test_grippers_give_the_golden_commands(decode):
    got = decode_gripper(decode, np.array(GRIPPER[decode]["in"]))
    assert got.tolist() == GRIPPER[decode]["out"]
    assert not np.signbit(got[got == 0.0]).any()


@pytest.mark.parametrize("value", [-1.0, 1.8, 100.0])
def test_a_gripper_that_is_no_opening_names_the_other_decode(value):
    with pytest.raises(EpisodeError, match="gripper_decode=environment") as caught:
        decode_gripper("unit_open", np.array([0.5, value]))
    assert caught.value.code == "gripper_decode"


def test_another_bench_or_decode_is_refused():
    with pytest.raises(ConfigError, match="ee_position"):
        libero_state(PolicyObservation(0, "", {"joint_position": np.zeros(14)}, {}))
    with pytest.raises(ConfigError, match="unit_open"):
        decode_gripper("unit_opn", np.zeros(1))
