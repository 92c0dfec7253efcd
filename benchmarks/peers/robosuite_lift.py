"""robosuite Lift, two 256×256 cameras, 20 Hz: CPU time per action. Runs in its own venv."""

from __future__ import annotations

import robosuite
from sway import measure

CAMERAS = ["agentview", "robot0_eye_in_hand"]


def main() -> None:
    environment = robosuite.make(
        "Lift",
        robots="Panda",
        has_renderer=False,
        has_offscreen_renderer=True,
        use_camera_obs=True,
        camera_names=CAMERAS,
        camera_heights=256,
        camera_widths=256,
        control_freq=20,
        horizon=10**6,
    )
    environment.reset()
    measure(
        lambda action: environment.step(action)[0],
        environment.action_dim,
        [f"{name}_image" for name in CAMERAS],
    )
    environment.close()


main()
