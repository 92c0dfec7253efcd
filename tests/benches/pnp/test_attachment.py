from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
import pytest


@pytest.fixture
def square(scene):
    """The nominal scene with its block turned to the hand."""
    block = dataclasses.replace(
        scene.object, position=(0.5, 0.0, 0.32), orientation=(1.0, 0.0, 0.0, 0.0)
    )
    return dataclasses.replace(scene, object=block)


def _block_in_hand(simulation):
    data = simulation.data
    hand = data.body("panda_hand")
    offset = hand.xmat.reshape(3, 3).T @ (data.body("block").xpos - hand.xpos)
    inverse, turn = np.zeros(4), np.zeros(4)
    mujoco.mju_negQuat(inverse, hand.xquat)
    mujoco.mju_mulQuat(turn, inverse, data.body("block").xquat)
    return np.concatenate([offset, turn])


def test_held_block_does_not_move_in_the_hand(simulate, drive, square):
    simulation = simulate(square)
    step = drive.grasp(simulation, np.array(square.object.position))
    assert simulation.attachment.held
    start = _block_in_hand(simulation)
    for action in ((0.2, 0.3, 0.9, 0.0, 0.0, 0.3), (0.0, 0.5, 0.0, 0.1, 0.0, -0.3)):
        for _ in range(6):
            drive.act(simulation, step, np.array([*action, 1.0]))
            step += 1
            assert _block_in_hand(simulation) == pytest.approx(start, abs=1e-9)
    assert simulation.data.body("block").xpos[2] > 0.42


def test_fingers_stay_at_the_block_while_held(simulate, drive, square):
    simulation = simulate(square)
    step = drive.grasp(simulation, np.array(square.object.position))
    width = simulation.attachment.width
    assert width == pytest.approx(0.04, abs=0.003)
    drive.move(simulation, step, np.array([0.5, 0.0, 0.45]), 1.0, 12)
    assert simulation.attachment.opening() == pytest.approx(width, abs=2e-4)


def test_opening_past_the_margin_releases_and_the_block_falls_back(simulate, drive, square, bench):
    simulation = simulate(square)
    step = drive.grasp(simulation, np.array(square.object.position))
    geom = simulation.model.geom("block")
    assert geom.conaffinity[0] == 0  # it passes through the robot while it is carried
    step = drive.move(simulation, step, np.array([0.5, 0.0, 0.40]), 1.0, 8)
    width = simulation.attachment.width
    step = drive.move(simulation, step, np.array([0.5, 0.0, 0.40]), -1.0, 8)
    assert not simulation.attachment.held
    assert simulation.attachment.opening() > width + bench.attachment.release_width
    assert geom.conaffinity[0] != 0
    assert simulation.data.body("block").xpos[2] < 0.33


def test_velocity_is_that_of_the_hand_at_the_block(simulate, drive, square):
    simulation = simulate(square)
    step = drive.grasp(simulation, np.array(square.object.position))
    for _ in range(4):
        drive.act(simulation, step, np.array([0.2, 0.0, 0.6, 0.0, 0.0, 0.4, 1.0]))
        step += 1
    model, data = simulation.model, simulation.data
    linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    block, hand = data.body("block"), model.body("panda_hand").id
    mujoco.mj_jac(model, data, linear, angular, block.xpos, hand)
    expected = linear @ data.qvel
    assert np.linalg.norm(expected) > 0.1
    assert data.qvel[9:12] == pytest.approx(expected, abs=1e-9)
    world = block.xmat.reshape(3, 3) @ data.qvel[12:15]
    assert world == pytest.approx(angular @ data.qvel, abs=1e-9)
    assert simulation.sensors.facts(True, 0)[7] == pytest.approx(np.linalg.norm(expected))


@pytest.mark.parametrize(
    ("offset", "why"),
    [
        ((0.0, 0.0, 0.06), "the fingers close above it"),
        ((0.035, 0.0, 0.0), "the fingers close beside it"),
        ((0.0, 0.09, 0.0), "it lies outside the fingers"),
    ],
)
def test_closing_elsewhere_does_not_attach(simulate, drive, square, offset, why):
    simulation = simulate(square)
    drive.grasp(simulation, np.array(square.object.position) + offset)
    assert not simulation.attachment.held, why
    assert simulation.attachment.opening() < 0.03 or offset[1]


def test_an_open_gripper_around_the_block_does_not_attach(simulate, drive, square):
    simulation = simulate(square)
    block = np.array(square.object.position)
    step = drive.move(simulation, 0, block + np.array([0.0, 0.0, 0.1]), -1.0, 15)
    drive.move(simulation, step, block, -1.0, 20)
    assert np.linalg.norm(simulation.sensors.grip_position() - block) < 0.005
    assert not simulation.attachment.held


def test_a_gripper_that_opens_around_the_block_does_not_attach(simulate, drive, square, bench):
    """Only a closing gripper takes hold, however narrow it is."""
    simulation = simulate(square)
    block = np.array(square.object.position)
    step = drive.move(simulation, 0, block + np.array([0.0, 0.0, 0.1]), -1.0, 15)
    drive.move(simulation, step, block, -1.0, 12)
    simulation.data.qpos[7:9] = 0.0201
    simulation.attachment.before_step(closing=False)
    assert not simulation.attachment.held
    simulation.attachment.before_step(closing=True)
    assert simulation.attachment.held
