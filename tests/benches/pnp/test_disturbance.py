from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from robogate.scenes.spec import Disturbance

OPEN = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0])


@pytest.fixture
def pushed(scene):
    return dataclasses.replace(scene, disturbance=Disturbance(2, 3, (0.9, 0.0, 0.0)))


def test_counts_what_was_applied(simulate, drive, pushed):
    simulation = simulate(pushed)
    counts = []
    for step in range(8):
        drive.act(simulation, step, OPEN)
        counts.append(simulation.push_steps)
    assert counts == [0, 0, 3, 6, 9, 9, 9, 9]
    assert not simulation.data.xfrc_applied.any()


def test_pushes_the_block_and_nothing_else(simulate, drive, pushed, scene):
    ends = []
    for tried in (pushed, scene):
        simulation = simulate(tried)
        for step in range(20):
            drive.act(simulation, step, OPEN)
        ends.append(simulation.data.qpos.copy())
    moved = ends[0][9:12] - ends[1][9:12]
    assert moved[0] > 0.005 and abs(moved[1]) < 0.2 * moved[0]
    assert ends[0][:7] == pytest.approx(ends[1][:7], abs=1e-9)


def test_acts_at_the_centre_of_mass(simulate, drive, scene):
    """Without friction a push through the centre of mass slides the block and does not turn it."""
    slick = dataclasses.replace(scene.object.material, friction=0.0)
    free = dataclasses.replace(
        scene,
        object=dataclasses.replace(scene.object, material=slick),
        surface=dataclasses.replace(
            scene.surface, material=dataclasses.replace(scene.surface.material, friction=0.0)
        ),
        disturbance=Disturbance(0, 1, (0.4, 0.0, 0.0)),
    )
    simulation = simulate(free)
    start = simulation.data.qpos[12:16].copy()
    drive.act(simulation, 0, OPEN)
    # 0.4 N for 0.05 s on 0.1 kg.
    assert simulation.data.qvel[9] == pytest.approx(0.2, rel=0.02)
    assert simulation.data.qpos[12:16] == pytest.approx(start, abs=1e-3)
