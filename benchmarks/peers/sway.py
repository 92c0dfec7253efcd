"""Times a peer's environment while its arm sways, and makes sure that it really rendered.

Runs in the peer's own venv: nothing but numpy is imported.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

WARM_UP = 10


def fault(frames: list[np.ndarray[Any, Any]]) -> str | None:
    """Why images were not made by a renderer: wrong type, blank, or the last one again."""
    for i, frame in enumerate(frames):
        if frame.dtype != np.uint8 or frame.shape != (256, 256, 3):
            return f"frame {i} is {frame.dtype} {frame.shape}"
        if int(frame.max()) - int(frame.min()) < 50 or len(np.unique(frame)) < 20:
            return f"frame {i} is blank"
    same = sum(np.array_equal(a, b) for a, b in zip(frames, frames[1:]))
    return f"{same} of {len(frames)} frames equal the one before" if same else None


def measure(
    step: Callable[[np.ndarray[Any, Any]], Mapping[str, Any]], dimensions: int, cameras: list[str]
) -> None:
    """Print seconds of CPU per action, and what shows that some of it was not rendered.

    Args:
        step: Takes an action, returns the observation.
        dimensions: Of an action.
        cameras: Names of the observation's two images.
    """
    actions = int(sys.argv[1])
    frames: dict[str, list[np.ndarray[Any, Any]]] = {name: [] for name in cameras}
    began = 0.0
    for i in range(WARM_UP + actions):
        if i == WARM_UP:
            began = time.process_time()
        action = np.zeros(dimensions)
        action[:3] = 0.3 * math.sin(i / 5.0), 0.3 * math.cos(i / 5.0), 0.2
        if (i // 10) % 2:
            action[2] = -0.2
        observation = step(action)
        if i >= WARM_UP:
            for name in cameras:
                frames[name].append(observation[name])
    cpu_s = (time.process_time() - began) / actions
    faults = {name: fault(frames[name]) for name in cameras}
    wrong = [f"{name}: {text}" for name, text in faults.items() if text is not None]
    print(json.dumps({"cpu_s": cpu_s, "actions": actions, "not_rendered": wrong}), flush=True)
