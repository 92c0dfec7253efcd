"""The published page: one self-contained file that says nothing but what the index says.

It loads nothing but the videos beside it, and works without a script, but for the comparison of
two rows. Its content security policy forbids everything else, should any text ever become markup.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import Any

from robogate.evidence.comparability import CLASSES
from robogate.reports.figures import number_of
from robogate.reports.index_records import Arena, Index, Ranking, Row
from robogate.reports.markup import Markup, element, embedded_json, fragment, raw
from robogate.reports.page_lists import controls_table, ended_list, history_list, refused_list
from robogate.reports.page_rows import arena_facts, ranking_table

TITLE = "robogate results"

TRANSFER_TITLES = {
    "zero_shot": "Zero-shot: never trained in this environment",
    "in_environment": "Trained in this environment",
    "none": "Training not declared",
}


def page_text(index: Index) -> str:
    """The whole file."""
    script = _asset("page.js")
    style = _asset("page.css")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "media-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("link", rel="icon", href="data:,"),
        element("title", TITLE),
        element("style", raw(style)),
    )
    rows = _rows(index)
    body = element(
        "body",
        element("a", "Skip to the results", href="#results", class_="skip"),
        _header(index, comparable=len(rows) > 1),
        element("main", *_sections(index, rows), id="results"),
        _footer(index),
        element("script", embedded_json(_data(index)), type="application/json", id="data")
        if len(rows) > 1
        else None,
        element("script", raw(script)) if len(rows) > 1 else None,
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _asset(name: str) -> str:
    return resources.files("robogate.reports").joinpath(name).read_text("utf-8")


def _rows(index: Index) -> list[tuple[int, Arena, Row]]:
    return [
        (number, arena, row)
        for number, arena in enumerate(index.arenas)
        for ranking in arena.rankings
        for row in ranking.rows
    ]


def _data(index: Index) -> dict[str, Any]:
    """What the comparison of two rows needs."""
    return {
        "classes": list(CLASSES),
        "arenas": [{"contract": arena.contract} for arena in index.arenas],
        "rows": [
            {
                "bundle": row.bundle,
                "arena": number,
                "adapter": row.adapter,
                "outcomes": list(row.outcomes),
            }
            for number, _, row in _rows(index)
        ],
    }


def _header(index: Index, *, comparable: bool) -> Markup:
    links = [
        ("#" + _anchor(number), f"{arena.harness_id}, {arena.track}")
        for number, arena in enumerate(index.arenas)
    ]
    links += [("#compare", "Compare two rows")] if comparable else []
    links += [("#controls", "Controls")] if any(a.controls for a in index.arenas) else []
    links += [("#refused", f"Not accepted ({len(index.refused)})")] if index.refused else []
    links += [("#history", "History")]
    return element(
        "header",
        element("h1", TITLE),
        element(
            "p",
            "How often does this exact policy do this exact task? Every number here was recomputed "
            "from the evidence beside it, and anybody can do that again.",
        ),
        element(
            "p",
            "Published ",
            element("time", index.published_at[:16].replace("T", " "), datetime=index.published_at),
            f" UTC with robogate {index.software}. ",
            element("a", "index.json", href="index.json"),
            class_="soft small",
        ),
        element(
            "nav",
            element("ul", *(element("li", element("a", t, href=h)) for h, t in links)),
            aria_label="On this page",
        ),
    )


def _anchor(number: int) -> str:
    return f"arena-{number + 1}"


def _sections(index: Index, rows: list[tuple[int, Arena, Row]]) -> list[Markup | None]:
    return [
        *(_arena(number, arena) for number, arena in enumerate(index.arenas)),
        None if index.arenas else element("p", "Nothing is published here yet."),
        _compare(rows) if len(rows) > 1 else None,
        _controls(index),
        _refused(index),
        _history(index),
    ]


def _arena(number: int, arena: Arena) -> Markup:
    title = f"title-{number + 1}"
    return element(
        "section",
        element("h2", f"{arena.harness_id}, {arena.track}", id=title),
        element("p", element("strong", "Scope. "), arena.scope, class_="scope"),
        arena_facts(arena),
        *(_ranking(ranking) for ranking in arena.rankings),
        None if arena.rankings else element("p", "No policy is ranked here; see the controls."),
        id=_anchor(number),
        class_="arena",
        aria_labelledby=title,
    )


def _ranking(ranking: Ranking) -> Markup:
    title = TRANSFER_TITLES.get(ranking.transfer, ranking.transfer)
    return fragment(element("h3", title), ranking_table(ranking, title))


def _first_pair(rows: list[tuple[int, Arena, Row]]) -> tuple[int, int]:
    """The two rows that are compared at first: the first two of one list, where there are such."""
    lists = [(number, row.adapter["transfer"]) for number, _, row in rows]
    return next(((i - 1, i) for i in range(1, len(lists)) if lists[i - 1] == lists[i]), (0, 1))


def _compare(rows: list[tuple[int, Arena, Row]]) -> Markup:
    first, second = _first_pair(rows)

    def picker(name: str, chosen: int) -> Markup:
        options = [
            element(
                "option",
                f"{row.label} ({row.successes}/{row.scored}, {row.bundle[:8]}, {arena.track})",
                value=row.bundle,
                selected=position == chosen,
            )
            for position, (_, arena, row) in enumerate(rows)
        ]
        return element(
            "div",
            element("label", f"Row {name.upper()}", for_=f"pick-{name}"),
            element("select", *options, id=f"pick-{name}"),
        )

    return element(
        "section",
        element("h2", "Compare two rows", id="title-compare"),
        element(
            "noscript",
            element("p", "This part needs a script; robogate diff A B does the same."),
        ),
        element("div", picker("a", first), picker("b", second), class_="pick"),
        element("div", id="comparison", aria_live="polite"),
        id="compare",
        class_="panel compare",
        aria_labelledby="title-compare",
    )


def _controls(index: Index) -> Markup | None:
    arenas = [arena for arena in index.arenas if arena.controls]
    if not arenas:
        return None
    return element(
        "section",
        element("h2", "Controls", id="title-controls"),
        element(
            "p",
            "Scripted controls show that a harness works: doing nothing passes nothing, and a "
            "controller that sees the whole scene passes everything. They are no policies and are "
            "never ranked.",
        ),
        *(controls_table(arena) for arena in arenas),
        id="controls",
        class_="panel",
        aria_labelledby="title-controls",
    )


def _refused(index: Index) -> Markup | None:
    if not index.refused:
        return None
    return element(
        "section",
        element("h2", "Not accepted", id="title-refused"),
        element(
            "p",
            "ERROR: it cannot be verified. QUARANTINED: it was verified and does not hold. Neither "
            "carries a number; nothing was deleted.",
        ),
        refused_list(index.refused),
        id="refused",
        class_="panel",
        aria_labelledby="title-refused",
    )


def _history(index: Index) -> Markup:
    return element(
        "section",
        element("h2", "History", id="title-history"),
        ended_list(index.ended) if index.ended else None,
        element(
            "details",
            element("summary", f"Log: {number_of(len(index.history), 'entry', 'entries')}"),
            history_list(index.history),
        ),
        element(
            "p",
            "Head of the log ",
            element("code", index.head.sha256),
            f", {number_of(index.head.entries, 'entry', 'entries')}. "
            "Whoever notes it can tell later whether anything was "
            "taken out of the ",
            element("a", "log", href="log.jsonl"),
            ".",
            class_="soft small",
        ),
        id="history",
        class_="panel",
        aria_labelledby="title-history",
    )


def _footer(index: Index) -> Markup:
    keys = ", ".join(key[:16] for key in index.trusted_keys)
    return element(
        "footer",
        element(
            "p",
            "A rate is successes over scored episodes, with its Wilson 95 % interval; an error is "
            "never a failure. Overlapping intervals do not make two rows equal: compare them on "
            "the same scenarios. The simulation waits for the policy, so inference time costs no "
            "score.",
        ),
        element(
            "p",
            "To check a row, copy its bundle's folder and type ",
            element("code", "robogate verify --key SIGNER.pub BUNDLE"),
            ". What was measured (timing, states, images) is protected by hash and signature; "
            "outcomes, counts and scenes are computed again.",
        ),
        element("p", f"Keys trusted here: {keys or 'none'}.", class_="soft"),
    )
