"""Bad evidence, each kind with the message it gives, and a forger who makes all hashes fit."""

from __future__ import annotations

import copy
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from robogate.contract.canonical import sha256_json
from robogate.contract.strict import encode
from robogate.errors import EvidenceError
from robogate.evidence.assemble import write_result
from robogate.evidence.files import Unreadable
from robogate.evidence.report import Means
from robogate.evidence.validator import validate_document, validate_run
from robogate.records.contract import thaw
from robogate.records.result import ErrorInfo
from robogate.records.trace_file import parse_trace, trace_bytes, trace_kinds
from robogate.scenes.readback import seal


@pytest.fixture
def run(good_run, tmp_path):
    """A copy of the good run that may be spoilt."""
    return shutil.copytree(good_run, tmp_path / "run")


def faults(folder: Path) -> list[str]:
    return [str(fault) for fault in validate_run(folder).faults]


def read(folder: Path, name: str = "result.json"):
    return json.loads((folder / name).read_text())


def write(folder: Path, document, name: str = "result.json") -> None:
    (folder / name).write_text(json.dumps(document))


def forge(builder, folder: Path, edit) -> list[str]:
    """Edit a result, make every hash in it fit again, and validate."""
    document = read(folder)
    edit(document)
    write(folder, builder.rehash(document))
    return faults(folder)


def edit_trace(builder, folder: Path, position: int, edit) -> list[str]:
    """Edit a trace, make its calls, hashes and chains fit again, and validate."""

    def both(trace, calls):
        trace = edit(trace)
        return trace, builder.fitting_calls(thaw(read(folder, "contract.json")), trace, calls)

    return edit_trace_file(builder, folder, position, both)


def edit_calls(builder, folder: Path, position: int, edit) -> list[str]:
    """Edit the calls of a trace, make hashes and chains fit again, and validate."""
    return edit_trace_file(builder, folder, position, lambda t, calls: (t, edit(calls)))


def edit_trace_file(builder, folder: Path, position: int, edit) -> list[str]:
    """Edit rows and calls of a trace, make hashes and chains fit again, and validate."""
    document = read(folder)
    builder.edit_trace_file(folder, document, position, edit)
    write(folder, builder.rehash(document))
    return faults(folder)


def test_a_good_run_holds(good_run):
    report = validate_run(good_run)
    assert report.faults == ()
    assert report.exit_code == 0
    assert report.about["status"] == "complete"
    assert (report.about["successes"], report.about["scored"]) == (1, 4)
    assert {check.means for check in report.checks} == set(Means) - {Means.SIGNED}
    # A check that looked at nothing would say that it holds.
    assert all(check.count > 0 for check in report.checks)


def test_what_is_only_protected_by_hash_is_named(good_run):
    hashed = [c.name for c in validate_run(good_run).checks if c.means is Means.HASHED]
    assert hashed == [
        "identity: source revision, package, environment and hardware",
        "result: run id and times",
        "result: warm-up",
        "traces: state, task facts and image digests",
        "episodes: timing, diagnostics and error texts",
    ]


# ---- the order and number of episodes


def swap(document):
    episodes = document["episodes"]
    episodes[1], episodes[2] = episodes[2], episodes[1]


def duplicate(document):
    document["episodes"][1] = copy.deepcopy(document["episodes"][0])


def extra(document):
    document["episodes"].append(copy.deepcopy(document["episodes"][0]))
    document["episodes"][-1]["scenario_id"] = "99_extra_00"


def to(path, value):
    """An edit that puts a value at a path such as ``episodes.0.seed``."""
    *parents, last = (int(k) if k.isdigit() else k for k in path.split("."))

    def edit(document):
        for key in parents:
            document = document[key]
        assert document[last] != value or type(document[last]) is not type(value)
        document[last] = value

    return edit


def error_as_failure(document):
    document["episodes"][1].update(outcome="failure", ending="step_limit")


