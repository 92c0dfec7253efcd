"""A policy that looks back sees every observation once, in order; others see what they act on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robogate.records.observation import PolicyObservation
from robogate.records.policy import Stop
from robogate.records.result import Episode

if TYPE_CHECKING:
    from toy_world import World

WorldOf = Callable[..., "World"]


class Session:
    """Remembers what it is shown, and how."""

    def __init__(self, shown: list[tuple[str, int]], fail_at: int | None) -> None:
        self._shown = shown
        self._fail_at = fail_at

    def infer(self, observation: PolicyObservation) -> Any:
        self._shown.append(("infer", observation.step))
        return Stop() if observation.step >= 6 else [np.zeros(7)] * 3

    def watch(self, observation: PolicyObservation) -> None:
        self._shown.append(("watch", observation.step))
        for array in (*observation.images.values(), *observation.state.values()):
            array[:] = 0  # its own to spoil
        if observation.step == self._fail_at:
            raise ValueError("blind")

    def close(self) -> None:
        pass


class Policy:
    privileged = False

    def __init__(self, fail_at: int | None = None) -> None:
        self.shown: list[list[tuple[str, int]]] = []
        self._fail_at = fail_at

    def open_session(self, episode: Any) -> Session:
        self.shown.append([])
        return Session(self.shown[-1], self._fail_at)


def run(world: World, folder: Path, policy: Any) -> list[Episode]:
    import toy_env

    return world.run(folder, policy, lambda i: toy_env.create(**world.options()))


def test_every_observation_is_shown_once_and_in_order(world_of: WorldOf, tmp_path: Path) -> None:
    from toy_world import ROWS

    world = world_of(execute=3, rows=ROWS[:2])
    policy = Policy()
    episodes = run(world, tmp_path / "run", policy)
    expected = [("infer" if step % 3 == 0 else "watch", step) for step in range(7)]
    assert policy.shown == [expected] * 2
    assert [episode.ending for episode in episodes] == ["policy_stop"] * 2


def test_what_a_watcher_does_to_its_images_stays_with_it(world_of: WorldOf, tmp_path: Path) -> None:
    from toy_world import ROWS
    from toy_world import Policy as Plain

    world = world_of(execute=3, rows=ROWS[:1])

    def act(observation: PolicyObservation) -> Any:
        return Stop() if observation.step >= 6 else [np.zeros(7)] * 3

    (watched,) = run(world, tmp_path / "a", Policy())
    (plain,) = run(world, tmp_path / "b", Plain(act))
    assert watched.semantic_sha256 == plain.semantic_sha256


def test_a_watcher_that_fails_costs_the_episode(world_of: WorldOf, tmp_path: Path) -> None:
    from toy_world import ROWS

    world = world_of(execute=3, rows=ROWS[:1])
    (episode,) = run(world, tmp_path / "run", Policy(fail_at=4))
    assert episode.error is not None
    assert (episode.error.code, episode.error.step) == ("inference_exception", 4)
    assert episode.error.message == "watching step 4 raised ValueError: blind"
