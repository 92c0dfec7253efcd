"""How counts, rates and intervals are written for people: never a rate without its counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: Shown where there is nothing to show, such as the rate of a named subset.
NOTHING = "–"


def percent(value: float) -> str:
    """A rate in [0, 1] as a percentage with one decimal; only exact ends read 0.0 and 100.0."""
    shown = min(max(100.0 * value, 0.1), 99.9) if 0.0 < value < 1.0 else 100.0 * value
    return f"{shown:.1f}"


def rate(group: Mapping[str, Any]) -> str:
    """Success rate of a group of a result's summary, in percent; the heading says so."""
    value = group["success_rate"]
    return NOTHING if value is None else percent(value)


def span(ends: tuple[float, float] | list[float] | None) -> str:
    """An interval or a pair of bounds, in percent; the heading says so."""
    return NOTHING if ends is None else f"{percent(ends[0])}–{percent(ends[1])}"


def success_of_scored(group: Mapping[str, Any]) -> str:
    """Successes over scored episodes; errors are in neither number."""
    return f"{group['successes']}/{group['scored']}"


def counts(group: Mapping[str, Any]) -> str:
    """The three counters in words."""
    return (
        f"{group['scored']} of {group['scenarios']} scored, {group['errored']} errored, "
        f"{group['not_started']} not started"
    )


def number_of(count: int, thing: str, things: str | None = None) -> str:
    """A count with its noun: ``1 scenario``, ``2 scenarios``, ``2 entries``."""
    return f"{count} {thing}" if count == 1 else f"{count} {things or thing + 's'}"


def duration(seconds: float) -> str:
    """Whole seconds as ``m:ss`` or ``h:mm:ss``."""
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def short_path(path: Path) -> str:
    """A path as one would type it here: relative where it lies below the working directory."""
    path, here = path.absolute(), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def failure_stages(episodes: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many episodes failed at each stage, the most frequent first."""
    stages: dict[str, int] = {}
    for episode in episodes:
        if (stage := episode["failure_stage"]) is not None:
            stages[stage] = stages.get(stage, 0) + 1
    return dict(sorted(stages.items(), key=lambda item: -item[1]))


def milliseconds(seconds: float) -> str:
    """A duration in ms, three digits."""
    return f"{1000 * seconds:.3g} ms"


def latency(summary: Mapping[str, Any]) -> str | None:
    """How long a policy took; shown beside every score, because the simulation waits for it.

    Args:
        summary: Of a result.

    Returns:
        None where nothing was inferred.
    """
    took = summary["inference"]
    if took is None:
        return None
    return (
        f"{milliseconds(took['p50_s'])} median, {milliseconds(took['p95_s'])} p95, "
        f"{milliseconds(took['max_s'])} longest, {number_of(took['calls'], 'call')}"
    )


def warm_up(result: Mapping[str, Any]) -> str | None:
    """What a policy did before the first reset; None for a control."""
    took = result["warm_up"]
    if took is None:
        return None
    loaded = f"loaded in {took['load_s']:.3g} s"
    if took["inference_s"] is None:
        return loaded
    return f"{loaded}, first inference {milliseconds(took['inference_s'])}, neither scored"
