"""The log: what breaks its chain, what a cut tail looks like, and what cannot be appended."""

import json
from pathlib import Path

import pytest

from robogate.contract.canonical import self_hash
from robogate.errors import EvidenceError
from robogate.evidence.log_files import (
    read_head,
    read_log,
    require_descends,
    trusted_log,
    write_head,
    write_log,
)
from robogate.evidence.publication_fs import PublicationFiles
from robogate.evidence.publication_log import GENESIS, Draft, Log, LogHead

A, B, C = "aa" * 32, "bb" * 32, "cc" * 32
AT = "2026-12-01T10:00:00.000000+00:00"
FILES = PublicationFiles()


def three():
    return Log(()).extended(
        [
            Draft("listed", A, "11" * 32),
            Draft("listed", B, "22" * 32),
            Draft("superseded", A, "11" * 32, B, "a better one"),
        ],
        AT,
    )


def lines_of(log):
    return [json.loads(line) for line in log.text().splitlines()]


def write_lines(folder, lines):
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def rechain(lines):
    """Make every hash fit again, as a careful forger would."""
    previous = GENESIS
    for number, line in enumerate(lines):
        line["sequence"], line["previous"] = number, previous
        line["sha256"] = previous = self_hash(line)
    return lines


def test_what_is_written_is_read(tmp_path):
    assert read_log(tmp_path) == Log(())
    write_log(tmp_path, three(), FILES)
    log = read_log(tmp_path)
    assert log == three()
    assert set(log.listed) == {A, B}
    assert log.ended[A].by == B and log.ended[A].reason == "a better one"
    assert log.head == LogHead(3, log.entries[2].sha256)
    assert Log(()).head == LogHead(0, GENESIS)


def test_an_extension_begins_with_what_was_there():
    log = three()
    longer = log.extended([Draft("listed", C)], AT)
    assert longer.entries[:3] == log.entries
    assert longer.entries[3].previous == log.head.sha256


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: lines[0].update(at="2025-01-01"),
        lambda lines: lines[2].update(reason="another reason"),
        lambda lines: lines[1].update(bundle=C),
        lambda lines: lines.pop(0),
        lambda lines: lines.pop(1),
        lambda lines: lines.insert(1, dict(lines[1])),
        lambda lines: lines.reverse(),
        lambda lines: lines[1].update(sha256="00" * 32),
        lambda lines: lines[1].update(previous=GENESIS),
        lambda lines: lines[1].update(sequence=2),
        lambda lines: lines[1].update(sequence=True),
        lambda lines: lines[1].update(note="more"),
        lambda lines: lines[1].pop("by"),
        lambda lines: lines[1].update(schema="robogate.board-log/2"),
        lambda lines: lines[1].update(event="deleted"),
    ],
)
def test_any_change_breaks_the_chain(tmp_path, spoil):
    lines = lines_of(three())
    spoil(lines)
    write_lines(tmp_path, lines)
    with pytest.raises(EvidenceError, match=r"log\.jsonl") as caught:
        read_log(tmp_path)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (three().text()[:-1], "torn"),
        (three().text()[:-40], "torn"),
        ("\n", "not JSON"),
        (three().text().replace('"sequence": 0', '"sequence": 0, "sequence": 0'), "duplicate key"),
        ("[]\n", "object"),
    ],
)
def test_text_that_is_no_log(tmp_path, text, message):
    (tmp_path / "log.jsonl").write_text(text)
    with pytest.raises(EvidenceError, match=message):
        read_log(tmp_path)


def test_a_log_is_never_read_through_a_link(tmp_path):
    (tmp_path / "elsewhere").write_text(three().text())
    (tmp_path / "log.jsonl").symlink_to("elsewhere")
    with pytest.raises(EvidenceError, match="symbolic link"):
        read_log(tmp_path)


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        (Draft("listed", A), "listed before"),
        (Draft("withdrawn", A, reason="again"), "withdrawn or superseded before"),
        (Draft("superseded", B, by=A, reason="but A ended"), "that is withdrawn"),
        (Draft("superseded", B, by=B, reason="itself"), "that is withdrawn"),
        (Draft("superseded", B, reason="by nothing"), "'by'"),
        (Draft("withdrawn", B, by=C, reason="by something"), "'by'"),
        (Draft("withdrawn", B), "'reason'"),
        (Draft("listed", C, reason="why"), "'reason'"),
        (Draft("listed", "../../etc"), "no bundle's name"),
    ],
)
def test_entries_that_make_no_sense_are_neither_written_nor_read(tmp_path, draft, message):
    with pytest.raises(EvidenceError, match=message):
        three().extended([draft], AT)
    forged = {"schema": "robogate.board-log/1", "at": AT, **draft.__dict__}
    write_lines(tmp_path, rechain([*lines_of(three()), forged]))
    with pytest.raises(EvidenceError, match=message):
        read_log(tmp_path)


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_cut_tail_is_told_by_the_published_head(tmp_path, kept):
    log = three()
    write_log(tmp_path, Log(log.entries[:kept]), FILES)
    assert trusted_log(tmp_path).head.entries == kept  # nothing was published: nothing is missing
    write_head(tmp_path, log.head, FILES)
    with pytest.raises(EvidenceError, match=f"has {kept} entries, 3 were published") as caught:
        trusted_log(tmp_path)
    assert "restore the log" in caught.value.message
    write_log(tmp_path, log, FILES)
    assert trusted_log(tmp_path) == log
    longer = log.extended([Draft("listed", C)], AT)
    write_log(tmp_path, longer, FILES)
    assert trusted_log(tmp_path) == longer


def test_a_rewritten_history_is_told_by_the_published_head(tmp_path):
    lines = lines_of(three())
    lines[2]["reason"] = "nothing to see here"
    write_lines(tmp_path, rechain(lines))
    assert read_log(tmp_path).entries[2].reason == "nothing to see here"
    with pytest.raises(EvidenceError, match="another entry 2 than was published"):
        require_descends(read_log(tmp_path), three().head, "index.json", tmp_path)


def test_a_lost_log_is_not_an_empty_one(tmp_path):
    write_head(tmp_path, three().head, FILES)
    with pytest.raises(EvidenceError, match="has 0 entries"):
        trusted_log(tmp_path)


def test_head_file(tmp_path):
    assert read_head(tmp_path) is None
    write_head(tmp_path, LogHead(3, A), FILES)
    assert read_head(tmp_path) == LogHead(3, A)
    for text in ("{}", '{"schema": "robogate.board-head/1", "entries": 3.0, "sha256": ""}', "[]"):
        Path(tmp_path / "head.json").write_text(text)
        with pytest.raises(EvidenceError):
            read_head(tmp_path)
