import json
import os
import shutil

import pytest

from robogate.contract.canonical import self_hash
from robogate.errors import EvidenceError, UsageError
from robogate.evidence import qualification_bundle
from robogate.evidence.files import Unreadable
from robogate.evidence.qualification import (
    decode_qualification,
    qualify,
    require_qualification,
    verify_qualification,
)
from robogate.evidence.qualification_bundle import write_qualification
from robogate.evidence.relevance import RELEVANT, differing_fields, relevant_fields, value_at
from robogate.evidence.validator import validate_run
from robogate.runs import qualify as qualify_verb

NAMES = ("zero", "oracle_1", "oracle_2", "oracle_3")
NOTHING = ("step_limit",) * 4


def controls(builder, folder, **changes):
    """Four control runs; ``changes`` are of one control each, by its name."""
    for i, name in enumerate(NAMES):
        spec = {"run": i + 1, "adapter": name.partition("_")[0]}
        if name == "zero":
            spec |= {"endings": NOTHING, "noise": 7}
        builder.write(folder / name, builder.Spec(**{**spec, **changes.get(name, {})}))
    return folder


def qualified(folder):
    return qualify(folder / "zero", [folder / name for name in NAMES[1:]])


def failed(document):
    return [check["name"] for check in document["checks"] if not check["holds"]]


def detail(document, name):
    return next(check["detail"] for check in document["checks"] if check["name"] == name)


@pytest.fixture(scope="module")
def good(builder, tmp_path_factory):
    """Four control runs that qualify. Not to be changed."""
    return controls(builder, tmp_path_factory.mktemp("controls"))


@pytest.fixture
def runs(good, tmp_path):
    return shutil.copytree(good, tmp_path / "runs")


def test_good_controls_qualify(good):
    document = qualified(good)
    assert failed(document) == []
    assert document["status"] == "passed"
    assert [c["name"] for c in document["controls"]] == list(NAMES)
    assert [c["successes"] for c in document["controls"]] == [0, 4, 4, 4]
    record = decode_qualification(document)
    assert record.harness_sha256 == "1a" * 32
    assert record.harness_contract_sha256 == document["harness_contract_sha256"]
    assert set(record.fingerprints) == set(RELEVANT)


def test_the_same_controls_give_the_same_document(good):
    assert qualified(good) == qualified(good)


def test_the_id_covers_everything_but_the_hashes(good):
    document = qualified(good)
    for key in document:
        if key in ("qualification_id", "sha256"):
            continue
        other = {**document, key: "failed" if key == "status" else document[key]}
        other[key] = [] if key in ("controls", "checks") else other[key]
        other[key] = {} if key == "fingerprints" else other[key]
        if key.endswith("sha256") or key in ("harness_id", "declared_image_digest"):
            other[key] = "0" * 64
        if key == "schema":
            continue
        other["sha256"] = self_hash(other)
        with pytest.raises(EvidenceError, match="qualification_id does not follow"):
            decode_qualification(other)


DISQUALIFIED = {
    "zero passes one": (
        {"zero": {"endings": ("success", *NOTHING[1:])}},
        ["zero: passes none"],
    ),
    "oracle fails one": (
        {"oracle_2": {"endings": ("success",) * 3 + ("step_limit",)}},
        ["oracle_2: passes all", "oracle runs: one semantics"],
    ),
    "oracle errs once": (
        {"oracle_2": {"endings": ("success",) * 3 + ("error",)}},
        ["oracle_2: complete", "oracle_2: passes all", "oracle runs: one semantics"],
    ),
    "oracle not deterministic": ({"oracle_3": {"noise": 1}}, ["oracle runs: one semantics"]),
    "oracle with a run id used before": ({"oracle_3": {"run": 2}}, None),
    "zero as an oracle": (
        {"oracle_1": {"adapter": "zero", "endings": NOTHING}},
        [
            "oracle_1: is the oracle control",
            "oracle_1: passes all",
            "oracle runs: one semantics",
            "oracle runs: one contract",
        ],
    ),
    "another harness": ({"oracle_1": {"harness_sha256": "2b" * 32}}, ["one harness"]),
    "another image": ({"zero": {"distribution": "4.0.1"}}, ["one image"]),
}


