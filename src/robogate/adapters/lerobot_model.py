"""A policy of LeRobot's with its processors, loaded through LeRobot's own interface.

Facts: lerobot 0.6.1, `policies/factory.py`, `policies/pretrained.py`, `policies/utils.py`. The
policies keep queues of observations and actions inside themselves, so an object belongs to one
episode at a time; a copy for another episode shares the weights and nothing else.
"""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import os
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robogate.adapters.checkpoint_files import read_json
from robogate.adapters.lerobot_checkpoint import ACTION, PREPROCESSOR, LerobotCheckpoint
from robogate.adapters.seeds import torch_seeded
from robogate.errors import EpisodeError, RunError
from robogate.records.observation import FloatArray, Image

_DEVICE_STEP = "device_processor"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Frame:
    """What a policy is given of one observation.

    Attributes:
        images: (size, size, 3) uint8 RGB, by the policy's key.
        state: Key and vector, (n,) float64.
        task: The sentence.
    """

    images: Mapping[str, Image]
    state: tuple[str, FloatArray]
    task: str


class LerobotModel:
    """One policy object, and what stands before and behind it."""

    def __init__(self, policy: Any, preprocessor: Any, postprocessor: Any, device: str) -> None:
        """Take the parts as `load_model` made them."""
        self.policy = policy
        self._preprocessor = preprocessor
        self._postprocessor = postprocessor
        self._device = device

    def copy(self) -> LerobotModel:
        """Another policy object with the same weights, and queues of its own.

        Raises:
            RunError: ``load``: this policy cannot be copied.
        """
        tensors = [*self.policy.parameters(), *self.policy.buffers()]
        memo: dict[int, Any] = {id(tensor): tensor for tensor in tensors}
        try:
            policy = copy.deepcopy(self.policy, memo)
        except Exception as exc:
            raise RunError(
                f"a {type(self.policy).__name__} cannot be copied for a second episode at the same "
                f"time ({exc!r:.120}): set runtime.workers=1",
                code="load",
            ) from exc
        return LerobotModel(policy, self._preprocessor, self._postprocessor, self._device)

    def reset(self) -> None:
        """Begin an episode: the policy's queues and the processors' state are cleared."""
        self.policy.reset()
        self._preprocessor.reset()
        self._postprocessor.reset()

    def see(self, frame: Frame) -> None:
        """Let the policy see an observation at which it is not asked; an action is left behind.

        It does what LeRobot's own loop does between two inferences.
        """
        if not any(self._queues()):
            raise EpisodeError(
                f"{type(self.policy).__name__} was shown more observations than it gave actions",
                code="out_of_order",
            )
        with _no_grad():
            self.policy.select_action(self._batch(frame))

    def infer(self, frame: Frame, seed: int | None) -> list[FloatArray]:
        """Make one inference, whatever actions of an earlier one are left.

        Args:
            frame: The present observation.
            seed: Of everything that the policy draws; None leaves that to chance.

        Returns:
            The actions that LeRobot would give out one by one, each (n,) float64.
        """
        for queue in self._queues():
            queue.clear()
        with torch_seeded(seed), _no_grad():
            first = self.policy.select_action(self._batch(frame))
            rest = [action for queue in self._queues() for action in queue]
            return [self._decoded(action) for action in (first, *rest)]

    def _batch(self, frame: Frame) -> Any:
        from lerobot.policies.utils import prepare_observation_for_inference

        key, state = frame.state
        # Copies: torch shares the memory of the arrays that it is handed.
        arrays: dict[str, Any] = {name: np.array(image) for name, image in frame.images.items()}
        arrays[key] = state.astype(np.float32)
        import torch

        device = torch.device(self._device)
        return self._preprocessor(prepare_observation_for_inference(arrays, device, frame.task))

    def _decoded(self, action: Any) -> FloatArray:
        values = self._postprocessor(action)
        array = np.asarray(values.detach().cpu().float().numpy(), dtype=np.float64)
        if array.ndim != 2 or array.shape[0] != 1:
            raise EpisodeError(
                f"{type(self.policy).__name__} gave an action of shape {array.shape}, "
                "expected (1, n)",
                code="action_shape",
            )
        command: FloatArray = array[0]
        return command

    def _queues(self) -> list[deque[Any]]:
        """Where the policy keeps actions that it has not given out; most have one such place."""
        queues = getattr(self.policy, "_queues", None)
        kept = queues.get(ACTION) if isinstance(queues, dict) else None
        found = [kept, getattr(self.policy, "_action_queue", None)]
        return [queue for queue in found if isinstance(queue, deque)]


