"""The published index from a verified board: who stands in which list, and at which place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from robogate import __version__
from robogate.contract.strict import encode
from robogate.evidence.board import BoardItem
from robogate.evidence.bundle import BUNDLES, MEDIA_FOLDER, Bundle
from robogate.evidence.comparability import comparison_key
from robogate.evidence.publication_log import Log
from robogate.records.result import Group
from robogate.reports.figures import failure_stages
from robogate.reports.index_records import (
    INDEX_SCHEMA,
    Arena,
    Ended,
    Index,
    Media,
    Ranking,
    Refused,
    Row,
)
from robogate.reports.paired import minimum_detectable_effect

#: Order of the lists of an arena.
TRANSFERS = ("zero_shot", "in_environment", "none")


def assemble_index(
    items: Sequence[BoardItem], log: Log, *, published_at: str, trusted_keys: Iterable[str]
) -> Index:
    """Put the index together.

    Args:
        items: The board, verified.
        log: Its log, with everything listed.
        published_at: UTC, ISO 8601.
        trusted_keys: IDs of the keys whose signatures were accepted.
    """
    arenas: dict[str, list[BoardItem]] = {}
    for item in items:
        if item.bundle is not None and item.state in ("ranked", "control"):
            arenas.setdefault(comparison_key(item.bundle.result), []).append(item)
    return Index(
        schema=INDEX_SCHEMA,  # type: ignore[arg-type]
        published_at=published_at,
        software=__version__,
        head=log.head,
        trusted_keys=tuple(sorted(trusted_keys)),
        arenas=tuple(
            sorted(
                (_arena(key, members) for key, members in arenas.items()),
                key=lambda a: (a.harness_id, a.track, -sum(len(r.rows) for r in a.rankings), a.key),
            )
        ),
        refused=tuple(
            Refused(item.state, item.name, item.reasons)  # type: ignore[arg-type]
            for item in items
            if not item.holds
        ),
        ended=tuple(_ended(item) for item in items if item.holds and item.ended is not None),
        history=log.entries,
    )


def label_of(adapter: dict[str, Any]) -> str:
    """What a policy is called.

    Args:
        adapter: The contract's adapter group.
    """
    return str(adapter["model"] or adapter.get("target") or adapter["kind"])


def _ended(item: BoardItem) -> Ended:
    assert item.bundle is not None and item.ended is not None
    return Ended(
        state=item.state,  # type: ignore[arg-type]
        bundle=item.name,
        label=label_of(item.bundle.result["contract"]["adapter"]),
        by=item.ended.by,
        reason=item.ended.reason or "",
        at=item.ended.at,
    )


def _arena(key: str, items: Sequence[BoardItem]) -> Arena:
    """One list, or several by transfer class, of results that may be compared."""
    first = _bundle(items[0]).result
    contract, identity = first["contract"], first["identity"]
    bench = contract["bench"]
    ranked = [item for item in items if item.state == "ranked"]
    return Arena(
        key=key,
        harness_id=bench["harness_id"],
        harness_version=bench["harness_version"],
        track=contract["track"]["name"],
        task=contract["track"]["task"],
        instruction=bench["instruction"],
        scenarios=first["summary"]["scenarios"],
        budget=contract["budget"],
        simulator=f"{bench['simulator']} {bench['simulator_version']}",
        determinism=bench["determinism"],
        scope=first["scope"],
        harness_contract_sha256=first["harness_contract_sha256"],
        harness_sha256=identity["harness"]["harness_sha256"],
        environment_sha256=identity["worker"]["environment"]["sha256"],
        manifest_sha256=first["manifest_sha256"],
        contract={name: value for name, value in contract.items() if name != "adapter"},
        scenario_ids=tuple(e["scenario_id"] for e in first["episodes"]),
        minimum_detectable=minimum_detectable_effect(first["summary"]["scenarios"], 0.5),
        rankings=tuple(
            Ranking(transfer, rows)
            for transfer in TRANSFERS
            if (rows := _ranked([i for i in ranked if _transfer(i) == transfer]))
        ),
        controls=tuple(
            sorted(
                (_row(item, None, 1) for item in items if item.state == "control"),
                key=lambda row: (row.label, row.started_at),
            )
        ),
    )


def _transfer(item: BoardItem) -> str:
    return str(_bundle(item).result["contract"]["adapter"]["transfer"])


def _ranked(items: Sequence[BoardItem]) -> tuple[Row, ...]:
    """Best first; equal rates share a rank, and then it is the name that orders them."""
    contracts = [_bundle(item).record.contract_sha256 for item in items]

    def rate(item: BoardItem) -> float:
        return float(_bundle(item).result["summary"]["success_rate"])

    rows = [
        _row(item, 1 + sum(rate(other) > rate(item) for other in items), contracts.count(contract))
        for item, contract in zip(items, contracts)
    ]
    return tuple(sorted(rows, key=lambda row: (row.rank or 0, row.label, row.started_at)))


def _row(item: BoardItem, rank: int | None, of_contract: int) -> Row:
    bundle = _bundle(item)
    record, result = bundle.record, bundle.result
    summary, harness = result["summary"], result["identity"]["harness"]
    took = summary["inference"] or {"p50_s": None, "p95_s": None, "max_s": None}
    return Row(
        rank=rank,
        label=label_of(result["contract"]["adapter"]),
        bundle=item.name,
        also=item.also,
        of_contract=of_contract,
        adapter=result["contract"]["adapter"],
        contract_sha256=result["contract_sha256"],
        fingerprint_sha256=result["fingerprint_sha256"],
        hardware=_hardware(result["identity"]),
        source_revision=harness["source_revision"],
        dirty=harness["dirty"],
        run_id=result["run_id"],
        started_at=result["started_at"],
        ended_at=result["ended_at"],
        result_sha256=result["sha256"],
        qualification_id=record.qualification_id,
        signature=item.signature,  # type: ignore[arg-type]
        signed_by=record.signed_by,
        declared=record.declared,
        checkpoint=_checkpoint(result["identity"]),  # type: ignore[arg-type]
        successes=summary["successes"],
        scored=summary["scored"],
        scenarios=summary["scenarios"],
        success_rate=summary["success_rate"],
        interval=_pair(summary["interval"]),
        domains={name: _group(group) for name, group in summary["domains"].items()},
        failed_at=failure_stages(result["episodes"]),
        inference_p50_s=took["p50_s"],
        inference_p95_s=took["p95_s"],
        inference_max_s=took["max_s"],
        outcomes=tuple(episode["outcome"] for episode in result["episodes"]),
        media=tuple(_media(item.name, bundle)),
    )


def _bundle(item: BoardItem) -> Bundle:
    assert item.bundle is not None
    return item.bundle


def _pair(ends: list[float] | None) -> tuple[float, float] | None:
    return None if ends is None else (ends[0], ends[1])


def _group(group: dict[str, Any]) -> Group:
    ends = {name: _pair(group[name]) for name in ("interval", "bounds")}
    return Group(**{**group, **ends})


def _checkpoint(identity: dict[str, Any]) -> str:
    return "none" if identity["checkpoint"] is None else str(identity["checkpoint"]["origin"])


def _hardware(identity: dict[str, Any]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for process in ("worker", "runner"):
        hardware = identity[process]["hardware"]
        parts = [hardware["cpu_model"], *hardware["gpus"]]
        if hardware["gpu_driver"] is not None:
            parts.append(f"driver {hardware['gpu_driver']}")
        found[", ".join(parts)] = None
    return tuple(found)


def _media(name: str, bundle: Bundle) -> Iterable[Media]:
    present = {file.path for file in bundle.record.files}
    for episode in bundle.result["episodes"]:
        for camera in bundle.result["contract"]["renderer"]["cameras"]:
            path = f"{MEDIA_FOLDER}/{episode['scenario_id']}_{camera}.mp4"
            if path in present:
                yield Media(
                    path=f"{BUNDLES}/{name}/{path}",
                    scenario_id=episode["scenario_id"],
                    camera=camera,
                    outcome=episode["outcome"],
                )


def index_document(index: Index) -> dict[str, Any]:
    """The index as plain JSON values."""
    document = encode(index)
    assert isinstance(document, dict)
    return document
