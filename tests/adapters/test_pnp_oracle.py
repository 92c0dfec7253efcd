"""The positive control in a world of a few lines: no physics, only what the actions mean."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from robogate.adapters.pnp_oracle import Phase, PnpOracleSession
from robogate.adapters.pnp_situation import half_height, situation
from robogate.adapters.rotations import downward, multiply, wrap, yaw_of
from robogate.records.facts import PNP_FACTS
from robogate.records.observation import Evaluator, Observation
from robogate.records.policy import Privileged
from robogate.scenes.pnp import resolve
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.rotations import about_z
from robogate.scenes.spec import PnpScene, Quat


class World:
    """A hand that covers a share of each command, and a block that is carried when held.

    Args:
        share: Of a commanded motion that one action covers.
        slip: Actions at which a held block is lost.
    """

    def __init__(
        self, bench: PnpBench, scene: PnpScene, share: float = 0.4, slip: tuple[int, ...] = ()
    ) -> None:
        self.bench, self.scene, self.share, self.slip = bench, scene, share, slip
        self.hand = np.array([0.307, 0.0, 0.494])
        self.orientation: Quat = downward(0.0)
        self.block = np.array(scene.object.position)
        self.turned: Quat = scene.object.orientation
        self.speed, self.width, self.held = 0.0, 0.08, False
        self.offset = np.zeros(3)
        self.step = 0
        self.highest = 0.0

    def observe(self) -> Observation:
        values = {
            **dict(zip(("object_x", "object_y", "object_z"), self.block)),
            **dict(zip(("object_qw", "object_qx", "object_qy", "object_qz"), self.turned)),
            "object_speed": self.speed,
            "grip_distance": float(np.linalg.norm(self.block - self.hand)),
            "gripper_width": self.width,
            "held": float(self.held),
            "push_steps": 0.0,
        }
        facts = np.array([values[name] for name in PNP_FACTS])
        state = {"ee_position": self.hand.copy(), "ee_orientation": np.array(self.orientation)}
        evaluator = Evaluator("scenario", 0, {}, False, facts, {})
        return Observation("2.0.0", "e", self.step, "", state, {}, "", False, evaluator)

    def act(self, action: Any) -> None:
        before = self.block.copy()
        self.hand = self.hand + self.share * 0.05 * action[:3]
        axis = action[3:6] * 0.5 * self.share
        angle = float(np.linalg.norm(axis))
        if angle:
            sine = math.sin(angle / 2) / angle
            step = (math.cos(angle / 2), *(float(v) * sine for v in axis))
            self.orientation = multiply(step, self.orientation)
        size = self.scene.object.size[0]
        if action[6] < 0.0:
            self.width = min(0.08, self.width + 0.02)
            self.held = False
        else:
            self.width = max(size, self.width - 0.02)
            if self.step in self.slip:
                self.held = False
            elif not self.held and self.width == size and self.within():
                self.held, self.offset = True, self.block - self.hand
        if self.held:
            self.block = self.hand + self.offset
        else:
            rest = 0.30 + half_height(self.turned, self.scene.object.size)
            self.block[2] = max(rest, self.block[2] - 0.05)
        self.speed = float(np.linalg.norm(self.block - before)) / 0.05
        self.highest = max(self.highest, float(self.block[2]))
        self.step += 1

    def within(self) -> bool:
        return float(np.linalg.norm(self.block - self.hand)) < 0.02

    @property
    def done(self) -> bool:
        away = math.dist(self.block[:2], self.scene.target.position[:2])
        lifted = self.highest - self.scene.object.position[2]
        return not self.held and away < 0.08 and lifted > 0.05 and self.width == 0.08


def run(world: World, session: PnpOracleSession, actions: int = 300) -> list[Phase]:
    phases: list[Phase] = []
    for _ in range(actions):
        (action,) = session.infer_privileged(Privileged("s", world.scene, world.observe()))
        assert action.shape == (7,) and action.dtype == np.float64
        assert np.isfinite(action).all() and np.abs(action).max() <= 1.0
        phases.append(session.phase)
        world.act(action)
        if world.done and session.phase is Phase.RETREAT:
            break
    return phases


def order(phases: list[Phase]) -> list[Phase]:
    return [p for i, p in enumerate(phases) if i == 0 or phases[i - 1] is not p]


FORWARD = [
    Phase.APPROACH,
    Phase.DESCEND,
    Phase.CLOSE,
    Phase.LIFT,
    Phase.TRANSPORT,
    Phase.LOWER,
    Phase.OPEN,
    Phase.RETREAT,
]


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9])
@pytest.mark.parametrize("variant", ["standard_objects", "small_objects", "cluttered_scene"])
def test_it_goes_through_its_phases_in_order(bench: PnpBench, variant: str, share: float) -> None:
    world = World(bench, resolve(bench, variant, 11), share)
    phases = run(world, PnpOracleSession(bench))
    assert world.done
    assert order(phases) == FORWARD
    assert len(phases) < 160


def test_the_fingers_close_on_the_faces(bench: PnpBench) -> None:
    scene = resolve(bench, "standard_objects", 3)
    block = replace(scene.object, orientation=about_z(33.0))
    world = World(bench, replace(scene, object=block))
    session = PnpOracleSession(bench)
    while not world.held:
        (action,) = session.infer_privileged(Privileged("s", world.scene, world.observe()))
        world.act(action)
    askew = wrap(4.0 * (yaw_of(world.orientation) - math.radians(33.0))) / 4.0
    assert abs(askew) < math.radians(4.0)


def test_it_follows_a_block_that_is_pushed(bench: PnpBench) -> None:
    world = World(bench, resolve(bench, "standard_objects", 4))
    session = PnpOracleSession(bench)
    seen = set()
    for _ in range(300):
        (action,) = session.infer_privileged(Privileged("s", world.scene, world.observe()))
        seen.add(session.phase)
        world.act(action)
        if 10 <= world.step < 24 and not world.held:
            world.block = world.block + np.array([0.006, -0.004, 0.0])
            world.speed = 0.15
        if world.done:
            break
    assert world.done and seen >= set(FORWARD[:-1])


def test_it_does_not_descend_on_a_block_that_moves(bench: PnpBench) -> None:
    world = World(bench, resolve(bench, "standard_objects", 4))
    session = PnpOracleSession(bench)
    for _ in range(60):
        (action,) = session.infer_privileged(Privileged("s", world.scene, world.observe()))
        world.act(action)
        world.speed = 0.1
    assert session.phase is Phase.APPROACH
    assert world.hand[2] > world.block[2] + 0.05


def test_a_block_that_slips_is_fetched_again(bench: PnpBench) -> None:
    world = World(bench, resolve(bench, "standard_objects", 5), slip=(45,))
    phases = run(world, PnpOracleSession(bench))
    assert world.done
    assert order(phases).count(Phase.APPROACH) == 2


def test_a_gripper_that_does_not_take_hold_tries_again(bench: PnpBench) -> None:
    world = World(bench, resolve(bench, "standard_objects", 5))
    tries = iter([False] * 40)
    within = world.within
    world.within = lambda: next(tries, True) and within()  # type: ignore[method-assign]
    phases = run(world, PnpOracleSession(bench))
    assert world.done
    assert order(phases).count(Phase.CLOSE) >= 2


def test_it_carries_over_what_stands_on_the_way(bench: PnpBench) -> None:
    scene = resolve(bench, "cluttered_scene", 7)
    low = World(bench, replace(scene, obstacles=(), distractors=()))
    high = World(bench, scene)
    run(low, PnpOracleSession(bench))
    run(high, PnpOracleSession(bench))
    top = max(b.position[2] + b.size[2] / 2 for b in scene.obstacles[:1])
    assert high.highest - scene.object.size[2] / 2 > top
    assert low.highest < high.highest


def test_two_episodes_share_nothing(bench: PnpBench) -> None:
    scene = resolve(bench, "position", 8)

    def actions() -> list[bytes]:
        world, session, found = World(bench, scene), PnpOracleSession(bench), []
        for _ in range(50):
            (action,) = session.infer_privileged(Privileged("s", scene, world.observe()))
            found.append(action.tobytes())
            world.act(action)
        return found

    assert actions() == actions()


def test_without_the_evaluators_half_it_says_so(bench: PnpBench) -> None:
    world = World(bench, resolve(bench, "position", 8))
    blind = replace(world.observe(), evaluator=None)
    with pytest.raises(ValueError, match="needs the evaluator half"):
        situation(blind)


def test_the_height_of_a_turned_box() -> None:
    assert half_height((1.0, 0.0, 0.0, 0.0), (0.1, 0.2, 0.4)) == pytest.approx(0.2)
    half = math.sqrt(0.5)
    assert half_height((half, half, 0.0, 0.0), (0.1, 0.2, 0.4)) == pytest.approx(0.1)
    eighth = (math.cos(math.pi / 8), math.sin(math.pi / 8), 0.0, 0.0)
    assert half_height(eighth, (1.0, 0.04, 0.04)) == pytest.approx(0.02 * math.sqrt(2))
