"""`robogate manifest`: the committed manifests are what the sources generate."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from robogate.contract.layout import manifests_dir
from robogate.errors import EvidenceError, UsageError
from robogate.runs.manifest import main

NAME = "fair_pnp_v2.json"
ONE = ["fair_pnp_v2", "--dir"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(manifests_dir() / NAME, tmp_path / NAME)
    return tmp_path


def test_committed_manifests_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert "fair_pnp_v2: 68 scenarios, " in capsys.readouterr().out


def test_difference_is_named_and_written_away(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / NAME
    committed = file.read_bytes()
    document = json.loads(committed)
    document["scenarios"][2]["scene"]["object"]["mass"] = 0.2
    document["scenarios"][9]["seed"] += 1
    file.write_text(json.dumps(document, indent=1) + "\n")
    assert main(["--check", *ONE, str(folder)]) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        f"{NAME}:$.scenarios[2].scene.object.mass: is 0.2, expected 0.1",
        f"{NAME}:$.scenarios[9].seed: is 202244315, expected 202244314",
        f"{file}: is not current; run `robogate manifest --write`",
    ]
    assert main(["--write", *ONE, str(folder)]) == 0
    assert file.read_bytes() == committed


def test_same_values_in_another_text_are_not_current(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / NAME
    file.write_text(json.dumps(json.loads(file.read_text())))
    assert main([*ONE, str(folder)]) == 3
    assert "holds the same values in another text" in capsys.readouterr().err


def test_missing_file_and_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=f"{NAME}: cannot be read"):
        main(["--check", *ONE, str(tmp_path)])
    with pytest.raises(UsageError, match="no manifest 'fair_pnp'; did you mean 'fair_pnp_v2'?"):
        main(["--check", "fair_pnp"])
