"""What `robogate doctor` tries in a process of its own: a frame, and a W&B run without a key.

A driver that crashes or hangs takes this process with it and nothing else. Each probe prints one
line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

_SCENE = """
<mujoco>
  <visual><global offwidth="64" offheight="64"/><quality offsamples="4"/></visual>
  <worldbody>
    <light pos="0 0 2"/>
    <geom type="box" size=".1 .1 .1" rgba=".9 .1 .1 1"/>
    <geom type="plane" size="1 1 .1" pos="0 0 -.1"/>
    <camera name="probe" pos="0 -.6 .4" xyaxes="1 0 0 0 .5 .8" resolution="64 64"/>
  </worldbody>
</mujoco>
"""


def frame(backend: str) -> dict[str, Any]:
    """Draw one frame as a bench draws it, and look at it.

    Args:
        backend: ``egl`` or ``osmesa``.

    Raises:
        UsageError: No context.
        RunError: No frame buffer, or a blank frame.
    """
    started = time.monotonic()
    from robogate.benches.rendering import (
        CameraRenderer,
        GlContext,
        check_images,
        prepare_process,
    )

    prepare_process(backend, 1)
    import mujoco

    from robogate.contract.schema import Renderer

    model = mujoco.MjModel.from_xml_string(_SCENE)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    gl = GlContext(backend, 64, 64)
    renderer = Renderer("mujoco", 64, 64, 4, False, ("probe",))
    cameras = CameraRenderer(gl, model, renderer, ("probe",), "top_first")
    check_images(cameras.render(data))
    strings = gl.strings()
    cameras.close()
    gl.close()
    return {"renderer": strings["renderer"], "seconds": time.monotonic() - started}


def wandb_offline(folder: str) -> dict[str, Any]:
    """Make an offline run, as the mirror does.

    Args:
        folder: Where it goes.
    """
    import wandb

    settings = wandb.Settings(silent=True, console="off", x_disable_stats=True)
    run = wandb.init(project="robogate-doctor", dir=folder, mode="offline", settings=settings)
    run.log({"probe": 1})
    run.finish()
    return {"version": wandb.__version__}


PROBES = {"frame": frame, "wandb_offline": wandb_offline}


if __name__ == "__main__":
    print(json.dumps(PROBES[sys.argv[1]](*sys.argv[2:])))
