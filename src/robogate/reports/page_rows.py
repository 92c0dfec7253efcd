"""Parts of the published page: a ranking, its rows, bars and badges."""

from __future__ import annotations

from collections.abc import Sequence

from robogate.evidence.bundle import (
    BUNDLE,
    BUNDLES,
    QUALIFICATION_FOLDER,
    RESULT_FOLDER,
    STATEMENT,
)
from robogate.evidence.files import CONTRACT, IDENTITY, RESULT
from robogate.evidence.qualification import DOCUMENT
from robogate.records.result import Group
from robogate.reports.figures import milliseconds, percent
from robogate.reports.index_records import Arena, Media, Ranking, Row
from robogate.reports.markup import Child, Markup, element, fragment
from robogate.reports.wiring import wiring_line


def facts(pairs: Sequence[tuple[str, Child]]) -> Markup:
    """A list of names and values; a value of None is left out."""
    return element(
        "dl",
        *(
            fragment(element("dt", name), element("dd", value))
            for name, value in pairs
            if value is not None
        ),
        class_="facts",
    )


def code(value: str, shown: int | None = None) -> Markup:
    """A hash or a path; the whole of it on demand where it is shortened."""
    if shown is None:
        return element("code", value)
    return element("code", value[:shown], title=value)


def arena_facts(arena: Arena) -> Markup:
    """What all rows of an arena share."""
    budget = f"{arena.budget['name']}: {arena.budget['max_actions']} actions per episode"
    smallest = arena.minimum_detectable
    detectable = (
        "too few to tell any two policies apart"
        if smallest is None
        else f"two policies {percent(smallest)} points apart are told apart 4 times in 5"
    )
    return facts(
        [
            ("Task", f"“{arena.instruction}”"),
            ("Scenarios", f"{arena.scenarios}, the same for all; {detectable}"),
            ("Budget", budget),
            ("Simulator", f"{arena.simulator}, {arena.determinism}"),
            ("Harness contract", code(arena.harness_contract_sha256, 16)),
            (
                "Harness",
                fragment(f"{arena.harness_version}, code ", code(arena.harness_sha256, 16)),
            ),
        ]
    )


def bar(group: Row | Group) -> Markup | None:
    """The interval as a bar and the rate as a mark; the numbers stand beside it."""
    if group.interval is None or group.success_rate is None:
        return None
    low, high = group.interval
    style = f"--low:{100 * low:.2f}%;--high:{100 * high:.2f}%;--at:{100 * group.success_rate:.2f}%"
    return element("div", element("i"), element("b"), class_="bar", style=style, aria_hidden="true")


def score(row: Row) -> Markup:
    """Rate, counts and interval."""
    if row.success_rate is None or row.interval is None:
        return element("span", f"{row.successes} of {row.scored} scored", class_="number")
    low, high = row.interval
    return fragment(
        element("span", f"{percent(row.success_rate)} %", class_="rate number"),
        element("span", f" {row.successes} of {row.scored}", class_="number"),
        bar(row),
        element("span", f"95 %: {percent(low)}–{percent(high)} %", class_="soft small number"),
    )


def domains(row: Row) -> Markup:
    """One bar a domain."""
    return element(
        "ul",
        *(
            element(
                "li",
                f"{name.replace('_', ' ')} ",
                element("span", f"{group.successes}/{group.scored}", class_="number"),
                bar(group),
            )
            for name, group in row.domains.items()
        ),
        class_="domains",
    )


def badges(row: Row) -> Markup:
    """What a reader has to know before believing a row."""
    found: list[tuple[str, str]] = []
    if row.signature == "valid":
        found.append(("good", "signed"))
    elif row.signature == "unsigned":
        found.append(("warn", "UNSIGNED"))
    else:
        found.append(("warn", "SIGNATURE NOT CHECKED"))
    if row.declared:
        found.append(("warn", "DECLARED, not measured: " + ", ".join(row.declared)))
    if row.dirty:
        found.append(("warn", "harness differs from its commit"))
    if row.adapter["checkpoint_sha256"] is None and row.adapter["role"] == "policy":
        found.append(("", "no checkpoint: source only"))
    if row.of_contract > 1:
        found.append(("", f"one of {row.of_contract} results of this contract"))
    return fragment(
        *(element("span", label, class_=f"badge {kind}".strip()) for kind, label in found)
    )


