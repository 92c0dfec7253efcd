"""The W&B mirror with the real client: what it holds, and that it can do no harm."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robogate.contract.files import write_json
from robogate.episodes.journal import Header
from robogate.episodes.journal_writer import Journal, create_journal
from robogate.reports.wandb_log import records
from robogate.reports.wandb_mirror import WandbMirror
from robogate.runs.progress import RunPlan
from robogate.runs.video import EpisodeVideo
from waiting import ORPHAN_S, PATIENCE_S, until

pytest.importorskip("wandb")

#: A mirror that is as important as everything else here, and is waited for.
PATIENT: dict[str, Any] = {"wait_s": 2 * PATIENCE_S, "niceness": 0}


@pytest.fixture(autouse=True)
def nobody_logged_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)
    # Nothing listens there: no test can reach a server by mistake.
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")


class Evaluation:
    """A run that journals synthetic episodes."""

    def __init__(self, synthetic: Any, folder: Path, episodes: int = 4) -> None:
        folder.mkdir()
        self.synthetic = synthetic
        self.scenarios = synthetic.scenarios({"nominal": episodes})
        self.plan: RunPlan = synthetic.plan(folder, self.scenarios)
        self.folder = folder
        self.finished: list[Any] = []
        write_json(folder / "contract.json", dict(self.plan.contract))
        header = Header(self.plan.run_id, self.plan.contract_sha256, "f" * 64, "a" * 64, "now")
        self.journal: Journal = create_journal(folder / "journal.jsonl", header)

    def run(self, mirror: WandbMirror, outcomes: Sequence[str]) -> None:
        for scenario, outcome in zip(self.scenarios, outcomes):
            self.journal.started(scenario)
            mirror.episode_started(scenario)
            episode = self.synthetic.episode(scenario, outcome)
            self.journal.finished(episode)
            self.finished.append(episode)
            mirror.episode_finished(episode)

    def end(self, mirror: WandbMirror) -> dict[str, Any]:
        self.journal.close()
        result: dict[str, Any] = self.synthetic.result(self.plan, self.finished)
        write_json(self.folder / "result.json", result)
        mirror.run_finished(result, self.folder)
        mirror.close()
        return result


def processes_of(folder: Path) -> list[int]:
    """Every live process that has to do with a folder's mirror, W&B's own service included."""
    found: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            found[int(entry.name)] = command
    children = [p for p, c in found.items() if "wandb_child" in c and f"{folder} " in c]
    services = [p for p, c in found.items() if any(f"--pid {n} " in f"{c} " for n in children)]
    return children + services


def log_of(folder: Path) -> Path:
    (path,) = (folder / "wandb").glob("offline-run-*/run-*.wandb")
    return path


def message(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "wandb" / "mirror.json").read_bytes())
    return document


def state(folder: Path) -> str:
    """State that a mirror has left; empty before it leaves one."""
    try:
        return str(message(folder)["state"])
    except FileNotFoundError:
        return ""


def items(entries: Any) -> dict[str, Any]:
    """The values of a record, nested as they were logged."""
    values: dict[str, Any] = {}
    for entry in entries:
        *parents, name = list(entry.nested_key) or [entry.key]
        inner = values
        for parent in parents:
            inner = inner.setdefault(parent, {})
        inner[name] = json.loads(entry.value_json)
    return values


def test_a_run_is_mirrored_whole(synthetic: Any, tmp_path: Path) -> None:
    warnings: list[str] = []
    evaluation = Evaluation(synthetic, tmp_path / "run")
    outcomes = ["success", "failure", "error", "success"]
    (evaluation.folder / "videos").mkdir()
    for scenario in evaluation.scenarios:
        path = evaluation.folder / "videos" / f"{scenario.id}_primary.mp4"
        video = EpisodeVideo(path, frames_per_second=20.0, row_order="top_first")
        video.add(np.zeros((32, 32, 3), np.uint8))
        video.finish()
    mirror = WandbMirror("offline", warnings.append, group="sweep", **PATIENT)
    mirror.run_started(evaluation.plan)
    evaluation.run(mirror, outcomes)
    result = evaluation.end(mirror)
    assert warnings == []
    assert processes_of(evaluation.folder) == []

    by_kind: dict[str, list[Any]] = {}
    for record in records(log_of(evaluation.folder)):
        by_kind.setdefault(record.WhichOneof("record_type"), []).append(record)
    (run,) = (record.run for record in by_kind["run"])
    assert run.run_id == evaluation.plan.run_id and run.run_group == "sweep"
    assert run.project == "robogate" and list(run.tags) == ["mujoco_pnp", "oracle", "ab12cd34"]
    config = items(run.config.update)
    config.pop("_wandb")
    assert config == evaluation.plan.contract, "the config is the contract, and nothing else"

    history = [items(record.history.item) for record in by_kind["history"]]
    assert [row["episode/scenario_id"] for row in history[:4]] == [
        scenario.id for scenario in evaluation.scenarios
    ]
    assert [row.get("episode/success") for row in history[:4]] == [1, 0, None, 1]
    assert [row["running/errored"] for row in history[:4]] == [0, 0, 1, 1]
    assert len(history) == 5
    assert history[4]["episodes"]["nrows"] == 4 and history[4]["groups"]["nrows"] == 3
    assert sorted(name for name in history[4] if name.startswith("videos/")) == [
        f"videos/{scenario.id}_primary" for scenario in evaluation.scenarios[1:3]
    ]

    summary: dict[str, Any] = {}
    for record in by_kind["summary"]:
        summary |= items(record.summary.update)
    assert summary["success_rate"] == result["summary"]["success_rate"]
    assert (summary["scored"], summary["errored"], summary["not_started"]) == (3, 1, 0)
    assert summary["status"] == "error" and summary["scope"] == result["scope"]
    assert not any(name.startswith("episode/") for name in summary)

    artifacts = {record.artifact.type: record.artifact for record in by_kind["artifact"]}
    evidence = artifacts["evaluation"]
    assert evidence.name == f"result-{evaluation.plan.run_id}"
    entries = {entry.path: Path(entry.local_path) for entry in evidence.manifest.contents}
    assert sorted(entries) == ["contract.json", "result.json"]
    assert json.loads(entries["result.json"].read_bytes()) == result
    assert by_kind["exit"][0].exit.exit_code == 0

    # Nothing was written anywhere else.
    assert entries["result.json"].is_relative_to(evaluation.folder / "wandb")
    home = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert home == []


def test_three_runs_of_a_multirun_are_three_runs(synthetic: Any, tmp_path: Path) -> None:
    mirror = WandbMirror("offline", pytest.fail, group="sweep", **PATIENT)
    ids = []
    for name in ("a", "b", "c"):
        evaluation = Evaluation(synthetic, tmp_path / name, episodes=1)
        mirror.run_started(evaluation.plan)
        evaluation.run(mirror, ["success"])
        evaluation.end(mirror)
        kinds = [(r.WhichOneof("record_type"), r) for r in records(log_of(evaluation.folder))]
        ids += [record.run.run_id for kind, record in kinds if kind == "run"]
        assert sum(kind == "history" for kind, _ in kinds) == 2
    assert len(ids) == len(set(ids)) == 3


def test_a_mirror_that_is_killed_is_a_warning(synthetic: Any, tmp_path: Path) -> None:
    warnings: list[str] = []
    evaluation = Evaluation(synthetic, tmp_path / "run")
    mirror = WandbMirror("offline", warnings.append, **PATIENT)
    mirror.run_started(evaluation.plan)
    assert mirror._child is not None
    mirror._child.kill()
    mirror._child.wait(PATIENCE_S)
    evaluation.run(mirror, ["success"] * 4)
    result = evaluation.end(mirror)
    assert len(warnings) == 1
    assert (
        "the W&B mirror failed (ended by signal 9); the run and its files are complete"
        in (warnings[0])
    )
    assert result["summary"]["successes"] == 4


RUNNER = """
import sys, time
sys.path[:0] = sys.argv[2:]
from pathlib import Path
import conftest
import test_wandb_mirror as t
evaluation = t.Evaluation(conftest.Synthetic(), Path(sys.argv[1]))
mirror = t.WandbMirror("offline", print, **t.PATIENT)
mirror.run_started(evaluation.plan)
evaluation.run(mirror, ["success", "success"])
print("ready", flush=True)
time.sleep(600)
"""


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    folder = tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(folder), *map(str, Path(__file__).parents[:2])],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process, folder
        finally:
            process.kill()


def test_a_mirror_does_not_outlive_a_killed_run(
    runner: tuple[subprocess.Popen[str], Path],
) -> None:
    process, folder = runner
    state = folder / "wandb" / "mirror.json"
    assert until(lambda: state.is_file() and message(folder)["state"] == "following")
    assert len(processes_of(folder)) >= 1
    process.kill()
    process.wait()
    assert until(lambda: processes_of(folder) == [], ORPHAN_S), "the mirror lives on"
    # It has a moment to say so. Where the machine is too busy for that, it is ended before.
    said = message(folder)
    if said["state"] != "following":
        assert (said["state"], said["message"], said["run_id"]) == (
            "interrupted", "the run ended without a result", "run-run"
        )  # fmt: skip


def test_a_mirror_that_is_still_starting_does_not_outlive_a_killed_run(
    runner: tuple[subprocess.Popen[str], Path],
) -> None:
    process, folder = runner
    process.kill()
    process.wait()
    assert until(lambda: processes_of(folder) == [], ORPHAN_S), "the mirror lives on"


def test_without_a_key_it_is_mirrored_offline(synthetic: Any, tmp_path: Path) -> None:
    warnings: list[str] = []
    evaluation = Evaluation(synthetic, tmp_path / "run")
    mirror = WandbMirror("online", warnings.append, **PATIENT)
    mirror.run_started(evaluation.plan)
    evaluation.run(mirror, ["success"] * 4)
    evaluation.end(mirror)
    (warning,) = warnings
    assert "No API key configured" in warning and "mirrored offline instead" in warning
    sync = Path(warning.rpartition("wandb sync ")[2])
    assert sync == log_of(evaluation.folder).parent


@pytest.mark.slow
def test_a_server_that_never_answers_does_not_hold_the_run(
    synthetic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
        warnings: list[str] = []
        evaluation = Evaluation(synthetic, tmp_path / "run")
        mirror = WandbMirror("online", warnings.append, wait_s=1.0, init_timeout_s=4.0, niceness=0)
        mirror.run_started(evaluation.plan)
        evaluation.run(mirror, ["success"] * 4)
        evaluation.end(mirror)
        assert len(warnings) == 1 and "left to finish by itself" in warnings[0]
        # It gives up on the server by itself, and keeps the rows on the disk. While it starts over
        # it has no command line for a moment, so more than its absence is waited for.
        assert until(lambda: state(evaluation.folder) == "mirrored", 2 * PATIENCE_S)
        assert until(lambda: processes_of(evaluation.folder) == [], PATIENCE_S)
    assert "mirrored offline instead" in message(evaluation.folder)["message"]
    assert log_of(evaluation.folder).is_file()


def test_a_full_disk_is_a_warning(synthetic: Any, tmp_path: Path) -> None:
    warnings: list[str] = []
    evaluation = Evaluation(synthetic, tmp_path / "run", episodes=40)
    mirror = WandbMirror("offline", warnings.append, **PATIENT)
    mirror.run_started(evaluation.plan)
    assert mirror._child is not None
    # Its files, and no others, may not grow past this.
    resource.prlimit(mirror._child.pid, resource.RLIMIT_FSIZE, (6000, 6000))
    evaluation.run(mirror, ["success", "failure"] * 20)
    result = evaluation.end(mirror)
    assert len(warnings) == 1 and "the W&B mirror failed (" in warnings[0]
    assert "the run and its files are complete without it" in warnings[0]
    assert result["summary"]["successes"] == 20
    assert processes_of(evaluation.folder) == []


def test_a_folder_that_cannot_be_made_is_a_warning(synthetic: Any, tmp_path: Path) -> None:
    warnings: list[str] = []
    evaluation = Evaluation(synthetic, tmp_path / "run")
    (evaluation.folder / "wandb").write_text("in the way")
    mirror = WandbMirror("offline", warnings.append, **PATIENT)
    mirror.run_started(evaluation.plan)
    evaluation.run(mirror, ["success"] * 4)
    evaluation.end(mirror)
    assert warnings == ["the W&B mirror cannot be started: File exists; the run goes on without it"]


def test_a_run_without_a_result_is_marked(synthetic: Any, tmp_path: Path) -> None:
    evaluation = Evaluation(synthetic, tmp_path / "run")
    mirror = WandbMirror("offline", pytest.fail, **PATIENT)
    mirror.run_started(evaluation.plan)
    evaluation.run(mirror, ["success", "success"])
    state = evaluation.folder / "wandb" / "mirror.json"
    assert until(lambda: state.is_file() and message(evaluation.folder)["state"] == "following")
    mirror.close()
    assert message(evaluation.folder)["state"] == "interrupted"
    kinds = [(r.WhichOneof("record_type"), r) for r in records(log_of(evaluation.folder))]
    assert [record.exit.exit_code for kind, record in kinds if kind == "exit"] == [1]
    assert sum(kind == "history" for kind, _ in kinds) == 2


def test_a_resumed_run_is_a_run_of_its_own(synthetic: Any, tmp_path: Path) -> None:
    scenarios = synthetic.scenarios({"nominal": 2})
    mirror = WandbMirror("offline", pytest.fail)
    fresh = mirror._command(synthetic.plan(tmp_path, scenarios))
    recorded = [synthetic.episode(scenarios[0])]
    resumed = [mirror._command(synthetic.plan(tmp_path, scenarios, recorded)) for _ in range(2)]
    ids = [
        next(word for word in line if word.startswith("--run-id=")) for line in (fresh, *resumed)
    ]
    assert len(set(ids)) == 3 and all(name.startswith(ids[0]) for name in ids)


def test_off_starts_nothing(synthetic: Any, tmp_path: Path) -> None:
    evaluation = Evaluation(synthetic, tmp_path / "run")
    mirror = WandbMirror("off", pytest.fail)
    mirror.run_started(evaluation.plan)
    assert processes_of(evaluation.folder) == []
    evaluation.run(mirror, ["success"] * 4)
    evaluation.end(mirror)
    assert not (evaluation.folder / "wandb").exists()


def test_not_installed_is_a_warning(
    synthetic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    warnings: list[str] = []
    evaluation = Evaluation(synthetic, tmp_path / "run")
    WandbMirror("offline", warnings.append, **PATIENT).run_started(evaluation.plan)
    assert warnings == [
        "W&B is not installed, so nothing is mirrored: install robogate-harness[wandb], "
        "or set runtime.wandb=off"
    ]
