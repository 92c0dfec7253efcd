"""What a command must keep before it reaches the robot, and what became of one.

The options are part of the bench's contract and of the robot's profile; the rules that apply them
are in `robogate.worker.shield`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from robogate.contract.schema import Vec3, choices
from robogate.records.observation import FloatArray


@dataclass(frozen=True)
class ShieldOptions:
    """Everything that the shield keeps; plain values, so that it has a JSON form.

    Positions, velocities and accelerations are those of the *commands*: what is sent to the servos,
    one command a period.

    Attributes:
        mode: ``enforce`` (accept, limit or reject, all checks), ``check`` (accept or reject, no
            command is ever replaced) or ``ik`` (the same; the bench resolves the command itself).
        names: Name of each component of a command, (n,).
        low: Lowest accepted value per component, (n,); rad, or the gripper's own unit.
        high: Highest, (n,).
        velocity: Largest change per second, (n,); empty unless ``enforce``.
        acceleration: Largest change of that per second, (n,); empty unless ``enforce``.
        period_s: Time between two commands, s.
        workspace_low: Lowest corner of the box that both gripper tips stay in, world frame, m;
            null where there is none.
        workspace_high: Its highest corner.
        arm_distance: Smallest distance between the two arms, m; null where it is not checked.
        self_distance: Smallest distance between parts of one arm that are not neighbours, m.
        table_distance: Smallest distance between an arm's moving links and the table, m.
    """

    mode: str = field(metadata=choices("enforce", "check", "ik"))
    names: tuple[str, ...] = field()
    low: tuple[float, ...] = field()
    high: tuple[float, ...] = field()
    velocity: tuple[float, ...] = ()
    acceleration: tuple[float, ...] = ()
    period_s: float = 0.0
    workspace_low: Vec3 | None = None
    workspace_high: Vec3 | None = None
    arm_distance: float | None = None
    self_distance: float | None = None
    table_distance: float | None = None


@dataclass(frozen=True)
class Decision:
    """What became of a requested command.

    Attributes:
        verdict: ``accept``, ``limit`` (another command is executed), ``reject`` (by the shield) or
            ``control_rejected`` (by the controller); the last two execute nothing.
        command: What is executed, (n,); the requested one where nothing is.
        reasons: Why it was limited or rejected; empty for ``accept``.
    """

    verdict: Literal["accept", "limit", "reject", "control_rejected"]
    command: FloatArray
    reasons: tuple[str, ...]
