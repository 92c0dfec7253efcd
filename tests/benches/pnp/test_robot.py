from __future__ import annotations

import dataclasses

import mujoco
import numpy as np
import pytest

from robogate.benches.pnp.robot import LINKS, add_robot, load_meshes, mesh_files
from robogate.benches.pnp.simulation import PnpSimulation
from robogate.contract.assets import load_inventory
from robogate.contract.layout import manifests_dir
from robogate.errors import RunError
from robogate.scenes.pnp_config import WRIST_MOUNT

# LIBERO's initial joint positions at full precision, and the orientation that its stack reports
# there but for the 0.028° between robosuite's right_hand and panda_hand.
LIBERO_HOME = (0.0, -0.161037389, 0.0, -2.44459747, 0.0, 2.2267522, np.pi / 4)
LIBERO_AXIS_ANGLE = (3.1403, 0.0, -0.0892)


def _axis_angle(quat):
    """LIBERO's conversion: no sign normalisation."""
    w, xyz = quat[0], np.array(quat[1:])
    return xyz / np.sqrt(1.0 - w * w) * 2.0 * np.arccos(w)


def _hamilton(a, b):
    return np.array(
        [
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        ]
    )


def _chain(joints):
    """Orientation of panda_hand as the plain product along the chain, from the link facts."""
    quat = np.array([1.0, 0.0, 0.0, 0.0])
    for link, angle in zip(LINKS[1:], joints):
        local = np.array(link.quat) / np.linalg.norm(link.quat)
        turn = np.array([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)])
        quat = _hamilton(_hamilton(quat, local), turn)
    hand = np.array([0.9238795, 0.0, 0.0, -0.3826834])
    return _hamilton(quat, hand / np.linalg.norm(hand))


def _pose(simulation: PnpSimulation, joints) -> None:
    simulation.data.qpos[:7] = joints
    simulation.sensors.refresh()


def test_pose_at_the_training_datas_start(simulate, scene):
    simulation = simulate(scene)
    _pose(simulation, LIBERO_HOME)
    got = _axis_angle(simulation.sensors.hand_orientation())
    assert got == pytest.approx(LIBERO_AXIS_ANGLE, abs=5e-4)


def test_orientation_is_the_chain_product_sign_included(simulate, scene):
    simulation = simulate(scene)
    rng = np.random.default_rng(5)
    negative = 0
    for _ in range(200):
        joints = np.array(LIBERO_HOME) + rng.normal(0.0, 0.25, 7)
        _pose(simulation, joints)
        quat = simulation.sensors.hand_orientation()
        assert quat == pytest.approx(_chain(joints), abs=1e-9)
        negative += quat[0] < 0.0
    assert 60 < negative < 140  # a normalised sign would never, or always, be negative


def test_grip_site_and_mass(simulate, scene):
    simulation = simulate(scene)
    model, data = simulation.model, simulation.data
    hand = data.body("panda_hand")
    offset = hand.xmat.reshape(3, 3).T @ (simulation.sensors.grip_position() - hand.xpos)
    assert offset == pytest.approx((0.0, 0.0, 0.0965), abs=1e-12)
    robot = sum(link.mass for link in LINKS) + 0.73 + 2 * 0.015
    first, last = model.body("link0").id, model.body("panda_rightfinger").id
    assert model.body_mass[first : last + 1].sum() == pytest.approx(robot, rel=1e-12)


def test_holds_its_pose_against_gravity(simulate, scene):
    simulation = simulate(scene)
    start = simulation.sensors.grip_position()
    for step in range(60):
        simulation.execute(step, simulation.solve(np.zeros(7)), 0.0)
    assert np.abs(simulation.sensors.grip_position() - start).max() < 1e-4


def test_wrist_camera_is_the_immutable_mount_and_turns_with_the_hand(simulate, scene):
    simulation = simulate(scene)
    camera = simulation.model.camera("wrist")
    assert tuple(camera.pos) == WRIST_MOUNT.position
    assert tuple(camera.quat) == pytest.approx(WRIST_MOUNT.orientation, abs=1e-15)
    assert camera.fovy[0] == 75.0
    seen = []
    for turn in (0.0, 0.7):
        _pose(simulation, (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785 + turn))
        hand = simulation.data.body("panda_hand").xmat.reshape(3, 3)
        view = simulation.data.camera("wrist").xmat.reshape(3, 3)
        # It looks along the hand's z, with the hand's x up.
        assert -view[:, 2] == pytest.approx(hand[:, 2], abs=1e-3)
        assert view[:, 1] == pytest.approx(hand[:, 0], abs=1e-3)
        seen.append(view.copy())
    assert np.abs(seen[0] - seen[1]).max() > 0.5


def test_another_parent_of_the_wrist_camera_is_refused(bench):
    elsewhere = dataclasses.replace(bench.wrist, parent="link7")
    with pytest.raises(RunError) as caught:
        add_robot(mujoco.MjSpec(), bench.control, elsewhere)
    assert caught.value.message == "bench.wrist.parent is 'link7', expected 'panda_hand'"


def test_meshes_are_the_pinned_files():
    pinned = {f.path for f in load_inventory(manifests_dir() / "assets_panda.json").files}
    assert set(mesh_files()) == pinned - {"LICENSE"}


def test_missing_mesh_names_the_file(tmp_path):
    with pytest.raises(RunError) as caught:
        load_meshes(tmp_path)
    assert caught.value.code == "asset_changed"
    assert "link0.stl" in caught.value.message and "robogate assets" in caught.value.message