def failure_as_error(document):
    document["episodes"][3].update(outcome="error", ending="error", failure_stage=None)
    document["episodes"][3]["error"] = {
        "code": "worker_died", "message": "it died", "scenario_id": None, "step": 3,
    }  # fmt: skip


def cut_transitions(document):
    document["episodes"][0]["transitions"].pop()


def one_ulp(document):
    mass = document["episodes"][0]["applied_scene"]["object"]["mass"]
    up = float(np.nextafter(np.float32(mass), np.float32(1)))
    document["episodes"][0]["applied_scene"]["object"]["mass"] = up


def one_ulp_sealed(document):
    one_ulp(document)
    applied = document["episodes"][0]["applied_scene"]
    sealed = seal({k: v for k, v in applied.items() if k not in ("schema", "sha256")})
    document["episodes"][0].update(applied_scene=sealed, applied_scene_sha256=sealed["sha256"])


def lift_summary(document):
    document["summary"].update(successes=4, success_rate=1.0)


FORGERIES = {
    "reordered": (swap, r"\$\.episodes\[2\]\.scenario_id: is out of the manifest's order"),
    "duplicated": (
        duplicate,
        r"\$\.episodes\[1\]\.scenario_id: is that of \$\.episodes\[0\], too",
    ),
    "missing": (
        lambda d: d["episodes"].pop(2),
        r"\$\.episodes: lacks 1 of 4 declared scenarios: 02_moving_disturbance_00",
    ),
    "extra": (extra, r"\$\.episodes\[4\]\.scenario_id: is '99_extra_00', not a declared"),
    "seed": (to("episodes.0.seed", 12345), r"episodes\[0\]\.seed: is 12345, expected 11 \(manif"),
    "index": (to("episodes.1.index", 0), r"episodes\[1\]\.index: is 0, expected 1 \(manifest\)"),
    "label": (to("episodes.0.variant", "camera"), r"episodes\[0\]\.variant: is 'camera', expected"),
    "domain": (to("episodes.0.domain", "edge"), r"episodes\[0\]\.domain: is 'edge', expected"),
    "scene": (
        to("episodes.0.scene.object.mass", 0.2),
        r"episodes\[0\]\.scene\.object\.mass: is 0\.2, expected 0\.1",
    ),
    "scene type": (
        to("episodes.0.scene.object.orientation.0", 1),
        r"episodes\[0\]\.scene\.object\.orientation\[0\]: is 1 \(int\)",
    ),
    "readback": (one_ulp, r"episodes\[0\]\.applied_scene\.object\.mass: is 0\.1"),
    "readback, sealed again": (one_ulp_sealed, r"episodes\[0\]\.applied_scene\.object\.mass: is"),
    "readback hash": (
        to("episodes.0.applied_scene_sha256", "0" * 64),
        r"episodes\[0\]\.applied_scene_sha256: is '0000",
    ),
    "outcome": (
        to("episodes.3.outcome", "success"),
        r"episodes\[3\]\.outcome: is 'success', expected 'failure' \(trace\)",
    ),
    "ending": (
        to("episodes.3.ending", "policy_stop"),
        r"episodes\[3\]\.ending: is 'policy_stop', the trace allows 'step_limit'",
    ),
    "refusal as failure": (
        error_as_failure,
        r"episodes\[1\]\.outcome: is 'failure', expected 'con",
    ),
    "failure as error": (
        failure_as_error,
        r"episodes\[3\]\.outcome: is 'error', but the trace came to 'step_limit'",
    ),
    "stage": (
        to("episodes.3.failure_stage", "released"),
        r"episodes\[3\]\.failure_stage: is 'released', expected 'reached'",
    ),
    "transition": (cut_transitions, r"episodes\[0\]\.transitions: is \["),
    "transition's action": (
        to("episodes.0.transitions.0.action", 9),
        r"episodes\[0\]\.transitions: is \[\{'action': 9",
    ),
    "steps": (to("episodes.0.steps", 12), r"episodes\[0\]\.steps: is 12, expected 16 \(trace\)"),
    "calls": (
        to("episodes.0.attestation.inference_calls", 9),
        r"episodes\[0\]\.attestation\.inference_calls: is 9, expected 16 \(trace\)",
    ),
    "prompt": (
        to("episodes.0.attestation.prompt", "pick up the blue block"),
        r"attestation\.prompt: is 'pick up the blue block', expected 'pick up the red",
    ),
    "registration": (
        to("episodes.0.attestation.registration_sha256", "a" * 64),
        r"attestation\.registration_sha256: is 'aaaa.*\(contract and identity\)",
    ),
    "chain": (to("episodes.0.attestation.chain", "b" * 64), r"attestation\.chain: is 'bbbb"),
    "traversal": (
        to("episodes.0.attestation.trace_file", "../../etc/passwd"),
        r"attestation\.trace_file: is '../../etc/passwd', expected 'traces/00_standard_objects",
    ),
    "trace of another": (
        to("episodes.0.attestation.trace_file", "traces/01_small_objects_00.npy"),
        r"attestation\.trace_file: is 'traces/01_small_objects_00\.npy', expected 'traces/00_",
    ),
    "summary": (lift_summary, r"\$\.summary\.successes: is 4, expected 1"),
    "interval": (to("summary.interval.0", 0.5), r"\$\.summary\.interval\[0\]: is 0\.5, expected"),
    "group": (
        to("summary.domains.edge.successes", 1),
        r"\$\.summary\.domains\.edge\.successes: is 1, expected 0",
    ),
    "status": (to("status", "partial"), r"\$\.status: is 'partial', expected 'complete'"),
    "scope": (to("scope", "safe"), r"\$\.scope: is 'safe', expected 'Assisted"),
    "contract": (
        to("contract.budget.max_actions", 999),
        r"\$\.contract\.budget\.max_actions: is 999, expected 110 \(contract\.json\)",
    ),
    "contract out of its world": (
        to("contract.bench.shield", "none"),
        r"\$\.contract\.bench\.shield: is 'none', expected one of",
    ),
    "contract hash": (to("contract_sha256", "c" * 64), r"\$\.contract_sha256: is 'cccc"),
    "harness contract": (to("harness_contract_sha256", "c" * 64), r"\$\.harness_contract_sha256"),
    "identity": (
        to("identity.harness.harness_sha256", "d" * 64),
        r"\$\.identity\.harness\.harness_sha256: is 'dddd.*identity\.json",
    ),
    "environment": (
        to("identity.worker.environment.sha256", "d" * 64),
        r"\$\.identity\.worker\.environment\.sha256: is dddd",
    ),
    "fingerprint": (to("fingerprint_sha256", "e" * 64), r"\$\.fingerprint_sha256: is 'eeee"),
    "manifest": (to("manifest_sha256", "f" * 64), r"\$\.manifest_sha256: is 'ffff"),
    "qualification": (to("qualification_id", "yes"), r"\$\.qualification_id: is 'yes', expected"),
    "times": (to("ended_at", "2020-01-01T00:00:00+00:00"), r"\$\.ended_at: is before started_at"),
    "time zone": (to("started_at", "2026-01-01T00:00:00+09:00"), r"\$\.started_at: is '2026"),
    "integer for float": (
        to("episodes.0.timing.reset_s", 1),
        r"episodes\[0\]\.timing\.reset_s: is integer 1, expected number with a fraction",
    ),
    "float for integer": (
        to("episodes.0.steps", 16.0),
        r"episodes\[0\]\.steps: is number 16\.0, expected integer",
    ),
    "unknown field": (
        lambda d: d["episodes"][0].update(reward=1.0),
        r"episodes\[0\]\.reward: unknown field",
    ),
    "missing field": (lambda d: d.pop("scope"), r"\$\.scope: missing field"),
    "null attestation": (
        to("episodes.0.attestation", None),
        r"episodes\[0\]\.attestation: is null with outcome 'success'",
    ),
    "invented error": (
        to("episodes.0.error", {"code": "x", "message": "y", "scenario_id": None, "step": None}),
        r"episodes\[0\]\.error: is not null with outcome 'success'",
    ),
    "run-level error with episodes": (
        to("error", {"code": "load", "message": "y", "scenario_id": None, "step": None}),
        r"\$\.episodes: holds 4 episodes beside a run-level error, expected 0",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_with_all_hashes_made_to_fit_is_refused(name, builder, run):
    edit, message = FORGERIES[name]
    found = forge(builder, run, edit)
    assert any(re.search(message, fault) for fault in found), "\n".join(found)


def test_without_its_hashes_an_edit_is_refused_by_them(builder, run):
    document = read(run)
    document["episodes"][1]["diagnostics"]["value"] = 2.5
    write(run, document)
    assert [f.partition(": ")[0] for f in faults(run)] == [
        "$.sha256",
        "$.episodes[1].semantic_sha256",
        "$.episodes[1].sha256",
    ]


def test_what_was_measured_is_not_refused_once_hashes_fit(builder, run):
    # The one thing that hashes cannot show; a signature can, and so can a replay of the run.
    def edit(document):
        document["episodes"][1]["diagnostics"]["value"] = 2.5
        document["episodes"][1]["timing"]["reset_s"] = 9.0

    assert forge(builder, run, edit) == []


def test_every_fault_is_reported_at_once(builder, run):
    def edit(document):
        document["episodes"][0]["seed"] = 1
        document["episodes"][1]["index"] = 3
        document["episodes"][2]["transitions"] = [
            {"action": 1, "stage": "reached", "event": "reached"}
        ]
        document["summary"]["successes"] = 2
        document["scope"] = "all is well"

    assert {f.partition(": ")[0] for f in forge(builder, run, edit)} >= {
        "$.episodes[0].seed",
        "$.episodes[1].index",
        "$.episodes[2].transitions",
        "$.summary.successes",
        "$.scope",
    }


def test_one_wrong_scenario_does_not_hide_another(builder, run):
    found = forge(builder, run, lambda d: (swap(d), d["episodes"][0].update(seed=5)))
    assert any("order" in f for f in found)
    assert any("$.episodes[0].seed" in f for f in found)


# ---- traces


def row(index, field, value, column=None):
    def edit(trace):
        if column is None:
            trace[field][index] = value
        else:
            trace[field][index, column] = value
        return trace

    return edit


LAST = -1
TRACE_FORGERIES = {
    "readback of one row": (
        0, row(2, "readback", 7, 0), r"00_standard_objects_00\.npy\[2\]\.readback: is 07"),
    "action out of range": (
        0, row(3, "action", 1.5, 2), r"\.npy\[3\]\.action\[2\]: dz is 1\.5, expected \[-1, 1\]"),
    "action not finite": (
        0, row(3, "action", np.nan, 6), r"\.npy\[3\]\.action\[6\]: gripper is nan, expected"),
    "refused action out of range": (
        1, row(LAST, "action", 3.0, 0), r"\.npy\[3\]\.action\[0\]: dx is 3\.0"),
    "no action in the middle": (
        0, row(3, "has_action", 0), r"\.npy\[3\]\.has_action: is 0, expected 1: another"),
    "unknown mark": (
        0, row(LAST, "has_action", 9), r"\.npy\[16\]\.has_action: is 9, expected 0, 2 or 3"),
    "action after the last": (
        0, row(LAST, "action", 0.5, 1), r"\.npy\[16\]\.action\[1\]: is not 0 in a row without"),
    "action without a call": (
        0, row(3, "inference", 0), r"\.npy\[3\]\.inference: is 0, expected 3 or 4"),
    "skipped call": (
        0, row(slice(3, None), "inference", 9), r"\.npy\[3\]\.inference: is 9, expected 3 or 4"),
    "one call for two actions": (
        0, row(4, "inference", 4), r"\.npy\[4\]\.inference: call 4 gave more than .* 1 actions"),
    "state not finite": (
        0, row(5, "state", np.inf, 3), r"\.npy\[5\]\.state\[3\]: is inf, expected a finite"),
    "fact not finite": (
        0, row(5, "facts", np.nan, 3), r"fact object_qw is nan"),
    "never held": (
        0, row(slice(None), "facts", 0.0, 10), r"episodes\[0\]\.outcome: is 'success', expected"),
    "cut": (
        3, lambda trace: trace[:-1].copy(), r"episodes\[3\]\.steps: is 110, expected 109"),
    "longer than the budget": (
        3, lambda trace: np.concatenate([trace[:1], trace]), r"episodes\[3\]\.steps: is 110, exp"),
    "going on after success": (
        0, lambda trace: np.concatenate([trace[:-1], trace[-2:]]), r"steps: go on after the task"),
    "stop as a refusal": (
        2, row(LAST, "has_action", 2), r"episodes\[2\]\.outcome: is 'failure', expected 'control"),
}  # fmt: skip


@pytest.mark.parametrize("name", TRACE_FORGERIES)
def test_a_forged_trace_with_its_chain_made_to_fit_is_refused(name, builder, run):
    position, edit, message = TRACE_FORGERIES[name]
    found = edit_trace(builder, run, position, edit)
    assert any(re.search(message, fault) for fault in found), "\n".join(found)


def test_a_success_before_the_first_action_is_no_task(builder, run):
    def edit(trace):
        trace["facts"][0, :3] = trace["facts"][LAST, :3]
        return trace

    assert any("already held at observation 0" in f for f in edit_trace(builder, run, 0, edit))


def test_an_edited_trace_breaks_its_hash_and_chain(run, builder):
    path = run / "traces" / "00_standard_objects_00.npy"
    file = parse_trace(path.read_bytes(), trace_kinds(builder.Spec().frozen()), "")
    trace = file.rows.copy()
    trace["state"][1, 0] += 1e-9
    path.write_bytes(trace_bytes(trace, file.calls))
    paths = [fault.partition(": ")[0] for fault in faults(run)]
    at = "$.episodes[0].attestation"
    assert paths == [f"{at}.trace_sha256", f"{at}.chain", f"{at}.calls_chain"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: path.unlink(), "is missing"),
        (lambda path: path.write_bytes(b"PK"), "not a plain numpy file"),
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), "holds 1 bytes after its calls"),
        (lambda path: path.write_bytes(b"\0" * 5_000_000), "larger than"),
    ],
)
def test_a_trace_that_is_none_is_one_fault_among_others(run, spoil, message):
    path = run / "traces" / "00_standard_objects_00.npy"
    spoil(path)
    found = faults(run)
    assert any("$.episodes[0].attestation.trace_file" in f and message in f for f in found)
    assert not any("episodes[1]" in f for f in found)


