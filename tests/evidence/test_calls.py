"""A learned policy's calls: every forgery that hashes alone would not find."""

import json
import re

import numpy as np
import pytest

from robogate.evidence.validator import validate_run

ENDINGS = ("success", "error", "policy_stop", "step_limit")


@pytest.fixture
def run(builder, tmp_path):
    spec = builder.Spec(adapter="bc", execute=2, chunk=4, endings=ENDINGS)
    return builder.write(tmp_path / "run", spec)


def edited(builder, run, position, edit):
    """Edit rows and calls, make hashes and chains fit, and validate."""
    path = run / "result.json"
    document = json.loads(path.read_text())
    builder.edit_trace_file(run, document, position, edit)
    path.write_text(json.dumps(builder.rehash(document)))
    return [str(fault) for fault in validate_run(run).faults]


def put(field, index, value):
    def edit(trace, calls):
        calls[field][index] = value
        return trace, calls

    return edit


def row(field, index, value):
    def edit(trace, calls):
        trace[field][index] = value
        return trace, calls

    return edit


def skip(trace, calls):
    """Replan after one action, though the contract executes two."""
    trace["inference"][1:-1] += 1
    calls = np.concatenate([calls[:1], calls[:1], calls[1:]])
    calls["row"][1] = 1
    calls["chunk"][1, 0] = trace["action"][1]
    return trace, calls


FORGERIES = {
    "an action of the part that is not executed": (
        0, row("action", 1, 0.0), r"npy\[1\]\.action: is \[0\.0, .*call 1 inferred \["),
    "a chunk in another order": (
        0, lambda t, c: (t, np.concatenate([c[1:2], c[:1], c[2:]])), r"calls\[0\]\.row: is 2, exp"),
    "the negative of a zero": (
        3, put("chunk", (0, 3, 0), -0.0), None),
    "no live call": (
        0, put("backend_calls", 2, 0), r"calls\[2\]\.backend_calls: is 0: the actions come fr"),
    "a shorter chunk": (
        0, put("length", 2, 3), r"calls\[2\]\.length: is 3, expected 4 \(contract\)"),
    "a chunk that was not": (
        0, put("chunk", (2, 3, 1), np.nan), r"calls\[2\]\.chunk: holds a number that is not f"),
    "another observation's call": (
        0, put("row", 2, 5), r"calls\[2\]\.row: is 5, expected 4 \(trace\)"),
    "an observation that is not there": (
        0, put("row", 2, 500), r"calls\[2\]\.row: is 500, expected 4 \(trace\)"),
    "a failed call that gave actions": (
        0, put("answer", 2, 0), r"calls\[2\]\.answer: is none, which the rows do not bear out"),
    "a stop that went on": (
        0, put("answer", 2, 2), r"calls\[2\]\.answer: is stop, which the rows do not bear out"),
    "an answer of no kind": (
        0, put("answer", 2, 9), r"calls\[2\]\.answer: is 9, which the rows do not bear out"),
    "a stop that is none": (
        2, put("answer", -1, 1), r"\.answer: is a chunk, which the rows do not bear out"),
    "replanning early": (0, skip, r"npy\[1\]\.inference: is 2, though call 1 has 1 actions left"),
    "a prompt without an answer": (
        2, put("prompt", -1, 7), r"\.prompt: is not the digest of the contract's instruction"),
}  # fmt: skip


def test_a_learned_run_holds(run):
    report = validate_run(run)
    assert report.faults == ()
    document = json.loads((run / "result.json").read_text())
    attested = document["episodes"][0]["attestation"]
    assert attested["backend_calls"] == attested["inference_calls"] == 8
    assert document["summary"]["inference"]["calls"] == sum(
        len(episode["timing"]["inference_us"]) for episode in document["episodes"]
    )
    assert document["warm_up"]["backend_calls"] == 1


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_refused(name, builder, run):
    position, edit, message = FORGERIES[name]
    found = edited(builder, run, position, edit)
    if message is None:
        # What was never executed is nobody's outcome: its hash protects it.
        assert found == []
    else:
        assert any(re.search(message, fault) for fault in found), "\n".join(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(warm_up=None), r"\$\.warm_up: is null, expected what the policy did"),
        (
            lambda d: d["warm_up"].update(prompt="do it"),
            r"warm_up\.prompt: is 'do it', expected",
        ),
        (lambda d: d["warm_up"].update(backend_calls=0), r"warm_up\.backend_calls: is below 1"),
        (lambda d: d["warm_up"].update(load_s=-1.0), r"warm_up\.load_s: is negative"),
        (lambda d: d["warm_up"].update(inference_s=None), r"one is null, the other is not"),
        (
            lambda d: d["summary"]["inference"].update(p95_s=0.0),
            r"\$\.summary\.inference\.p95_s: is 0\.0, expected",
        ),
        (
            lambda d: d["episodes"][0]["timing"]["inference_us"].pop(),
            r"timing\.inference_us: is 7, expected 8 \(inference calls\)",
        ),
        (
            lambda d: d["episodes"][0]["timing"].update(inference_p95_s=0.5),
            r"timing\.inference_p95_s: is 0\.5, expected",
        ),
        (
            lambda d: d["episodes"][0]["attestation"].update(backend_calls=3),
            r"attestation\.backend_calls: is 3, expected 8 \(trace\)",
        ),
    ],
)
def test_an_edited_document_is_refused(builder, run, change, message):
    path = run / "result.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(builder.rehash(document)))
    found = [str(fault) for fault in validate_run(run).faults]
    assert any(re.search(message, fault) for fault in found), "\n".join(found)