@pytest.mark.parametrize("name", DISQUALIFIED)
def test_what_disqualifies(name, builder, tmp_path):
    changes, expected = DISQUALIFIED[name]
    document = qualified(controls(builder, tmp_path, **changes))
    assert document["status"] == "failed"
    if expected is None:
        expected = ["distinct run ids", "distinct results", "distinct timings"]
    assert failed(document) == expected


def test_another_budget_is_another_contract(builder, tmp_path):
    document = qualified(controls(builder, tmp_path, zero={"max_actions": 111}))
    assert {"one harness", "one budget"} <= set(failed(document))
    assert detail(document, "one budget") == "differs in contract.budget"
    assert document["harness_contract_sha256"] is None


def test_another_camera_is_another_contract(builder, tmp_path):
    renderer = type(builder.Spec().renderer)("mujoco", 128, 128, 4, False, ("primary", "wrist"))
    document = qualified(controls(builder, tmp_path, oracle_3={"renderer": renderer}))
    assert {"one harness", "one camera"} <= set(failed(document))
    assert detail(document, "one camera") == "differs in contract.renderer"


def test_another_manifest_is_another_contract(builder, tmp_path):
    rows = [*builder.rows[:3], type(builder.rows[0])("edge", "small_objects", 77)]
    other = builder.manifest_of(rows)
    document = qualified(controls(builder, tmp_path, oracle_1={"manifest": other}))
    assert {"one manifest", "one harness"} <= set(failed(document))
    assert detail(document, "one manifest") == "differs in manifest_sha256"


def test_one_run_used_twice_is_caught(good):
    document = qualify(good / "zero", [good / "oracle_1", good / "oracle_2", good / "oracle_1"])
    assert failed(document) == ["distinct run ids", "distinct results", "distinct timings"]
    assert detail(document, "distinct run ids") == "oracle_1 and oracle_3 share run-2"


def test_one_run_used_twice_under_another_run_id_is_caught(builder, runs):
    shutil.rmtree(runs / "oracle_3")
    shutil.copytree(runs / "oracle_1", runs / "oracle_3")
    path = runs / "oracle_3" / "result.json"
    document = json.loads(path.read_text())
    document["run_id"] = "run-9"
    path.write_text(json.dumps(builder.rehash(document)))
    assert validate_run(runs / "oracle_3").holds
    assert failed(qualified(runs)) == ["distinct timings"]


def test_an_invalid_control_disqualifies_and_says_why(builder, runs):
    path = runs / "oracle_2" / "result.json"
    document = json.loads(path.read_text())
    document["episodes"][1]["seed"] = 99
    path.write_text(json.dumps(builder.rehash(document)))
    document = qualified(runs)
    assert "oracle_2: valid" in failed(document)
    assert "$.episodes[1].seed: is 99, expected 12" in detail(document, "oracle_2: valid")


def test_a_control_that_cannot_be_decoded_fails_without_a_crash(runs):
    (runs / "oracle_2" / "result.json").write_text('{"episodes": []}')
    document = qualified(runs)
    assert document["status"] == "failed"
    assert document["controls"][2]["run_id"] is None
    decode_qualification(document)


def test_a_control_that_is_not_there_is_unreadable(runs):
    shutil.rmtree(runs / "oracle_2")
    with pytest.raises(Unreadable, match="oracle_2"):
        qualified(runs)


def test_three_oracle_runs_are_needed(good):
    with pytest.raises(UsageError, match="takes 3 runs of the oracle, 2 were given"):
        qualify(good / "zero", [good / "oracle_1", good / "oracle_2"])


# ---- relevance


def test_relevant_paths_exist_in_a_result(good):
    document = json.loads((good / "zero" / "result.json").read_text())
    absent = [
        path for paths in RELEVANT.values() for path in paths if value_at(document, path) is None
    ]
    assert absent == [
        "identity.runner.environment.declared_image_digest",
        "identity.worker.environment.declared_image_digest",
    ]