def test_traces_are_not_read_through_links(run, tmp_path):
    path = run / "traces" / "00_standard_objects_00.npy"
    path.rename(tmp_path / "elsewhere.npy")
    path.symlink_to(tmp_path / "elsewhere.npy")
    assert any("is a symbolic link" in f for f in faults(run))


def test_traces_swapped_between_scenarios_are_refused(run):
    a, b = (run / "traces" / f"0{i}.npy" for i in "xy")
    first, second = sorted((run / "traces").iterdir())[:2]
    first.rename(a), second.rename(b), a.rename(second), b.rename(first)
    assert sum("trace_sha256" in f for f in faults(run)) == 2


# ---- the documents beside the result


@pytest.mark.parametrize("name", ["result", "contract", "identity", "manifest"])
def test_a_missing_document_is_unreadable(run, name):
    (run / f"{name}.json").unlink()
    with pytest.raises(Unreadable, match=rf"{name}\.json: is missing") as caught:
        validate_run(run)
    assert caught.value.exit_code == 2


def test_a_run_that_never_ended_says_how_to_go_on(run):
    (run / "result.json").unlink()
    (run / "journal.jsonl").write_text("")
    with pytest.raises(Unreadable, match="has not ended; continue it with runtime.resume="):
        validate_run(run)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "duplicate key 'a'"),
        ('{"a": NaN}', "NaN is not JSON"),
        ("[" * 100_000, "nested deeper than 64"),
        ("{", "not JSON"),
    ],
)
def test_doubtful_json_is_unreadable(run, text, message):
    (run / "result.json").write_text(text)
    with pytest.raises(Unreadable, match=message):
        validate_run(run)


