"""An episode's inference calls against its trace: what was executed is what a call inferred.

Every action of a trace names the call that it came from. Here it is compared with that call's own
chunk, bit for bit and in its place, so that no action of an episode comes from anywhere else.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robogate.contract.adapter_schema import LearnedAdapter
from robogate.evidence.report import Ledger, Means, Section
from robogate.evidence.validate_document import Bound
from robogate.records.calls import CHUNK, FAILED, STOP, Calls, calls_chain, prompt_digest
from robogate.records.digests import EXECUTED, NO_ACTION, REFUSED, STOPPED, Trace
from robogate.records.result import Attestation

_ANSWERS = {FAILED: "none", CHUNK: "a chunk", STOP: "stop"}


def check_calls(
    bound: Bound,
    attestation: Attestation,
    scenario_id: str,
    trace: Trace,
    calls: Calls,
    observations: Sequence[bytes],
    *,
    at: str,
    name: str,
    ledger: Ledger,
) -> None:
    """Check an episode's calls, its actions against them, and their chain.

    Args:
        bound: The result and what fixes it.
        attestation: Of the episode.
        scenario_id: Of the episode.
        trace: Its rows.
        calls: Its calls.
        observations: Digest of each row's observation.
        at: Path of the attestation.
        name: Of the trace file.
        ledger: Takes the checks.
    """
    source = ledger.section("traces: every action from a counted inference call", Means.RECOMPUTED)
    source.count += len(trace)
    if _check_order(bound, trace, calls, name, source):
        _check_actions(bound, trace, calls, name, source)
    answers = ledger.section("calls: chunk, prompt and live calls of the backend", Means.COMPARED)
    answers.count += len(calls)
    _check_answers(bound, calls, name, answers)
    counted = ledger.section("calls: counted again, and their chain", Means.RECOMPUTED)
    counted.equal(f"{at}.inference_calls", attestation.inference_calls, len(calls), "trace")
    backend = int(calls["backend_calls"].sum(dtype=np.uint64))
    counted.equal(f"{at}.backend_calls", attestation.backend_calls, backend, "trace")
    if len(calls) and int(calls["row"].max()) >= len(trace):
        return  # a fault already; there is no observation to chain
    chain = calls_chain(calls, observations, bound.frozen.harness_sha256, scenario_id)
    counted.equal(f"{at}.calls_chain", attestation.calls_chain, chain, name)


def _check_order(bound: Bound, trace: Trace, calls: Calls, name: str, section: Section) -> bool:
    """Calls follow one another as the contract says; false where nothing more can be compared."""
    numbers = trace["inference"].astype(np.int64)
    called = trace["has_action"] != NO_ACTION
    faults = len(section.faults)
    execute = bound.frozen.adapter.execute
    previous = used = 0
    for row, (number, answered) in enumerate(zip(numbers.tolist(), called.tolist())):
        if not answered and number == 0:
            continue
        place = f"{name}[{row}].inference"
        if number not in (previous, previous + 1) or number == 0:
            section.fault(place, f"is {number}, expected {previous} or {previous + 1}")
        elif number > len(calls):
            section.fault(place, f"is {number}, and there are {len(calls)} calls")
        elif number > previous:
            if previous and used < (due := min(execute, int(calls["length"][previous - 1]))):
                section.fault(
                    place, f"is {number}, though call {previous} has {due - used} actions left"
                )
            if (made := int(calls["row"][number - 1])) != row:
                section.fault(
                    f"{name}.calls[{number - 1}].row", f"is {made}, expected {row} (trace)"
                )
            used = 1
        else:
            used += 1
        if used > execute and number == previous:
            section.fault(place, f"call {number} gave more than the contract's {execute} actions")
        previous = number
    if previous < len(calls):
        section.fault(f"{name}.calls", f"are {len(calls)}, the rows name {previous}")
    return len(section.faults) == faults


def _check_actions(bound: Bound, trace: Trace, calls: Calls, name: str, section: Section) -> None:
    """Each action is the one of its call's chunk that it is in turn, bit for bit."""
    marks = trace["has_action"]
    rows = np.flatnonzero((marks == EXECUTED) | (marks == REFUSED))
    call = trace["inference"][rows].astype(np.int64) - 1
    turn = rows - calls["row"][call].astype(np.int64)
    held = np.minimum(calls["length"][call], bound.frozen.adapter.execute)
    for row in rows[turn >= held][:20].tolist():
        section.fault(f"{name}[{row}].action", "is beyond the chunk of its call")
    rows, call, turn = rows[turn < held], call[turn < held], turn[turn < held]
    inferred = np.ascontiguousarray(calls["chunk"][call, turn]).view("<u8")
    executed = np.ascontiguousarray(trace["action"][rows]).view("<u8")
    for i in np.flatnonzero((inferred != executed).any(axis=1))[:20].tolist():
        section.fault(
            f"{name}[{rows[i]}].action",
            f"is {trace['action'][rows[i]].tolist()}, call {call[i] + 1} inferred "
            f"{calls['chunk'][call[i], turn[i]].tolist()}",
        )
    last = int(marks[-1])
    for i, answer in enumerate(calls["answer"].tolist()):
        ends = i == len(calls) - 1
        fits = answer == CHUNK or (
            ends and (answer == STOP if last == STOPPED else answer == FAILED and last == NO_ACTION)
        )
        if not fits or (ends and last == STOPPED and answer != STOP):
            section.fault(
                f"{name}.calls[{i}].answer",
                f"is {_ANSWERS.get(answer, answer)}, which the rows do not bear out",
            )


def _check_answers(bound: Bound, calls: Calls, name: str, section: Section) -> None:
    adapter, bench = bound.frozen.adapter, bound.frozen.bench
    whole = adapter.chunk if isinstance(adapter, LearnedAdapter) else None
    instruction = prompt_digest(bench.instruction)
    nothing = bytes(32)
    stored = calls.dtype["chunk"].shape[0]
    bits = np.ascontiguousarray(calls["chunk"]).view("<u8")
    for i, (answer, length, live) in enumerate(
        zip(calls["answer"].tolist(), calls["length"].tolist(), calls["backend_calls"].tolist())
    ):
        at = f"{name}.calls[{i}]"
        came_back = answer == CHUNK
        wanted = (whole or max(length, 1)) if came_back else 0
        section.equal(f"{at}.length", length, wanted, "contract")
        if whole is not None and came_back and live < 1:
            section.fault(f"{at}.backend_calls", "is 0: the actions come from no live call")
        if not came_back:
            section.equal(f"{at}.backend_calls", live, 0, "no answer")
        if calls["prompt"][i].tobytes() != (instruction if came_back else nothing):
            section.fault(f"{at}.prompt", "is not the digest of the contract's instruction")
        if bits[i, min(length, stored) :].any():
            section.fault(f"{at}.chunk", f"holds actions beyond its {length}")
    for i in np.flatnonzero(~np.isfinite(calls["chunk"]).all(axis=(1, 2)))[:20].tolist():
        section.fault(f"{name}.calls[{i}].chunk", "holds a number that is not finite")
