"""What becomes of each artifact on a board: ranked, control, ERROR or QUARANTINED."""

import json
import os
import shutil

import pytest

from robogate.evidence import board as board_module
from robogate.evidence.board import Trust, read_board
from robogate.evidence.keys import create_keys, load_public_key
from robogate.evidence.publication_log import Draft, Log
from robogate.evidence.signing import key_id
from robogate.reports.publish_cli import main as publish_main

AT = "2026-12-01T10:00:00.000000+00:00"


@pytest.fixture
def trust(boards):
    return Trust({key_id(boards.public): boards.public})


def only(board, trust, log=None):
    (item,) = read_board(board, trust, log or Log(()))
    return item


def bundle_of(board):
    (bundle,) = (board / "bundles").iterdir()
    return bundle


def edit(path, old, new):
    path.chmod(0o644)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_good_policy_is_ranked(board, trust):
    item = only(board, trust)
    assert item.state == "ranked" and item.holds
    assert item.signature == "valid" and item.reasons == ()
    assert item.bundle.result["summary"]["successes"] == 3


def test_a_control_is_a_control(tmp_path, boards, trust):
    boards.promote(tmp_path / "board", boards.Spec(run=5))
    assert only(tmp_path / "board", trust).state == "control"


def test_an_empty_board_is_empty(tmp_path, trust):
    assert read_board(tmp_path, trust, Log(())) == ()


def remove(*names):
    def spoil(bundle):
        (bundle.joinpath(*names)).unlink()

    return spoil


def spoilt(bundle):
    edit(bundle / "result/result.json", '"successes": 3', '"successes": 4')


def moved(bundle):
    bundle.rename(bundle.with_name("ab" * 32))


def emptied(bundle):
    shutil.rmtree(bundle)
    bundle.mkdir()


def linked(bundle):
    real = bundle.parents[2] / "real"
    bundle.rename(real)
    bundle.symlink_to(real)


def a_file(bundle):
    shutil.rmtree(bundle)
    bundle.write_text("no folder")


def a_pipe(bundle):
    path = bundle / "result/result.json"
    path.unlink()
    os.mkfifo(path)


def added(bundle):
    (bundle / "more.txt").write_text("more")


def torn(bundle):
    path = bundle / "bundle.json"
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:200])


def unqualified(bundle):
    shutil.rmtree(bundle / "qualification/oracle_2")


def garbage(bundle):
    path = bundle / "bundle.json"
    path.chmod(0o644)
    path.write_text('{"schema": "robogate.bundle/1", "files": 3}')


def deep(bundle):
    path = bundle / "bundle.json"
    path.chmod(0o644)
    path.write_text("[" * 100_000)


@pytest.mark.parametrize(
    ("spoil", "state", "reason"),
    [
        (remove("bundle.json"), "error", "bundle.json: is missing"),
        (remove("result", "result.json"), "error", "result/result.json"),
        (torn, "error", "not JSON"),
        (deep, "error", "nested deeper"),
        (emptied, "error", "bundle.json: is missing"),
        (a_file, "error", "is not a folder"),
        (remove("statement.dsse.json"), "quarantined", "statement.dsse.json"),
        (remove("result", "traces", "00_standard_objects_00.npy"), "quarantined", "is missing"),
        (remove("qualification", "zero", "contract.json"), "quarantined", "zero"),
        (unqualified, "quarantined", "oracle_2"),
        (spoilt, "quarantined", "does not hold"),
        (moved, "quarantined", "folder name"),
        (linked, "quarantined", "symbolic link"),
        (a_pipe, "error", "result.json"),
        (added, "quarantined", "more.txt"),
        (garbage, "quarantined", "missing field"),
    ],
)
def test_what_does_not_hold_carries_reasons_and_no_number(board, trust, spoil, state, reason):
    spoil(bundle_of(board))
    item = only(board, trust)
    assert item.state == state, item.reasons
    assert item.bundle is None and item.signature is None
    assert any(reason in text for text in item.reasons), item.reasons
    assert len(item.reasons) <= 6
    assert not any(str(board) in text for text in item.reasons), "the board's place is private"


def test_a_wrong_score_is_not_repeated_in_its_reason(board, trust):
    spoilt(bundle_of(board))
    reasons = [r for r in only(board, trust).reasons if "summary" in r]
    assert reasons and not any("4" in r.partition(": ")[2] for r in reasons)


def test_what_is_no_bundle_at_all(board, trust):
    (board / "bundles" / "notes.txt").write_text("hello")
    (board / "bundles" / ("AB" * 32)).mkdir()
    (board / "bundles" / ".hidden").write_text("")
    items = {item.name: item for item in read_board(board, trust, Log(()))}
    assert len(items) == 3
    assert items["notes.txt"].state == items["AB" * 32].state == "error"


def test_missing_after_it_was_listed(board, trust):
    log = Log(()).extended([Draft("listed", "cd" * 32, "11" * 32)], AT)
    items = {item.name: item for item in read_board(board, trust, log)}
    lost = items["cd" * 32]
    assert lost.state == "error" and "missing: it was listed on 2026-12-01" in lost.reasons[0]


