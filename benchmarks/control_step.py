"""CPU time of one action with two 256×256 cameras: ours, a bare loop's, robosuite's and LIBERO's.

    .venv/bin/python benchmarks/control_step.py [--rounds 5] [--no-peers]

Everything is measured in one run, in rounds that interleave all subjects, so that whatever else the
machine does falls on all of them alike. Times are CPU times, user and system, of whole process
trees. Software rendering takes place in the thread that draws, for everybody.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from common import (
    HERE,
    Sample,
    evaluation,
    machine,
    machine_line,
    note,
    parse_json_lines,
    publish,
    run,
    table,
)
from peer_venvs import LIBERO, ROBOSUITE, Peer

#: Actions per scene of the short and the long evaluation; start-up is equal in both.
SHORT, LONG = 20, 220
SCENES = 16
ATTEMPTS = 3
PEER_ACTIONS = {"robosuite": 40, "libero": 25}

BARE, ONE, FULL, RECORDED = "bare", "one_process", "full", "recorded"
#: What is there for the evidence alone, of the parts that `in_process.py` tells apart.
EVIDENCE = ("readback", "hashing", "image and number checks")
TITLES = {
    BARE: "(a) bare loop: 12 physics steps, two cameras, nothing else",
    ONE: "(b′) full evaluation in one process, without the pipe",
    FULL: "(b) full evaluation, `runtime.media=off`",
    RECORDED: "(c) full evaluation, `runtime.media=on`",
    "robosuite": "(d) robosuite Lift",
    "libero": "(e) LIBERO-spatial, task 0",
}


def script(name: str, *arguments: str) -> list[str]:
    """A part of this benchmark, in this interpreter."""
    return [sys.executable, str(HERE / name), *arguments]


def number(command: list[str]) -> dict[str, Any]:
    """Run a part; return the JSON object that it prints."""
    found: dict[str, Any] = parse_json_lines(run(command).output)[-1]
    return found


def evaluate(folder: Path, media: bool) -> tuple[float, float]:
    """CPU time of an action, and of everything that is not an action, s."""
    switch = f"runtime.media={'on' if media else 'off'}"
    spent = {}
    for actions in (SHORT, LONG):
        place = folder / f"{'media' if media else 'plain'}_{actions}"
        command = evaluation(
            place, "adapter=zero", "budget=smoke", f"budget.max_actions={actions}", switch
        )
        spent[actions] = run(command).cpu_s
        result = json.loads((place / "result.json").read_text())
        steps = sum(episode["steps"] for episode in result["episodes"])
        if steps != actions * SCENES:
            sys.exit(f"{place} has {steps} actions, expected {actions * SCENES}")
        for file in sorted(place.rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
    action = (spent[LONG] - spent[SHORT]) / ((LONG - SHORT) * SCENES)
    return action, spent[SHORT] - action * SHORT * SCENES


def time_peer(peer: Peer, discarded: list[str]) -> float:
    """CPU time of a peer's action, s; a measurement whose images were not rendered is no result."""
    for _ in range(ATTEMPTS):
        found = number(peer.command(PEER_ACTIONS[peer.name]))
        if not found["not_rendered"]:
            return float(found["cpu_s"])
        text = f"{peer.name}, {1e3 * found['cpu_s']:.1f} ms: {'; '.join(found['not_rendered'])}"
        note(f"discarded: {text}")
        discarded.append(text)
    sys.exit(f"{peer.name} does not render: {discarded[-1]}")


def measure(
    rounds: int, peers: bool, discarded: list[str]
) -> tuple[dict[str, Sample], dict[str, Sample], Sample]:
    """CPU time, s, per action of each subject; per run of what is no action; of the evidence."""
    values: dict[str, list[float]] = {name: [] for name in TITLES}
    start: dict[str, list[float]] = {FULL: [], RECORDED: []}
    evidence: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(rounds):
            note(f"round {i + 1} of {rounds}")
            values[BARE].append(number(script("bare_loop.py", "--actions", "150"))["cpu_s"])
            values[ONE].append(number(script("in_process.py", "--actions", "150"))["cpu_s"])
            parts = number(script("in_process.py", "--actions", "60", "--split"))
            evidence.append(
                sum(parts["parts_s"][name] for name in EVIDENCE) + sum(parts["aside_s"].values())
            )
            for name, media in ((FULL, False), (RECORDED, True)):
                action, rest = evaluate(Path(folder), media)
                values[name].append(action)
                start[name].append(rest)
            for peer in (ROBOSUITE, LIBERO) if peers else ():
                values[peer.name].append(time_peer(peer, discarded))
            note("  " + ", ".join(f"{n} {1e3 * v[-1]:.2f} ms" for n, v in values.items() if v))
    return (
        {name: Sample(tuple(v)) for name, v in values.items() if v},
        {name: Sample(tuple(v)) for name, v in start.items()},
        Sample(tuple(evidence)),
    )


