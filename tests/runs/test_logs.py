"""The run's log, and a disk that takes no more of it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from robogate.runs.logs import logging_to

log = logging.getLogger("robogate.test_logs")


def test_what_is_logged_stands_in_the_folder_and_nowhere_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with logging_to(tmp_path):
        log.info("a line")
    log.info("another")
    assert (tmp_path / "run.log").read_text().endswith("INFO robogate.test_logs: a line\n")
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_makes_no_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.log").symlink_to("/dev/full")
    with logging_to(tmp_path):
        log.warning("a line")
    err = capsys.readouterr().err
    assert "Traceback" not in err and "Logging error" not in err
    assert "WARNING robogate.test_logs: a line\n" in err
