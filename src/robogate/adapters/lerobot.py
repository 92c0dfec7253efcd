"""``adapter=lerobot``: a policy of LeRobot from a local folder, in this process.

The folder's files are checked first, then LeRobot's own classes load and drive it: its processors
before and behind the policy, its queues, cleared for each episode. LeRobot's network server, which
reads pickles, is not used.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from robogate.adapters.chunks import require_chunk
from robogate.adapters.images import refuse_row_order, to_network
from robogate.adapters.lerobot_checkpoint import LerobotCheckpoint, read_checkpoint
from robogate.adapters.lerobot_model import Frame, LerobotModel, load_model
from robogate.adapters.libero import decode_gripper
from robogate.adapters.loaded import LoadedPolicy
from robogate.adapters.seeds import inference_seed
from robogate.adapters.state_layouts import state_vector
from robogate.contract.adapter_schema import LerobotAdapter
from robogate.contract.identity.harness import measure_adapter
from robogate.contract.identity.policy import PolicySource, measure_policy, require_unchanged
from robogate.contract.schema import Adapter, Bench
from robogate.contract.strict import encode
from robogate.errors import ConfigError, EpisodeError
from robogate.records.benches import bench_rules
from robogate.records.location import PolicyLocation
from robogate.records.observation import FloatArray, PolicyObservation
from robogate.records.policy import PolicyEpisode, Reply

_GRIPPER = "gripper"


class LerobotPolicy:
    """A loaded policy; each open session has a policy object of its own."""

    def __init__(
        self,
        model: LerobotModel,
        checkpoint: LerobotCheckpoint,
        adapter: LerobotAdapter,
        bench: Bench,
        source: PolicySource,
    ) -> None:
        """Take a loaded model."""
        self.adapter = adapter
        self.checkpoint = checkpoint
        self._model = model
        self._free = [model]
        self._source = source
        # The generators that inferences are seeded in are the process's, so one at a time.
        self._lock = threading.Lock()
        names = bench.action.names
        self._gripper = names.index(_GRIPPER) if _GRIPPER in names else None

    def identity(self) -> Mapping[str, Any]:
        """Identity of the imported source."""
        return dict(encode(self._source.identity))

    def open_session(self, episode: PolicyEpisode) -> LerobotSession:
        """Begin an episode with cleared queues."""
        with self._lock:
            model = self._free.pop() if self._free else self._model.copy()
            model.reset()
        # Only a policy that looks back in time is shown what happens between its inferences.
        session = WatchingSession if self.checkpoint.history > 1 else LerobotSession
        return session(self, model, episode)

    def warm_up(self, example: PolicyObservation) -> Reply:
        """Make one inference in a session of its own."""
        session = self.open_session(PolicyEpisode(instruction=example.instruction, seed=0))
        try:
            return session.infer(replace(example, step=0))
        finally:
            session.close()

    def close(self) -> None:
        """Let the model go."""
        self._free.clear()

    def see(self, model: LerobotModel, observation: PolicyObservation) -> None:
        """Show a session's policy object an observation without asking it."""
        with self._lock:
            model.see(self.frame(observation))

    def infer(self, model: LerobotModel, observation: PolicyObservation, seed: int | None) -> Reply:
        """Ask a session's policy object."""
        frame = self.frame(observation)
        with self._lock:
            actions = model.infer(frame, seed)
        require_chunk(len(actions), self.adapter)
        return Reply([self._command(action) for action in actions], frame.task, backend_calls=1)

    def give_back(self, model: LerobotModel) -> None:
        """Take a closed session's policy object for the next one."""
        with self._lock:
            self._free.append(model)

    def frame(self, observation: PolicyObservation) -> Frame:
        """An observation as the policy takes it, images and state as the contract says."""
        adapter = self.adapter
        images = {
            key: to_network(
                observation.images[camera],
                transform=adapter.image_transform,
                resize=adapter.image_resize,
                size=adapter.image_size,
            )
            for key, camera in self.checkpoint.images.items()
        }
        state = state_vector(adapter.state_layout, observation)
        return Frame(images, (adapter.state_key, state), observation.instruction)

    def _command(self, action: FloatArray) -> FloatArray:
        """The bench's command: nothing but the gripper's meaning is changed, nothing clipped."""
        command = action.copy()
        if self._gripper is not None:
            value = command[self._gripper : self._gripper + 1]
            command[self._gripper] = decode_gripper(self.adapter.gripper_decode, value)[0]
        return command