def ranking_table(ranking: Ranking, title: str) -> Markup:
    """A ranking: a table on a wide screen, cards on a narrow one."""
    headings = ("Rank", "Policy", "Success", "By domain")
    return element(
        "table",
        element(
            "thead",
            element(
                "tr",
                *(element("th", h, scope="col", role="columnheader") for h in headings),
                role="row",
            ),
            role="rowgroup",
        ),
        *(_ranked(row) for row in ranking.rows),
        class_="ranking",
        role="table",
        aria_label=f"Ranking, {title}",
    )


def _ranked(row: Row) -> Markup:
    adapter = row.adapter
    options = " ".join(f"{name}={value}" for name, value in adapter.get("options", {}).items())
    beneath = ", ".join(filter(None, (adapter["kind"], adapter["revision"], options)))
    return element(
        "tbody",
        element(
            "tr",
            element("td", str(row.rank), class_="rank", role="cell"),
            element(
                "td",
                element("div", row.label, class_="name"),
                element("div", beneath, class_="soft small"),
                badges(row),
                class_="policy",
                role="cell",
            ),
            element("td", score(row), class_="score", role="cell", data_label="Success"),
            element("td", domains(row), class_="by", role="cell", data_label="By domain"),
            role="row",
        ),
        element(
            "tr",
            element("td", row_details(row), class_="more", role="cell", colspan="4"),
            role="row",
        ),
        role="rowgroup",
        id=f"row-{row.bundle[:16]}",
    )


def row_details(row: Row) -> Markup:
    """Everything else that is known of a row."""
    adapter = row.adapter
    failed = ", ".join(f"{stage.replace('_', ' ')} {n}" for stage, n in row.failed_at.items())
    signed = None if row.signed_by is None else code(row.signed_by, 16)
    took = None
    times = (row.inference_p50_s, row.inference_p95_s, row.inference_max_s)
    if (known := [t for t in times if t is not None]) and len(known) == len(times):
        names = ("median", "p95", "longest")
        took = ", ".join(f"{milliseconds(t)} {name}" for t, name in zip(known, names))
    checkpoint = None
    if adapter["checkpoint_sha256"] is not None:
        checkpoint = fragment(code(adapter["checkpoint_sha256"], 16), f", {row.checkpoint}")
    return element(
        "details",
        element("summary", "Evidence", element("span", f" of {row.label}", class_="soft")),
        element(
            "div",
            facts(
                [
                    ("Failed at", failed or None),
                    ("Inference", took),
                    ("Driven", wiring_line(adapter)),
                    ("Checkpoint", checkpoint),
                    ("Ran", f"{row.started_at[:16].replace('T', ' ')} UTC, {row.run_id}"),
                    ("On", "; ".join(row.hardware)),
                    ("Contract", code(row.contract_sha256)),
                    ("Qualification", code(row.qualification_id)),
                    ("Signed with key", signed),
                    ("Bundle", code(row.bundle)),
                    ("Same result in", ", ".join(row.also) or None),
                ]
            ),
            element("h4", "Files"),
            _files(row.bundle),
            _videos(row.media, row.label),
            class_="inside",
        ),
    )


def _files(bundle: str) -> Markup:
    names = (
        BUNDLE,
        STATEMENT,
        f"{RESULT_FOLDER}/{RESULT}",
        f"{RESULT_FOLDER}/{CONTRACT}",
        f"{RESULT_FOLDER}/{IDENTITY}",
        f"{QUALIFICATION_FOLDER}/{DOCUMENT}",
    )
    links = [element("a", name, href=f"{BUNDLES}/{bundle}/{name}") for name in names]
    return element("ul", *(element("li", link) for link in links), class_="plain small")


def _videos(media: Sequence[Media], label: str) -> Markup | None:
    if not media:
        return None
    return fragment(
        element("h4", "Videos"),
        element(
            "div",
            *(
                element(
                    "figure",
                    element(
                        "video",
                        element("a", "Download the video", href=video.path),
                        src=video.path,
                        controls=True,
                        muted=True,
                        playsinline=True,
                        preload="none",
                        aria_label=f"{label}, {video.scenario_id}, {video.camera}",
                    ),
                    element(
                        "figcaption",
                        f"{video.scenario_id}, {video.camera}: {video.outcome.replace('_', ' ')}",
                    ),
                )
                for video in media
            ),
            class_="videos",
        ),
    )
