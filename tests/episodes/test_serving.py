"""Several workers, one policy: one call at a time, or one call for all that wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from robogate.episodes.inference import Cancelled, InferenceThread
from robogate.episodes.serving import Batcher, Gate, Stopwatch
from robogate.errors import EpisodeError
from robogate.records.policy import PolicyEpisode, Reply
from robogate.records.result import Episode

if TYPE_CHECKING:
    from toy_world import World

WorldOf = Callable[..., "World"]
#: Long enough that only a fault makes anybody wait for its end.
WINDOW_S = 60.0


class Network:
    """Answers from what an episode has seen so far; each row on its own, in any company.

    Args:
        spoil: What becomes of the replies to a batch.
    """

    privileged = False

    def __init__(self, spoil: Callable[[list[Any]], Any] = list) -> None:
        self.batches: list[int] = []
        self.expected = 1
        self.sessions = 0
        self.opened = threading.Event()
        self._spoil = spoil
        self._lock = threading.Lock()

    @property
    def batched(self) -> Network:
        return self

    def open_session(self, episode: PolicyEpisode) -> Session:
        self.sessions += 1
        if self.sessions == self.expected:
            self.opened.set()
        return Session(self, episode)

    def infer_batch(self, requests: Sequence[tuple[Any, Any]]) -> Any:
        assert self._lock.acquire(blocking=False), "the policy is called by two workers at a time"
        try:
            self.batches.append(len(requests))
            assert len({id(session) for session, _ in requests}) == len(requests)
            return self._spoil([session.answer(seen) for session, seen in requests])
        finally:
            self._lock.release()


class Session:
    def __init__(self, network: Network, episode: PolicyEpisode) -> None:
        self._network, self._episode = network, episode
        self._memory = np.zeros(3)

    def answer(self, seen: Any) -> Reply:
        self._memory = 0.5 * self._memory + seen.state["ee_position"]
        draw = np.random.default_rng([self._episode.seed, seen.step]).uniform(-0.1, 0.1, (4, 7))
        draw[:, :3] += 0.1 * np.sin(self._memory)
        return Reply(list(draw), self._episode.instruction, 1)

    def infer(self, seen: Any) -> Reply:
        return self.answer(seen)

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def invariant(world_of: WorldOf) -> World:
    return world_of(chunk=4, execute=2, max_actions=16, batch_invariant=True)


@pytest.fixture(scope="module")
def variant(world_of: WorldOf) -> World:
    return world_of(chunk=4, execute=2, max_actions=16, batch_invariant=False)


class Abreast:
    """An environment in which nothing moves until every worker has opened a session."""

    def __init__(self, environment: Any, opened: threading.Event) -> None:
        self._environment, self._opened = environment, opened

    def step(self, *arguments: Any) -> Any:
        assert self._opened.wait(60.0)
        return self._environment.step(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._environment, name)


def run(world: World, folder: Path, policy: Any, workers: int = 1) -> list[Episode]:
    import toy_env

    policy.expected = workers
    return world.run(
        folder,
        policy,
        lambda i: Abreast(toy_env.create(**world.options()), policy.opened),
        workers=workers,
        batched=policy.batched,
        batch_window_s=WINDOW_S,
    )


@pytest.mark.parametrize("workers", [2, 3])
def test_a_batch_changes_nothing_but_the_number_of_calls(
    invariant: World, tmp_path: Path, workers: int
) -> None:
    alone, together = Network(), Network()
    one = run(invariant, tmp_path / "one", alone)
    several = run(invariant, tmp_path / "several", together, workers)
    assert [e.semantic_sha256 for e in several] == [e.semantic_sha256 for e in one]
    assert {e.ending for e in one} == {"step_limit"}
    # One worker needs no batch; several share their calls, and every episode is in each once.
    assert alone.batches == []
    calls = sum(e.attestation.inference_calls for e in several if e.attestation)
    assert sum(together.batches) == calls == 8 * len(several)
    assert max(together.batches) == workers
    assert len(together.batches) < calls


def test_a_policy_that_is_not_invariant_is_never_batched(variant: World, tmp_path: Path) -> None:
    network = Network()
    episodes = run(variant, tmp_path / "run", network, workers=3)
    assert {e.ending for e in episodes} == {"step_limit"}
    assert network.batches == []


@pytest.mark.parametrize(
    ("spoil", "code", "message"),
    [
        (lambda replies: replies[:-1], "bad_reply", "infer_batch returned "),
        (lambda replies: 1 / 0, "inference_exception", "raised ZeroDivisionError"),
        (
            lambda replies: [Reply(r.chunk, r.prompt, 0) for r in replies],
            "unattested",
            "without a live call of its backend",
        ),
    ],
)
def test_what_fails_is_an_error_of_every_episode_that_it_was_for(
    invariant: World, tmp_path: Path, spoil: Any, code: str, message: str
) -> None:
    for episode in run(invariant, tmp_path / "run", Network(spoil), workers=2):
        assert episode.error is not None and episode.error.code == code
        assert message in episode.error.message
        assert episode.steps == 0


def test_a_bad_reply_costs_no_other_episode(invariant: World, tmp_path: Path) -> None:
    poor = invariant.ids[1]

    class Choosy(Network):
        def open_session(self, episode: PolicyEpisode) -> Session:
            session = super().open_session(episode)
            from robogate.records.policy import policy_seed

            if episode.seed == policy_seed(invariant.frozen.harness_sha256, poor):
                session.answer = lambda seen: Reply(  # type: ignore[method-assign]
                    [np.full(7, np.nan)] * 4, episode.instruction, 1
                )
            return session

    for episode in run(invariant, tmp_path / "run", Choosy(), workers=2):
        if episode.scenario_id == poor:
            assert episode.error is not None and episode.error.code == "action_not_finite"
        else:
            assert episode.ending == "step_limit"


class Waiting:
    """Two workers of a batcher, without a run around them."""

    def __init__(self, world: World, window_s: float = WINDOW_S, limit_s: float = 30.0) -> None:
        self.stop = threading.Event()
        self.network = Network()
        gate = Gate(limit_s, self.stop.is_set)
        self.batcher = Batcher(self.network, world.frozen, gate, window_s, self.stop.is_set)
        self.seen = type("Seen", (), {"step": 0, "state": {"ee_position": np.zeros(3)}})
        self.outcomes: list[Any] = []

    def ask(self) -> None:
        inference = InferenceThread(self.stop.is_set)
        watch = Stopwatch()
        session = Session(self.network, PolicyEpisode("x", 1))
        try:
            self.outcomes.append(
                self.batcher.infer(inference, session, self.seen, "inference 1", watch)  # type: ignore[arg-type]
            )
        except (EpisodeError, Cancelled) as exc:
            self.outcomes.append(exc)
        finally:
            inference.close()

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=self.ask, daemon=True)
        thread.start()
        return thread


def test_nobody_waits_for_an_episode_that_is_over(invariant: World) -> None:
    pair = Waiting(invariant)
    pair.batcher.opened()
    pair.batcher.opened()
    thread = pair.start()
    pair.batcher.closed()
    thread.join(30.0)
    assert not thread.is_alive() and pair.network.batches == [1]


def test_the_window_ends(invariant: World) -> None:
    pair = Waiting(invariant, window_s=0.05)
    pair.batcher.opened()
    pair.batcher.opened()
    thread = pair.start()
    thread.join(30.0)
    assert not thread.is_alive() and pair.network.batches == [1]


def test_who_waits_for_a_batch_is_let_go_when_the_run_is_stopped(invariant: World) -> None:
    pair = Waiting(invariant)
    for _ in range(3):
        pair.batcher.opened()
    threads = [pair.start(), pair.start()]
    pair.stop.set()
    for thread in threads:
        thread.join(30.0)
        assert not thread.is_alive()
    assert all(isinstance(outcome, Cancelled) for outcome in pair.outcomes)


def test_a_hang_is_one_for_each_of_the_batch(invariant: World) -> None:
    pair = Waiting(invariant, limit_s=0.2)
    release = threading.Event()
    pair.network._spoil = lambda replies: release.wait(60.0)
    pair.batcher.opened()
    pair.batcher.opened()
    threads = [pair.start(), pair.start()]
    for thread in threads:
        thread.join(30.0)
    release.set()
    assert [o.code for o in pair.outcomes] == ["inference_timeout"] * 2
    assert pair.outcomes[0] is not pair.outcomes[1]
