"""The front door: what is a verb, what is an evaluation, and how each request ends."""

import importlib
import json
import os
import re
import resource
import subprocess
import sys
import types

import pytest

from robogate import cli
from robogate.errors import EvidenceError, RunError

RUNNER = "robogate.reports.evaluate_cli"


@pytest.fixture
def evaluated(monkeypatch):
    """Stand in for the runner and note what it is asked to do."""
    calls = []

    def evaluate(points, *, json_output):
        calls.append((points, json_output))
        return 0

    module = types.ModuleType(RUNNER)
    module.main = evaluate
    monkeypatch.setitem(sys.modules, RUNNER, module)
    return calls


def run(*argv):
    return cli.main(argv)


def refused(capsys, *argv, status=2):
    assert run(*argv) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("robogate: error: ") and err.count("\n") == 1
    return err.removeprefix("robogate: error: ").rstrip("\n")


@pytest.mark.parametrize(
    "argv", [(), ("--help",), ("-h",), ("adapter=zero", "--help"), ("run", "-h")]
)
def test_help_is_one_screen_and_explains_both_forms(capsys, argv):
    assert run(*argv) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert len(lines) <= 32 and max(map(len, lines)) <= 80
    assert "KEY=VALUE" in out and "VERB" in out
    for verb in cli.VERBS:
        assert verb == "run" or re.search(rf"^  {verb} ", out, re.MULTILINE)


def test_version(capsys):
    assert run("--version") == 0
    assert re.fullmatch(r"robogate \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize("verb", sorted(set(cli.VERBS) - {"run"}))
def test_every_verb_exists_and_has_help(capsys, verb):
    module, text = cli.VERBS[verb]
    assert callable(importlib.import_module(module).main)
    assert text and len(text) <= 60
    try:
        status = run(verb, "--help")
    except SystemExit as exc:
        status = exc.code
    assert status == 0
    assert capsys.readouterr().out.startswith(f"usage: robogate {verb}")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("contrct",), "no verb 'contrct'; did you mean 'contract'?"),
        (("-x",), "unknown flag '-x'; valid: --config-dir, --help, --json, --multirun"),
        (("--jsn", "adapter=zero"), "unknown flag '--jsn'; did you mean '--json'?"),
        (("adapter=zero", "oracle"), "'oracle' is not an override; write KEY=VALUE"),
        (("adapter=zero", "--config-dir"), "--config-dir: give a folder"),
        (("adapter=zeor",), "adapter=zeor: no such adapter; did you mean 'zero'?"),
        (
            ("+adapter=zero",),
            "'+adapter=zero' adds to the configuration, which is closed; change a value that is"
            " there: adapter=zero",
        ),
        (
            ("contract", "-m", "adapter=zero,oracle"),
            "unknown flag '-m'; valid: --config-dir, --hash, --help",
        ),
        (("contract", "adapter=zeor"), "adapter=zeor: no such adapter; did you mean 'zero'?"),
    ],
)
def test_a_bad_request_is_one_line_and_2(capsys, evaluated, argv, message):
    assert refused(capsys, *argv) == message
    assert evaluated == []


def test_evaluation(evaluated):
    assert run("bench=mujoco_pnp", "adapter=zero", "budget=smoke", "runtime.workers=2") == 0
    ((points, json_output),) = evaluated
    (point,) = points
    assert json_output is False
    assert point.choices["adapter"] == "zero" and point.choices["budget"] == "smoke"
    assert point.runtime.workers == 2
    assert point.overrides[1] == "adapter=zero"


def test_run_is_the_same_as_no_verb(evaluated):
    assert run("run") == 0
    assert run("--json", "bench=mujoco_pnp") == 0
    (explicit, _), (implicit, json_output) = evaluated
    assert explicit[0].frozen.sha256 == implicit[0].frozen.sha256
    assert json_output is True


@pytest.mark.parametrize("flag", ["-m", "--multirun"])
def test_multirun_hands_over_every_point_at_once(evaluated, flag):
    assert run(flag, "adapter=zero,oracle") == 0
    ((points, _),) = evaluated
    assert [p.choices["adapter"] for p in points] == ["zero", "oracle"]


def test_nothing_runs_when_one_point_is_wrong(capsys, evaluated):
    text = refused(capsys, "-m", "adapter=zero,oracle,nosuch")
    assert text.startswith("at adapter=nosuch: adapter=nosuch: no such adapter; valid: ")
    assert text.endswith(", zero")
    assert evaluated == []