def load_model(checkpoint: LerobotCheckpoint, device: str) -> LerobotModel:
    """Load weights and processors from the checkpoint's folder, and from nowhere else.

    Args:
        checkpoint: Whose files were checked.
        device: ``cpu`` or ``cuda``.

    Raises:
        RunError: ``load``: LeRobot or a part of it is missing, or it refuses the checkpoint.
    """
    require_lerobot()
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        raise RunError(
            "adapter.device: is cuda, and PyTorch finds no GPU here: run on a machine with one, or "
            "set adapter.device=cpu, which is another contract",
            code="load",
        )
    folder = str(checkpoint.folder)
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            return _load(folder, device, _device_override(checkpoint, device))
    except Exception as exc:
        raise RunError(
            f"{folder}: LeRobot cannot load this policy ({type(exc).__name__}: "
            f"{' '.join(str(exc).split())[:300]})",
            code="load",
        ) from exc
    finally:
        # Standard output is the command's own.
        for line in said.getvalue().splitlines():
            log.info("LeRobot: %s", line)


def _load(folder: str, device: str, preprocessor_overrides: dict[str, Any]) -> LerobotModel:
    # Registers the types of policy that a configuration may name.
    import lerobot.policies  # noqa: F401
    from lerobot.configs import PreTrainedConfig
    from lerobot.policies.factory import get_policy_class, make_pre_post_processors

    config = PreTrainedConfig.from_pretrained(folder, local_files_only=True)
    config.device = device
    if getattr(config, "pretrained_backbone_weights", None) is not None:
        # They would be downloaded, and then overwritten by the checkpoint's own.
        config.pretrained_backbone_weights = None
    policy = get_policy_class(config.type).from_pretrained(
        folder, config=config, local_files_only=True, strict=True
    )
    policy.eval()
    preprocessor, postprocessor = make_pre_post_processors(
        config, pretrained_path=folder, preprocessor_overrides=preprocessor_overrides
    )
    return LerobotModel(policy, preprocessor, postprocessor, device)


def require_lerobot() -> None:
    """Refuse an interpreter without LeRobot, and keep what is there from downloading anything.

    Raises:
        RunError: ``load``.
    """
    # What a checkpoint names on a hub is taken from the local cache, or not at all.
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        os.environ.setdefault(name, "1")
    try:
        import lerobot.policies  # noqa: F401
    except ImportError as exc:
        missing = exc.name or "lerobot"
        raise RunError(
            f"adapter=lerobot needs '{missing}', which this Python does not have: run "
            "`make lerobot-env`, and the same command with .venv-lerobot/bin/python",
            code="load",
        ) from exc


def _device_override(checkpoint: LerobotCheckpoint, device: str) -> dict[str, Any]:
    """Sends observations to the contract's device, wherever the policy was trained."""
    steps = read_json(checkpoint.folder / PREPROCESSOR).get("steps")
    names = [step.optional("registry_name") for step in steps.entries()]
    moves = any(name is not None and name.value == _DEVICE_STEP for name in names)
    return {_DEVICE_STEP: {"device": device}} if moves else {}


@contextlib.contextmanager
def _no_grad() -> Iterator[None]:
    import torch

    with torch.no_grad():
        yield