@pytest.mark.parametrize("text", ["[]", "3", "null", "{}", '{"episodes": 3}'])
def test_json_of_another_shape_is_a_fault_not_a_crash(run, text):
    (run / "result.json").write_text(text)
    assert validate_run(run).exit_code == 3


@pytest.mark.parametrize("name", ["contract", "identity", "manifest"])
@pytest.mark.parametrize("text", ["[]", "null", '{"schema": 1, "bench": {}, "adapter": []}'])
def test_a_document_beside_it_of_another_shape_is_a_fault_not_a_crash(run, name, text):
    (run / f"{name}.json").write_text(text)
    assert validate_run(run).exit_code == 3


def test_a_manifest_of_the_right_length_but_another_one_is_refused(builder, run):
    rows = [row if i != 2 else type(row)(row.domain, row.variant, 99)
            for i, row in enumerate(builder.rows)]  # fmt: skip
    other = builder.manifest_of(rows)
    write(run, encode(other), "manifest.json")
    found = faults(run)
    assert any(f.startswith("manifest.json:$.sha256: is") and "(contract)" in f for f in found)
    assert any("$.episodes[2].seed: is 13, expected 99" in f for f in found)


def test_a_manifest_whose_scene_no_resolver_gives_is_refused(run):
    manifest = read(run, "manifest.json")
    manifest["scenarios"][0]["scene"]["object"]["mass"] = 0.2
    manifest["scenarios"][0]["scene_sha256"] = sha256_json(manifest["scenarios"][0]["scene"])
    manifest["sha256"] = sha256_json({k: v for k, v in manifest.items() if k != "sha256"})
    write(run, manifest, "manifest.json")
    message = "manifest.json:$.scenarios[0].scene.object.mass: is 0.2, expected 0.1"
    assert message in faults(run)


