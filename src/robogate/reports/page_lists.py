"""Parts of the published page: controls, what is not accepted, what ended, and the log."""

from __future__ import annotations

from collections.abc import Sequence

from robogate.evidence.bundle import BUNDLE, BUNDLES
from robogate.evidence.publication_log import LogEntry
from robogate.reports.figures import number_of
from robogate.reports.index_records import Arena, Ended, Refused
from robogate.reports.markup import Markup, element, fragment
from robogate.reports.page_rows import badges, code, row_details


def controls_table(arena: Arena) -> Markup:
    """The promoted controls of an arena; no rank, no bar."""
    rows = [
        element(
            "tr",
            element(
                "td",
                element("div", row.label, class_="name"),
                element("div", badges(row)),
                role="cell",
            ),
            element(
                "td",
                f"{row.successes} of {row.scored}",
                role="cell",
                class_="number",
                data_label="Success",
            ),
            element("td", row_details(row), role="cell", data_label=""),
            role="row",
        )
        for row in arena.controls
    ]
    headings = ("Control", "Success", "Evidence")
    return fragment(
        element("h3", f"{arena.harness_id}, {arena.track}"),
        element(
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
            *(element("tbody", row, role="rowgroup") for row in rows),
            role="table",
            aria_label=f"Controls, {arena.harness_id}, {arena.track}",
        ),
    )


def refused_list(refused: Sequence[Refused]) -> Markup:
    """What carries no number, with its reasons."""
    return element(
        "ul",
        *(
            element(
                "li",
                element("span", item.state.upper(), class_="badge bad"),
                " ",
                code(item.name[:64]),
                element("ul", *(element("li", reason[:500]) for reason in item.reasons)),
            )
            for item in refused
        ),
        class_="plain refused",
    )


def ended_list(ended: Sequence[Ended]) -> Markup:
    """What was withdrawn or superseded; its evidence stays."""
    return fragment(
        element("h3", number_of(len(ended), "result") + " withdrawn or superseded"),
        element(
            "ul",
            *(
                element(
                    "li",
                    element("span", item.state.upper(), class_="badge warn"),
                    " ",
                    element("span", item.label, class_="name"),
                    f", {item.at[:10]}: {item.reason} ",
                    element("a", "bundle", href=f"{BUNDLES}/{item.bundle}/{BUNDLE}"),
                    None if item.by is None else fragment(", superseded by ", code(item.by, 16)),
                )
                for item in ended
            ),
            class_="plain log",
        ),
    )


def history_list(history: Sequence[LogEntry]) -> Markup:
    """The log, the newest first."""
    return element(
        "ol",
        *(
            element(
                "li",
                element("time", entry.at[:16].replace("T", " "), datetime=entry.at),
                f" {entry.event} ",
                code(entry.bundle, 16),
                None if entry.by is None else fragment(" by ", code(entry.by, 16)),
                None if entry.reason is None else f": {entry.reason}",
            )
            for entry in reversed(history)
        ),
        class_="plain log small",
        reversed=True,
    )
