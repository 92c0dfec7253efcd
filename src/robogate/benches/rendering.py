"""Offscreen OpenGL for MuJoCo: one context per process, a model uploaded anew at every reset.

OpenGL reads images bottom row first. Which row comes first in a protocol image is the contract's
``image_row_order``.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robogate.contract.schema import Renderer
from robogate.errors import RunError, UsageError, nearest
from robogate.records.observation import Image

BACKENDS = ("egl", "osmesa")
_MAX_GEOMS = 512
_COARSE = 32  # pixels
_GL_STRINGS = {"vendor": 0x1F00, "renderer": 0x1F01, "version": 0x1F02}


def prepare_process(backend: str, threads: int) -> None:
    """Say which GL to use, before the GL library is loaded into this process.

    Args:
        backend: ``egl`` or ``osmesa``.
        threads: Render threads of a software rasteriser; 0 draws in the thread that asks for it.

    Raises:
        UsageError: Unknown backend, or this process has already loaded the other one.
    """
    if backend not in BACKENDS:
        raise UsageError(f"gl={backend!r} is not a GL backend; {nearest(backend, BACKENDS)}")
    if threads < 0:
        raise UsageError(f"render_threads={threads}, expected 0 or more")
    loaded = os.environ.get("PYOPENGL_PLATFORM", "").lower()
    if loaded and loaded != backend:
        raise UsageError(
            f"gl={backend!r}, but PYOPENGL_PLATFORM={loaded!r} is already set in this process; "
            "unset it, or use a process per backend"
        )
    os.environ["MUJOCO_GL"] = backend
    os.environ["LP_NUM_THREADS"] = str(threads)


class GlContext:
    """The process's OpenGL context, current in the thread that made it."""

    def __init__(self, backend: str, width: int, height: int) -> None:
        """Open a context.

        Raises:
            UsageError: The GL library is not installed or gives no context.
        """
        self.backend = backend
        try:
            if backend == "egl":
                from mujoco.egl import GLContext
            else:
                from mujoco.osmesa import GLContext
            self._context: Any = GLContext(width, height)
            self._context.make_current()
        except (ImportError, AttributeError, OSError, RuntimeError) as exc:
            raise UsageError(
                f"no OpenGL by {backend} ({exc}); install it, on Debian or Ubuntu: "
                "apt-get install -y libegl1 libgl1-mesa-dri libosmesa6",
                code="no_gl",
            ) from exc

    def make_current(self) -> None:
        """Make it current again after another context was used in this thread."""
        self._context.make_current()

    def strings(self) -> dict[str, str]:
        """Vendor, renderer and version, as the driver reports them."""
        library, lookup = {
            "egl": ("libEGL.so.1", "eglGetProcAddress"),
            "osmesa": ("libOSMesa.so.8", "OSMesaGetProcAddress"),
        }[self.backend]
        try:
            find = getattr(ctypes.CDLL(library), lookup)
        except OSError:
            find = getattr(ctypes.CDLL("libOSMesa.so.6"), lookup)
        find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
        address = find(b"glGetString")
        if not address:
            raise RunError(f"{library} does not offer glGetString", code="load")
        get_string = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_uint)(address)
        self.make_current()
        values = {name: get_string(code) for name, code in _GL_STRINGS.items()}
        return {name: (value or b"").decode("utf-8", "replace") for name, value in values.items()}

    def close(self) -> None:
        """Free it; may be called twice."""
        if self._context is not None:
            self._context.free()
            self._context = None


