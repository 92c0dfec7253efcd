"""Whatever a user, a policy or a machine does wrong: one line, the right status, no loss.

End to end, from the command line, in real processes wherever one has to die or hang.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from waiting import PATIENCE_S, until

pytest.importorskip("mujoco", reason="the embedded simulator is not installed")
pytest.importorskip("hydra", reason="conf/ needs Hydra")

from robogate import cli
from robogate.contract.canonical import self_hash
from robogate.contract.layout import data_dir, manifests_dir
from robogate.evidence.assemble import result_text
from robogate.records.calls import calls_chain
from robogate.records.digests import observation_digests, trace_chain
from robogate.records.episode_hash import episode_sha256, semantic_sha256
from robogate.records.trace_file import trace_bytes

HERE = Path(__file__).parent
#: Sixteen scenarios, as short as they can be.
SHORT = ("budget=smoke", "budget.max_actions=2", "runtime.media=off", "runtime.wandb=off")


def policy(name: str) -> tuple[str, ...]:
    return ("adapter=python", f"adapter.target=parade_policy:{name}", *SHORT)


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a process said until its end, which is not left to itself."""
    try:
        return process.communicate(timeout=4 * PATIENCE_S)
    finally:
        process.kill()


class Place:
    """A working directory, and the command in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copy(HERE / "parade.py", folder / "parade_policy.py")

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "robogate", *words],
            cwd=self.folder,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, **variables: str) -> tuple[int, str, str]:
        process = self.start(*words, **variables)
        out, err = ended(process)
        assert "Traceback" not in out + err, err
        return process.returncode, out, err

    def refused(self, *words: str, status: int = 2) -> str:
        """The last line of a command that ends in an error."""
        code, out, err = self.run(*words)
        last = err.splitlines()[-1] if err else ""
        assert (code, last[:17]) == (status, "robogate: error: "), (code, out, err)
        return last.removeprefix("robogate: error: ")

    def interrupted(self, number: int, *words: str, wait: str) -> tuple[int, str]:
        """Send a signal once the policy waits; exit status and standard error."""
        process = self.start(*words, WAIT=wait)
        waiting = self.folder / "waiting"
        until(lambda: waiting.exists() or process.poll() is not None, 2 * PATIENCE_S)
        process.send_signal(number if waiting.exists() else signal.SIGKILL)
        _, err = ended(process)
        assert waiting.exists(), err
        waiting.unlink()
        assert "Traceback" not in err, err
        return process.returncode, err


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def refused(capsys: Any, *words: str) -> str:
    assert cli.main(words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("robogate: error: ") and err.count("\n") == 1
    return err.removeprefix("robogate: error: ").rstrip("\n")


# The request ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("budget.max_action=3", "budget.max_action: unknown key; did you mean 'max_actions'?"),
        (
            "+budget.limit=3",
            "'+budget.limit=3' adds to the configuration, which is closed; change a value that is "
            "there: budget.limit=3",
        ),
        ("runtime.workers=two", "runtime.workers: is 'two', expected an integer"),
        ("budget.max_actions=true", "budget.max_actions: is true, expected an integer"),
        ("adapter=python", "adapter.target: must be given: adapter.target=…"),
        (
            "adapter=zero adapter.benches=[dual_arm]",
            "adapter=zero does not fit bench=mujoco_pnp: it drives 'dual_arm', not 'pnp'; adapters "
            "that fit: oracle, python, zero",
        ),
        (
            "runtime.output_dir=/home/zoé",
            "'runtime.output_dir=/home/zoé' is not in Hydra's override syntax; quote the value: "
            "\"runtime.output_dir='/home/zoé'\"",
        ),
    ],
)
def test_a_wrong_request(capsys: Any, words: str, message: str) -> None:
    text = refused(capsys, *words.split())
    assert re.sub(r"that fit: .*", "that fit: …", text) == re.sub(
        r"that fit: .*", "that fit: …", message
    )


def test_a_quoted_path_is_taken(capsys: Any) -> None:
    assert cli.main(["contract", "--hash", "runtime.output_dir='/home/zoé/a b'"]) == 0


# Files and machine ------------------------------------------------------------------------------


def flip(path: Path, offset: int) -> None:
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.write_bytes(data)


def test_a_manifest_with_one_byte_changed(
    capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(manifests_dir(), tmp_path / "m")
    monkeypatch.setattr("robogate.config.bind.manifests_dir", lambda: tmp_path / "m")
    file = tmp_path / "m" / "fair_pnp_v2.json"
    flip(file, file.read_bytes().index(b'"seed": ') + len(b'"seed": 1'))
    text = refused(capsys, "adapter=zero")
    assert re.fullmatch(
        rf"{file}: \$\.sha256: is [0-9a-f]{{64}}, recomputed [0-9a-f]{{64}}", text
    ), text


def test_an_asset_with_one_byte_changed(
    capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shutil.copytree(data_dir(), tmp_path / "data")
    monkeypatch.setattr("robogate.config.bind.data_dir", lambda: tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    changed = sorted(p for p in (tmp_path / "data").rglob("*.obj"))[0]
    flip(changed, 100)
    name = changed.relative_to(tmp_path / "data")
    assert re.fullmatch(
        rf"asset {name}: has SHA-256 [0-9a-f]{{64}}, expected [0-9a-f]{{64}}; rebuild the pinned "
        "files with: robogate assets --force",
        refused(capsys, "adapter=zero"),
    )
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize(
    ("gl", "libraries"),
    [
        ("auto", "libEGL.so.1 or libOSMesa.so.8"),
        ("egl", "libEGL.so.1"),
        ("osmesa", "libOSMesa.so.8"),
    ],
)
def test_no_gl_library(
    capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, gl: str, libraries: str
) -> None:
    monkeypatch.setattr("robogate.benches.gl._loads", lambda library: False)
    monkeypatch.chdir(tmp_path)
    assert refused(capsys, "adapter=zero", f"runtime.gl={gl}") == (
        f"runtime.gl={gl}: no {libraries} can be loaded; as root type: apt-get install -y libegl1 "
        "libgl1-mesa-dri libosmesa6"
    )
    assert list(tmp_path.iterdir()) == []


# The output folder ------------------------------------------------------------------------------


def test_an_output_folder_that_is_taken(
    capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("precious")
    (tmp_path / "file").write_text("precious")
    words = ("adapter=zero", *SHORT)
    assert refused(capsys, *words, "runtime.output_dir=full") == (
        "runtime.output_dir: 'full' is not empty; choose a new folder, or continue it with "
        "runtime.resume=full"
    )
    for folder, reason in (("file", "File exists"), ("file/x", "Not a directory")):
        assert refused(capsys, *words, f"runtime.output_dir={folder}") == (
            f"output folder '{folder}' cannot be written: {reason}; choose another with "
            "runtime.output_dir=DIR"
        )
    assert (tmp_path / "full" / "mine").read_text() == "precious"
    assert (tmp_path / "file").read_text() == "precious"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Mounts a disk of its own, with options."""
    disk = tmp_path / "disk"
    mounted = []

    def mount(options: str) -> Path:
        disk.mkdir(exist_ok=True)
        verb = ["-o", f"remount,{options}"] if mounted else ["-t", "tmpfs", "-o", options, "tmpfs"]
        done = subprocess.run(["mount", *verb, str(disk)], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
        mounted.append(disk)
        return disk

    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a disk")
    yield mount
    if mounted:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_an_output_folder_that_cannot_be_written(
    place: Place, small_disk: Callable[..., Path]
) -> None:
    disk = small_disk("size=40k")
    words = ("adapter=zero", *SHORT, "runtime.output_dir=disk/run")
    assert place.refused(*words) == (
        f"output folder '{disk}/run' cannot be written: no space left on the device; choose "
        "another with runtime.output_dir=DIR"
    )
    assert list(disk.iterdir()) == [], "the folder of a run that could not begin stays behind"
    small_disk("ro")
    assert place.refused(*words) == (
        "output folder 'disk/run' cannot be written: the file system is read-only; choose another "
        "with runtime.output_dir=DIR"
    )


def test_a_disk_that_fills_up_keeps_what_was_done(
    place: Place, small_disk: Callable[..., Path]
) -> None:
    disk = small_disk("size=250k")
    text = place.refused("adapter=zero", *SHORT, "runtime.output_dir=disk/run")
    assert re.fullmatch(
        rf"{disk}/run/\S+: cannot be written \(No space left on device\); nothing more is run. "
        r"Make room and go on with runtime.resume=\S+",
        text,
    )
    small_disk("size=20m")
    code, _, err = place.run("adapter=zero", *SHORT, "runtime.resume=disk/run")
    result = json.loads((disk / "run" / "result.json").read_text())
    lost = [e["error"]["code"] for e in result["episodes"] if e["error"]]
    assert len(result["episodes"]) == 16 and lost in ([], ["interrupted"])
    assert code == (3 if lost else 0), err
    assert place.run("verify", "disk/run")[0] == 0


# The policy -------------------------------------------------------------------------------------

NOT_SCORED = [
    ("action_not_finite", "action 0: 'dy' is nan, expected a finite number"),
    ("action_out_of_range", "action 0: 'dx' is 1.5, expected [-1, 1]"),
    ("action_shape", "action 0 has shape (6,), expected (7,)"),
    ("empty_chunk", "the policy returned no action, expected a sequence of actions of 7 numbers"),
    ("inference_exception", "inference 2 raised RuntimeError: the network"),
    ("inference_timeout", "inference 2 gave no answer within 5 s"),
    (
        "action_type",
        "policy returned str of <U7, expected numbers of shape (n,) or (chunk, n), or Stop",
    ),
    ("worker_died", "step: the worker was killed by SIGKILL"),
    ("inference_exception", "inference 2 raised SystemExit: 0"),
]


@pytest.fixture(scope="module")
def parade(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, int, str, str]:
    place = Place(tmp_path_factory.mktemp("parade"))
    words = (*policy("Parade"), "bench.inference_timeout_s=5.0", "runtime.output_dir=run")
    return place, *place.run("--json", *words)


def test_each_fault_of_a_policy_costs_its_own_episode(
    parade: tuple[Place, int, str, str],
) -> None:
    place, code, _, err = parade
    result = json.loads((place.folder / "run" / "result.json").read_text())
    assert (code, result["status"], result["error"]) == (3, "error", None), err
    errors = [e["error"] for e in result["episodes"]]
    assert [(e["code"], e["message"]) for e in errors if e] == NOT_SCORED
    assert errors[len(NOT_SCORED) :] == [None] * (16 - len(NOT_SCORED))
    assert [e["ending"] for e in result["episodes"][9:]] == ["step_limit"] * 7
    assert place.run("verify", "run")[0] == 0
    for code_, message in NOT_SCORED:
        assert f"code={code_} step=1" in err and message.split("'")[0] in err


def test_the_summary_is_alone_on_standard_output(parade: tuple[Place, int, str, str]) -> None:
    _, _, out, err = parade
    assert out.count("\n") == 1 and json.loads(out)["errored"] == len(NOT_SCORED)
    for text in ("policy", "native library", "child"):
        assert f"a print of {'the' if text == 'policy' else 'a'} {text}\n" in err


def test_the_log_says_where_a_policy_raised(parade: tuple[Place, int, str, str]) -> None:
    log = (parade[0].folder / "run" / "run.log").read_text()
    assert 'raise RuntimeError("the network\\nfell over")' in log


def test_only_a_replay_finds_what_was_invented_consistently(
    parade: tuple[Place, int, str, str], tmp_path: Path
) -> None:
    place = parade[0]
    code, out, _ = place.run("verify", "--replay", "run")
    assert code == 0 and "replay holds: every observation is equal, bit by bit" in out
    shutil.copytree(place.folder / "run", tmp_path / "forged")
    forge_facts(tmp_path / "forged")
    code, out, err = place.run("verify", str(tmp_path / "forged"))
    assert (code, err) == (0, ""), "the hashes were made anew, and hold"
    code, out, _ = place.run("verify", "--replay", str(tmp_path / "forged"))
    assert code == 3
    assert re.search(
        r"\$\.episodes\[9\]: replay does not hold: scenario '\S+', observation 2: task facts",
        out,
    )


def forge_facts(folder: Path) -> None:
    """Change a measured number by a trifle, and make every hash over it anew."""
    document = json.loads((folder / "result.json").read_text())
    episode = document["episodes"][9]
    attestation = episode["attestation"]
    file = folder / attestation["trace_file"]
    with file.open("rb") as stream:
        trace, calls = np.load(stream), np.load(stream)
    trace["facts"][2, 0] += 1e-9
    file.write_bytes(trace_bytes(trace, calls))
    attestation["calls_chain"] = calls_chain(
        calls,
        observation_digests(trace),
        document["harness_contract_sha256"],
        episode["scenario_id"],
    )
    attestation["trace_sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    attestation["chain"] = trace_chain(
        trace, document["harness_contract_sha256"], episode["scenario_id"]
    )
    episode["semantic_sha256"] = semantic_sha256(episode)
    episode["sha256"] = episode_sha256(episode)
    document["sha256"] = self_hash(document)
    (folder / "result.json").write_text(result_text(document))


def test_a_policy_that_changes_under_way_is_not_scored(place: Place) -> None:
    code, out, _ = place.run("--json", *policy("Mutable"))
    summary = json.loads(out)
    assert (code, summary["status"], summary["scored"]) == (3, "error", 0)
    assert summary["error"] == {
        "code": "policy_source_changed",
        "message": "policy source changed during the run: parade_policy.py was modified; nothing "
        "is scored: run again with a source that stays as it is",
        "scenario_id": None,
        "step": None,
    }


# Interruption -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "status", "said"),
    [
        (signal.SIGINT, 130, "robogate: interrupted\n"),
        (signal.SIGTERM, 143, "robogate: terminated\n"),
    ],
)
def test_an_interrupted_run_that_had_not_begun_leaves_nothing(
    place: Place, number: int, status: int, said: str
) -> None:
    words = (*policy("WaitsOnLoad"), "runtime.output_dir=run")
    assert place.interrupted(number, *words, wait="load") == (status, said)
    assert not (place.folder / "run").exists()


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A run that was killed in its third episode."""
    place = Place(tmp_path_factory.mktemp("killed"))
    words = (*policy("Waits"), "runtime.output_dir=run")
    assert place.interrupted(signal.SIGKILL, *words, wait="act")[0] == -signal.SIGKILL
    return place


@pytest.fixture
def cut(killed: Place, tmp_path: Path) -> Place:
    """A copy of it, to be damaged."""
    shutil.copytree(killed.folder / "run", tmp_path / "run")
    return Place(tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    """What a refused resume must not touch."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".log" and path.name != "journal.jsonl"
    }


