"""Boards of synthetic bundles, promoted for real, and the runs that they were made from."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robogate.contract.adapter_schema import PythonAdapter
from robogate.contract.identity import (
    AdapterIdentity,
    CheckpointIdentity,
    Identity,
    PolicyIdentity,
    assemble_identity,
)
from robogate.evidence.keys import create_keys, load_private_key, load_public_key
from robogate.evidence.promotion import promote
from robogate.evidence.qualification_bundle import write_qualification
from robogate.records.contract import FrozenContract, freeze
from robogate.reports.withdraw_cli import main as withdraw_main
from robogate.runs.video import EpisodeVideo


def _builder_module() -> Any:
    """The synthetic runs of the evidence tests; a conftest is not importable by name."""
    name = "synthetic_runs_of_evidence"
    if name not in sys.modules:
        path = Path(__file__).parents[1] / "evidence" / "conftest.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


synthetic = _builder_module()


@dataclass
class PolicySpec(synthetic.Spec):  # type: ignore[misc, name-defined]
    """A run of a user's class, as `synthetic.Spec` is one of a control.

    Attributes:
        target: ``module:Class``; any text that a contract accepts.
        transfer: How the policy was trained.
        model: Model, revision and checkpoint, or None for a policy that is nothing but source.
        role: ``policy`` or ``control``.
        cpu: Model of the processor.
    """

    adapter: str = "python"
    target: str = "my_policy:Reacher"
    transfer: str = "zero_shot"
    model: tuple[str, str, str] | None = None
    role: str = "policy"
    cpu: str = "a cpu"
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    def frozen(self) -> FrozenContract:
        control = super().frozen() if self.adapter != "python" else self._as_control()
        model, revision, checkpoint = self.model or (None, None, None)
        adapter = PythonAdapter(
            kind="python",
            version="1",
            benches=("pnp",),
            role=self.role,
            determinism="deterministic",
            transfer=self.transfer,
            execute=self.execute,
            model=model,
            revision=revision,
            checkpoint_sha256=checkpoint,
            warmup_timeout_s=60.0,
            seeding="none",
            batch_invariant=False,
            target=self.target,
            options=self.options,
        )
        return freeze(control.bench, control.track, adapter, control.renderer, control.budget)

    def _as_control(self) -> FrozenContract:
        adapter, self.adapter = self.adapter, "oracle"
        try:
            return synthetic.Spec.frozen(self)  # type: ignore[no-any-return]
        finally:
            self.adapter = adapter

    def identity(self) -> Identity:
        control = super().identity()
        process = dataclasses.replace(
            control.worker,
            hardware=dataclasses.replace(control.worker.hardware, cpu_model=self.cpu),
        )
        module, _, name = self.target.partition(":")
        return assemble_identity(
            harness=control.harness,
            adapter=AdapterIdentity(self.adapter, "1", "6f" * 32),
            policy=PolicyIdentity(
                origin="measured",
                backend="python",
                module=module,
                class_name=name,
                distribution="my-policy",
                distribution_version="1.0",
                record_sha256="7a" * 32,
                source="distribution",
                git_revision=None,
                package=module.partition(".")[0],
                package_files=1,
                package_sha256="8b" * 32,
                module_sha256="9c" * 32,
                compiled_files=0,
                compiled_sha256="4f" * 32,
            ),
            checkpoint=None
            if self.model is None
            else CheckpointIdentity("measured", "weights", self.model[1], 2, 1000, self.model[2]),
            runner=process,
            worker=process,
        )


class Boards:
    """Writes runs and qualifications and promotes them.

    Args:
        folder: Where everything goes.
    """

    Spec = synthetic.Spec
    PolicySpec = PolicySpec

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.builder = synthetic.Builder()
        private, self.public_file = create_keys(folder / "keys")
        self.key = load_private_key(private)
        self.public = load_public_key(self.public_file)
        self._count = 0
        self._qualified: dict[str, Path] = {}

    def qualification(self, **changes: Any) -> Path:
        """A passed qualification, made once."""
        name = repr(sorted(changes.items()))
        if name not in self._qualified:
            place = self.folder / f"qualification_{len(self._qualified)}"
            specs = [self.Spec(adapter="zero", endings=("step_limit",) * 4, run=9, **changes)]
            specs += [self.Spec(adapter="oracle", run=run, **changes) for run in (6, 7, 8)]
            runs = [self.builder.write(place / "runs" / str(i), s) for i, s in enumerate(specs)]
            document = write_qualification(runs[0], runs[1:], place / "whole")
            assert document["status"] == "passed", document["checks"]
            self._qualified[name] = place / "whole"
        return self._qualified[name]

    def qualification_id(self, folder: Path) -> str:
        document = json.loads((folder / "qualification.json").read_text())
        return str(document["qualification_id"])

    def run(self, spec: Any, qualification: Path | None = None, videos: bool = False) -> Path:
        """Write a run that is bound to a qualification."""
        qualification = qualification or self.qualification()
        spec.qualification_id = self.qualification_id(qualification)
        self._count += 1
        folder = self.builder.write(self.folder / "runs" / str(self._count), spec)
        if videos:
            (folder / "videos").mkdir()
            video = self._video()
            for trace in sorted((folder / "traces").glob("*.npy")):
                for camera in ("primary", "wrist"):
                    file = folder / "videos" / f"{trace.stem}_{camera}.mp4"
                    file.write_bytes(video)
        return Path(folder)

    def _video(self) -> bytes:
        """A second of a moving square."""
        path = self.folder / "video.mp4"
        if path.exists():
            return path.read_bytes()
        video = EpisodeVideo(path, frames_per_second=20.0, row_order="top_first")
        for step in range(20):
            image = np.full((64, 64, 3), 90, np.uint8)
            image[20:40, 2 * step : 2 * step + 20] = (200, 60, 40)
            video.add(image)
        video.finish()
        return path.read_bytes()

    def promote(
        self,
        board: Path,
        spec: Any = None,
        *,
        qualification: Path | None = None,
        signed: bool = True,
        videos: bool = False,
    ) -> Path:
        """Write a run and promote it.

        Returns:
            The bundle's folder.
        """
        qualification = qualification or self.qualification()
        run = self.run(spec or PolicySpec(), qualification, videos)
        return promote(run, qualification, board, key=self.key if signed else None).folder


@pytest.fixture(scope="session")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Boards:
    return Boards(tmp_path_factory.mktemp("boards"))


@pytest.fixture(scope="session")
def _one(boards: Boards) -> Path:
    board = boards.folder / "one"
    boards.promote(board, PolicySpec(endings=("success", "success", "step_limit", "success")))
    return board


@pytest.fixture
def board(_one: Path, tmp_path: Path) -> Path:
    """A board with one signed policy; a copy of one's own."""
    return Path(shutil.copytree(_one, tmp_path / "board"))


