"""`robogate sync`: rows of every episode, and nothing of a board that does not hold."""

import json
import os
import subprocess
import sys

import pytest

from robogate.errors import EvidenceError, UsageError
from robogate.evidence.board import Trust
from robogate.evidence.episode_rows import COLUMNS
from robogate.evidence.publication_fs import PublicationFiles
from robogate.evidence.signing import key_id
from robogate.reports import sync as module
from robogate.reports.publish_cli import main as publish_main
from robogate.reports.sync import main
from robogate.reports.withdraw_cli import main as withdraw_main

PYTHON = {"string": str, "int64": int, "float64": float, "bool": bool}


@pytest.fixture
def filled(board, boards):
    """A board with a policy that was withdrawn, another and a control."""
    boards.promote(board, boards.PolicySpec(run=2, model=("m", "r", "ab" * 32)))
    boards.promote(board, boards.Spec(run=1))
    return board


def sync(board, dest, boards, *more):
    return main([str(board), str(dest), "--key", str(boards.public_file), *map(str, more)])


def rows_of(dest):
    return [json.loads(line) for line in (dest / "episodes.jsonl").read_text().splitlines()]


def test_rows(filled, boards, tmp_path, capsys):
    names = sorted(path.name for path in (filled / "bundles").iterdir())
    withdraw_main([str(filled), names[0], "--reason", "wrong"])
    capsys.readouterr()
    dest = tmp_path / "rows"
    assert sync(filled, dest, boards) == 0
    assert capsys.readouterr().out.endswith("12 rows\n")
    rows = rows_of(dest)
    assert [row["bundle"] for row in rows] == [name for name in names for _ in range(4)]
    assert {row["publication"] for row in rows[:4]} == {"withdrawn"}
    assert {row["publication"] for row in rows[4:]} == {"current"}
    for row in rows:
        run = filled / "bundles" / row["bundle"] / "result"
        result = json.loads((run / "result.json").read_text())
        manifest = json.loads((run / "manifest.json").read_text())
        episode = result["episodes"][row["scenario_index"]]
        scenario = manifest["scenarios"][row["scenario_index"]]
        assert row["scenario_id"] == scenario["id"] and row["seed"] == scenario["seed"]
        assert row["scene_sha256"] == scenario["scene_sha256"]
        assert row["outcome"] == episode["outcome"]
        assert row["success"] is (episode["outcome"] == "success")
        assert row["episode_sha256"] == episode["sha256"]
        assert row["contract_sha256"] == result["contract_sha256"]
        assert row["inference_calls"] == episode["attestation"]["inference_calls"]
        assert row["role"] == result["contract"]["adapter"]["role"]


def test_columns_are_typed_and_the_same_in_both_files(filled, boards, tmp_path):
    import pyarrow.parquet as pq

    dest = tmp_path / "rows"
    sync(filled, dest, boards)
    rows = rows_of(dest)
    table = pq.read_table(dest / "episodes.parquet")
    assert table.to_pylist() == rows
    names = [column.name for column in COLUMNS]
    assert table.column_names == names and all(list(row) == names for row in rows)
    for column in COLUMNS:
        field = table.schema.field(column.name)
        assert str(field.type).replace("double", "float64") == column.kind
        assert field.nullable == column.nullable
        values = [row[column.name] for row in rows]
        assert all(
            type(v) is PYTHON[column.kind] or (v is None and column.nullable) for v in values
        )
    described = json.loads((dest / "columns.json").read_text())["columns"]
    assert [c["name"] for c in described] == names and all(c["text"] for c in described)


def test_an_empty_board_still_has_its_columns(tmp_path, boards):
    import pyarrow.parquet as pq

    (tmp_path / "board").mkdir()
    sync(tmp_path / "board", tmp_path / "rows", boards)
    assert rows_of(tmp_path / "rows") == []
    table = pq.read_table(tmp_path / "rows/episodes.parquet")
    assert table.num_rows == 0 and len(table.column_names) == len(COLUMNS)


