"""The shield: every command passes it before the robot, and none passes around it.

Under ``enforce`` a command is accepted as it is, or replaced by the nearest one that keeps joint
limits, velocity and acceleration limits, the workspace and the distances, such that the robot can
still brake without ever breaking one of them; a command that is none is rejected. Under ``check``
and ``ik`` nothing is ever replaced.

All limits are those of commands, one a period. What depends on geometry (workspace, distances) is
asked from a function of the bench, which works on a copy of the robot's model, for every target
that the robot is given on its way: a hand moves by centimetres in a period, and two that are clear
of each other before and after it may have met in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from robogate.errors import ConfigError, EpisodeError, RunError
from robogate.records.observation import FloatArray
from robogate.records.shield import Decision, ShieldOptions
from robogate.worker.braking import braking_path, largest_move, slow_down

#: Which geometric rules a command breaks, (n,) → one text each; empty when it keeps all of them.
Geometry = Callable[[FloatArray], Sequence[str]]

#: Commands tried on the way from the wanted one to the one that brakes.
_SEARCH = 4
#: Relative slack within which a command still counts as keeping a limit; far below any encoder's
#: resolution, far above rounding.
SLACK = 1e-9


class Shield:
    """Decides on every command of one robot, knowing the commands before it.

    Args:
        options: What to keep.
        geometry: Asked under ``enforce`` for every command and for every point at which the robot
            would pass if it braked after it; None where there is nothing to ask.
        targets: Number of targets that the robot is given, in equal steps, from one command to the
            next, that next one included.

    Raises:
        ConfigError: Options that contradict themselves.
    """

    def __init__(
        self, options: ShieldOptions, geometry: Geometry | None = None, targets: int = 1
    ) -> None:
        self.options = options
        self._names = options.names
        self._low, self._high = np.array(options.low), np.array(options.high)
        self._enforce = options.mode == "enforce"
        _require_consistent(options, geometry)
        self._geometry = geometry
        self._shares = (np.arange(1, targets) / targets)[:, np.newaxis]
        if self._enforce:
            self._velocity = np.array(options.velocity) * options.period_s
            self._change = np.array(options.acceleration) * options.period_s**2
        self._command: FloatArray | None = None
        self._move = np.zeros_like(self._low)

    def reset(self, command: FloatArray) -> None:
        """An episode begins, at rest, with this command in force.

        Args:
            command: (n,) float64.

        Raises:
            RunError: It breaks a rule itself, so that nothing could be kept from there.
        """
        reasons = self._malformed(command)
        if not reasons and self._enforce:
            reasons = (*self._out_of_range(command), *self._broken([command]))
        if reasons:
            raise RunError(
                f"the shield cannot begin at the start command: {reasons[0]}",
                code="contract_mismatch",
            )
        self._command = np.array(command, np.float64)
        self._move = np.zeros_like(self._low)

    def check(self, command: Any) -> Decision:
        """Decide on the next command; an accepted or limited one is taken as executed.

        A rejected one changes nothing: the next command is judged as if it had not been.

        Args:
            command: (n,) float64.

        Raises:
            EpisodeError: ``action_type``, ``action_shape``, ``action_not_finite``; except under
                ``enforce`` also ``action_out_of_range``. Nothing is executed.
        """
        # A subclass may mean something else by its values, as a masked array does.
        if type(command) is not np.ndarray or command.dtype != np.float64:
            kind = f"{type(command).__name__} {getattr(command, 'dtype', '')}".strip()
            raise EpisodeError(f"command is {kind}, expected a float64 array", code="action_type")
        if command.shape != self._low.shape:
            raise EpisodeError(self._malformed(command)[0], code="action_shape")
        if not np.isfinite(command).all():
            raise EpisodeError(self._malformed(command)[0], code="action_not_finite")
        if self._enforce:
            return self._limit(command)
        outside = self._out_of_range(command)
        if outside:
            raise EpisodeError(outside[0], code="action_out_of_range")
        return Decision("accept", np.array(command), ())

    def _limit(self, command: FloatArray) -> Decision:
        last = self._command
        if last is None:
            raise EpisodeError("command before a reset", code="out_of_order")
        within = np.clip(command, self._low, self._high)
        wanted = within - last
        # What braking alone would do is admissible: every decision before this one saw to that.
        brake = slow_down(self._move, self._change)
        ahead = np.minimum(
            np.minimum(self._move + self._change, self._velocity),
            largest_move(self._high - last, self._change),
        )
        behind = np.maximum(
            np.maximum(self._move - self._change, -self._velocity),
            -largest_move(last - self._low, self._change),
        )
        ahead, behind = np.maximum(ahead, brake), np.minimum(behind, brake)
        move = np.clip(wanted, behind, ahead)
        changed = np.abs(move - wanted) > SLACK * self._change
        reasons = list(self._out_of_range(command))
        reasons += self._why(wanted, changed)
        if changed.any():
            chosen = np.clip(last + np.where(changed, move, wanted), self._low, self._high)
        else:
            chosen = within
        chosen, rules = self._clear(chosen, last, brake)
        reasons += rules
        self._move, self._command = chosen - last, chosen
        return Decision("limit" if reasons else "accept", np.array(chosen), tuple(reasons))

    def _clear(
        self, chosen: FloatArray, last: FloatArray, brake: FloatArray
    ) -> tuple[FloatArray, list[str]]:
        """The command nearest to the chosen one, towards braking, that keeps the geometric rules.

        Braking itself keeps them: its whole path was asked for before the last command.
        """
        broken = self._after(chosen, last)
        if not broken:
            return chosen, []
        safe = np.clip(last + brake, self._low, self._high)
        best, good, bad = safe, 0.0, 1.0
        for _ in range(_SEARCH):
            share = 0.5 * (good + bad)
            tried = safe + share * (chosen - safe)
            if self._after(tried, last):
                bad = share
            else:
                best, good = tried, share
        return best, list(broken)

    def _after(self, command: FloatArray, last: FloatArray) -> tuple[str, ...]:
        """Rules that a command breaks, or that the robot would break if it braked after it."""
        if self._geometry is None:
            return ()
        path = braking_path(command, command - last, self._change, self._low, self._high)
        places: list[FloatArray] = []
        for place in (command, *path):
            places += [*(last + self._shares * (place - last)), place]
            last = place
        # Where it would come to rest is where a rule is broken first, if any.
        return self._broken(places[::-1])

    def _broken(self, commands: Sequence[FloatArray]) -> tuple[str, ...]:
        if self._geometry is None:
            return ()
        for command in commands:
            broken = self._geometry(command)
            if broken:
                return tuple(broken)
        return ()

    def _why(self, wanted: FloatArray, changed: Any) -> list[str]:
        """Say for each limited component which limit it is about, the tightest one first."""
        reasons = []
        for i in np.flatnonzero(changed).tolist():
            name, asked = self._names[i], float(wanted[i])
            if abs(asked) > self._velocity[i] * (1.0 + SLACK):
                limit = f"velocity limit {self.options.velocity[i]:g}/s"
            elif abs(asked - self._move[i]) > self._change[i] * (1.0 + SLACK):
                limit = f"acceleration limit {self.options.acceleration[i]:g}/s²"
            else:
                limit = f"[{self._low[i]:g}, {self._high[i]:g}] could not be kept while braking"
            reasons.append(f"{name}: {limit}")
        return reasons

    def _out_of_range(self, command: FloatArray) -> tuple[str, ...]:
        outside = (command < self._low) | (command > self._high)
        if not outside.any():
            return ()
        return tuple(
            f"{self._names[i]} is {float(command[i])!r}, expected "
            f"[{self._low[i]:g}, {self._high[i]:g}]"
            for i in np.flatnonzero(outside).tolist()
        )

    def _malformed(self, command: FloatArray) -> tuple[str, ...]:
        if command.shape != self._low.shape:
            return (f"command has shape {command.shape}, expected {self._low.shape}",)
        bad = np.flatnonzero(~np.isfinite(command)).tolist()
        if bad:
            listed = ", ".join(f"{self._names[i]}={command[i]}" for i in bad)
            return (f"command is not finite: {listed}",)
        return ()


def _require_consistent(options: ShieldOptions, geometry: Geometry | None) -> None:
    n = len(options.names)
    fields = {"low": options.low, "high": options.high}
    if options.mode == "enforce":
        fields.update(velocity=options.velocity, acceleration=options.acceleration)
    for name, values in fields.items():
        if len(values) != n or not np.isfinite(values).all():
            raise ConfigError(f"shield.{name}: has {len(values)} values, expected {n} finite ones")
    if any(low > high for low, high in zip(options.low, options.high)):
        raise ConfigError("shield.low: a lowest value lies above its highest")
    if options.mode != "enforce":
        return
    if not options.period_s > 0 or min((*options.velocity, *options.acceleration)) <= 0:
        raise ConfigError("shield: period, velocities and accelerations have to be above 0")
    asked = (options.workspace_low, options.arm_distance, options.self_distance)
    if geometry is None and any(value is not None for value in (*asked, options.table_distance)):
        raise ConfigError("shield: options state geometric rules and nothing can check them")
