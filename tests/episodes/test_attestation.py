"""Actions come from a live call of this episode for its instruction, or it is an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from robogate.records.calls import CHUNK, FAILED, STOP
from robogate.records.policy import PolicyEpisode, Reply, Stop, policy_seed
from robogate.records.result import Episode
from robogate.records.trace_file import TraceFile, load_trace, trace_kinds

if TYPE_CHECKING:
    from toy_world import World

WorldOf = Callable[..., "World"]


@pytest.fixture(scope="module")
def world(world_of: WorldOf) -> World:
    from toy_world import ROWS

    return world_of(rows=ROWS[:3], chunk=4, execute=2, max_actions=10)


class Backend:
    """A network: it counts what reaches it, and draws another chunk every time."""

    def __init__(self) -> None:
        self.calls = 0
        self.prompts: list[str] = []
        self._draw = np.random.default_rng(5)

    def __call__(self, prompt: str) -> list[np.ndarray[Any, Any]]:
        self.calls += 1
        self.prompts.append(prompt)
        return list(self._draw.uniform(-0.1, 0.1, (4, 7)))


class Policy:
    """An adapter whose sessions turn one live call into one reply; subclasses go wrong."""

    privileged = False

    def __init__(self) -> None:
        self.backend = Backend()
        self.left_over: list[Any] = []

    def open_session(self, episode: PolicyEpisode) -> Any:
        return Session(self, episode.instruction)

    def infer(self, instruction: str, observation: Any) -> Any:
        before = self.backend.calls
        chunk = self.chunk(instruction, observation)
        return Reply(chunk, instruction, self.backend.calls - before)

    def chunk(self, instruction: str, observation: Any) -> Any:
        return self.backend(instruction)


class Session:
    def __init__(self, policy: Policy, instruction: str) -> None:
        self._policy, self._instruction = policy, instruction

    def infer(self, observation: Any) -> Any:
        return self._policy.infer(self._instruction, observation)

    def close(self) -> None:
        pass


def run(world: World, folder: Path, policy: Any, **options: Any) -> list[Episode]:
    import toy_env

    return world.run(folder, policy, lambda i: toy_env.create(**world.options()), **options)


def file_of(world: World, folder: Path, episode: Episode) -> TraceFile:
    assert episode.attestation is not None
    return load_trace(folder / episode.attestation.trace_file, trace_kinds(world.frozen))


def test_a_live_policy_is_attested(world: World, tmp_path: Path) -> None:
    policy = Policy()
    episodes = run(world, tmp_path / "run", policy)
    assert [e.ending for e in episodes] == ["step_limit"] * 3
    for episode in episodes:
        attestation, timing = episode.attestation, episode.timing
        assert attestation is not None and timing is not None
        assert attestation.inference_calls == attestation.backend_calls == 5
        assert attestation.prompt == world.frozen.bench.instruction
        assert len(timing.inference_us) == 5
        assert timing.inference_p50_s <= timing.inference_p95_s <= timing.inference_max_s
        file = file_of(world, tmp_path / "run", episode)
        assert file.calls["row"].tolist() == [0, 2, 4, 6, 8]
        assert (file.calls["answer"] == CHUNK).all() and (file.calls["length"] == 4).all()
        inferred = file.calls["chunk"][:, :2].reshape(-1, 7)
        assert inferred.tobytes() == file.rows["action"][:-1].tobytes()
    assert policy.backend.calls == 15
    assert set(policy.backend.prompts) == {world.frozen.bench.instruction}


class Scripted(Policy):
    """Never asks its network."""

    def chunk(self, instruction: str, observation: Any) -> Any:
        return [np.full(7, 0.01)] * 4


class Zeros(Policy):
    """Sends zeros where its network fails."""

    def chunk(self, instruction: str, observation: Any) -> Any:
        try:
            raise ConnectionError("the network is gone")
        except ConnectionError:
            return [np.zeros(7)] * 4


class Stale(Policy):
    """Answers the first observation after a reset with what was left of the episode before."""

    def chunk(self, instruction: str, observation: Any) -> Any:
        if observation.step == 0 and self.left_over:
            return self.left_over
        self.left_over = self.backend(instruction)
        return self.left_over


class Paraphrases(Policy):
    """Hands another sentence to its network."""

    def infer(self, instruction: str, observation: Any) -> Any:
        return Reply(self.backend(instruction.upper()), instruction.upper(), 1)


class Silent(Policy):
    """Does not say where its actions come from."""

    def infer(self, instruction: str, observation: Any) -> Any:
        return self.backend(instruction)


class Short(Policy):
    """Returns fewer actions than the contract says."""

    def chunk(self, instruction: str, observation: Any) -> Any:
        return self.backend(instruction)[:3]


class Boasts(Policy):
    """Claims a number of calls that is none."""

    def infer(self, instruction: str, observation: Any) -> Any:
        return Reply(self.backend(instruction), instruction, True)


@pytest.mark.parametrize(
    ("kind", "code", "message"),
    [
        (Scripted, "unattested", "the policy returned actions without a live call of its backend"),
        (Zeros, "unattested", "the policy returned actions without a live call of its backend"),
        (Paraphrases, "prompt", "the backend got the prompt 'PICK UP THE RED BLOCK"),
        (Silent, "unattested", "adapter 'bc' returned actions and does not say from which call"),
        (Short, "chunk_length", "the policy returned 3 actions, expected adapter.chunk=4"),
        (Boasts, "unattested", "backend_calls is True, expected a count"),
    ],
)
def test_actions_from_elsewhere_cost_the_episode(
    world: World, tmp_path: Path, kind: type[Policy], code: str, message: str
) -> None:
    for episode in run(world, tmp_path / "run", kind()):
        assert (episode.outcome, episode.steps) == ("error", 0)
        assert episode.error is not None and episode.error.code == code
        assert episode.error.message.startswith(message)
        file = file_of(world, tmp_path / "run", episode)
        # The call is counted and timed, and has no answer.
        assert file.calls["answer"].tolist() == [FAILED]
        assert not file.calls["chunk"].any() and not file.rows["action"].any()
        assert episode.timing is not None and len(episode.timing.inference_us) == 1


def test_what_is_left_of_an_episode_never_acts_in_the_next(world: World, tmp_path: Path) -> None:
    first, *others = run(world, tmp_path / "run", Stale())
    assert first.ending == "step_limit"
    for episode in others:
        assert episode.error is not None and episode.error.code == "unattested"
        assert episode.steps == 0


def test_a_stop_is_a_call_without_actions(world: World, tmp_path: Path) -> None:
    class Stops(Policy):
        def infer(self, instruction: str, observation: Any) -> Any:
            return Stop() if observation.step else super().infer(instruction, observation)

    for episode in run(world, tmp_path / "run", Stops()):
        assert episode.ending == "policy_stop"
        file = file_of(world, tmp_path / "run", episode)
        assert file.calls["answer"].tolist() == [CHUNK, STOP]
        assert episode.attestation is not None and episode.attestation.backend_calls == 1


def test_every_episode_has_its_own_seed_the_same_in_every_run(world: World, tmp_path: Path) -> None:
    import toy_world

    seeds = []
    for name in ("a", "b"):
        policy = toy_world.Policy(lambda observation: Stop())
        run(world, tmp_path / name, policy)
        seeds.append(policy.seeds)
    assert seeds[0] == seeds[1]
    harness = world.frozen.harness_sha256
    assert seeds[0] == [policy_seed(harness, name) for name in world.ids]
    assert len(set(seeds[0])) == 3