def test_a_bundle_that_does_not_hold_ends_it_and_changes_nothing(filled, boards, tmp_path):
    dest = tmp_path / "rows"
    sync(filled, dest, boards)
    before = dest.resolve(), (dest / "episodes.jsonl").read_bytes()
    first, second = sorted((filled / "bundles").iterdir())[:2]
    for bundle in (first, second):
        trace = next((bundle / "result/traces").iterdir())
        trace.chmod(0o644)
        trace.write_bytes(b"spoilt")
    verified = []
    with pytest.raises(EvidenceError, match="quarantined") as caught:
        module.sync(
            filled, dest, Trust({key_id(boards.public): boards.public}), progress=verified.append
        )
    assert str(first) in caught.value.message and caught.value.exit_code == 3
    assert len(verified) == 1  # the first that fails is the last that is looked at
    assert (dest.resolve(), (dest / "episodes.jsonl").read_bytes()) == before


def test_a_bundle_that_vanished_ends_it(filled, boards, tmp_path):
    from robogate.reports.publish import publish

    trust = Trust({key_id(boards.public): boards.public})
    publish(filled, tmp_path / "public", trust, now="2026-12-01T10:00:00.000000+00:00")
    gone = sorted((filled / "bundles").iterdir())[1]
    gone.rename(tmp_path / "gone")
    with pytest.raises(EvidenceError, match="missing: it was listed"):
        sync(filled, tmp_path / "rows", boards)
    assert not os.path.lexists(tmp_path / "rows")


def test_unsigned_needs_leave(tmp_path, boards):
    boards.promote(tmp_path / "board", boards.PolicySpec(), signed=False)
    with pytest.raises(EvidenceError, match="no signature"):
        sync(tmp_path / "board", tmp_path / "rows", boards)
    with pytest.raises(UsageError, match="no key"):
        main([str(tmp_path / "board"), str(tmp_path / "rows")])
    assert sync(tmp_path / "board", tmp_path / "rows", boards, "--allow-unsigned") == 0
    assert {row["signature"] for row in rows_of(tmp_path / "rows")} == {"unsigned"}


@pytest.mark.parametrize("at", range(0, 14))
def test_a_full_disk_leaves_the_old_rows(board, boards, tmp_path, at, monkeypatch):
    trust = Trust({key_id(boards.public): boards.public})
    dest = tmp_path / "rows"
    item = module.read_board(board, trust, module.trusted_log(board))
    monkeypatch.setattr(module, "read_board", lambda *args: item)
    module.sync(board, dest, trust, formats=("jsonl",))
    before = (dest / "episodes.jsonl").read_bytes()

    class Failing(PublicationFiles):
        count = 0

        def step(self, operation, path):
            self.count += 1
            if self.count - 1 == at:
                raise OSError(28, "No space left on device", str(path))

    files = Failing()
    try:
        module.sync(board, dest, trust, formats=("jsonl",), files=files)
    except UsageError as exc:
        assert "No space left" in exc.message
    assert files.count > at
    assert (dest / "episodes.jsonl").read_bytes() == before and (dest / "columns.json").exists()


def test_without_pyarrow_it_says_what_to_do(board, boards, tmp_path):
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from robogate.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )

    def run(*more):
        command = [sys.executable, "-c", code, "sync", str(board), str(tmp_path / "rows")]
        command += ["--key", str(boards.public_file), *more]
        return subprocess.run(command, capture_output=True, text=True)

    done = run()
    assert done.returncode == 2 and "pip install 'robogate-harness[media]'" in done.stderr
    assert "--format jsonl" in done.stderr and not os.path.lexists(tmp_path / "rows")
    done = run("--format", "jsonl")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "rows/episodes.parquet").exists()


def test_a_page_is_not_replaced_by_rows(board, boards, tmp_path):
    public, key = tmp_path / "public", str(boards.public_file)
    publish_main([str(board), "--out", str(public), "--key", key])
    with pytest.raises(UsageError, match="shows something else than an export"):
        sync(board, public, boards)
    assert (public / "index.html").is_file()
    with pytest.raises(UsageError, match="lies among the bundles"):
        sync(board, board / "bundles" / "rows", boards)
