"""`robogate withdraw`: who may be withdrawn, and what is refused."""

import shutil

import pytest

from robogate.errors import EvidenceError, UsageError
from robogate.evidence.board import Trust, read_board
from robogate.evidence.log_files import read_log
from robogate.evidence.signing import key_id
from robogate.evidence.withdrawal import withdraw
from robogate.reports.publish import publish
from robogate.reports.withdraw_cli import main

NOW = "2026-12-02T10:00:00.000000+00:00"


@pytest.fixture
def two(board, boards):
    """A board with two policies, and their names."""
    other = boards.promote(board, boards.PolicySpec(run=2, target="other:Policy"))
    (first,) = {p.name for p in (board / "bundles").iterdir()} - {other.name}
    return board, first, other.name


def test_withdraw(capsys, two):
    board, first, _ = two
    assert main([str(board), first, "--reason", "wrong  checkpoint\nwas loaded"]) == 0
    (entry,) = read_log(board).entries
    assert (entry.event, entry.bundle, entry.by) == ("withdrawn", first, None)
    assert entry.reason == "wrong checkpoint was loaded"
    assert entry.result_sha256 is not None
    out = capsys.readouterr().out
    assert f"withdrawn: {first}" in out and entry.sha256 in out


def test_supersede_by_the_beginning_of_names(two):
    board, first, second = two
    main([str(board), first[:8], "--reason", "newer run", "--superseded-by", second[:10]])
    (entry,) = read_log(board).entries
    assert (entry.event, entry.bundle, entry.by) == ("superseded", first, second)


def refused(message, *argv):
    with pytest.raises(UsageError, match=message):
        main([str(word) for word in argv])


def test_refusals_change_nothing(two, tmp_path):
    board, first, second = two
    refused("no such bundle", board, "ff" * 32, "--reason", "x")
    refused("no such bundle", board, "../" + first, "--reason", "x")
    refused("at least 8 characters", board, first[:7], "--reason", "x")
    refused("at least 8 characters", board, "", "--reason", "x")
    refused("does not supersede itself", board, first, "--reason", "x", "--superseded-by", first)
    for reason in ("", "  ", "a\x1b[2Jb", "x" * 2001):
        refused("--reason", board, first, "--reason", reason)
    refused("no such board", tmp_path / "nothing", first, "--reason", "x")
    assert not (board / "log.jsonl").exists()


def test_once(two):
    board, first, second = two
    main([str(board), first, "--reason", "the first reason"])
    refused("was withdrawn on .* already: the first reason", board, first, "--reason", "again")
    refused("withdrawn itself", board, second, "--reason", "x", "--superseded-by", first)
    assert len(read_log(board).entries) == 1


def test_what_is_gone_can_be_withdrawn_if_it_was_listed(two, tmp_path, boards):
    board, first, _ = two
    publish(board, tmp_path / "public", Trust({"k": boards.public}), now=NOW)
    (board / "bundles" / first).rename(tmp_path / "gone")
    entry = withdraw(board, first, reason="it was lost", now=NOW)
    assert entry.result_sha256 == read_log(board).listed[first].result_sha256


def test_a_log_that_was_cut_is_not_continued(two, tmp_path, boards):
    board, first, second = two
    publish(board, tmp_path / "public", Trust({"k": boards.public}), now=NOW)
    lines = (board / "log.jsonl").read_text().splitlines(keepends=True)
    (board / "log.jsonl").write_text("".join(lines[:-1]))
    with pytest.raises(EvidenceError, match="has 1 entries, 2 were published"):
        main([str(board), second, "--reason", "x"])


def test_a_forgery_takes_no_honest_result_with_it(two, boards):
    """Whoever writes to the board without a key can name any result in a bundle of his own."""
    board, first, _ = two
    forged = shutil.copytree(board / "bundles" / first, board / "bundles" / ("ab" * 32))
    (forged / "scope.txt").unlink()
    entry = withdraw(board, forged.name, reason="not ours", now=NOW)
    assert entry.result_sha256 is None
    trust = Trust({key_id(boards.public): boards.public})
    states = {item.name: item.state for item in read_board(board, trust, read_log(board))}
    assert states[first] == "ranked" and states[forged.name] == "quarantined"
