"""Applied-scene readback: what the compiled model and its state hold, never what the spec says.

Everything is read at every observation. Only the sealing of equal bytes is remembered: the same
bytes give the same document.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from robogate.benches.spec_parts import LIGHT
from robogate.scenes.readback import seal


class ExactReadback:
    """Reads one simulation's scene back; what a bench's scene holds, its subclass says."""

    def __init__(self, model: Any, data: Any) -> None:
        """Take the `mujoco.MjModel` and `mujoco.MjData` to read."""
        import mujoco

        self._mj, self._model, self._data = mujoco, model, data
        self._kinds = mujoco.mjtObj
        self._key: tuple[bytes, ...] = ()
        self._sealed: dict[str, Any] = {}

    def read(self) -> dict[str, Any]:
        """Read everything; return the sealed document."""
        key = self._bytes()
        if key != self._key:
            self._sealed = seal(self._document())
            self._key = key
        return self._sealed

    def _bytes(self) -> tuple[bytes, ...]:
        """The exact bytes of every array that the document is made from."""
        raise NotImplementedError

    def _document(self) -> dict[str, Any]:
        """The document, not yet sealed."""
        raise NotImplementedError

    def _lighting(self) -> dict[str, Any]:
        """The key light, in the world frame."""
        model, data = self._model, self._data
        light = self._index(self._kinds.mjOBJ_LIGHT, LIGHT)
        return {
            "position": floats(data.light_xpos[light]),
            "orientation": floats(data.xquat[self._body(LIGHT)]),
            "direction": floats(data.light_xdir[light]),
            "diffuse": floats(model.light_diffuse[light]),
            "specular": floats(model.light_specular[light]),
            "ambient": floats(model.light_ambient[light]),
        }

    def _physics(self) -> dict[str, Any]:
        """Step and gravity."""
        option = self._model.opt
        return {"timestep_s": float(option.timestep), "gravity": floats(option.gravity)}

    def _camera(self, name: str) -> dict[str, Any]:
        """A camera in the frame of the body that carries it."""
        model, index = self._model, self._index(self._kinds.mjOBJ_CAMERA, name)
        width, height = model.cam_resolution[index]
        return {
            "position": floats(model.cam_pos[index]),
            "orientation": floats(model.cam_quat[index]),
            "fovy": float(model.cam_fovy[index]),
            "width": int(width),
            "height": int(height),
        }

    def _carried_camera(self, name: str) -> dict[str, Any]:
        """A camera and the name of the body that carries it."""
        body = int(self._model.cam_bodyid[self._index(self._kinds.mjOBJ_CAMERA, name)])
        parent = self._mj.mj_id2name(self._model, self._kinds.mjOBJ_BODY, body)
        return {"parent": str(parent), **self._camera(name)}

    def _material(self, name: str) -> dict[str, Any]:
        """How a geom looks and slides."""
        model, geom = self._model, self._geom(name)
        material = model.geom_matid[geom]
        return {
            "rgba": floats(model.mat_rgba[material]),
            "specular": float(model.mat_specular[material]),
            "shininess": float(model.mat_shininess[material]),
            "friction": float(model.geom_friction[geom, 0]),
        }

    def _body(self, name: str) -> int:
        return self._index(self._kinds.mjOBJ_BODY, name)

    def _geom(self, name: str) -> int:
        return self._index(self._kinds.mjOBJ_GEOM, name)

    def _index(self, kind: Any, name: str) -> int:
        """Where the model holds what has that name, of a kind of `mujoco.mjtObj`; -1: nowhere."""
        return int(self._mj.mj_name2id(self._model, kind, name))


def floats(values: Iterable[Any]) -> list[float]:
    """Numbers of an array as JSON holds them."""
    return [float(value) for value in values]
