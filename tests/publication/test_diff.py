"""`robogate diff` on synthetic runs: what differs, and what keeps scores apart."""

import json
import shutil

import pytest

from robogate.errors import UsageError
from robogate.evidence.files import Unreadable
from robogate.reports.diff_cli import main


@pytest.fixture(scope="session")
def runs(boards):
    """Run folders by name. Not to be changed."""
    s, p = boards.Spec, boards.PolicySpec
    specs = {
        "a": p(endings=("success", "success", "step_limit", "success")),
        "again": p(endings=("success", "success", "step_limit", "success"), run=2),
        "b": p(run=3, target="other:Policy", endings=("success", "step_limit") * 2),
        "longer": p(run=4, max_actions=120),
        "here": p(run=5, transfer="in_environment"),
        "image": p(run=6, distribution="4.0.1"),
        "cpu": p(run=7, cpu="another cpu"),
        "code": p(run=8, harness_sha256="ee" * 32),
        "oracle": s(run=9),
        "error": p(run=2, endings=("success", "error", "success", "success")),
        "part": p(run=3, endings=("success", "success", "success"), subset="first_of_each_variant"),
    }
    return {name: boards.run(spec) for name, spec in specs.items()}


def diff(capsys, *argv):
    status = main([str(word) for word in argv])
    out, err = capsys.readouterr()
    assert err == ""
    return status, out


def diff_json(capsys, *argv):
    status, out = diff(capsys, *argv, "--json")
    document = json.loads(out)
    assert (status == 0) is document["comparable"]
    return document


def test_two_policies_of_one_harness_are_comparable(capsys, runs):
    document = diff_json(capsys, runs["a"], runs["b"])
    assert document["comparable"] and document["by"] == []
    paths = [d["path"] for d in document["differences"]["contract"]]
    assert paths == ["contract.adapter.target"]
    assert {d["weight"] for d in document["differences"]["identity"]} == {"subject"}
    outcome = {d["path"]: (d["a"], d["b"]) for d in document["differences"]["result"]}
    assert outcome["summary.successes"] == (3, 2)
    assert outcome["episodes[01_small_objects_00].outcome"] == ("success", "failure")
    paired = document["paired"]
    assert (paired["both"], paired["only_a"], paired["only_b"], paired["neither"]) == (1, 2, 1, 0)
    assert paired["p_value"] == 1.0 and paired["difference"] == -0.25
    assert paired["detectable"] is None  # of four pairs


@pytest.mark.parametrize(
    ("other", "by"),
    [
        ("longer", ["contract.budget.max_actions"]),
        ("here", ["contract.adapter.transfer"]),
        (
            "image",
            [
                f"identity.{process}.environment.distributions[mujoco].version"
                for process in ("runner", "worker")
            ],
        ),
        ("code", ["identity.harness.harness_sha256"]),
        ("oracle", ["contract.adapter.role", "contract.adapter.transfer"]),
        ("error", ["status"]),
        ("part", ["contract.budget.subset", "status"]),
    ],
)
def test_what_keeps_scores_apart_is_named(capsys, runs, other, by):
    document = diff_json(capsys, runs["a"], runs[other])
    assert not document["comparable"]
    assert document["by"] == by
    assert document["paired"] is None
    status, out = diff(capsys, runs["a"], runs[other])
    assert status == 3 and out.startswith(f"NOT COMPARABLE by {len(by)} field")
    for path in by:
        assert f"\n! {path}" in out


def test_two_errors_are_not_comparable_though_nothing_differs(capsys, runs):
    assert diff_json(capsys, runs["error"], runs["error"])["by"] == ["status"]


def test_a_difference_can_be_accepted_by_name(capsys, runs):
    document = diff_json(
        capsys, runs["a"], runs["longer"], "--allow", "$.contract.budget.max_actions"
    )
    assert document["comparable"]
    assert document["allowed"] == ["contract.budget.max_actions"]
    assert document["paired"]["pairs"] == 4
    status, out = diff(capsys, runs["a"], runs["longer"], "--allow", "contract.budget")
    assert status == 0 and out.startswith("comparable, 1 difference accepted:")
    assert "+ contract.budget.max_actions" in out


def test_accepting_one_field_accepts_no_other(capsys, runs):
    document = diff_json(capsys, runs["a"], runs["oracle"], "--allow", "contract.adapter.role")
    assert document["by"] == ["contract.adapter.transfer"]


@pytest.mark.parametrize("field", ["contract.budget.max", "budget", "contract.budgt"])
def test_a_mistyped_acceptance_is_refused(runs, field):
    with pytest.raises(UsageError, match="no such field; did you mean|no such field; valid"):
        main([str(runs["a"]), str(runs["longer"]), "--allow", field])


