"""What a LIBERO network is sent of this bench: from the simulated camera to the server's socket."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("websockets", reason="the clients of policy servers are not installed")

sys.path.insert(0, str(Path(__file__).parents[2] / "adapters"))

from learned_adapters import openpi_adapter
from policy_servers import OpenpiServer

from robogate.adapters.libero import libero_state
from robogate.adapters.registry import load_policy
from robogate.records.location import PolicyLocation
from robogate.records.observation import PolicyObservation, project
from robogate.records.policy import PolicyEpisode

# LIBERO's start pose; what its stack reports there, but that robosuite's hand is turned by 0.028°.
LIBERO_HOME = (0.0, -0.161037389, 0.0, -2.44459747, 0.0, 2.2267522, np.pi / 4)
LIBERO_AXIS_ANGLE = (3.1403, 0.0, -0.0892)
LIBERO_FINGERS = (0.020833, -0.020833)


def _upright(camera, point, size):
    """Row and column of a point in the true view of a camera, row 0 at its top."""
    position = np.array(camera.position)
    forward = np.array(camera.look_at) - position
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    relative = np.array(point) - position
    scale = size / 2.0 / np.tan(np.radians(camera.fovy) / 2.0) / (relative @ forward)
    return size / 2.0 - scale * (relative @ up), size / 2.0 + scale * (relative @ right)


def _centre(image, colour):
    """Middle of the pixels in which one channel outweighs both others."""
    channels = image.astype(int)
    others = np.max(np.delete(channels, colour, axis=2), axis=2)
    rows, columns = np.nonzero(channels[..., colour] > 2 * others)
    assert len(rows) > 20
    return rows.mean(), columns.mean()


def test_the_server_gets_the_upright_mirrored_view(make_environment, scene, bench):
    """As LIBERO's processing gives it: rows as in the true view, columns from right to left."""
    seen = project(make_environment().reset("nominal", 7))
    with OpenpiServer(lambda request, n: {"actions": np.zeros((2, 7))}) as server:
        location = PolicyLocation(url=server.url)
        adapter = openpi_adapter(image_size=224, image_resize="pad")
        session = load_policy(adapter, bench, location).open_session(PolicyEpisode("", 1))
        session.infer(seen)
        session.close()
    (request,) = server.requests
    assert request["prompt"] == bench.instruction
    image = request["observation/image"]
    bodies = {0: scene.object.position, 1: (*bench.scene.target.xy, 0.3)}
    true = {colour: _upright(bench.scene.camera, body, 224) for colour, body in bodies.items()}
    errors = {}
    for rows in (1, -1):
        for columns in (1, -1):
            turned = image[::rows, ::columns]
            gaps = [np.subtract(_centre(turned, colour), true[colour]) for colour in bodies]
            errors[rows, columns] = np.abs(gaps).max()
    # Mirrored once more it is the true view; no other turn makes it that.
    assert errors.pop((1, -1)) < 5.0
    assert min(errors.values()) > 15.0


def test_the_state_at_liberos_start_pose_is_liberos(simulate, scene):
    simulation = simulate(scene)
    simulation.data.qpos[:7] = LIBERO_HOME
    simulation.data.qpos[7:9] = LIBERO_FINGERS[0]
    simulation.sensors.refresh()
    state = libero_state(PolicyObservation(0, "", simulation.sensors.state(), {}))
    assert state[:3] == pytest.approx(simulation.sensors.grip_position())
    assert state[3:6] == pytest.approx(LIBERO_AXIS_ANGLE, abs=5e-4)
    assert state[6:] == pytest.approx(LIBERO_FINGERS)
