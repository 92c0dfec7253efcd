"""What a verification found: each check, by what means it was made, and every fault."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from robogate.contract.strict import Fault
from robogate.errors import EvidenceError


class Means(enum.Enum):
    """How strongly a check binds what it looks at."""

    RECOMPUTED = "recomputed"
    """Computed again from other parts of the evidence."""
    COMPARED = "compared"
    """Compared with the document that fixes it."""
    HASHED = "hash only"
    """Observed once: a hash (and in a bundle a signature) protects it, nothing can recompute it."""
    SIGNED = "signature"
    """A key's owner vouches for it."""


@dataclass(frozen=True)
class Check:
    """One kind of check over all the places that it applies to.

    Attributes:
        name: What was checked.
        means: How.
        count: In how many places.
        faults: What does not hold; empty when all of it does.
        note: Short remark for people, or empty.
    """

    name: str
    means: Means
    count: int
    faults: tuple[Fault, ...]
    note: str

    @property
    def holds(self) -> bool:
        """Whether there is no fault."""
        return not self.faults


@dataclass(frozen=True)
class Report:
    """All that a verification found.

    Attributes:
        kind: ``run``, ``qualification`` or ``bundle``.
        subject: What was verified, as the user named it.
        checks: In the order in which they were made.
        about: Facts for the headline, such as status and counts; plain JSON values.
    """

    kind: str
    subject: str
    checks: tuple[Check, ...]
    about: dict[str, Any]

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Every fault, in the order of the checks."""
        return tuple(fault for check in self.checks for fault in check.faults)

    @property
    def holds(self) -> bool:
        """Whether there is no fault."""
        return not self.faults

    @property
    def exit_code(self) -> int:
        """0 holds, 3 does not."""
        return 0 if self.holds else 3

    def require(self) -> None:
        """Refuse what does not hold.

        Raises:
            EvidenceError: Naming the first faults and how many there are.
        """
        faults = self.faults
        if faults:
            text = "; ".join(str(fault) for fault in faults[:5])
            more = f" (and {len(faults) - 5} more)" if len(faults) > 5 else ""
            raise EvidenceError(f"{self.subject}: {text}{more}", code="evidence")


@dataclass
class Section:
    """Collects one check's faults while it is being made."""

    name: str
    means: Means
    note: str = ""
    count: int = 0
    faults: list[Fault] = field(default_factory=list)

    def fault(self, path: str, message: str) -> None:
        """Record that the value at a JSON path does not hold."""
        self.faults.append(Fault(path, message))

    def equal(self, path: str, actual: Any, expected: Any, source: str = "") -> bool:
        """Compare a value with what it has to be, types included.

        Args:
            path: JSON path of the value.
            actual: The value.
            expected: What it has to be.
            source: Where the expectation comes from, for the message.
        """
        self.count += 1
        if type(actual) is type(expected) and actual == expected:
            return True
        origin = f" ({source})" if source else ""
        self.fault(path, f"is {_short(actual)}, expected {_short(expected)}{origin}")
        return False


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


class Ledger:
    """Collects checks. A name that comes again continues the check of that name."""

    def __init__(self) -> None:
        self._sections: dict[str, Section] = {}

    def section(self, name: str, means: Means, note: str = "") -> Section:
        """Begin or continue a check."""
        return self._sections.setdefault(name, Section(name, means, note))

    @contextmanager
    def refusals(self, name: str, means: Means, path: str) -> Iterator[Section]:
        """A check in which an `EvidenceError` is a fault at ``path``, not the end."""
        section = self.section(name, means)
        try:
            yield section
        except EvidenceError as exc:
            faults = getattr(exc, "faults", None)
            section.faults.extend(faults or [Fault(path, exc.message)])

    def adopt(self, check: Check) -> None:
        """Take over a check that was made elsewhere."""
        section = self.section(check.name, check.means, check.note)
        section.count += check.count
        section.faults.extend(check.faults)

    @property
    def holds(self) -> bool:
        """Whether nothing was found so far."""
        return not any(section.faults for section in self._sections.values())

    def checks(self) -> tuple[Check, ...]:
        """What was checked so far."""
        return tuple(
            Check(s.name, s.means, s.count, tuple(s.faults), s.note)
            for s in self._sections.values()
        )
