"""Run folders: one for each run, never shared, and a link that is no part of the run."""

from __future__ import annotations

import datetime
import errno
from pathlib import Path

import pytest

from robogate.errors import UsageError
from robogate.runs.folder import create_run_folder, link_latest, run_folder_name, unwritable

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)


def test_two_runs_of_one_second_have_folders_of_their_own(tmp_path: Path) -> None:
    names = {run_folder_name("mujoco_pnp", "zero", "0123456789", NOW) for _ in range(8)}
    assert len(names) == 8
    assert all(n.startswith("2026-01-02_03-04-05_mujoco_pnp_zero_01234567_") for n in names)


def test_one_folder_is_never_given_to_two_runs(tmp_path: Path) -> None:
    create_run_folder(tmp_path / "run")
    with pytest.raises(UsageError, match="'.*/run' is not empty"):
        create_run_folder(tmp_path / "run")


def test_an_empty_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert create_run_folder(tmp_path / "run") == tmp_path / "run"
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["traces"]


def test_latest_follows_the_newest(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        assert link_latest(tmp_path / name) is None
        assert (tmp_path / "latest").resolve() == tmp_path / name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "latest"]


def test_a_folder_called_latest_is_left_alone_and_told(tmp_path: Path) -> None:
    (tmp_path / "latest").mkdir()
    (tmp_path / "run").mkdir()
    assert link_latest(tmp_path / "run") == (
        f"'{tmp_path}/latest' is no link, so it does not lead to this run; move it away"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["latest", "run"]


def test_a_link_that_cannot_be_made_is_told_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: str) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    assert link_latest(tmp_path / "run") == (
        f"'{tmp_path}/latest' does not lead to this run (Read-only file system)"
    )


@pytest.mark.parametrize(
    ("begun", "remedy"),
    [
        (False, "choose another with runtime.output_dir=DIR"),
        (True, "put that right and go on with runtime.resume=run"),
    ],
)
def test_the_remedy_keeps_what_was_done(begun: bool, remedy: str) -> None:
    error = unwritable(Path("run"), OSError(errno.ENOSPC, "x"), begun=begun)
    assert error.message == (
        f"output folder 'run' cannot be written: no space left on the device; {remedy}"
    )
