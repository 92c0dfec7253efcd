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

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from robogate.errors import ConfigError, EpisodeError, RunError
from robogate.records.observation import FloatArray
from robogate.records.shield import Decision, ShieldOptions
from robogate.worker.braking import braking_path, largest_move, resting_place, slow_down


class Geometry(Protocol):
    """Rules that depend on where the parts of the robot are."""

    def first_broken(self, commands: FloatArray) -> int | None:
        """Index of the first of several commands, (k, n), that breaks a rule; None: none does."""
        ...

    def breaches(self, command: FloatArray) -> Sequence[str]:
        """Rules that a command, (n,), breaks, one text each; empty when it keeps all."""
        ...


#: Places that are tried between the command that brakes, 0, and the wanted one, 1; increasing.
_SHARES = (np.arange(1, 16) / 16.0)[:, np.newaxis]
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
        # Half-way first: what is in the way is wider than a step from one target to the next.
        order = sorted(range(1, targets), key=lambda i: abs(2 * i - targets))
        self._shares = np.array(order, np.float64)[:, np.newaxis] / targets
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
            reasons = (*self._out_of_range(command), *self._breaches(command[np.newaxis]))
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
        within = self._kept(command)
        wanted = within - last
        # What braking alone would do is admissible: every decision before this one saw to that.
        brake = slow_down(self._move, self._change)
        ahead, behind = largest_move(np.array((self._high - last, last - self._low)), self._change)
        ahead = np.minimum(np.minimum(self._move + self._change, self._velocity), ahead)
        behind = np.maximum(np.maximum(self._move - self._change, -self._velocity), -behind)
        ahead, behind = np.maximum(ahead, brake), np.minimum(behind, brake)
        move = np.minimum(np.maximum(wanted, behind), ahead)
        changed = np.abs(move - wanted) > SLACK * self._change
        reasons = list(self._out_of_range(command))
        reasons += self._why(wanted, changed)
        if changed.any():
            chosen = self._kept(last + np.where(changed, move, wanted))
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

        Braking itself keeps them: its whole path was asked for before the last command. In between,
        only the place where the robot would come to rest is asked for at first, since that is
        where a rule is broken first, if any; the whole path of what this leaves is asked for then.
        """
        broken = self._breaches(*self._path(chosen, last))
        if not broken:
            return chosen, []
        safe = self._kept(last + brake)
        span = chosen - safe
        tries = safe + _SHARES * span
        rests = self._kept(tries + resting_place(tries - last, self._change))
        good, bad = -1, len(tries)
        while bad - good > 1:
            middle = (good + bad) // 2
            if self._keeps(rests[middle : middle + 1]):
                good = middle
            else:
                bad = middle
        while good >= 0:
            if self._keeps(*self._path(tries[good], last)):
                return tries[good], list(broken)
            good = (good - 1) // 2
        return safe, list(broken)

    def _path(self, command: FloatArray, last: FloatArray) -> tuple[FloatArray, ...]:
        """Where the robot would pass if it moved to a command and braked after it, (k, n) each.

        Backwards: where it would come to rest is where a rule is broken first, if any; and ends of
        periods before what lies between them. Empty where nothing depends on it.
        """
        if self._geometry is None:
            return ()
        path = self._kept(command + braking_path(command - last, self._change))
        ends = np.concatenate((last[np.newaxis], command[np.newaxis], path))
        backwards = ends[:0:-1]
        if not len(self._shares):
            return (backwards,)
        starts = ends[-2::-1, np.newaxis]
        between = starts + self._shares * (backwards[:, np.newaxis] - starts)
        return backwards, between.swapaxes(0, 1).reshape(-1, len(command))

    def _keeps(self, *paths: FloatArray) -> bool:
        """Whether no command of several paths, (k, n) each, breaks a geometric rule."""
        geometry = self._geometry
        return geometry is None or all(geometry.first_broken(path) is None for path in paths)

    def _breaches(self, *paths: FloatArray) -> tuple[str, ...]:
        """What the first of them breaks that breaks any."""
        if self._geometry is None:
            return ()
        for path in paths:
            found = self._geometry.first_broken(path)
            if found is not None:
                return tuple(self._geometry.breaches(path[found]))
        return ()

    def _kept(self, commands: FloatArray) -> FloatArray:
        """Within the limits of position; of what is computed, this bounds what rounding adds."""
        return np.asarray(np.minimum(np.maximum(commands, self._low), self._high))

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