def test_a_killed_run_is_resumed_and_holds(cut: Place) -> None:
    assert cut.refused("verify", "run") == (
        "run: no result.json: the run has not ended; continue it with runtime.resume=run"
    )
    # What it is bound to is known by its hashes; a spoiled copy is written again.
    (cut.folder / "run" / "manifest.json").unlink()
    (cut.folder / "run" / "contract.json").write_text("{}")
    with (cut.folder / "run" / "journal.jsonl").open("ab") as stream:
        stream.write(b'{"sha256":"torn')
    code, _, err = cut.run(*policy("Waits"), "runtime.resume=run")
    assert code == 3
    assert "the journal's last line was torn (15 bytes) and was dropped" in err
    result = json.loads((cut.folder / "run" / "result.json").read_text())
    errors = [e["error"] and e["error"]["code"] for e in result["episodes"]]
    assert errors == [None, None, "interrupted"] + [None] * 13
    assert cut.run("verify", "run")[0] == 0
    assert cut.refused(*policy("Waits"), "runtime.resume=run") == (
        "runtime.resume=run: the run has ended and result.json is written; nothing is left to do"
    )


def spoil_policy(cut: Place) -> None:
    (cut.folder / "parade_policy.py").unlink()


def edit_policy(cut: Place) -> None:
    with (cut.folder / "parade_policy.py").open("a") as stream:
        stream.write("# another\n")