@pytest.mark.parametrize("name", ["contract", "identity"])
def test_a_document_beside_it_that_differs_is_refused(run, name):
    document = read(run, f"{name}.json")
    document["schema"] = "another"
    write(run, document, f"{name}.json")
    assert any(f.startswith(f"$.{name}.schema: is") for f in faults(run))


def test_a_contract_of_absurd_numbers_is_a_fault_not_a_crash(builder, run):
    contract = read(run, "contract.json")
    contract["bench"]["scene"]["gravity"][2] = -1e300
    write(run, contract, "contract.json")
    found = forge(builder, run, lambda document: document.update(contract=contract))
    assert any(f.startswith("$.episodes[0]: readback value") for f in found), found
    assert any(f.startswith("$.contract_sha256: is") for f in found)


# ---- runs that are not complete


def ended(builder, tmp_path, **spec):
    folder = builder.write(tmp_path / "run", builder.Spec(**spec))
    report = validate_run(folder)
    assert report.faults == ()
    return folder, report


def test_errors_are_counted_apart(builder, tmp_path):
    _, report = ended(
        builder, tmp_path, endings=("success", "error", "error_before_reset", "success")
    )
    about = report.about
    assert (about["status"], about["scored"], about["errored"]) == ("error", 2, 2)


@pytest.mark.parametrize("ending", ["policy_stop", "step_limit", "control_rejected"])
def test_an_error_cannot_pass_as_a_failure(builder, tmp_path, ending):
    folder, _ = ended(builder, tmp_path, endings=("success", "error", "success", "success"))
    outcome = "control_rejected" if ending == "control_rejected" else "failure"

    def edit(document):
        document["episodes"][1].update(
            outcome=outcome, ending=ending, failure_stage="reached", error=None
        )

    found = forge(builder, folder, edit)
    assert any("$.episodes[1].ending" in f and "the trace allows none" in f for f in found)


