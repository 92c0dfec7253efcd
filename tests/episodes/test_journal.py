from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robogate.contract.strict import encode
from robogate.episodes.journal import FIRST_PREVIOUS, Contents, parse_journal, read_journal
from robogate.episodes.journal_writer import create_journal, resume_journal
from robogate.episodes.record import unfinished
from robogate.episodes.resume import settle
from robogate.errors import EpisodeError, EvidenceError, RunError, UsageError
from robogate.records.result import ErrorInfo

if TYPE_CHECKING:
    from toy_world import World


def ended(world: World, index: int) -> Any:
    return unfinished(world.manifest.scenarios[index], EpisodeError("tëst", code="bad_reply"))


def write(world: World, path: Path) -> bytes:
    """Four scenarios started, two ended."""
    scenarios = world.manifest.scenarios
    journal = create_journal(path, world.header())
    journal.started(scenarios[0])
    journal.started(scenarios[1])
    journal.finished(ended(world, 1))
    journal.started(scenarios[2])
    journal.finished(ended(world, 0))
    journal.started(scenarios[3])
    journal.close()
    return path.read_bytes()


@pytest.fixture(scope="module")
def data(world: World, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write(world, tmp_path_factory.mktemp("journal") / "journal.jsonl")


def test_a_journal_says_what_was_written(world: World, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(world, path)
    contents = read_journal(path)
    ids = world.ids
    assert contents.header == world.header()
    assert list(contents.started) == ids[:4]
    assert [contents.started[name].index for name in ids[:4]] == [0, 1, 2, 3]
    assert contents.episodes == {ids[1]: ended(world, 1), ids[0]: ended(world, 0)}
    assert contents.interrupted == (ids[2], ids[3])
    assert contents.failed is None and contents.torn_bytes == 0 and contents.lines == 7


def test_every_line_is_json_with_its_own_hash(data: bytes) -> None:
    previous = FIRST_PREVIOUS
    for number, line in enumerate(data.splitlines()):
        document = json.loads(line)
        assert list(document) == ["sha256", "record"]
        text = line[line.index(b'"record":') + 9 : -1]
        assert document["sha256"] == hashlib.sha256(text).hexdigest()
        assert document["record"]["previous"] == previous
        assert document["record"]["sequence"] == number
        previous = document["sha256"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(cut=st.integers(0, 1 << 30))
def test_a_journal_cut_anywhere_is_read_and_resumed(
    world: World, data: bytes, tmp_path: Path, cut: int
) -> None:
    cut %= len(data) + 1
    kept = data[:cut]
    whole = kept[: kept.rfind(b"\n") + 1]
    path = tmp_path / "journal.jsonl"
    path.write_bytes(kept)
    (tmp_path / "traces").mkdir(exist_ok=True)

    journal, before = resume_journal(path, world.header(run_id="other"))
    assert before.torn_bytes == cut - len(whole)
    assert encode(before.episodes) == encode(parse_journal(whole, "whole").episodes)
    rest = settle(journal, before, world.manifest.scenarios, tmp_path)
    for scenario in rest.remaining:
        journal.started(scenario)
        journal.finished(ended(world, scenario.index))
    journal.close()

    after = read_journal(path)
    assert path.read_bytes().startswith(whole)
    assert after.torn_bytes == 0 and after.interrupted == ()
    # What had ended stands as it was; what had started is an error; the rest was run once.
    for name in world.ids:
        if name in before.episodes:
            assert after.episodes[name] == before.episodes[name]
        elif name in before.started:
            error = after.episodes[name].error
            assert error is not None and error.code == "interrupted"
        else:
            error = after.episodes[name].error
            assert error is not None and error.code == "bad_reply"
    assert [e.scenario_id for e in rest.recorded] + [s.id for s in rest.remaining] == (
        sorted(before.started) + [n for n in world.ids if n not in before.started]
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(at=st.integers(0, 1 << 30), flip=st.integers(1, 255))
def test_an_edited_byte_is_found(data: bytes, at: int, flip: int) -> None:
    at %= len(data)
    edited = bytearray(data)
    edited[at] ^= flip
    try:
        contents = parse_journal(bytes(edited), "j")
    except EvidenceError as exc:
        assert exc.message.startswith("j:")
    else:
        # Only the last line break can be edited away: then the last line is torn.
        assert at == len(data) - 1 and contents.torn_bytes > 0


def lines_of(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


@pytest.mark.parametrize("removed", range(6))
def test_a_removed_line_is_found(data: bytes, removed: int) -> None:
    lines = lines_of(data)
    del lines[removed]
    with pytest.raises(EvidenceError, match=rf"^j:{removed + 1}: does not follow"):
        parse_journal(b"".join(lines), "j")


def test_lines_that_changed_places_are_found(data: bytes) -> None:
    lines = lines_of(data)
    lines[1], lines[2] = lines[2], lines[1]
    with pytest.raises(EvidenceError, match="^j:2: does not follow the line before it"):
        parse_journal(b"".join(lines), "j")


def forge(*records: tuple[str, Any]) -> bytes:
    """Lines with valid hashes and any content."""
    out, previous = b"", FIRST_PREVIOUS
    for number, (kind, body) in enumerate(records):
        record = {"kind": kind, "sequence": number, "previous": previous, "body": body}
        text = json.dumps(record).encode()
        previous = hashlib.sha256(text).hexdigest()
        out += b'{"sha256":"%s","record":%s}\n' % (previous.encode(), text)
    return out


def test_an_order_that_no_run_writes_is_refused(world: World) -> None:
    header = ("header", encode(world.header()))
    started = ("started", {"index": 0, "scenario_id": world.ids[0], "at": "now"})
    finished = ("finished", {"episode": encode(ended(world, 0))})
    failed = ("failed", {"error": encode(ErrorInfo("load", "x", None, None))})
    for records, fault in [
        ([started], "j:1: the first line is not the header"),
        ([header, header], "j:2: a second header"),
        ([header, started, started], f"j:3: scenario '{world.ids[0]}' started twice"),
        ([header, finished], f"j:2: scenario '{world.ids[0]}' ended without a start"),
        ([header, started, finished, finished], f"j:4: scenario '{world.ids[0]}' ended twice"),
        ([header, failed, started], "j:3: a record after the one that ended the run"),
        ([header, ("odd", {})], "j:2: not a journal record"),
        ([header, ("started", {"index": 0.0, "scenario_id": "x", "at": "y"})],
         "j:2: $.record.body.index: is number 0.0, expected integer"),
    ]:  # fmt: skip
        with pytest.raises(EvidenceError) as caught:
            parse_journal(forge(*records), "j")
        assert caught.value.message == fault
    assert parse_journal(forge(header, started, finished, failed), "j").lines == 4


def test_a_run_goes_on_under_the_same_contract_only(world: World, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(world, path)
    before = path.read_bytes()
    for name in ("contract_sha256", "fingerprint_sha256", "manifest_sha256"):
        with pytest.raises(UsageError) as caught:
            resume_journal(path, world.header(**{name: "e" * 64}))
        assert caught.value.message == (
            f"{path}: {name} is {getattr(world.header(), name)}, but the run would now be made "
            f"under {'e' * 64}; resume with what it was begun with, or start a new run"
        )
    assert path.read_bytes() == before


def test_a_run_that_ended_with_a_run_error_is_not_resumed(world: World, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = create_journal(path, world.header())
    journal.failed(ErrorInfo("readback_mismatch", "mass differs", "00_x", 3))
    journal.close()
    with pytest.raises(UsageError, match=r"run-level error \(readback_mismatch: mass differs\)"):
        resume_journal(path, world.header())


def test_one_process_writes_a_journal(world: World, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = create_journal(path, world.header())
    code = (
        "import fcntl, os, sys\n"
        "fcntl.flock(os.open(sys.argv[1], os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    )
    held = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True)
    assert b"BlockingIOError" in held.stderr
    with pytest.raises(UsageError, match="another process is writing it"):
        resume_journal(path, world.header())
    journal.close()
    resume_journal(path, world.header())[0].close()


def test_a_journal_is_never_overwritten(world: World, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    create_journal(path, world.header()).close()
    with pytest.raises(UsageError, match=f"go on with runtime.resume={tmp_path}$"):
        create_journal(path, world.header())


def test_a_folder_that_cannot_be_written_is_a_bad_request(world: World, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="journal.jsonl: cannot be opened for writing"):
        create_journal(tmp_path / "missing" / "journal.jsonl", world.header())
    with pytest.raises(UsageError, match="journal.jsonl: cannot be opened for writing"):
        resume_journal(tmp_path / "journal.jsonl", world.header())


def test_a_full_disk_stops_the_run_and_leaves_a_journal_that_can_be_resumed(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.jsonl"
    journal = create_journal(path, world.header())
    journal.started(world.manifest.scenarios[0])
    whole = path.read_bytes()
    write_bytes = os.write

    def full(descriptor: int, data: Any) -> int:
        write_bytes(descriptor, bytes(data)[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(RunError, match=r"cannot be written \(No space left on device\)") as caught:
        journal.finished(ended(world, 0))
    assert caught.value.code == "journal"
    monkeypatch.undo()
    with pytest.raises(RunError, match="the journal is closed"):
        journal.started(world.manifest.scenarios[1])
    journal.close()
    assert path.read_bytes() == whole
    resumed, contents = resume_journal(path, world.header())
    assert contents.interrupted == (world.ids[0],)
    resumed.close()


def test_every_line_is_on_disk_when_the_call_returns(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    path = tmp_path / "journal.jsonl"
    sync = os.fsync

    def note(descriptor: int) -> None:
        sync(descriptor)
        synced.append(path.stat().st_size)

    monkeypatch.setattr(os, "fsync", note)
    journal = create_journal(path, world.header())
    journal.started(world.manifest.scenarios[0])
    assert synced[-1] == path.stat().st_size > synced[0]
    journal.finished(ended(world, 0))
    assert synced[-1] == path.stat().st_size
    journal.close()


def test_settling_removes_what_no_record_names(world: World, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(world, path)
    traces = tmp_path / "traces"
    traces.mkdir()
    kept, stale = traces / f"{world.ids[0]}.npy", traces / f"{world.ids[2]}.npy"
    half = traces / f".{world.ids[3]}.npy.1a2b3c4d.tmp"
    for file in (kept, stale, half):
        file.write_bytes(b"x")
    journal, contents = resume_journal(path, world.header())
    rest = settle(journal, contents, world.manifest.scenarios, tmp_path)
    journal.close()
    assert sorted(p.name for p in traces.iterdir()) == [kept.name]
    assert rest.interrupted == tuple(world.ids[2:4])
    assert [s.id for s in rest.remaining] == world.ids[4:]
    assert [e.scenario_id for e in rest.recorded] == world.ids[:4]
    assert read_journal(path).resumes == 1


def test_a_scenario_that_was_never_declared_is_refused(world: World, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    write(world, path)
    journal, contents = resume_journal(path, world.header())
    with pytest.raises(EvidenceError, match="which is not declared"):
        settle(journal, contents, world.manifest.scenarios[:2], tmp_path)
    journal.close()


def test_nothing_is_an_empty_journal() -> None:
    assert parse_journal(b"", "j") == Contents()


def test_a_forked_helper_neither_holds_nor_writes_the_journal(world: World, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = create_journal(path, world.header())
    scenario = world.manifest.scenarios[0]
    ready, tell = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            journal.started(scenario)
        except RunError:
            os.write(tell, b"r")
        finally:
            while os.getppid() == parent:
                time.sleep(0.05)
            os._exit(0)
    try:
        os.close(tell)
        assert os.read(ready, 1) == b"r"  # refused in the fork
        journal.started(scenario)
        journal.close()  # as the kernel does when this process is killed
        again, contents = resume_journal(path, world.header())
        again.close()
        assert contents.interrupted == (scenario.id,)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(ready)
