"""The qualification document. It holds no time and no place: equal controls give an equal one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from robogate.contract.strict import DERIVED

QUALIFICATION_SCHEMA = "robogate.qualification/1"

#: Folder of each control run in a qualification's bundle, and the control that must lie there.
CONTROLS = (
    ("zero", "zero"),
    ("oracle_1", "oracle"),
    ("oracle_2", "oracle"),
    ("oracle_3", "oracle"),
)


@dataclass(frozen=True)
class Control:
    """One control run, as its own raw result says. Null where the result cannot be decoded.

    Attributes:
        name: Its folder in the bundle.
        adapter: Kind of adapter that was run.
        run_id: Of the run.
        status: Of its result.
        scenarios: In the declared set.
        scored: Ended without an error.
        successes: Of the scored.
        contract_sha256: Of its contract.
        adapter_sha256: Implementation of its adapter.
        result_sha256: Its result's own hash.
        semantic_sha256: Over all episodes' semantic hashes in order.
        timing_sha256: Over all episodes' timing; no two runs share it.
    """

    name: str
    adapter: str | None
    run_id: str | None
    status: str | None
    scenarios: int | None
    scored: int | None
    successes: int | None
    contract_sha256: str | None
    adapter_sha256: str | None
    result_sha256: str | None
    semantic_sha256: str | None
    timing_sha256: str | None


@dataclass(frozen=True)
class QualificationCheck:
    """One condition of the qualification.

    Attributes:
        name: The condition.
        holds: Whether it is met.
        detail: What was found; one line.
    """

    name: str
    holds: bool
    detail: str


@dataclass(frozen=True)
class Qualification:
    """A harness contract and whether it qualifies. All of it is recomputed from the raw controls.

    Attributes:
        schema: `QUALIFICATION_SCHEMA`.
        qualification_id: Hash of the document without this field and ``sha256``.
        status: ``passed`` where every check holds.
        harness_id: Of the bench.
        harness_contract_sha256: The contract that qualifies; null where no control can be decoded.
        harness_sha256: Hash of the harness's files.
        environment_sha256: Environment digest of the simulating process.
        declared_image_digest: Container digest that was declared for it, or null.
        manifest_sha256: Of the scenario manifest.
        fingerprints: Hash per relevant field, see `robogate.evidence.relevance`.
        controls: The four runs.
        checks: Every condition.
        sha256: Of the document without this field.
    """

    schema: Annotated[Literal["robogate.qualification/1"], DERIVED]
    qualification_id: Annotated[str, DERIVED]
    status: Annotated[Literal["passed", "failed"], DERIVED]
    harness_id: Annotated[str | None, DERIVED]
    harness_contract_sha256: Annotated[str | None, DERIVED]
    harness_sha256: Annotated[str | None, DERIVED]
    environment_sha256: Annotated[str | None, DERIVED]
    declared_image_digest: Annotated[str | None, DERIVED]
    manifest_sha256: Annotated[str | None, DERIVED]
    fingerprints: Annotated[dict[str, dict[str, str]], DERIVED]
    controls: Annotated[tuple[Control, ...], DERIVED]
    checks: Annotated[tuple[QualificationCheck, ...], DERIVED]
    sha256: Annotated[str, DERIVED]