def test_an_error_without_a_trace_cannot_pass_as_a_failure(builder, tmp_path):
    folder, _ = ended(builder, tmp_path, endings=("error_before_reset",) + ("success",) * 3)

    def edit(document):
        document["episodes"][0].update(
            outcome="failure", ending="step_limit", failure_stage="reached", error=None, steps=110
        )

    found = forge(builder, folder, edit)
    assert "$.episodes[0].attestation: is null with outcome 'failure'" in found
    assert any("$.episodes[0].steps: is 110, expected 0" in f for f in found)


def test_what_was_not_started_is_counted(builder, tmp_path):
    _, report = ended(builder, tmp_path, endings=("success", None, "success", None))
    assert (report.about["status"], report.about["not_started"]) == ("error", 2)


def test_a_run_level_error_scores_nothing(builder, tmp_path):
    error = ErrorInfo("readback_mismatch", "the scene is another", "01_small_objects_00", 4)
    folder, report = ended(builder, tmp_path, run_error=error)
    assert read(folder)["episodes"] == []
    assert (report.about["status"], report.about["scored"]) == ("error", 0)
    assert read(folder)["summary"]["bounds"] == [0.0, 1.0]


def test_only_a_run_that_failed_may_lack_a_simulator(builder, tmp_path):
    ended(
        builder, tmp_path, simulator=None, run_error=ErrorInfo("connect", "no answer", None, None)
    )
    with pytest.raises(EvidenceError, match=r"\$\.identity\.worker\.simulator: is null"):
        builder.write(tmp_path / "other", builder.Spec(simulator=None))
    with pytest.raises(EvidenceError, match=r"simulator\.name: is 'isaac', expected 'mujoco'"):
        builder.write(tmp_path / "third", builder.Spec(simulator="isaac"))


