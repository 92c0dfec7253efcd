from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from robogate.benches.pnp.readback import AppliedScene
from robogate.records.benches import bench_rules
from robogate.scenes.pnp import VARIANTS
from robogate.scenes.readback import compare
from robogate.scenes.spec import Disturbance

RULES = bench_rules("pnp")


@pytest.fixture(scope="module")
def busy(bench):
    """A scene with every kind of part."""
    cluttered = RULES.resolve(bench, "cluttered_scene", 5)
    occluded = RULES.resolve(bench, "occluded_objects", 5)
    push = Disturbance(start_action=1, actions=2, force=(0.4, -0.3, 0.0))
    return dataclasses.replace(cluttered, occluders=occluded.occluders, disturbance=push)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_variant_reads_back_as_expected(simulate, drive, bench, renderer, variant, seed):
    scene = RULES.resolve(bench, variant, seed)
    simulation = simulate(scene)
    applied = AppliedScene(simulation, scene)
    for step in range(4):
        expected = RULES.expected_readback(bench, renderer, scene, step)
        assert compare(applied.read(), expected) == []
        drive.act(simulation, step, np.array([0.1, 0.2, -0.3, 0.0, 0.0, 0.1, -1.0]))


def test_expected_along_a_push(simulate, drive, bench, renderer, busy):
    simulation = simulate(busy)
    applied = AppliedScene(simulation, busy)
    counted = []
    for step in range(6):
        document = applied.read()
        assert compare(document, RULES.expected_readback(bench, renderer, busy, step)) == []
        counted.append(document["disturbance"]["applied_steps"])
        drive.act(simulation, step, np.zeros(7))
    assert counted == [0, 0, 3, 6, 6, 6]


def _next_binary32(array, index):
    array[index] = np.nextafter(np.float32(array[index]), np.float32(np.inf))


def _geom(model, name):
    return model.geom(name).id


MUTATIONS = {
    "$.object.mass": lambda m, d: _next_binary32(m.body_mass, m.body("block").id),
    "$.object.size[1]": lambda m, d: _next_binary32(m.geom_size, (_geom(m, "block"), 1)),
    "$.object.material.rgba[3]": lambda m, d: _next_binary32(m.mat_rgba, (m.mat("block").id, 3)),
    "$.object.material.friction": lambda m, d: _next_binary32(
        m.geom_friction, (_geom(m, "block"), 0)
    ),
    "$.object.material.shininess": lambda m, d: _next_binary32(m.mat_shininess, m.mat("block").id),
    "$.surface.material.specular": lambda m, d: _next_binary32(m.mat_specular, m.mat("table").id),
    "$.surface.position[2]": lambda m, d: _next_binary32(d.xpos, (m.body("table").id, 2)),
    "$.target.radius": lambda m, d: _next_binary32(m.geom_size, (_geom(m, "target"), 0)),
    "$.target.thickness": lambda m, d: _next_binary32(m.geom_size, (_geom(m, "target"), 1)),
    "$.target.position[0]": lambda m, d: _next_binary32(d.xpos, (m.body("target").id, 0)),
    "$.lighting.direction[2]": lambda m, d: _next_binary32(d.light_xdir, (0, 2)),
    "$.lighting.orientation[0]": lambda m, d: _next_binary32(d.xquat, (m.body("key_light").id, 0)),
    "$.lighting.diffuse[0]": lambda m, d: _next_binary32(m.light_diffuse, (0, 0)),
    "$.lighting.ambient[2]": lambda m, d: _next_binary32(m.light_ambient, (0, 2)),
    "$.lighting.position[0]": lambda m, d: _next_binary32(d.light_xpos, (0, 0)),
    "$.primary_camera.fovy": lambda m, d: _next_binary32(m.cam_fovy, m.cam("primary").id),
    "$.primary_camera.position[1]": lambda m, d: _next_binary32(
        m.cam_pos, (m.cam("primary").id, 1)
    ),
    "$.primary_camera.width": lambda m, d: m.cam_resolution.__setitem__(
        (m.cam("primary").id, 0), 128
    ),
    "$.wrist_camera.position[0]": lambda m, d: _next_binary32(m.cam_pos, (m.cam("wrist").id, 0)),
    "$.wrist_camera.orientation[2]": lambda m, d: _next_binary32(
        m.cam_quat, (m.cam("wrist").id, 2)
    ),
    "$.wrist_camera.parent": lambda m, d: m.cam_bodyid.__setitem__(
        m.cam("wrist").id, m.body("link7").id
    ),
    "$.obstacles[1].size[2]": lambda m, d: _next_binary32(m.geom_size, (_geom(m, "obstacle_1"), 2)),
    "$.obstacles[0].collides": lambda m, d: m.geom_conaffinity.__setitem__(
        _geom(m, "obstacle_0"), 0
    ),
    "$.occluders[0].orientation[0]": lambda m, d: _next_binary32(
        d.xquat, (m.body("occluder_0").id, 0)
    ),
    "$.distractors[2].position[0]": lambda m, d: _next_binary32(
        d.xpos, (m.body("distractor_2").id, 0)
    ),
    "$.disturbance.force[0]": lambda m, d: _next_binary32(m.numeric_data, 2),
    "$.disturbance.start_action": lambda m, d: m.numeric_data.__setitem__(0, 2.0),
    "$.physics.gravity[2]": lambda m, d: _next_binary32(m.opt.gravity, 2),
    "$.physics.timestep_s": lambda m, d: setattr(m.opt, "timestep", 1 / 239),
}


@pytest.mark.parametrize("path", MUTATIONS)
def test_one_bit_in_the_simulator_shows(simulate, busy, path):
    """Read from the simulator at every observation: the smallest change of it is a difference."""
    simulation = simulate(busy)
    applied = AppliedScene(simulation, busy)
    before = applied.read()
    MUTATIONS[path](simulation.model, simulation.data)
    faults = {fault.path for fault in compare(applied.read(), before)}
    assert faults == {path, "$.sha256"}


def test_equal_bytes_give_the_same_sealed_document(simulate, drive, busy):
    simulation = simulate(busy)
    applied = AppliedScene(simulation, busy)
    first = applied.read()
    drive.act(simulation, 0, np.zeros(7))
    assert applied.read() is first


def test_initial_pose_is_carried_when_the_block_moves(simulate, busy):
    simulation = simulate(busy)
    applied = AppliedScene(simulation, busy)
    before = applied.read()
    simulation.data.qpos[9:12] += 0.1
    simulation.sensors.refresh()
    assert applied.read()["object"] == before["object"]
    assert AppliedScene(simulation, busy).read()["object"] != before["object"]