def test_what_differs_is_named(good):
    document = json.loads((good / "zero" / "result.json").read_text())
    other = json.loads(json.dumps(document))
    other["identity"]["harness"]["harness_sha256"] = "0" * 64
    other["identity"]["worker"]["host"]["name"] = "elsewhere"
    other["contract"]["budget"]["max_actions"] = 7
    assert differing_fields(relevant_fields(document), relevant_fields(other)) == [
        "identity.harness.harness_sha256",
        "contract.budget",
    ]


# ---- the folder


def listing(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def publish(runs, out):
    return write_qualification(runs / "zero", [runs / name for name in NAMES[1:]], out)


def test_the_folder_holds_document_and_raw_runs(runs, tmp_path):
    (runs / "zero" / "videos").mkdir()
    (runs / "zero" / "videos" / "a.mp4").write_bytes(b"x")
    document = publish(runs, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "qualification.json").read_text()) == document
    for name in NAMES:
        files = listing(tmp_path / "out" / name)
        assert files[:4] == ["contract.json", "identity.json", "manifest.json", "result.json"]
        assert len(files) == 8
        for file in files:
            copy = (tmp_path / "out" / name / file).read_bytes()
            assert copy == (runs / name / file).read_bytes()
    report = verify_qualification(tmp_path / "out")
    assert report.faults == ()
    assert report.about["status"] == "passed"
    assert report.about["controls"]["oracle_3"] == "4/4"


def test_runs_that_lie_in_place_stay_there(runs):
    before = listing(runs)
    publish(runs, runs)
    assert listing(runs) == sorted([*before, "qualification.json"])
    assert verify_qualification(runs).holds
    publish(runs, runs)
    assert verify_qualification(runs).holds