@pytest.fixture(scope="session")
def hostile() -> str:
    """A name that would be markup, leave its attribute, and confuse a terminal."""
    return "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e\x07"


@pytest.fixture(scope="session")
def full(boards: Boards, hostile: str) -> tuple[Path, dict[str, str]]:
    """A board with everything on it. Not to be changed.

    Returns:
        The board and bundles' names by what they are.
    """
    board, s, p = boards.folder / "full", boards.Spec, boards.PolicySpec
    won, lost = ("success",) * 4, ("step_limit",) * 4
    half = ("success", "step_limit", "success", "step_limit")
    other = boards.qualification(max_actions=120)
    made = {
        "best": boards.promote(
            board, p(run=1, model=("vla-one", "r1", "ab" * 32), endings=won), videos=True
        ),
        "tie_b": boards.promote(board, p(run=2, target="tie.b:P", endings=half)),
        "tie_a": boards.promote(board, p(run=3, target="tie.a:P", endings=half)),
        "last": boards.promote(board, p(run=4, target="last:P", endings=lost)),
        "here": boards.promote(board, p(run=5, transfer="in_environment", endings=won)),
        "unsigned": boards.promote(board, p(run=1, target="uns:P", endings=half), signed=False),
        "hostile": boards.promote(
            board, p(run=2, model=(hostile, hostile, "cd" * 32), options={"n": hostile})
        ),
        "oracle": boards.promote(board, s(run=1)),
        "zero": boards.promote(board, s(run=2, adapter="zero", endings=lost)),
        "longer": boards.promote(board, p(run=3, max_actions=120, target="longer:P", endings=half),
                                 qualification=other),
        "bad": boards.promote(board, p(run=4, target="bad:P", endings=won)),
        "wrong": boards.promote(board, p(run=1, target="wrong:P", endings=won)),
    }  # fmt: skip
    names = {name: folder.name for name, folder in made.items()}
    trace = next((made["bad"] / "result/traces").iterdir())
    trace.chmod(0o644)
    trace.write_bytes(trace.read_bytes()[:-8])
    (board / "bundles" / ("12" * 32)).mkdir()
    withdraw_main([str(board), names["wrong"], "--reason", "loaded &lt;b&gt; wrong"])
    return board, names