def lose_identity(cut: Place) -> None:
    (cut.folder / "run" / "identity.json").unlink()


def lose_trace(cut: Place) -> None:
    next((cut.folder / "run" / "traces").glob("*.npy")).unlink()


def change_trace(cut: Place) -> None:
    flip(next((cut.folder / "run" / "traces").glob("*.npy")), -1)


def edit_journal(cut: Place) -> None:
    flip(cut.folder / "run" / "journal.jsonl", 500)


@pytest.mark.parametrize(
    ("damage", "status", "message"),
    [
        (
            spoil_policy,
            3,
            r"adapter\.target=parade_policy:Waits: no module 'parade_policy'; install it, or start "
            r"from the folder that holds it; the interrupted run is kept as it was: put this right "
            r"and go on with runtime\.resume=run",
        ),
        (
            edit_policy,
            2,
            r"runtime\.resume=\S+/run: policy\.package_sha256, policy\.module_sha256 differ "
            r"from the run's beginning; resume with what it was begun with, or start a new run",
        ),
        (
            lose_identity,
            2,
            r"runtime\.resume=\S+/run: identity\.json is missing, so nothing says with what the "
            r"run was begun; restore the file, or start a new run",
        ),
        (
            lose_trace,
            3,
            r"runtime\.resume=\S+/run: trace of scenario '\S+': \S+\.npy: is missing; restore the "
            r"file, or start a new run",
        ),
        (
            change_trace,
            3,
            r"runtime\.resume=\S+/run: trace of scenario '\S+': is not the one that the journal "
            r"names; restore the file, or start a new run",
        ),
        (
            edit_journal,
            3,
            r"\S+/journal\.jsonl:1: the line's hash does not hold; it was edited or damaged",
        ),
    ],
)
def test_a_resume_that_cannot_be_is_refused_and_changes_nothing(
    cut: Place, damage: Callable[[Place], None], status: int, message: str
) -> None:
    damage(cut)
    before = contents(cut.folder / "run")
    text = cut.refused(*policy("Waits"), "runtime.resume=run", status=status)
    assert re.fullmatch(message, text), text
    assert contents(cut.folder / "run") == before