def test_a_verifier_that_breaks_takes_no_other_bundle_with_it(board, boards, trust, monkeypatch):
    from robogate.evidence import board as module

    other = boards.promote(board, boards.PolicySpec(run=3))
    verify = module.verify_bundle

    def breaking(folder, **options):
        if folder.name == other.name:
            raise KeyError("unforeseen")
        return verify(folder, **options)

    monkeypatch.setattr(module, "verify_bundle", breaking)
    items = {item.name: item for item in read_board(board, trust, Log(()))}
    assert items.pop(other.name).reasons == ("the verification broke off: KeyError: 'unforeseen'",)
    (item,) = items.values()
    assert item.state == "ranked"


class TestSignatures:
    @pytest.fixture
    def unsigned(self, tmp_path, boards):
        boards.promote(tmp_path / "unsigned", boards.PolicySpec(run=4), signed=False)
        return tmp_path / "unsigned"

    @pytest.fixture
    def stranger(self, tmp_path):
        return load_public_key(create_keys(tmp_path / "stranger")[1])

    def test_unsigned(self, unsigned, trust):
        item = only(unsigned, trust)
        assert item.state == "quarantined" and "no signature" in item.reasons[0]
        item = only(unsigned, Trust(trust.keys, allow_unsigned=True))
        assert item.state == "ranked" and item.signature == "unsigned"

    def test_signed_by_a_stranger(self, board, stranger):
        trust = Trust({key_id(stranger): stranger}, allow_unsigned=True)
        item = only(board, trust)
        assert item.state == "quarantined" and "wrong key" in item.reasons[0]

    def test_not_checked(self, board):
        item = only(board, Trust({}))
        assert item.state == "quarantined" and "signature not checked" in item.reasons[0]
        assert only(board, Trust({}, allow_unsigned=True)).signature == "not checked"

    def test_one_of_several_keys(self, board, boards, stranger):
        keys = {key_id(key): key for key in (stranger, boards.public)}
        assert only(board, Trust(keys)).signature == "valid"


class TestOneResultInTwoBundles:
    @pytest.fixture
    def twins(self, tmp_path, boards):
        """The same run promoted signed and unsigned; their names."""
        from robogate.evidence.promotion import promote

        run = boards.run(boards.PolicySpec(run=4))
        board = tmp_path / "twins"
        qualification = boards.qualification()
        signed = promote(run, qualification, board, key=boards.key).folder.name
        return board, signed, promote(run, qualification, board).folder.name

    def test_one_row_the_signed_one(self, twins, trust):
        board, signed, unsigned = twins
        item = only(board, Trust(trust.keys, allow_unsigned=True))
        assert item.name == signed and item.also == (unsigned,) and item.signature == "valid"

    def test_withdrawn_in_whichever_bundle_it_lies(self, twins, trust):
        board, signed, unsigned = twins
        result = json.loads((board / "bundles" / signed / "bundle.json").read_text())
        log = Log(()).extended(
            [Draft("withdrawn", unsigned, result["result_sha256"], reason="why")], AT
        )
        item = only(board, Trust(trust.keys, allow_unsigned=True), log)
        assert item.state == "withdrawn" and item.ended.reason == "why"


def test_a_withdrawn_bundle_that_was_spoilt_is_quarantined(board, trust):
    bundle = bundle_of(board)
    log = Log(()).extended([Draft("withdrawn", bundle.name, None, reason="why")], AT)
    assert only(board, trust, log).state == "withdrawn"
    spoilt(bundle)
    assert only(board, trust, log).state == "quarantined"


@pytest.mark.parametrize("inside", (False, True))
@pytest.mark.parametrize("name", (b"\xff\xfe", b"\x1b[2J", "\u202etxt.exe".encode()))
def test_a_name_that_nobody_can_write_is_shown_and_published(
    board, boards, tmp_path, capfd, name, inside
):
    boards.promote(board, boards.PolicySpec(run=2, target="other:Policy"))
    folder = sorted((board / "bundles").iterdir())[0] if inside else board / "bundles"
    os.symlink(b"nowhere", os.fsencode(folder) + b"/" + name)
    public = tmp_path / "public"
    argv = [str(board), "--out", str(public), "--key", str(boards.public_file)]
    assert publish_main(argv) == 3
    index = json.loads((public / "index.json").read_text())
    assert len(index["refused"]) == 1
    assert (public / "index.html").is_file()
    out = "".join(capfd.readouterr()) + index["refused"][0]["name"]
    out += "".join(index["refused"][0]["reasons"])
    assert "\\x" in out or "\\u" in out
    assert all(char.isprintable() or char == "\n" for char in out)


def test_an_empty_folder_is_no_part_of_a_bundle(board, trust):
    (bundle_of(board) / "result" / "more").mkdir()
    item = only(board, trust)
    assert item.state == "quarantined"
    assert item.reasons == ("result/more/: is an empty folder; a bundle has none",)


@pytest.mark.parametrize("what", ("bundle", "result"))
def test_what_changes_while_it_is_verified_is_not_shown(board, trust, monkeypatch, what):
    actual = board_module.verify_bundle

    def then_changed(folder, **options):
        report = actual(folder, **options)
        if what == "bundle":
            edit(folder / "bundle.json", '"role": "policy"', '"role": "control"')
        else:
            edit(folder / "result" / "result.json", '"successes": 3', '"successes": 4')
        return report

    monkeypatch.setattr(board_module, "verify_bundle", then_changed)
    item = only(board, trust)
    assert (item.state, item.bundle) == ("quarantined", None)
    assert item.reasons == ("was changed while it was verified",)
