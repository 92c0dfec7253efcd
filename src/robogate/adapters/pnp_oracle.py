"""The positive control for pick-and-place: it sees the scene, and acts like any policy.

It reads the block's pose from the evaluator's facts at every observation and sends nothing but the
contract's normalised seven-component actions. Each phase has one goal for the hand and one test for
being over; a block that is lost or pushed sends it back to the approach. No label is looked at.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

import numpy as np

from robogate.adapters.pnp_geometry import (
    FINGER_TIP,
    Grasp,
    choose,
    grasps,
    highest_on_the_way,
    standing_bodies,
)
from robogate.adapters.pnp_situation import Situation, apart, half_height, situation
from robogate.adapters.rotations import downward, turn, wrap, yaw_of
from robogate.records.observation import FloatArray
from robogate.records.policy import Chunk, Privileged
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.spec import PnpScene, Vec3

#: Room left under the fingertips and the held block, m.
TABLE_ROOM, BODY_ROOM, RELEASE_ROOM = 0.003, 0.025, 0.001
#: The hand is in place, m; it has turned, rad; the block lies still, m/s.
PLACED, TURNED, STILL = 0.004, math.radians(3.0), 0.02
#: Offset at which a descent is given up and approached anew, m.
LOST = 0.02
#: Height above the grasp at which the hand waits for the block, and to which it retreats, m.
HOVER = 0.06
#: Largest translation command, of 1: over free space, and next to block, table and bodies.
BRISK, GENTLE = 0.5, 0.3
#: Actions after which a phase has failed.
PATIENCE = 25


class Phase(enum.Enum):
    """What the control is doing."""

    APPROACH = "approach"
    DESCEND = "descend"
    CLOSE = "close"
    LIFT = "lift"
    TRANSPORT = "transport"
    LOWER = "lower"
    OPEN = "open"
    RETREAT = "retreat"


@dataclass(frozen=True)
class Motion:
    """What a phase asks for.

    Attributes:
        goal: Of the grip site, world frame, (3,), m.
        yaw: Of the hand, rad.
        close: Whether the gripper closes.
        pace: Largest component of the translation command, in (0, 1].
    """

    goal: Vec3
    yaw: float
    close: bool
    pace: float = BRISK


class PnpOracleSession:
    """One episode of the positive control."""

    def __init__(self, bench: PnpBench) -> None:
        """Begin in the approach."""
        self._bench = bench
        self._phase = Phase.APPROACH
        self._since = 0
        self._grasp: Grasp | None = None
        self._anchor: Vec3 = (0.0, 0.0, 0.0)

    @property
    def phase(self) -> Phase:
        """What it is doing."""
        return self._phase

    def infer_privileged(self, view: Privileged) -> Chunk:
        """Return the next action, (7,) float64."""
        now = situation(view.observation)
        motion = self._advance(now, view.scene)
        self._since += 1
        return [self._action(now, motion)]

    def close(self) -> None:
        """Nothing to release."""

    def _advance(self, now: Situation, scene: PnpScene) -> Motion:
        """Leave the phases that are over, then say what the present one asks for."""
        rules = {
            Phase.APPROACH: self._approach,
            Phase.DESCEND: self._descend,
            Phase.CLOSE: self._close,
            Phase.LIFT: self._lift,
            Phase.TRANSPORT: self._transport,
            Phase.LOWER: self._lower,
            Phase.OPEN: self._open,
            Phase.RETREAT: self._retreat,
        }
        for _ in Phase:
            motion, following = rules[self._phase](now, scene)
            if following is None:
                return motion
            self._phase, self._since, self._anchor = following, 0, now.hand
        return motion

    # --- phases: each returns its motion, and the phase that follows once it is over ---

    def _approach(self, now: Situation, scene: PnpScene) -> tuple[Motion, Phase | None]:
        grasp = self._track(now, scene)
        low = self._grasp_height(now, scene)
        bodies = standing_bodies(scene)
        way = ((now.hand[0], now.hand[1]), (now.block[0], now.block[1]))
        tips = FINGER_TIP - self._bench.control.grip_site[2]
        hover = max(low + HOVER, highest_on_the_way(way, bodies) + tips + BODY_ROOM)
        if self._grasp_is_taken(now, low):
            hover = low + HOVER
        away = apart(now.hand, now.block)
        turned = abs(wrap(grasp.yaw - yaw_of(now.orientation))) <= TURNED
        if away <= 2.0 * PLACED and turned and now.speed <= STILL and self._open_enough(now):
            return Motion((now.block[0], now.block[1], low), grasp.yaw, False), Phase.DESCEND
        # Below the way's height, first straight up.
        over = now.block if now.hand[2] > hover - BODY_ROOM / 2.0 or away <= LOST else now.hand
        return Motion((over[0], over[1], hover), grasp.yaw, False), None

    def _descend(self, now: Situation, scene: PnpScene) -> tuple[Motion, Phase | None]:
        grasp = self._track(now, scene)
        low = self._grasp_height(now, scene)
        motion = Motion((now.block[0], now.block[1], low), grasp.yaw, False, GENTLE)
        away = apart(now.hand, now.block)
        if away > LOST or self._since > PATIENCE:
            return motion, Phase.APPROACH
        if away <= PLACED and abs(now.hand[2] - low) <= PLACED:
            return motion, Phase.CLOSE
        return motion, None

    def _close(self, now: Situation, scene: PnpScene) -> tuple[Motion, Phase | None]:
        motion = Motion(self._anchor, self._yaw(now), True)
        if now.held:
            return motion, Phase.LIFT
        if self._since > PATIENCE or apart(now.hand, now.block) > LOST:
            return motion, Phase.APPROACH
        return motion, None

    def _lift(self, now: Situation, scene: PnpScene) -> tuple[Motion, Phase | None]:
        x, y, _ = self._anchor
        height = self._carry_height(now, scene)
        motion = Motion((x, y, height), self._yaw(now), True)
        if not now.held:
            return motion, Phase.APPROACH
        return motion, Phase.TRANSPORT if now.hand[2] >= height - 2.0 * PLACED else None

    def _transport(self, now: Situation, scene: PnpScene) -> tuple[Motion, Phase | None]:
        x, y, _ = self._over_target(now, scene)
        motion = Motion((x, y, self._carry_height(now, scene)), self._yaw(now), True)
        if not now.held:
            return motion, Phase.APPROACH
        near = apart(now.block, scene.target.position) <= scene.target.radius / 4.0
        return motion, Phase.LOWER if near else None

    def _lower(self, now: Situation, scene: PnpScene) -> tuple[Motion, Phase | None]:
        x, y, _ = self._over_target(now, scene)
        drop = now.block[2] - self._rest_height(now, scene)
        motion = Motion((x, y, now.hand[2] - drop + RELEASE_ROOM), self._yaw(now), True, GENTLE)
        if not now.held:
            return motion, Phase.APPROACH
        resting = drop <= PLACED and now.speed <= 2.0 * STILL
        near = apart(now.block, scene.target.position) <= scene.target.radius / 4.0
        return motion, Phase.OPEN if (resting and near) or self._since > PATIENCE else None

    def _open(self, now: Situation, scene: PnpScene) -> tuple[Motion, Phase | None]:
        motion = Motion(self._anchor, self._yaw(now), False)
        return motion, Phase.RETREAT if not now.held and self._open_enough(now) else None

    def _retreat(self, now: Situation, scene: PnpScene) -> tuple[Motion, Phase | None]:
        x, y, z = self._anchor
        motion = Motion((x, y, z + HOVER), self._yaw(now), False)
        waited = self._since > self._bench.success.stable_actions + PATIENCE
        return motion, Phase.APPROACH if waited else None

    # --- what the phases share ---

    def _track(self, now: Situation, scene: PnpScene) -> Grasp:
        """Choose a grasp once, then keep to its face as the block turns."""
        low = self._grasp_height(now, scene)
        candidates = grasps(
            (now.block[0], now.block[1]),
            now.block_orientation,
            low + self._bench.control.grip_site[2],
            yaw_of(now.orientation),
            (scene.target.position[0], scene.target.position[1]),
            standing_bodies(scene),
        )
        if self._grasp is None or self._phase is Phase.APPROACH and self._since == 0:
            self._grasp = choose(candidates)
        else:
            last = self._grasp.yaw
            self._grasp = min(candidates, key=lambda g: abs(wrap(g.yaw - last)))
        return self._grasp

    def _yaw(self, now: Situation) -> float:
        return self._grasp.yaw if self._grasp else yaw_of(now.orientation)

    def _open_enough(self, now: Situation) -> bool:
        return now.width >= self._bench.success.open_width + PLACED

    def _grasp_height(self, now: Situation, scene: PnpScene) -> float:
        """Height of the grip site at the grasp: the block's centre, fingertips off the table, m."""
        table = scene.surface.position[2] + scene.surface.size[2] / 2.0
        tips = FINGER_TIP - self._bench.control.grip_site[2]
        return max(now.block[2], table + tips + TABLE_ROOM)

    def _grasp_is_taken(self, now: Situation, low: float) -> bool:
        """Whether the hand is already down in the block's own shaft."""
        return apart(now.hand, now.block) <= LOST and now.hand[2] <= low + HOVER

    def _rest_height(self, now: Situation, scene: PnpScene) -> float:
        """Height of the block's centre when it lies on the table, m."""
        table = scene.surface.position[2] + scene.surface.size[2] / 2.0
        return table + half_height(now.block_orientation, scene.object.size)

    def _carry_height(self, now: Situation, scene: PnpScene) -> float:
        """Height of the grip site that carries the block over everything on the way, m."""
        below = now.hand[2] - now.block[2]
        hanging = below + half_height(now.block_orientation, scene.object.size)
        tips = FINGER_TIP - self._bench.control.grip_site[2]
        way = (
            (now.block[0], now.block[1]),
            (scene.target.position[0], scene.target.position[1]),
        )
        top = highest_on_the_way(way, standing_bodies(scene))
        lifted = scene.object.position[2] + self._bench.success.lift_height + below
        return max(lifted + 2.0 * PLACED + 0.01, top + max(hanging, tips) + BODY_ROOM)

    def _over_target(self, now: Situation, scene: PnpScene) -> Vec3:
        """Where the grip site has to be for the block's centre to be over the target's."""
        x, y, z = now.hand
        target = scene.target.position
        return (x + target[0] - now.block[0], y + target[1] - now.block[1], z)

    def _action(self, now: Situation, motion: Motion) -> FloatArray:
        """Encode a motion as a normalised action."""
        control = self._bench.control
        shift = [(g - h) / control.translation_scale for g, h in zip(motion.goal, now.hand)]
        rotation = turn(now.orientation, downward(motion.yaw))
        angle = math.sqrt(sum(r * r for r in rotation))
        # Within half the tolerance the last command's goal was this one: zeros keep it.
        turning = [r / control.rotation_scale for r in rotation] if angle > TURNED / 2.0 else []
        action = [
            *_fit(shift, motion.pace),
            *(_fit(turning, 1.0) or [0.0] * 3),
            1.0 if motion.close else -1.0,
        ]
        return np.array(action, dtype=np.float64)


def _fit(vector: list[float], most: float) -> list[float]:
    """Scale a vector so that no component exceeds ``most``; its direction stays."""
    largest = max((abs(v) for v in vector), default=0.0)
    return [v * most / largest for v in vector] if largest > most else vector