class LerobotSession:
    """One episode."""

    def __init__(self, policy: LerobotPolicy, model: LerobotModel, episode: PolicyEpisode) -> None:
        """Take a policy object that no other episode has."""
        self._policy = policy
        self._model: LerobotModel | None = model
        self._seed = episode.seed if policy.adapter.seeding == "per_episode" else None
        self._inferences = 0

    def infer(self, observation: PolicyObservation) -> Reply:
        """Make one inference of the policy."""
        self._inferences += 1
        seed = None if self._seed is None else inference_seed(self._seed, self._inferences)
        return self._policy.infer(self._open(), observation, seed)

    def close(self) -> None:
        """Leave the policy object to the next episode; may be called twice."""
        model, self._model = self._model, None
        if model is not None:
            self._policy.give_back(model)

    def _open(self) -> LerobotModel:
        if self._model is None:
            raise RuntimeError("the session is closed")
        return self._model


class WatchingSession(LerobotSession):
    """One episode of a policy whose input is the latest observations, not only the last."""

    _next = 0

    def infer(self, observation: PolicyObservation) -> Reply:
        """Make one inference of the policy."""
        self._follow(observation)
        return super().infer(observation)

    def watch(self, observation: PolicyObservation) -> None:
        """See an observation at which no inference is made."""
        self._follow(observation)
        self._policy.see(self._open(), observation)

    def _follow(self, observation: PolicyObservation) -> None:
        """A gap would be filled with an older observation, and the policy know nothing of it."""
        if observation.step != self._next:
            raise EpisodeError(
                f"the policy looks at its last {self._policy.checkpoint.history} observations, and "
                f"was shown step {observation.step} instead of step {self._next}",
                code="out_of_order",
            )
        self._next += 1


def load(
    adapter: Adapter, bench: Bench, modules: tuple[str, ...], location: PolicyLocation
) -> LoadedPolicy:
    """Check the checkpoint's files, load it, and measure LeRobot's source."""
    if not isinstance(adapter, LerobotAdapter):
        raise TypeError(f"expected a LerobotAdapter, got {type(adapter).__name__}")
    refuse_row_order(bench, adapter.image_transform)
    if (adapter.state_layout == "libero_8") != (adapter.quaternion == "axis_angle_raw"):
        expected = "axis_angle_raw" if adapter.state_layout == "libero_8" else "none"
        raise ConfigError(
            f"adapter.quaternion: is '{adapter.quaternion}', in adapter.state_layout="
            f"{adapter.state_layout} it is {expected}",
            code="adapter",
        )
    if adapter.gripper_decode != "environment" and _GRIPPER not in bench.action.names:
        raise ConfigError(
            f"adapter.gripper_decode: is '{adapter.gripper_decode}', and the bench's actions have "
            "no value called gripper: use environment",
            code="adapter",
        )
    cameras = bench_rules(bench.kind).cameras
    checkpoint = read_checkpoint(location.checkpoint, adapter, bench, cameras)
    model = load_model(checkpoint, adapter.device)
    policy_class = type(model.policy)
    source = measure_policy("lerobot", policy_class.__module__, policy_class.__name__)
    return LoadedPolicy(
        policy=LerobotPolicy(model, checkpoint, adapter, bench, source),
        privileged=False,
        adapter=measure_adapter(adapter, modules),
        source=source.identity,
        checkpoint=None,
        require_unchanged=lambda: require_unchanged(source),
    )