def test_a_folder_with_something_else_in_it_is_left_alone(runs, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(UsageError, match="is not empty, and the control runs are not zero"):
        publish(runs, tmp_path / "out")
    assert listing(tmp_path / "out") == ["mine"]


def test_a_failed_qualification_is_written_and_does_not_verify(builder, tmp_path):
    runs = controls(builder, tmp_path / "runs", oracle_3={"noise": 1})
    document = publish(runs, tmp_path / "out")
    assert document["status"] == "failed"
    report = verify_qualification(tmp_path / "out")
    assert [str(f).partition(": ")[2] for f in report.faults] == [
        f"oracle runs: one semantics: {detail(document, 'oracle runs: one semantics')}"
    ]


@pytest.mark.parametrize("step", range(12))
def test_the_folder_appears_whole_or_not_at_all(runs, tmp_path, monkeypatch, step):
    """Whatever file-system call fails, nothing is left, or all of it is there."""
    calls = 0

    def failing(function):
        def call(*args, **kwargs):
            nonlocal calls
            calls += 1
            if calls == step * 4 + 1:
                raise OSError(28, "No space left on device")
            return function(*args, **kwargs)

        return call

    monkeypatch.setattr(
        qualification_bundle.shutil, "copyfile", failing(qualification_bundle.shutil.copyfile)
    )
    monkeypatch.setattr(os, "fsync", failing(os.fsync))
    monkeypatch.setattr(
        qualification_bundle, "write_json", failing(qualification_bundle.write_json)
    )
    out = tmp_path / "out"
    try:
        publish(runs, out)
    except UsageError as exc:
        assert "No space left on device" in exc.message
    monkeypatch.undo()
    assert sorted(p.name for p in tmp_path.iterdir()) in (["out", "runs"], ["runs"])
    if out.exists():
        assert verify_qualification(out).holds


TAMPERED = {
    "status": (lambda d: d.update(status="failed"), "$.status: is 'failed', expected 'passed'"),
    "id": (lambda d: d.update(qualification_id="0" * 64), "$: $.qualification_id does not follow"),
    "check": (lambda d: d["checks"][0].update(detail="ok"), "$.checks[0].detail: is 'ok'"),
    "fingerprint": (
        lambda d: d["fingerprints"]["budget"].update({"contract.budget": "0" * 64}),
        "$.fingerprints.budget.contract.budget: is '000",
    ),
    "control": (
        lambda d: d["controls"][0].update(successes=1),
        "$.controls[0].successes: is 1, expected 0",
    ),
    "unknown field": (lambda d: d.update(note="x"), "$.note: unknown field"),
    "missing field": (lambda d: d.pop("checks"), "$.checks: missing field"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_an_edited_document_is_refused(name, runs):
    publish(runs, runs)
    document = json.loads((runs / "qualification.json").read_text())
    edit, message = TAMPERED[name]
    edit(document)
    (runs / "qualification.json").write_text(json.dumps(document))
    found = [str(fault) for fault in verify_qualification(runs).faults]
    assert any(message in fault for fault in found), found


def test_controls_swapped_after_the_fact_are_refused(runs):
    publish(runs, runs)
    (runs / "oracle_1").rename(runs / "x")
    (runs / "oracle_2").rename(runs / "oracle_1")
    (runs / "x").rename(runs / "oracle_2")
    paths = [f.path for f in verify_qualification(runs).faults]
    assert "$.controls[1].run_id" in paths
    assert "$.controls[2].result_sha256" in paths


def test_a_control_edited_after_the_fact_is_refused_with_its_path(runs):
    publish(runs, runs)
    trace = min((runs / "oracle_2" / "traces").iterdir())
    trace.write_bytes(trace.read_bytes()[:-8] + b"\1" * 8)
    paths = [f.path for f in verify_qualification(runs).faults]
    assert "oracle_2/$.episodes[0].attestation.trace_sha256" in paths


# ---- what it covers


def test_a_passed_qualification_covers_an_equal_harness(builder, runs, tmp_path):
    publish(runs, runs)
    document = json.loads((runs / "zero" / "result.json").read_text())
    expected = json.loads((runs / "qualification.json").read_text())["qualification_id"]
    assert require_qualification(runs, document) == expected


def test_a_stale_qualification_names_what_changed(runs):
    publish(runs, runs)
    document = json.loads((runs / "zero" / "result.json").read_text())
    document["identity"]["harness"]["harness_sha256"] = "9" * 64
    document["identity"]["worker"]["environment"]["sha256"] = "9" * 64
    message = (
        "is stale, these fields changed: identity.worker.environment.sha256, "
        "identity.harness.harness_sha256"
    )
    with pytest.raises(EvidenceError, match=message):
        require_qualification(runs, document)


def test_a_failed_qualification_covers_nothing(builder, tmp_path):
    runs = controls(builder, tmp_path, oracle_3={"noise": 1})
    publish(runs, runs)
    document = json.loads((runs / "zero" / "result.json").read_text())
    with pytest.raises(EvidenceError, match="oracle runs: one semantics"):
        require_qualification(runs, document)


# ---- the verb


def arguments(runs, out):
    oracles = [str(runs / name) for name in NAMES[1:]]
    return ["--zero", str(runs / "zero"), "--oracle", *oracles, "--out", str(out)]


def test_the_verb_passes(runs, tmp_path, capsys):
    assert qualify_verb.main(arguments(runs, tmp_path / "out")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2] == "passed: robogate-fair-pnp-v2-mujoco"
    assert lines[-1].startswith("qualification ")
    assert all(" holds " in line for line in lines[:-2])


def test_the_verb_fails_and_writes_why(builder, tmp_path, capsys):
    runs = controls(builder, tmp_path / "runs", zero={"endings": ("success", *NOTHING[1:])})
    assert qualify_verb.main([*arguments(runs, tmp_path / "out"), "--json"]) == 3
    printed = json.loads(capsys.readouterr().out)
    assert failed(printed) == ["zero: passes none"]
    assert json.loads((tmp_path / "out" / "qualification.json").read_text()) == printed
