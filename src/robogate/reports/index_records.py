"""Records of the published index, `index.json`: what a page shows, for programs.

Every number follows from a verified bundle beside it; hashes are SHA-256 as 64 lower-case hex
digits, rates lie in [0, 1], times are UTC in ISO 8601, durations are seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from robogate.evidence.publication_log import LogEntry, LogHead
from robogate.records.result import Group

INDEX_SCHEMA = "robogate.index/1"


@dataclass(frozen=True)
class Media:
    """One video.

    Attributes:
        path: Relative to the index.
        scenario_id: What it shows.
        camera: By which camera.
        outcome: Of the episode.
    """

    path: str
    scenario_id: str
    camera: str
    outcome: str


@dataclass(frozen=True)
class Row:
    """One verified result.

    Attributes:
        rank: In its list, from 1, equal rates alike; null for a control.
        label: What the policy is called: its model, else its class, else the kind of adapter.
        bundle: Name of its bundle, in the folder ``bundles`` beside the index.
        also: Other bundles of the same result.
        of_contract: Number of ranked results of this very contract, this one included.
        adapter: The contract's adapter group.
        contract_sha256: What was asked.
        fingerprint_sha256: What it ran on.
        hardware: The simulating machine's CPU and GPUs, and the policy's where that is another.
        source_revision: Git commit of the harness, or null.
        dirty: Whether the harness differed from it, or null.
        run_id: Of the run.
        started_at: Of the run.
        ended_at: Of the run.
        result_sha256: The result's own hash.
        qualification_id: Of the qualification in the bundle.
        signature: ``valid``, ``unsigned``, or ``not checked`` against any key.
        signed_by: ID of the key, or null.
        declared: Parts of the identity that a server declared and nobody measured.
        checkpoint: ``measured`` or ``declared``; ``none`` for a policy that is nothing but source.
        successes: Of the scored.
        scored: Episodes that ended without an error.
        scenarios: In the track.
        success_rate: successes / scored.
        interval: Wilson 95 %.
        domains: The same by domain.
        failed_at: Failures by the stage that was not reached.
        inference_p50_s: Half of the inference calls took at most this, or null.
        inference_p95_s: 95 % of them took at most this, or null.
        inference_max_s: Longest call, or null.
        outcomes: Outcome of each episode, in the order of the list's ``scenario_ids``.
        media: Videos.
    """

    rank: int | None
    label: str
    bundle: str
    also: tuple[str, ...]
    of_contract: int
    adapter: dict[str, Any]
    contract_sha256: str
    fingerprint_sha256: str
    hardware: tuple[str, ...]
    source_revision: str | None
    dirty: bool | None
    run_id: str
    started_at: str
    ended_at: str
    result_sha256: str
    qualification_id: str
    signature: Literal["valid", "unsigned", "not checked"]
    signed_by: str | None
    declared: tuple[str, ...]
    checkpoint: Literal["measured", "declared", "none"]
    successes: int
    scored: int
    scenarios: int
    success_rate: float | None
    interval: tuple[float, float] | None
    domains: dict[str, Group]
    failed_at: dict[str, int]
    inference_p50_s: float | None
    inference_p95_s: float | None
    inference_max_s: float | None
    outcomes: tuple[str, ...]
    media: tuple[Media, ...]


@dataclass(frozen=True)
class Ranking:
    """Policies that were trained alike, best first.

    Attributes:
        transfer: ``zero_shot``, ``in_environment`` or ``none`` (not declared).
        rows: The rows.
    """

    transfer: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Arena:
    """All results whose scores may be compared: one harness contract, one harness, one image.

    Attributes:
        key: Hash of everything that a qualification depends on; names the list.
        harness_id: Of the bench.
        harness_version: Of the bench's behaviour.
        track: Name of the track.
        task: Of the bench.
        instruction: What every policy was told.
        scenarios: In the track.
        budget: The contract's budget group.
        simulator: Name and version.
        determinism: What two equal runs share.
        scope: What a score does and does not say.
        harness_contract_sha256: The contract without its adapter.
        harness_sha256: Of the harness's files.
        environment_sha256: Of the simulating process's software.
        manifest_sha256: Of the scenarios.
        contract: The harness contract's document: bench, track, renderer and budget.
        scenario_ids: In manifest order.
        minimum_detectable: Smallest difference of two success rates that so many paired scenarios
            show in 4 of 5 comparisons, at a mean rate of one half; null where none is.
        rankings: By transfer class.
        controls: Control runs that were promoted; never ranked.
    """

    key: str
    harness_id: str
    harness_version: str
    track: str
    task: str
    instruction: str
    scenarios: int
    budget: dict[str, Any]
    simulator: str
    determinism: str
    scope: str
    harness_contract_sha256: str
    harness_sha256: str
    environment_sha256: str
    manifest_sha256: str
    contract: dict[str, Any]
    scenario_ids: tuple[str, ...]
    minimum_detectable: float | None
    rankings: tuple[Ranking, ...]
    controls: tuple[Row, ...]


@dataclass(frozen=True)
class Refused:
    """Something on the board that carries no number.

    Attributes:
        state: ``error``: it cannot be verified; ``quarantined``: it was, and does not hold.
        name: Of its folder on the board.
        reasons: Why.
    """

    state: Literal["error", "quarantined"]
    name: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Ended:
    """A result that holds, and was withdrawn or superseded; it carries no number either.

    Attributes:
        state: Which of the two.
        bundle: Name of its bundle, which stays where it is.
        label: What the policy is called.
        by: The bundle that supersedes it, or null.
        reason: Why.
        at: When.
    """

    state: Literal["withdrawn", "superseded"]
    bundle: str
    label: str
    by: str | None
    reason: str
    at: str


@dataclass(frozen=True)
class Index:
    """The document.

    Attributes:
        schema: `INDEX_SCHEMA`.
        published_at: When.
        software: Version of robogate that verified the bundles and wrote this.
        head: End of the log beside it.
        trusted_keys: IDs of the keys whose signatures were accepted.
        arenas: By harness, track and budget.
        refused: What carries no number.
        ended: What was withdrawn or superseded.
        history: The whole log.
    """

    schema: Literal["robogate.index/1"]
    published_at: str
    software: str
    head: LogHead
    trusted_keys: tuple[str, ...]
    arenas: tuple[Arena, ...]
    refused: tuple[Refused, ...]
    ended: tuple[Ended, ...]
    history: tuple[LogEntry, ...]
