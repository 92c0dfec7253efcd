"""MuJoCo's warnings go to the log of the process that simulates.

Left alone, MuJoCo appends them to a file in whatever folder the user happens to be in.
"""

from __future__ import annotations

import logging

log = logging.getLogger(__name__)


def route_warnings() -> None:
    """Send MuJoCo's warnings of this process to `logging`."""
    import mujoco

    mujoco.set_mju_user_warning(_warn)


def _warn(text: str) -> None:
    log.warning("MuJoCo: %s", text)