def ratio(values: dict[str, Sample], above: str, below: str) -> Sample:
    """Quotients of what was measured in one round."""
    return Sample(
        tuple(a / b for a, b in zip(values[above].values, values[below].values, strict=True))
    )


def excess(values: dict[str, Sample], more: str, less: str) -> Sample:
    """Differences of what was measured in one round, ms."""
    pairs = zip(values[more].values, values[less].values, strict=True)
    return Sample(tuple(1e3 * (a - b) for a, b in pairs))


def render(
    document: dict[str, Any],
    values: dict[str, Sample],
    start: dict[str, Sample],
    evidence: Sample,
) -> str:
    """The tables."""
    bare = values[BARE].median
    rows = [
        [
            TITLES[name],
            Sample(tuple(1e3 * v for v in sample.values)).text(),
            f"{sample.median / bare:.2f}",
        ]
        for name, sample in values.items()
    ]
    alone = Sample(
        tuple(1.0 + e / a for e, a in zip(evidence.values, values[BARE].values, strict=True))
    )
    derived = [
        ("evidence alone (readback, checks, hashing, chains, journal) on top of (a)", alone, "×"),
        (
            "all of an evaluation, policy and control included, (b′) / (a)",
            ratio(values, ONE, BARE),
            "×",
        ),
        ("the same in two processes, (b) / (a)", ratio(values, FULL, BARE), "×"),
        ("process boundary (pipe), (b) − (b′)", excess(values, FULL, ONE), " ms"),
        ("recording, (c) − (b)", excess(values, RECORDED, FULL), " ms"),
    ]
    for name in ("robosuite", "libero"):
        if name in values:
            title = TITLES[name].split(") ", 1)[1]
            derived.append((f"{title} / (c)", ratio(values, name, RECORDED), "×"))
    for name, sample in start.items():
        what = (
            f"start-up, 16 resets, validation: CPU of a run of {TITLES[name][:3]} without actions"
        )
        derived.append((what, sample, " s"))
    document["derived"] = {name: sample.document() for name, sample, _ in derived}
    rounds = len(values[BARE].values)
    parts = [
        machine_line(document["machine"]),
        "",
        f"CPU time of one action, ms: median of {rounds} interleaved rounds (smallest to largest).",
        "",
        table(["subject", "ms per action", "of the bare loop"], rows),
        "",
        table(["derived, round by round", "median"], [[n, s.text() + u] for n, s, u in derived]),
        "",
        *(
            f"Discarded, because images were not rendered: {text}."
            for text in document["discarded"]
        ),
        *([""] if document["discarded"] else []),
        split_table(document["split"], excess(values, FULL, ONE).median),
    ]
    return "\n".join(parts)


def split_table(split: dict[str, Any], pipe_ms: float) -> str:
    """What an action consists of."""
    parts = {**split["parts_s"]}
    parts["loop, judgement"] = split["cpu_s"] - sum(parts.values())
    rows = [
        [name, f"{1e3 * seconds:.3f}"] for name, seconds in {**parts, **split["aside_s"]}.items()
    ]
    rows.append(["pipe, (b) − (b′) above", f"{pipe_ms:.3f}"])
    return "\n".join(
        [
            "Where it goes: separate, instrumented passes in one process, under the scripted "
            f"control, whose arm moves ({split['actions']} actions; the instruments add to it).",
            "",
            table(["part", "CPU ms per action"], rows),
        ]
    )


def split() -> dict[str, Any]:
    """CPU time of the parts of an action.

    Two passes: the recorder's thread would run in the middle of what the first pass times.
    """
    arguments = ["--adapter", "oracle", "--actions", "300", "--split"]
    parts = number(script("in_process.py", *arguments))
    parts["aside_s"] |= number(script("in_process.py", *arguments, "--media"))["aside_s"]
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-peers", action="store_true", help="without robosuite and LIBERO")
    args = parser.parse_args()
    document: dict[str, Any] = {"machine": machine()}
    peers = () if args.no_peers else (ROBOSUITE, LIBERO)
    for peer in peers:
        peer.prepare()
    document["peers"] = {peer.name: peer.versions() for peer in peers}
    discarded: list[str] = []
    document["discarded"] = discarded
    values, start, evidence = measure(args.rounds, not args.no_peers, discarded)
    note("splitting")
    document["split"] = split()
    document["per_action_s"] = {name: sample.document() for name, sample in values.items()}
    document["evidence_s"] = evidence.document()
    document["per_run_s"] = {name: sample.document() for name, sample in start.items()}
    publish("control_step", document, render(document, values, start, evidence))


if __name__ == "__main__":
    main()
