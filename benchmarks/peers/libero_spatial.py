"""LIBERO-spatial task 0, two 256×256 cameras, 20 Hz: CPU time per action. Runs in its own venv."""

from __future__ import annotations

import os

from libero.libero import benchmark, get_libero_path
from libero.libero.envs import OffScreenRenderEnv
from sway import measure


def main() -> None:
    task = benchmark.get_benchmark_dict()["libero_spatial"]().get_task(0)
    bddl = os.path.join(get_libero_path("bddl_files"), task.problem_folder, task.bddl_file)
    environment = OffScreenRenderEnv(
        bddl_file_name=bddl, camera_heights=256, camera_widths=256, horizon=10**6
    )
    environment.reset()
    measure(
        lambda action: environment.step(action)[0],
        7,
        ["agentview_image", "robot0_eye_in_hand_image"],
    )
    environment.close()


main()
