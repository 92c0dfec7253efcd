"""Constants of robots as another evaluation client declares them: where their cameras are.

They are nominal: whatever a scene does to the real camera, these values stay.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from robogate.contract.schema import Vec3
from robogate.errors import UsageError, nearest
from robogate.records.observation import FloatArray
from robogate.records.robot import Calibration, CameraProfile

WORLD = "world"


@dataclass(frozen=True)
class Mount:
    """A camera's nominal place.

    Attributes:
        parent: ``world``, or the arm whose ``link6`` carries it.
        position: In the parent's frame, m.
        look_at: Point in the middle of the image, in the parent's frame, m; image up is as near to
            the frame's z as it can be.
        fovy: Vertical field of view, degrees.
    """

    parent: str
    position: Vec3
    look_at: Vec3
    fovy: float


@dataclass(frozen=True)
class Embodiment:
    """One robot.

    Attributes:
        name: As on the command line.
        cameras: Nominal place of each camera.
    """

    name: str
    cameras: Mapping[str, Mount]


_WRIST = ((0.045, 0.0, 0.085), (0.2, 0.0, -0.01), 70.0)

#: The cameras of the embedded dual-arm bench. Those of the native benches come with their assets,
#: which are not public.
ARX_X5 = Embodiment(
    "arx_x5",
    MappingProxyType(
        {
            "cam_head": Mount(WORLD, (0.0, -0.62, 1.42), (0.0, -0.14, 0.78), 60.0),
            "cam_left_wrist": Mount("left", *_WRIST),
            "cam_right_wrist": Mount("right", *_WRIST),
        }
    ),
)

EMBODIMENTS: Mapping[str, Embodiment] = MappingProxyType({ARX_X5.name: ARX_X5})


def embodiment_of(name: str) -> Embodiment:
    """An embodiment by name.

    Raises:
        UsageError: There is none.
    """
    if name not in EMBODIMENTS:
        raise UsageError(f"--embodiment {name}: not known; {nearest(name, EMBODIMENTS)}")
    return EMBODIMENTS[name]


def nominal_calibration(
    embodiment: Embodiment, cameras: tuple[CameraProfile, ...], poses: Mapping[str, FloatArray]
) -> dict[str, Calibration]:
    """Calibration of every camera from its nominal place and the arms' reported poses.

    Args:
        embodiment: Where the cameras are.
        cameras: Names and image sizes.
        poses: Pose of each arm's ``link6``, (7,).

    Raises:
        UsageError: The embodiment has no such camera.
    """
    found = {}
    for camera in cameras:
        mount = embodiment.cameras.get(camera.name)
        if mount is None:
            raise UsageError(
                f"embodiment {embodiment.name} has no camera {camera.name!r}; "
                f"{nearest(camera.name, embodiment.cameras)}"
            )
        to_parent = _looking(mount.position, mount.look_at)
        world = np.eye(4) if mount.parent == WORLD else pose_matrix(poses[mount.parent])
        found[camera.name] = Calibration(
            camera.width,
            camera.height,
            intrinsics(camera.width, camera.height, mount.fovy),
            world @ to_parent,
        )
    return found


def intrinsics(width: int, height: int, fovy: float) -> FloatArray:
    """Pinhole intrinsics of square pixels whose centres lie at whole numbers, (3, 3).

    Args:
        width: Pixels.
        height: Pixels.
        fovy: Vertical field of view, degrees.
    """
    focal = 0.5 * height / math.tan(0.5 * math.radians(fovy))
    return np.array(
        [[focal, 0.0, 0.5 * (width - 1)], [0.0, focal, 0.5 * (height - 1)], [0.0, 0.0, 1.0]]
    )


def pose_matrix(pose: FloatArray) -> FloatArray:
    """``[x, y, z, qw, qx, qy, qz]`` as a (4, 4) matrix."""
    w, x, y, z = (pose[3:] / np.linalg.norm(pose[3:])).tolist()
    matrix = np.eye(4)
    matrix[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    matrix[:3, 3] = pose[:3]
    return matrix


def _looking(position: Vec3, look_at: Vec3) -> FloatArray:
    """Pose of a camera (OpenCV axes) that looks at a point, image up towards z, (4, 4)."""
    forward = np.subtract(look_at, position)
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    matrix = np.eye(4)
    matrix[:3, 0], matrix[:3, 1], matrix[:3, 2] = right, np.cross(forward, right), forward
    matrix[:3, 3] = position
    return matrix