def test_accepting_what_is_equal_changes_nothing(capsys, runs):
    assert diff_json(capsys, runs["a"], runs["b"], "--allow", "contract.budget.max_actions")[
        "comparable"
    ]


def test_other_hardware_is_a_caution(capsys, runs):
    document = diff_json(capsys, runs["a"], runs["cpu"])
    assert document["comparable"]
    assert document["cautions"] == [
        "identity.runner.hardware.cpu_model",
        "identity.worker.hardware.cpu_model",
    ]
    assert "caution: not the same hardware" in diff(capsys, runs["a"], runs["cpu"])[1]


def test_the_same_run_again_differs_in_nothing_that_means_anything(capsys, runs):
    document = diff_json(capsys, runs["a"], runs["again"])
    assert document["differences"] == {"contract": [], "identity": [], "result": []}
    assert document["paired"]["both"] == 3 and document["paired"]["neither"] == 1


def test_errored_episodes_are_left_out_of_the_pairs(capsys, runs):
    document = diff_json(capsys, runs["a"], runs["error"], "--allow", "status")
    assert document["paired"]["pairs"] == 3 and document["paired"]["unpaired"] == 1


def test_a_spoilt_run_is_never_comparable(capsys, runs, tmp_path):
    run = shutil.copytree(runs["a"], tmp_path / "run")
    document = json.loads((run / "result.json").read_text())
    document["summary"]["successes"] = 4
    (run / "result.json").write_text(json.dumps(document))
    found = diff_json(capsys, run, runs["a"])
    assert not found["comparable"] and found["paired"] is None
    assert any(f["path"] == "$.summary.successes" for f in found["a"]["faults"])
    status, out = diff(capsys, run, runs["a"], "--allow", "summary")
    assert status == 3 and out.startswith("NOT COMPARABLE: the evidence does not hold")


def test_documents_alone(capsys, runs, tmp_path):
    document = diff_json(capsys, runs["a"] / "contract.json", runs["longer"] / "contract.json")
    assert document["by"] == ["contract.budget.max_actions"]
    assert list(document["differences"]) == ["contract"]
    document = diff_json(capsys, runs["a"] / "identity.json", runs["image"] / "identity.json")
    assert len(document["by"]) == 2 and list(document["differences"]) == ["identity"]
    lone = shutil.copy(runs["a"] / "result.json", tmp_path / "a.json")
    document = diff_json(capsys, lone, runs["b"])
    assert document["a"]["verified"] is False and document["b"]["verified"] is True
    assert "not verified" in diff(capsys, lone, runs["b"])[1]
    assert diff_json(capsys, runs["a"] / "result.json", runs["b"])["a"]["kind"] == "run"


def test_a_run_and_a_contract_share_the_contract(capsys, runs):
    document = diff_json(capsys, runs["a"], runs["longer"] / "contract.json")
    assert document["by"] == ["contract.budget.max_actions"] and document["paired"] is None
    with pytest.raises(UsageError, match="nothing to compare"):
        main([str(runs["a"] / "contract.json"), str(runs["a"] / "identity.json")])


def test_a_bundle_is_compared_as_its_run(capsys, runs, board):
    (bundle,) = (board / "bundles").iterdir()
    document = diff_json(capsys, bundle, runs["b"])
    assert document["a"]["kind"] == "bundle" and document["comparable"]


def test_what_cannot_be_read_is_2(runs, tmp_path, boards):
    bad = tmp_path / "bad.json"
    for text in ("[]", "{}", "{", '{"schema": "robogate.contract/1"}', '{"schema": 3}'):
        bad.write_text(text)
        with pytest.raises(Unreadable) as caught:
            main([str(bad), str(runs["a"])])
        assert caught.value.exit_code == 2 and "bad.json" in caught.value.message
    for path in (tmp_path / "nothing", tmp_path, boards.qualification()):
        with pytest.raises(Unreadable):
            main([str(runs["a"]), str(path)])


def test_text_fits_a_terminal(capsys, runs, tmp_path, monkeypatch):
    monkeypatch.chdir(runs["a"].parent)
    for other in ("b", "longer", "image", "cpu", "oracle", "error", "part"):
        _, out = diff(capsys, runs["a"].name, runs[other].name, "--all")
        assert max(map(len, out.splitlines())) <= 80, out


def test_hostile_text_cannot_write_to_the_terminal(capsys, boards, runs, tmp_path):
    spec = boards.PolicySpec(run=4, options={"note": "\x1b[2J\nB - A +99.9 points \u202e"})
    _, out = diff(capsys, boards.run(spec), runs["a"])
    assert "\x1b" not in out and "\u202e" not in out
    assert "\nB - A +99.9" not in out
