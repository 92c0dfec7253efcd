from __future__ import annotations

import ctypes
import dataclasses
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from robogate.benches.rendering import CameraRenderer, GlContext, check_images, prepare_process
from robogate.errors import RunError, UsageError
from robogate.records.benches import bench_rules


@pytest.fixture
def context(gl, renderer):
    context = GlContext(gl, renderer.width, renderer.height)
    yield context
    context.close()


@pytest.fixture
def render(context, renderer, simulate):
    """Render a simulation's cameras once."""
    opened = []

    def once(simulation):
        cameras = CameraRenderer(
            context, simulation.model, renderer, renderer.cameras, "bottom_first"
        )
        opened.append(cameras)
        return cameras.render(simulation.data)

    yield once
    for cameras in opened:
        cameras.close()


def _centre_of_red(image):
    """Row and column of the red block."""
    red = image.astype(int)
    mask = (red[..., 0] > 100) & (red[..., 1] < 60) & (red[..., 2] < 60)
    assert mask.sum() > 20
    return np.argwhere(mask).mean(axis=0)


def _project(simulation, camera, point, size=256):
    """Row and column, top row first, of a world point in an ideal pinhole camera."""
    view = simulation.data.camera(camera)
    x, y, z = view.xmat.reshape(3, 3).T @ (np.array(point) - view.xpos)
    focal = size / 2 / np.tan(np.radians(simulation.model.camera(camera).fovy[0]) / 2)
    return np.array([size / 2 - focal * y / -z, size / 2 + focal * x / -z]) - 0.5


def test_rows_come_bottom_first_and_columns_left_first(simulate, scene, render):
    for y in (-0.1, 0.1):
        block = dataclasses.replace(scene.object, position=(0.45, y, 0.32))
        simulation = simulate(dataclasses.replace(scene, object=block))
        images = render(simulation)
        for name, image in images.items():
            row, column = _centre_of_red(image)
            expected = _project(simulation, name, block.position)
            assert (255 - row, column) == pytest.approx(tuple(expected), abs=6.0), name


def test_top_first_is_the_same_picture_upside_down(simulate, scene, context, renderer):
    simulation = simulate(scene)
    pictures = []
    for order in ("bottom_first", "top_first"):
        cameras = CameraRenderer(context, simulation.model, renderer, renderer.cameras, order)
        pictures.append(cameras.render(simulation.data))
        cameras.close()
    for name in renderer.cameras:
        assert (pictures[0][name] == pictures[1][name][::-1]).all()
        assert (pictures[0][name] != pictures[1][name]).any()


def test_images_are_read_only_and_new(simulate, scene, context, renderer):
    simulation = simulate(scene)
    cameras = CameraRenderer(context, simulation.model, renderer, renderer.cameras, "bottom_first")
    first, second = cameras.render(simulation.data), cameras.render(simulation.data)
    cameras.close()
    assert list(first) == ["primary", "wrist"]
    for name in first:
        assert first[name].shape == (256, 256, 3) and first[name].dtype == np.uint8
        assert not first[name].flags.writeable
        assert first[name] is not second[name] and (first[name] == second[name]).all()


def test_transparency_light_and_camera_are_seen(simulate, bench, render):
    rules = bench_rules("pnp")
    nominal = rules.resolve(bench, "centered_placement", 1)
    base = render(simulate(nominal))
    dark = dataclasses.replace(nominal.lighting, diffuse=(0.1,) * 3, ambient=(0.1,) * 3)
    assert render(simulate(dataclasses.replace(nominal, lighting=dark)))["primary"].mean() < (
        0.5 * base["primary"].mean()
    )
    material = dataclasses.replace(nominal.object.material, rgba=(0.85, 0.08, 0.08, 0.3))
    glass = dataclasses.replace(
        nominal, object=dataclasses.replace(nominal.object, material=material)
    )
    assert (render(simulate(glass))["wrist"] != base["wrist"]).any()
    camera = dataclasses.replace(nominal.primary_camera, fovy=nominal.primary_camera.fovy + 2.0)
    moved = render(simulate(dataclasses.replace(nominal, primary_camera=camera)))
    assert (moved["primary"] != base["primary"]).any()
    assert (moved["wrist"] == base["wrist"]).all()