# What is none of its business -------------------------------------------------------------------


@pytest.mark.slow
def test_how_and_where_it_is_run_changes_nothing_in_a_run(place: Place, tmp_path: Path) -> None:
    """Order of the overrides, working directory, folder, workers, media: equal evidence."""
    (tmp_path / "elsewhere").mkdir()
    elsewhere = Place(tmp_path / "elsewhere")
    words = ["adapter=oracle", "budget=smoke", "runtime.wandb=off"]
    assert place.run(*words, "runtime.media=off", "runtime.output_dir=one")[0] == 0
    assert elsewhere.run(*reversed(words), "runtime.workers=2", "runtime.output_dir=two")[0] == 0
    one, two = (
        json.loads(path.read_text())
        for path in (
            place.folder / "one" / "result.json",
            elsewhere.folder / "two" / "result.json",
        )
    )
    assert one["summary"]["successes"] == 16
    for result in (one, two):  # how long inference took is measured, and not the same twice
        assert result["summary"].pop("inference")["calls"] > 0
    for key in ("contract_sha256", "fingerprint_sha256", "summary", "manifest_sha256"):
        assert one[key] == two[key]
    for a, b in zip(one["episodes"], two["episodes"]):
        assert a["semantic_sha256"] == b["semantic_sha256"]
        assert a["attestation"] == b["attestation"]
