"""``adapter=groot``: NVIDIA's GR00T in this process, for checkpoints that were trained on LIBERO.

The checkpoint's files are checked first (`robogate.adapters.groot_checkpoint`); only then is the
package ``gr00t`` imported and are weights read.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from robogate.adapters.groot_checkpoint import read_checkpoint
from robogate.adapters.groot_files import GrootCheckpoint
from robogate.adapters.groot_layout import groot_actions, groot_observation, groot_prompt
from robogate.adapters.groot_runtime import Runtime, load_runtime
from robogate.adapters.libero_policy import libero_chunk, libero_view, require_libero
from robogate.adapters.loaded import LoadedPolicy
from robogate.adapters.seeds import inference_seed
from robogate.contract.adapter_schema import GrootAdapter
from robogate.contract.identity.harness import measure_adapter
from robogate.contract.identity.policy import PolicySource, measure_policy, require_unchanged
from robogate.contract.schema import Adapter, Bench
from robogate.contract.strict import encode
from robogate.records.location import PolicyLocation
from robogate.records.observation import PolicyObservation
from robogate.records.policy import PolicyEpisode, Reply


class GrootPolicy:
    """A loaded policy; its class keeps nothing between two calls."""

    def __init__(
        self,
        runtime: Runtime,
        checkpoint: GrootCheckpoint,
        adapter: GrootAdapter,
        source: PolicySource,
    ) -> None:
        """Take a loaded runtime."""
        self.checkpoint = checkpoint
        self._runtime = runtime
        self._adapter = adapter
        self._source = source
        self._lock = threading.Lock()

    def identity(self) -> Mapping[str, Any]:
        """Identity of the imported source."""
        return dict(encode(self._source.identity))

    def open_session(self, episode: PolicyEpisode) -> GrootSession:
        """Begin an episode."""
        seed = episode.seed if self._adapter.seeding == "per_episode" else None
        return GrootSession(self, seed)

    def warm_up(self, example: PolicyObservation) -> Reply:
        """Make one inference that belongs to no episode."""
        return self.infer(example, 0 if self._adapter.seeding == "per_episode" else None)

    def infer(self, observation: PolicyObservation, seed: int | None) -> Reply:
        """Ask the policy class once."""
        layout = self._adapter.layout
        given = groot_observation(libero_view(observation, self._adapter), layout)
        prompt = groot_prompt(given, layout)
        with self._lock:
            answer = self._runtime.act(given, seed)
        chunk = libero_chunk(groot_actions(answer, layout), self._adapter)
        return Reply(chunk, prompt, backend_calls=1)

    def close(self) -> None:
        """Nothing to release but memory."""


class GrootSession:
    """One episode."""

    def __init__(self, policy: GrootPolicy, seed: int | None) -> None:
        """Take the policy, and the seed of what it draws."""
        self._policy = policy
        self._seed = seed
        self._inferences = 0

    def infer(self, observation: PolicyObservation) -> Reply:
        """Make one inference."""
        self._inferences += 1
        seed = None if self._seed is None else inference_seed(self._seed, self._inferences)
        return self._policy.infer(observation, seed)

    def close(self) -> None:
        """Nothing is kept."""


def load(
    adapter: Adapter, bench: Bench, modules: tuple[str, ...], location: PolicyLocation
) -> LoadedPolicy:
    """Check the checkpoint's files, import the runtime, load, and measure its source."""
    if not isinstance(adapter, GrootAdapter):
        raise TypeError(f"expected a GrootAdapter, got {type(adapter).__name__}")
    require_libero(adapter, bench)
    checkpoint = read_checkpoint(location.checkpoint, adapter)
    runtime = load_runtime(checkpoint, adapter)
    source = measure_policy("groot", runtime.module, runtime.class_name)
    return LoadedPolicy(
        policy=GrootPolicy(runtime, checkpoint, adapter, source),
        privileged=False,
        adapter=measure_adapter(adapter, modules),
        source=source.identity,
        checkpoint=None,
        require_unchanged=lambda: require_unchanged(source),
    )