@pytest.mark.parametrize("name", ["primary", "wrist"])
def test_blank_image_is_a_run_error(name):
    rng = np.random.default_rng(0)
    images = {n: rng.integers(0, 255, (256, 256, 3), np.uint8) for n in ("primary", "wrist")}
    check_images(images)
    images[name] = np.full((256, 256, 3), (10, 200, 30), np.uint8)
    with pytest.raises(RunError) as caught:
        check_images(images)
    assert caught.value.code == "blank_image"
    assert caught.value.message == f"camera '{name}' gave a blank image"
    images[name][101, 7, 2] += 1  # one pixel that a coarse look does not see
    images[name].setflags(write=False)
    check_images(images)


def test_identical_images_are_a_run_error():
    image = np.random.default_rng(0).integers(0, 255, (256, 256, 3), np.uint8)
    with pytest.raises(RunError) as caught:
        check_images({"primary": image, "wrist": image.copy()})
    assert caught.value.code == "identical_images"
    other = image.copy()
    other[101, 7, 2] ^= 1
    check_images({"primary": image, "wrist": other})


def test_samples_that_opengl_does_not_give_are_refused(simulate, scene, context, renderer):
    simulation = simulate(scene)
    more = dataclasses.replace(renderer, multisamples=2)
    with pytest.raises(RunError) as caught:
        CameraRenderer(context, simulation.model, more, renderer.cameras, "bottom_first")
    assert caught.value.code == "contract_mismatch"


def test_driver_names_itself(context):
    strings = context.strings()
    assert set(strings) == {"vendor", "renderer", "version"} and all(strings.values())


def test_another_backend_in_one_process_is_refused(context):
    other = {"egl": "osmesa", "osmesa": "egl"}[context.backend]
    with pytest.raises(UsageError):
        prepare_process(other, 1)
    with pytest.raises(UsageError) as caught:
        prepare_process("glx", 1)
    assert caught.value.message == "gl='glx' is not a GL backend; did you mean 'egl'?"


def test_no_gl_library_is_one_line_that_says_what_to_install(gl, monkeypatch):
    monkeypatch.setitem(sys.modules, f"mujoco.{gl}", None)
    with pytest.raises(UsageError) as caught:
        GlContext(gl, 256, 256)
    assert caught.value.code == "no_gl" and caught.value.exit_code == 2
    assert "\n" not in caught.value.message
    assert "apt-get install -y libegl1 libgl1-mesa-dri libosmesa6" in caught.value.message


FRAMES = """
import sys, hashlib, json, pickle, pathlib
backend, source = sys.argv[1:]
from robogate.benches.rendering import CameraRenderer, GlContext, prepare_process
prepare_process(backend, 1)
from robogate.benches.pnp.simulation import PnpSimulation
from robogate.benches.pnp.robot import load_meshes
from robogate.contract.layout import data_dir
bench, renderer, scene = pickle.loads(pathlib.Path(source).read_bytes())
simulation = PnpSimulation(scene, bench, renderer, load_meshes(data_dir() / "panda"))
context = GlContext(backend, 256, 256)
cameras = CameraRenderer(context, simulation.model, renderer, renderer.cameras, "bottom_first")
for image in cameras.render(simulation.data).values():
    print(hashlib.sha256(image.tobytes()).hexdigest())
cameras.close()
context.close()
"""


def test_egl_and_osmesa_give_the_same_frames(tmp_path, bench, renderer, scene):
    try:
        for library in ("libEGL.so.1", "libOSMesa.so.8"):
            ctypes.CDLL(library)
    except OSError as exc:
        pytest.skip(str(exc))
    source = tmp_path / "scene"
    source.write_bytes(pickle.dumps((bench, renderer, scene)))
    variables = {k: v for k, v in os.environ.items() if k not in ("MUJOCO_GL", "PYOPENGL_PLATFORM")}
    frames = [
        subprocess.run(
            [sys.executable, "-c", FRAMES, backend, str(source)],
            env=variables, check=True, capture_output=True, text=True, timeout=240,
        )
        for backend in ("egl", "osmesa")
    ]  # fmt: skip
    assert len(frames[0].stdout.split()) == 2
    assert frames[0].stdout == frames[1].stdout
    assert [f.stderr for f in frames] == ["", ""]
