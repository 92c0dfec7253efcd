"""What GR00T is given and gives back, in the layouts of its generations.

Facts: `gr00t/model/policy.py` and `examples/Libero/eval` (N1.5), `gr00t/policy/gr00t_policy.py`
(N1.6, N1.7) of NVIDIA/Isaac-GR00T. "Roll, pitch, yaw" are the components of LIBERO's rotation
vector, no Euler angles. N1.6 and N1.7 differ in nothing here; ``_sim`` is their flat form, which a
server started with ``--use-sim-policy-wrapper`` takes instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robogate.adapters.libero import STATE_NAMES
from robogate.adapters.libero_policy import LiberoView
from robogate.adapters.wire import describe, require_array, require_map, wire_error
from robogate.errors import ConfigError, EpisodeError, nearest
from robogate.records.observation import FloatArray

LAYOUTS = ("n1.5", "n1.6", "n1.7", "n1.6_sim", "n1.7_sim")
VIDEO_NAMES = ("image", "wrist_image")
LANGUAGE = "annotation.human.action.task_description"


def is_nested(layout: str) -> bool:
    """Whether modalities are maps of their own."""
    return layout in ("n1.6", "n1.7")


def has_options(layout: str) -> bool:
    """Whether an observation travels beside options, and actions beside an info map."""
    _require(layout)
    return layout != "n1.5"


def groot_observation(view: LiberoView, layout: str) -> dict[str, Any]:
    """The observation map that the policy class of a generation takes.

    Args:
        view: What the network sees.
        layout: Of `LAYOUTS`.

    Returns:
        N1.5: flat, images (1, H, W, 3), states (1, D) float64. Later: images (1, 1, H, W, 3),
        states (1, 1, D) float32; nested, or flat for ``_sim``.
    """
    _require(layout)
    parts = [view.state[i : i + 1] for i in range(6)] + [view.state[6:8]]
    state = dict(zip(STATE_NAMES, parts))
    video = dict(zip(VIDEO_NAMES, (view.image, view.wrist_image)))
    if layout == "n1.5":
        return {
            **{f"video.{name}": image[None] for name, image in video.items()},
            **{f"state.{name}": value[None] for name, value in state.items()},
            LANGUAGE: [view.instruction],
        }
    batched = {name: image[None, None] for name, image in video.items()}
    states = {name: value[None, None].astype(np.float32) for name, value in state.items()}
    if is_nested(layout):
        return {
            "video": batched,
            "state": states,
            "language": {LANGUAGE: [[view.instruction]]},
        }
    return {
        **{f"video.{name}": image for name, image in batched.items()},
        **{f"state.{name}": value for name, value in states.items()},
        LANGUAGE: [view.instruction],
    }


def groot_prompt(observation: Mapping[str, Any], layout: str) -> str:
    """The sentence that an observation map hands to the network."""
    if is_nested(layout):
        return str(observation["language"][LANGUAGE][0][0])
    return str(observation[LANGUAGE][0])


def groot_actions(actions: Any, layout: str) -> FloatArray:
    """The seven components of an action map, side by side.

    Args:
        actions: What the policy class answers. N1.5: ``action.x`` …, each (T,) or (T, 1). Later:
            (1, T, 1) float32, under ``x`` … or, for ``_sim``, ``action.x`` ….
        layout: Of `LAYOUTS`.

    Returns:
        (T, 7) float64, the gripper as it is.

    Raises:
        EpisodeError: ``bad_reply`` or ``action_shape``: a component missing, unknown, of another
            type or shape.
    """
    _require(layout)
    prefix = "" if is_nested(layout) else "action."
    found = require_map(actions, "the action map")
    names = [f"{prefix}{name}" for name in STATE_NAMES]
    missing = [name for name in names if name not in found]
    extra = [name for name in found if name not in names]
    if missing or extra:
        what = f"lacks {', '.join(missing)}" if missing else f"has also {', '.join(extra[:5])}"
        raise EpisodeError(
            f"the action map {what}: it has {', '.join(list(found)[:9]) or 'nothing'}, layout "
            f"{layout} of a LIBERO checkpoint has {', '.join(names)}; check adapter.layout, and "
            "that the checkpoint is one for LIBERO",
            code="action_shape",
        )
    columns = [_component(found[name], name, layout) for name in names]
    lengths = {len(column) for column in columns}
    if len(lengths) != 1:
        raise wire_error(f"the action map's components have different lengths {sorted(lengths)}")
    return np.stack(columns, axis=1)


def split_reply(reply: Any, layout: str) -> Any:
    """The action map in a reply; later generations send it with an info map.

    Raises:
        EpisodeError: ``bad_reply``.
    """
    if not has_options(layout):
        return reply
    if not isinstance(reply, list) or len(reply) != 2:
        raise wire_error(
            f"a reply is {describe(reply)}, layout {layout} has a list of actions and info; a "
            "server of N1.5 sends a map: check adapter.layout"
        )
    return reply[0]


def _component(value: Any, name: str, layout: str) -> FloatArray:
    if has_options(layout):
        return require_array(value, name, (1, None, 1), ("<f4",))[0, :, 0].astype(np.float64)
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return require_array(value, name, (None, 1))[:, 0].astype(np.float64)
    return require_array(value, name, (None,)).astype(np.float64)


def _require(layout: str) -> None:
    if layout not in LAYOUTS:
        raise ConfigError(f"adapter.layout: no '{layout}'; {nearest(layout, LAYOUTS)}")
