"""Two contracts, identities or results compared: what differs, and whether the scores may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from robogate.contract.identity import ABSENT, changes
from robogate.errors import UsageError, nearest
from robogate.evidence.comparability import Weight, loose_distributions, under, weight_of
from robogate.evidence.relevance import value_at
from robogate.records.result import VOLATILE_EPISODE_FIELDS
from robogate.reports.paired import Paired, compare_pairs
from robogate.reports.subject import Subject

#: Statuses of which two equal ones have scores that can be compared.
_SCORED = ("complete", "partial", "development")

#: Fields of a result that are compared as sections of their own, or that follow from others.
_NOT_LISTED = (
    "schema", "run_id", "started_at", "ended_at", "contract", "contract_sha256",
    "harness_contract_sha256", "identity", "fingerprint_sha256", "manifest_sha256", "sha256",
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """One field that differs.

    Attributes:
        path: As in a result document, such as ``contract.budget.max_actions``.
        a: Value in A; `ABSENT` where there is none.
        b: Value in B.
        weight: What it does to the comparison.
    """

    path: str
    a: Any
    b: Any
    weight: Weight


@dataclass(frozen=True)
class Comparison:
    """What comparing two subjects found.

    Attributes:
        a: The first.
        b: The second.
        sections: Differences of ``contract``, ``identity`` and ``result``, where both have it.
        allowed: Fields that the user accepts.
        paired: Outcomes on the scenarios of both; None where scores may not be compared or there
            are none.
    """

    a: Subject
    b: Subject
    sections: dict[str, tuple[Difference, ...]]
    allowed: tuple[str, ...]
    paired: Paired | None

    @property
    def by(self) -> tuple[str, ...]:
        """Fields that keep the scores apart, the accepted ones left out."""
        return tuple(
            d.path for d in _all(self.sections)
            if d.weight is Weight.DECISIVE and not under(d.path, self.allowed)
        )  # fmt: skip

    @property
    def accepted(self) -> tuple[str, ...]:
        """Fields that would keep the scores apart, had the user not accepted them."""
        return tuple(
            d.path for d in _all(self.sections)
            if d.weight is Weight.DECISIVE and under(d.path, self.allowed)
        )  # fmt: skip

    @property
    def cautions(self) -> tuple[Difference, ...]:
        """Differences that may be the cause of a different score."""
        return tuple(d for d in _all(self.sections) if d.weight is Weight.CAUTION)

    @property
    def comparable(self) -> bool:
        """Whether the scores may be compared."""
        return not self.by and not self.a.faults and not self.b.faults


def _all(sections: dict[str, tuple[Difference, ...]]) -> Iterable[Difference]:
    return (difference for part in sections.values() for difference in part)


def compare_subjects(a: Subject, b: Subject, allow: Sequence[str] = ()) -> Comparison:
    """Compare two subjects.

    Args:
        a: The first.
        b: The second.
        allow: Fields whose difference the user accepts, each a path or the beginning of one.

    Raises:
        UsageError: The two have nothing in common, or an accepted field does not exist.
    """
    sections: dict[str, tuple[Difference, ...]] = {}
    loose = loose_distributions(a.identity, b.identity)
    if a.contract is not None and b.contract is not None:
        sections["contract"] = _section("contract", a.contract, b.contract, loose)
    if a.identity is not None and b.identity is not None:
        sections["identity"] = _section("identity", a.identity, b.identity, loose)
    if a.result is not None and b.result is not None:
        sections["result"] = _result_section(a.result, b.result)
    if not sections:
        raise UsageError(f"{a.name} is a {a.kind}, {b.name} is a {b.kind}: nothing to compare")
    allowed = tuple(_known(field, sections, a, b) for field in allow)
    comparison = Comparison(a, b, sections, allowed, None)
    if comparison.comparable and a.result is not None and b.result is not None:
        return Comparison(a, b, sections, allowed, pair_results(a.result, b.result))
    return comparison


def _section(name: str, a: Any, b: Any, loose: Iterable[str]) -> tuple[Difference, ...]:
    return tuple(
        Difference(path, left, right, weight_of(path, loose))
        for path, left, right in changes(a, b, name)
    )


def _result_section(a: dict[str, Any], b: dict[str, Any]) -> tuple[Difference, ...]:
    found = []
    if a["status"] == b["status"] and a["status"] not in _SCORED:
        found.append(Difference("status", a["status"], b["status"], Weight.DECISIVE))
    for path, left, right in changes(_listed(a), _listed(b)):
        weight = Weight.DECISIVE if path == "status" else Weight.DETAIL
        found.append(Difference(path, left, right, weight))
    return tuple(found)


def _listed(result: dict[str, Any]) -> dict[str, Any]:
    """A result as it is compared: episodes by scenario, without what differs in any two runs."""
    listed = {k: v for k, v in result.items() if k not in _NOT_LISTED}
    listed["episodes"] = [
        {"name": e["scenario_id"]}
        | {k: v for k, v in e.items() if k not in (*VOLATILE_EPISODE_FIELDS, "scenario_id")}
        for e in result["episodes"]
    ]
    return listed


def _known(field: str, sections: dict[str, tuple[Difference, ...]], a: Subject, b: Subject) -> str:
    """A field that the user accepts, if there is such a field.

    Raises:
        UsageError: There is none; a mistyped acceptance must not read as one.
    """
    path = field.removeprefix("$.")
    differing = [d.path for d in _all(sections)]
    documents = [
        s.result or {"contract": s.contract, "identity": s.identity} for s in (a, b)
    ]  # fmt: skip
    if any(under(p, (path,)) for p in differing) or any(
        value_at(document, path) is not None for document in documents
    ):
        return path
    decisive = [d.path for d in _all(sections) if d.weight is Weight.DECISIVE]
    raise UsageError(f"--allow {field}: no such field; {nearest(path, decisive)}")


def pair_results(a: dict[str, Any], b: dict[str, Any]) -> Paired:
    """Outcomes of two results on the scenarios, label and seed alike, that both scored.

    Args:
        a: A result document.
        b: Another.
    """

    def by_scenario(result: dict[str, Any]) -> dict[tuple[str, int], str]:
        return {(e["scenario_id"], e["seed"]): e["outcome"] for e in result["episodes"]}

    left, right = by_scenario(a), by_scenario(b)
    pairs = [
        (left[key] == "success", right[key] == "success")
        for key in left
        if key in right and "error" not in (left[key], right[key])
    ]
    declared = {*left, *right}
    return compare_pairs(pairs, unpaired=len(declared) - len(pairs))


def plain(value: Any) -> Any:
    """A differing value as a JSON value: `ABSENT` as null."""
    return None if value is ABSENT else value
