"""The real benches over HTTP give the records that they give in a child process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from waiting import PATIENCE_S

pytest.importorskip("mujoco", reason="the embedded simulator is not installed")
pytest.importorskip("hydra", reason="conf/ needs Hydra")
pytest.importorskip("uvicorn", reason="the worker part is not installed")

from robogate.adapters.registry import load_policy
from robogate.config.compose import Point, compose
from robogate.episodes.journal import Header
from robogate.episodes.journal_writer import create_journal
from robogate.episodes.parallel import RunSetup, run_episodes
from robogate.episodes.sinks import SinkFanOut
from robogate.records.contract import environment_sha256
from robogate.records.registration import registration_of
from robogate.records.result import Episode
from robogate.runs.environment import Place, resolve_gl
from robogate.scenes.manifest import load_manifest
from robogate.worker.deadlines import Deadlines

PNP, DUAL_ARM = ("bench=mujoco_pnp",), ("bench=mujoco_dual_arm", "track=click_bell_quick")
DEADLINES = Deadlines(start=120.0, reset=120.0, step=60.0, close=30.0)


def point_of(bench: tuple[str, ...]) -> Point:
    return compose([*bench, "adapter=oracle"])[0]


def run(point: Point, folder: Path, count: int, **where: str | None) -> list[Episode]:
    """Run the first scenarios with the scripted control."""
    policy = load_policy(point.frozen.adapter, point.frozen.bench)
    manifest = load_manifest(point.manifest_path)
    place = Place(
        point.frozen, point.manifest_path, point.assets_dir, resolve_gl("auto"), DEADLINES, **where
    )  # type: ignore[arg-type]
    (folder / "traces").mkdir(parents=True)
    header = Header(
        "run", point.frozen.sha256, "1" * 64, manifest.sha256, "2026-01-01T00:00:00+00:00"
    )
    journal = create_journal(folder / "journal.jsonl", header)
    setup = RunSetup(
        frozen=point.frozen,
        registration=registration_of(point.frozen, policy.adapter, policy.source, policy.server),
        identity=None,
        policy=policy,
        make_environment=place.create,
        folder=folder,
        journal=journal,
        sinks=SinkFanOut([]),
    )
    try:
        return run_episodes(manifest.scenarios[:count], setup)
    finally:
        journal.close()


@pytest.fixture
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A worker that serves a point's world, as a person starts it."""
    point = point_of(request.param)
    contract = tmp_path / "contract.json"
    document = {"contract": point.frozen.document, "contract_sha256": point.frozen.sha256}
    contract.write_text(json.dumps(document))
    options = tmp_path / "options.json"
    options.write_text(json.dumps({"contract": str(contract)}))
    process = subprocess.Popen(
        [sys.executable, "-m", "robogate", "serve", "--factory", point.frozen.bench.environment,
         "--options", str(options), "--port", "0"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
    finally:
        process.terminate()
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("served", [PNP], indirect=True)
def test_pick_and_place_is_the_same_wherever_it_runs(served: str, tmp_path: Path) -> None:
    assert_same(PNP, 2, served, tmp_path)


@pytest.mark.parametrize("served", [DUAL_ARM], indirect=True)
def test_the_dual_arm_is_the_same_wherever_it_runs(served: str, tmp_path: Path) -> None:
    assert_same(DUAL_ARM, 1, served, tmp_path)


def assert_same(bench: tuple[str, ...], count: int, url: str, folder: Path) -> None:
    point = point_of(bench)
    child = run(point, folder / "child", count)
    assert [episode.outcome for episode in child] == ["success"] * count
    for name, where in (("url", {"url": url}), ("python", {"python": sys.executable})):
        episodes = run(point, folder / name, count, **where)
        assert [e.semantic_sha256 for e in episodes] == [e.semantic_sha256 for e in child]
        for episode in episodes:
            trace = Path("traces") / f"{episode.scenario_id}.npy"
            assert (folder / name / trace).read_bytes() == (folder / "child" / trace).read_bytes()


def test_what_is_served_by_default_is_what_a_run_asks_for() -> None:
    from robogate.benches.defaults import contracts_dir

    (point,) = compose([*PNP])
    file = contracts_dir() / "fair_pnp_v2.json"
    served = json.loads(file.read_text())["contract"]
    assert environment_sha256(served) == environment_sha256(point.frozen.document), (
        f"{file} is not current; write it anew: robogate contract bench=mujoco_pnp > {file}"
    )