def test_a_named_subset_is_partial_and_holds_exactly_its_scenarios(builder, tmp_path):
    folder, report = ended(
        builder, tmp_path, subset="first_of_each_variant", endings=("success",) * 3
    )
    assert (report.about["status"], report.about["scenarios"]) == ("partial", 3)
    assert read(folder)["summary"]["success_rate"] is None
    found = forge(builder, folder, lambda d: d["episodes"].pop())
    assert any("lacks 1 of 3 declared scenarios: 02_moving" in f for f in found)


def test_a_development_bench_is_never_complete(builder, tmp_path):
    _, report = ended(builder, tmp_path, scoring="development")
    assert report.about["status"] == "development"


def test_chunks_of_several_actions_count_as_one_call(builder, tmp_path):
    folder, _ = ended(builder, tmp_path, execute=4)
    assert read(folder)["episodes"][0]["attestation"]["inference_calls"] == 4


# ---- writing


def test_nothing_is_written_that_does_not_hold(builder, run, tmp_path):
    spec = builder.Spec(endings=("success", "control_rejected", "policy_stop", "step_limit"))
    document = read(run)
    document["summary"]["successes"] = 4
    (run / "result.json").unlink()
    with pytest.raises(EvidenceError, match=r"\$\.summary\.successes: is 4, expected 1"):
        write_result(
            run,
            builder.rehash(document),
            frozen=spec.frozen(),
            manifest=spec.manifest,
            identity=spec.identity(),
        )
    assert not (run / "result.json").exists()


def test_a_document_can_be_validated_before_it_is_written(run):
    report = validate_document(
        read(run),
        contract=read(run, "contract.json"),
        identity=read(run, "identity.json"),
        manifest=read(run, "manifest.json"),
        folder=run,
    )
    assert report.holds
    assert report.subject.endswith("result.json")


def test_the_file_reads_back_as_the_document(run):
    text = (run / "result.json").read_text()
    # One episode a line, so that a difference between two results can be read.
    assert sum(line.startswith('{"index"') for line in text.splitlines()) == 4