class CameraRenderer:
    """Renders the cameras of one compiled model."""

    def __init__(
        self,
        gl: GlContext,
        model: Any,
        renderer: Renderer,
        cameras: Sequence[str],
        row_order: str,
    ) -> None:
        """Upload the model.

        Args:
            gl: Context to draw in.
            model: `mujoco.MjModel`.
            renderer: Multisampling and shadows; the image size is the model's camera's.
            cameras: Names of the model's cameras, in protocol order.
            row_order: ``top_first`` or ``bottom_first``.
        """
        import mujoco

        self._mj = mujoco
        self._flip = row_order == "top_first"
        self._gl = gl
        self._model = model
        gl.make_current()
        self._context: Any = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_50.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._context)
        if self._context.currentBuffer != mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value:
            raise RunError("OpenGL gave no offscreen framebuffer", code="load")
        if self._context.offSamples != renderer.multisamples:
            raise RunError(
                f"OpenGL gives {self._context.offSamples} samples per pixel, "
                f"renderer.multisamples is {renderer.multisamples}",
                code="contract_mismatch",
            )
        self._scene = mujoco.MjvScene(model, _MAX_GEOMS)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = int(renderer.shadows)
        # What the scenes do not have still costs time where its flag is set.
        for flag in ("mjRND_REFLECTION", "mjRND_SKYBOX", "mjRND_HAZE", "mjRND_FOG"):
            self._scene.flags[getattr(mujoco.mjtRndFlag, flag)] = 0
        self._option = mujoco.MjvOption()
        self._option.geomgroup[:] = (1, 0, 0, 0, 0, 0)
        self._option.sitegroup[:] = 0
        self._perturb = mujoco.MjvPerturb()
        self._cameras = {name: self._camera(name) for name in cameras}

    def _camera(self, name: str) -> Any:
        index = self._mj.mj_name2id(self._model, self._mj.mjtObj.mjOBJ_CAMERA, name)
        if index < 0:
            raise RunError(f"the scene has no camera {name!r}", code="contract_mismatch")
        camera = self._mj.MjvCamera()
        camera.type = self._mj.mjtCamera.mjCAMERA_FIXED.value
        camera.fixedcamid = index
        return camera

    def render(self, data: Any, names: Sequence[str] | None = None) -> dict[str, Image]:
        """Draw cameras from the data's present kinematics.

        Args:
            data: `mujoco.MjData`.
            names: Which; all where None.

        Returns:
            Camera name to a new (height, width, 3) uint8 array, in the row order asked for,
            read-only.
        """
        mj = self._mj
        images: dict[str, Image] = {}
        self._gl.make_current()
        for name in self._cameras if names is None else names:
            camera = self._cameras[name]
            width, height = self._model.cam_resolution[camera.fixedcamid]
            rect = mj.MjrRect(0, 0, int(width), int(height))
            mj.mjv_updateScene(
                self._model, data, self._option, self._perturb, camera,
                mj.mjtCatBit.mjCAT_ALL.value, self._scene,
            )  # fmt: skip
            mj.mjr_render(rect, self._scene, self._context)
            image = np.empty((rect.height, rect.width, 3), np.uint8)
            mj.mjr_readPixels(image, None, rect, self._context)
            if self._flip:
                image = np.ascontiguousarray(image[::-1])
            image.setflags(write=False)
            images[name] = image
        return images

    def close(self) -> None:
        """Free what was uploaded; may be called twice."""
        if self._context is not None:
            self._gl.make_current()
            self._context.free()
            self._context = None


def check_images(images: Mapping[str, Image]) -> None:
    """Refuse a blank image and two identical ones.

    Raises:
        RunError: An image whose channels are all constant, or equal images of two cameras.
    """
    names = list(images)
    # A coarse look settles nearly every frame; only what it cannot tell apart is read in full.
    coarse = {name: image[::_COARSE, ::_COARSE] for name, image in images.items()}
    for index, name in enumerate(names):
        image, first = images[name], images[name][0, 0]
        if not (coarse[name] != first).any() and not (image != first).any():
            raise RunError(f"camera {name!r} gave a blank image", code="blank_image")
        for other in names[:index]:
            if np.array_equal(coarse[name], coarse[other]) and np.array_equal(image, images[other]):
                raise RunError(
                    f"cameras {other!r} and {name!r} gave identical images",
                    code="identical_images",
                )