@pytest.mark.parametrize("form", [("--config-dir", "{}"), ("--config-dir={}",)])
def test_own_config_folder(tmp_path, evaluated, form):
    (tmp_path / "budget").mkdir()
    (tmp_path / "budget/mine.yaml").write_text("defaults: [smoke, _self_]\nname: mine\n")
    assert run("budget=mine", *(word.format(tmp_path) for word in form)) == 0
    ((points, _),) = evaluated
    assert points[0].frozen.budget.name == "mine"


@pytest.mark.parametrize("status", [0, 3])
def test_the_evaluations_status_is_the_commands(monkeypatch, evaluated, status):
    monkeypatch.setattr(sys.modules[RUNNER], "main", lambda points, json_output: status)
    assert run("adapter=zero") == status


def raising(monkeypatch, exc):
    def evaluate(points, json_output):
        raise exc

    monkeypatch.setattr(sys.modules[RUNNER], "main", evaluate)


@pytest.mark.parametrize("error", [RunError, EvidenceError])
def test_an_invalid_run_is_one_line_and_3(capsys, monkeypatch, evaluated, error):
    raising(monkeypatch, error("scene\n differs"))
    assert refused(capsys, "adapter=zero", status=3) == "scene differs"


def test_the_unforeseen_keeps_its_traceback(monkeypatch, evaluated):
    raising(monkeypatch, ZeroDivisionError("x"))
    with pytest.raises(ZeroDivisionError):
        run("adapter=zero")


def test_interrupt(capsys, monkeypatch, evaluated):
    raising(monkeypatch, KeyboardInterrupt())
    assert run("adapter=zero") == 130
    assert capsys.readouterr().err == "robogate: interrupted\n"


@pytest.mark.parametrize(
    ("argv", "missing", "extra"),
    [
        (("contract",), "hydra", "config"),
        (("contract",), "omegaconf", "config"),
        (("adapter=zero",), "hydra", "full"),
    ],
)
def test_a_missing_extra_is_named(capsys, monkeypatch, evaluated, argv, missing, extra):
    for name in [n for n in sys.modules if n.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    text = refused(capsys, *argv)
    assert text == f"{missing} is not installed; pip install 'robogate-harness[{extra}]'"


def test_another_missing_module_is_a_crash(monkeypatch, evaluated):
    raising(monkeypatch, ModuleNotFoundError("no", name="robogate.nosuch"))
    with pytest.raises(ModuleNotFoundError):
        run("adapter=zero")


# The contract verb -------------------------------------------------------------------------------


def test_contract_prints_document_and_hashes(capsys):
    assert run("contract", "bench=mujoco_pnp", "adapter=zero") == 0
    shown = json.loads(capsys.readouterr().out)
    assert list(shown) == ["contract", "contract_sha256", "harness_contract_sha256"]
    assert shown["contract"]["adapter"]["kind"] == "zero"

    assert run("contract", "adapter=zero", "--hash", "bench=mujoco_pnp") == 0
    assert capsys.readouterr().out == shown["contract_sha256"] + "\n"


def test_a_printed_contract_thaws_to_the_same_hash(capsys):
    from robogate.records.contract import thaw

    assert run("contract", "budget=smoke") == 0
    shown = json.loads(capsys.readouterr().out)
    frozen = thaw(shown["contract"])
    assert frozen.sha256 == shown["contract_sha256"]
    assert frozen.harness_sha256 == shown["harness_contract_sha256"]


# As a process ------------------------------------------------------------------------------------


def python_m(*argv, **options):
    return subprocess.run(
        [sys.executable, "-m", "robogate", *argv], capture_output=True, text=True, **options
    )


def test_module_and_console_script_are_the_same_program():
    script = os.path.join(os.path.dirname(sys.executable), "robogate")
    done = subprocess.run([script, "--help"], capture_output=True, text=True)
    assert done.stdout == python_m("--help").stdout != ""


def test_exit_status_of_the_process(tmp_path):
    bad = python_m("adapter=zeor", cwd=tmp_path)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "robogate: error: adapter=zeor: no such adapter; did you mean 'zero'?\n"
    assert list(tmp_path.iterdir()) == []


def test_a_closed_pipe_is_no_traceback():
    command = f"{sys.executable} -m robogate contract | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stderr == ""


def cpu_seconds(*argv):
    """CPU time of the fastest of some runs: wall time is other people's business."""
    best = float("inf")
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert python_m(*argv).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = min(best, spent)
    return best


def test_help_takes_a_tenth_of_a_second():
    assert cpu_seconds("--help") <= 0.1


def test_contract_takes_six_tenths():
    assert cpu_seconds("contract", "bench=mujoco_pnp", "adapter=zero") <= 0.6
