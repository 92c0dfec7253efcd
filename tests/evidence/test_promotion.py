import dataclasses
import json
import os
import shutil
import stat

import pytest
from bad.material import (
    MP4,
    SOURCE,
    add_videos,
    policy_spec,
    qualify_folder,
    write_controls,
)

from robogate.contract.identity import CheckpointFile, CheckpointIdentity
from robogate.contract.identity.checkpoint import listing_sha256
from robogate.errors import EvidenceError, UsageError
from robogate.evidence import promote_cli
from robogate.evidence.bundle import NAME, bundle_folders, read_bundle
from robogate.evidence.files import Unreadable
from robogate.evidence.fs import FileSystem
from robogate.evidence.promotion import NotPromotable, promote
from robogate.evidence.verify_bundle import verify_bundle

CHECKPOINT = CheckpointIdentity("measured", "/models/pi", "r1", 3, 1000, "d1" * 32)


def write(builder, material, folder, **changes):
    """A policy's run that is bound to the qualification."""
    spec = {"qualification_id": material.qualification_id, **changes}
    return builder.write(folder, policy_spec(builder.Spec, **spec))


def refused(run, qualification, board, message, **options):
    before = listing(board)
    with pytest.raises(NotPromotable, match=message) as caught:
        promote(run, qualification, board, **options)
    assert caught.value.exit_code == 3
    assert "\n" not in caught.value.message
    assert listing(board) == before
    return caught.value.message


def listing(board):
    return sorted(p.name for p in bundle_folders(board))


# ---- what is written


def test_a_bundle_holds_everything_that_proves_a_result(material):
    bundle = material.bundle
    assert NAME.fullmatch(bundle.name)
    files = sorted(p.relative_to(bundle).as_posix() for p in bundle.rglob("*") if p.is_file())
    run = ["contract.json", "identity.json", "manifest.json", "result.json"]
    traces = [f"traces/{p.name}" for p in sorted((material.run / "traces").iterdir())]
    expected = ["bundle.json", "statement.dsse.json", "scope.txt"]
    expected += [f"result/{name}" for name in run + traces]
    expected += ["qualification/qualification.json"]
    for control in ("zero", "oracle_1", "oracle_2", "oracle_3"):
        expected += [f"qualification/{control}/{name}" for name in run + traces]
    media = [name for name in files if name.startswith("media/")]
    assert files == sorted([*expected, *media])
    for name in files:
        path = bundle / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o444
        if name.startswith("result/"):
            assert path.read_bytes() == (material.run / name[7:]).read_bytes()
        if name.startswith("qualification/"):
            assert path.read_bytes() == (material.qualification / name[14:]).read_bytes()


def test_no_key_and_no_place_enters_a_bundle(material):
    secret = (material.keys / "robogate.key").read_bytes().splitlines()[1]
    own = [str(material.board).encode(), str(material.keys).encode()]
    for path in material.bundle.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert secret not in data and b"PRIVATE KEY" not in data and b"PUBLIC KEY" not in data
            assert not any(place in data for place in own)


def test_the_record_says_what_it_is_about(material):
    bundle = read_bundle(material.bundle)
    assert bundle.record.sha256 == material.bundle.name
    assert bundle.record.role == "policy"
    assert bundle.record.declared == ()
    assert bundle.record.qualification_id == material.qualification_id
    assert bundle.record.result_sha256 == bundle.result["sha256"]
    assert bundle.qualification["status"] == "passed"


def test_videos_of_a_success_and_a_failure_of_each_domain(material, builder, tmp_path):
    # In the four scenarios each domain has one, so each is there with both cameras.
    assert len(list((material.bundle / "media").iterdir())) == 8
    run = write(builder, material, tmp_path / "run", run=9, endings=("success",) * 4)
    add_videos(run)
    videos = sorted((run / "videos").iterdir())
    videos[0].write_bytes(b"<html>")
    videos[2].write_bytes(MP4 + bytes(17 * 1024 * 1024))
    videos[3].unlink()
    videos[3].symlink_to(material.keys / "robogate.key")
    videos[4].unlink(), videos[5].unlink()
    done = promote(run, material.qualification, tmp_path / "board")
    media = sorted(p.name for p in (done.folder / "media").iterdir())
    assert media == [videos[i].name for i in (1, 6, 7)]


def test_only_one_success_of_a_domain_is_taken(builder, tmp_path):
    rows = [*builder.rows, type(builder.rows[0])("nominal", "standard_objects", 15)]
    manifest = builder.manifest_of(rows)
    each = {"manifest": manifest}
    win, nothing = ("success",) * 5, ("step_limit",) * 5
    oracles = {f"oracle_{i}": {"endings": win} for i in (1, 2, 3)}
    folder = write_controls(
        builder, tmp_path / "q", each=each, zero={"endings": nothing}, **oracles
    )
    bound = {"qualification_id": qualify_folder(folder), "manifest": manifest, "run": 9}
    spec = policy_spec(builder.Spec, endings=win, **bound)
    add_videos(builder.write(tmp_path / "run", spec))
    done = promote(tmp_path / "run", folder, tmp_path / "board")
    assert len(list((done.folder / "media").iterdir())) == 8
    assert not list((done.folder / "media").glob("04_*"))


def test_a_run_without_videos_has_no_media(builder, material, tmp_path):
    run = write(builder, material, tmp_path / "run")
    done = promote(run, material.qualification, tmp_path / "board")
    assert not (done.folder / "media").exists()
    assert done.report.about["signature"] == "unsigned"


def test_a_control_is_promoted_as_a_control(builder, material, tmp_path):
    spec = builder.Spec(run=8, qualification_id=material.qualification_id)
    builder.write(tmp_path / "run", spec)
    done = promote(tmp_path / "run", material.qualification, tmp_path / "board")
    assert read_bundle(done.folder).record.role == "control"
    assert done.report.about["role"] == "control"


def test_the_same_content_is_the_same_bundle(material, tmp_path):
    board = tmp_path / "board"
    first = promote(material.run, material.qualification, board, key=material.key)

    def state():
        return {p: (p.stat().st_ino, p.stat().st_mtime_ns) for p in first.folder.rglob("*")}

    before = state()
    second = promote(material.run, material.qualification, board, key=material.key)
    assert (first.created, second.created) == (True, False)
    assert first.folder == second.folder and first.folder.name == material.bundle.name
    assert state() == before
    assert [p.name for p in board.iterdir() if p.name != "bundles"] == [".staging"]
    assert [p.name for p in (board / ".staging").iterdir()] == ["lock"]


def test_another_signer_makes_another_bundle(material, tmp_path):
    board = tmp_path / "board"
    for key in (material.key, material.stranger, None):
        promote(material.run, material.qualification, board, key=key)
    assert len(bundle_folders(board)) == 3
    results = {read_bundle(folder).record.result_sha256 for folder in bundle_folders(board)}
    assert len(results) == 1


def test_a_bundle_that_was_changed_on_the_board_is_not_accepted_as_the_same(material, tmp_path):
    board = tmp_path / "board"
    done = promote(material.run, material.qualification, board)
    (done.folder / "scope.txt").chmod(0o644)
    (done.folder / "scope.txt").write_text("safe")
    message = r"holds this bundle already, and it was changed: scope\.txt differs"
    refused(material.run, material.qualification, board, message)
    assert (done.folder / "scope.txt").read_text() == "safe"
    (done.folder / "scope.txt").unlink()
    os.mkfifo(done.folder / "scope.txt")
    refused(material.run, material.qualification, board, message)
    shutil.rmtree(done.folder / "media")
    refused(material.run, material.qualification, board, "it was changed: media differs")


def test_a_board_holds_other_things_that_are_no_bundles(material, tmp_path):
    board = tmp_path / "board"
    (board / "bundles" / "notes").mkdir(parents=True)
    assert bundle_folders(board) == []
    assert bundle_folders(tmp_path / "nothing") == []
    promote(material.run, material.qualification, board)
    assert len(bundle_folders(board)) == 1


# ---- what is not promoted


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"qualification_id": None}, r"\$\.qualification_id: is null: the run names none; run ag"),
        ({"qualification_id": "0" * 64}, r"\$\.qualification_id: is 0000000000000000, that of the"),
        (
            {"subset": "first_of_each_variant", "endings": ("success",) * 3},
            r"\$\.status: is 'partial', expected 'complete': a named subset",
        ),
        (
            {"endings": ("success", "error", "success", "success")},
            r"\$\.status: is 'error', expected 'complete': something errored or was not started",
        ),
        ({"endings": ("success", None, "success", "success")}, r"\$\.status: is 'error'"),
        ({"scoring": "development"}, r"\$\.status: is 'development'.*cannot be qualified"),
        (
            {"harness_sha256": "9f" * 32},
            r"\$\.identity\.harness\.harness_sha256: differs from the qualification's: it is stale",
        ),
        (
            {"distribution": "4.0.9"},
            r"\$\.identity\.runner\.environment\.sha256: differs.*"
            r"\$\.identity\.worker\.environment\.sha256: differs",
        ),
        (
            {"max_actions": 111},
            r"\$\.harness_contract_sha256: differs.*\$\.contract\.budget: differs",
        ),
        ({"run": 3}, r"\$\.run_id: is that of the control 'oracle_2': one run is not used twice"),
        ({"source": None}, r"\$\.identity\.policy: is null"),
        (
            {"source": dataclasses.replace(SOURCE, source="files", git_revision=None)},
            r"\$\.identity\.policy\.source: is 'files': .*commit or install it",
        ),
        (
            {"model": "pi", "revision": "r1"},
            r"adapter\.checkpoint_sha256: is null: undeclared.*adapter\.checkpoint=PATH",
        ),
        ({"checkpoint": CHECKPOINT}, r"adapter\.model: is null.*adapter\.revision: is null"),
        (
            {"adapter": "zero", "role": "policy", "endings": ("step_limit",) * 4},
            r"adapter\.role: is 'policy', expected 'control': 'zero' is no policy",
        ),
    ],
    ids=str,
)
def test_a_rule_that_is_not_met_is_named(changes, message, builder, material, tmp_path):
    run = write(builder, material, tmp_path / "run", **changes)
    refused(run, material.qualification, tmp_path / "board", message)
    assert not (tmp_path / "board").exists()


def test_a_checkpoint_that_was_measured_is_promoted(builder, material, tmp_path):
    named = {"model": "pi", "revision": "r1", "checkpoint": CHECKPOINT}
    run = write(builder, material, tmp_path / "run", **named)
    done = promote(run, material.qualification, tmp_path / "board")
    assert done.report.about["declared"] == []


@pytest.mark.parametrize("field", ["files", "bytes", "sha256"])
def test_the_files_of_a_checkpoint_make_up_its_digest(field, builder, material, tmp_path):
    files = (CheckpointFile("a.json", 10, "ab" * 32), CheckpointFile("b.bin", 990, "cd" * 32))
    digest = listing_sha256(files)
    whole = dataclasses.replace(CHECKPOINT, files=2, sha256=digest, listing=files)
    named = {"model": "pi", "revision": "r1"}
    run = write(builder, material, tmp_path / "run", **named, checkpoint=whole)
    promote(run, material.qualification, tmp_path / "board")
    false = {"files": 3, "bytes": 999, "sha256": "d1" * 32}
    forged = dataclasses.replace(whole, **{field: false[field]})
    message = rf"\$\.identity\.checkpoint\.{field}: is .*the listing of its files"
    with pytest.raises(EvidenceError, match=message):
        write(builder, material, tmp_path / "forged", **named, checkpoint=forged)


@pytest.mark.parametrize("part", ["policy", "checkpoint"])
def test_what_was_declared_is_promoted_only_as_such(part, builder, material, tmp_path):
    changes = {"model": "pi", "revision": "r1", "checkpoint": CHECKPOINT}
    if part == "policy":
        changes["source"] = dataclasses.replace(SOURCE, origin="declared", source="files")
    else:
        changes["checkpoint"] = dataclasses.replace(CHECKPOINT, origin="declared")
    run = write(builder, material, tmp_path / "run", **changes)
    message = rf"\$\.identity\.{part}: is declared by the policy server, not measured; --allow-decl"
    refused(run, material.qualification, tmp_path / "board", message)
    done = promote(run, material.qualification, tmp_path / "board", allow_declared=True)
    assert read_bundle(done.folder).record.declared == (f"identity.{part}",)
    assert verify_bundle(done.folder, allow_unsigned=True).about["declared"] == [f"identity.{part}"]


def test_a_dirty_harness_is_promoted_where_its_hash_is_the_qualified_one(
    builder, material, tmp_path
):
    run = write(builder, material, tmp_path / "run", dirty=True)
    done = promote(run, material.qualification, tmp_path / "board")
    assert done.report.about["dirty"] is True
    statement = json.loads((done.folder / "result" / "identity.json").read_text())
    assert statement["harness"]["dirty"] is True
    other = write(builder, material, tmp_path / "run2", dirty=True, harness_sha256="9f" * 32)
    refused(other, material.qualification, tmp_path / "board", "harness_sha256: differs")


def test_a_qualification_that_does_not_hold_is_not_promoted(builder, material, tmp_path):
    folder = shutil.copytree(material.qualification, tmp_path / "q")
    path = folder / "oracle_2" / "result.json"
    document = json.loads(path.read_text())
    document["episodes"][1]["seed"] = 99
    path.write_text(json.dumps(builder.rehash(document)))
    message = r"qualification/oracle_2/\$\.episodes\[1\]\.seed: is 99, expected 12"
    refused(material.run, folder, tmp_path / "board", message)


def test_a_failed_qualification_is_not_promoted(builder, tmp_path):
    folder = write_controls(builder, tmp_path / "q", oracle_3={"noise": 1})
    bound = {"qualification_id": qualify_folder(folder), "run": 9}
    builder.write(tmp_path / "run", policy_spec(builder.Spec, **bound))
    refused(tmp_path / "run", folder, tmp_path / "board", "oracle runs: one semantics")


def test_one_control_run_used_twice_is_not_promoted(builder, tmp_path):
    folder = write_controls(builder, tmp_path / "q")
    shutil.rmtree(folder / "oracle_3")
    shutil.copytree(folder / "oracle_1", folder / "oracle_3")
    bound = {"qualification_id": qualify_folder(folder), "run": 9}
    builder.write(tmp_path / "run", policy_spec(builder.Spec, **bound))
    message = "distinct run ids: oracle_1 and oracle_3 share run-2"
    refused(tmp_path / "run", folder, tmp_path / "board", message)


def test_a_run_that_was_edited_is_not_promoted(builder, material, tmp_path):
    run = shutil.copytree(material.run, tmp_path / "run")
    document = json.loads((run / "result.json").read_text())
    document["summary"]["successes"] = 4
    (run / "result.json").write_text(json.dumps(builder.rehash(document)))
    message = r"result/\$\.summary\.successes: is 4, expected 1"
    refused(run, material.qualification, tmp_path / "board", message)


def test_a_link_is_not_followed(material, tmp_path):
    run = shutil.copytree(material.run, tmp_path / "run")
    trace = min((run / "traces").iterdir())
    trace.unlink()
    trace.symlink_to(min((material.run / "traces").iterdir()))
    with pytest.raises(Unreadable, match="is a symbolic link, expected a file"):
        promote(run, material.qualification, tmp_path / "board")
    trace.unlink()
    os.mkfifo(trace)
    with pytest.raises(Unreadable, match="is not a file"):
        promote(run, material.qualification, tmp_path / "board")
    trace.unlink()
    with pytest.raises(Unreadable, match="is missing"):
        promote(run, material.qualification, tmp_path / "board")
    assert listing(tmp_path / "board") == []


def test_what_cannot_be_read_is_said(material, tmp_path):
    with pytest.raises(Unreadable, match=r"result\.json: is missing"):
        promote(tmp_path, material.qualification, tmp_path / "board")
    with pytest.raises(Unreadable, match=r"qualification\.json: is missing"):
        promote(material.run, tmp_path, tmp_path / "board")


class Meddler(FileSystem):
    """Somebody changes the run while it is being promoted."""

    def __init__(self, path):
        self.path = path

    def step(self, operation, path):
        if operation == "create" and path.name == "identity.json" and path.parent.name == "result":
            self.path.write_bytes(self.path.read_bytes()[:-1] + b"\1")


def test_what_is_judged_is_what_is_published(material, tmp_path):
    run = shutil.copytree(material.run, tmp_path / "run")
    trace = min((run / "traces").iterdir())
    with pytest.raises(NotPromotable, match=r"attestation\.trace_sha256: is"):
        promote(run, material.qualification, tmp_path / "board", fs=Meddler(trace))
    assert listing(tmp_path / "board") == []


# ---- the verb


def arguments(material, board, *more):
    return [
        str(material.run), "--qualification", str(material.qualification), "--board", str(board),
        *more,
    ]  # fmt: skip


def test_the_verb_promotes_and_says_where(material, tmp_path, capsys):
    key = ["--key", str(material.keys / "robogate.key")]
    board = tmp_path / "board"
    assert promote_cli.main(arguments(material, board, *key)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"promoted: {board / 'bundles' / material.bundle.name}"
    assert lines[1].startswith("policy, 1 successes of 4 scored, qualification ")
    assert lines[2].startswith("signed with key ")
    assert promote_cli.main(arguments(material, board, *key)) == 0
    assert capsys.readouterr().out.startswith("already promoted: ")
    files = [str(material.run / "result.json"), "--qualification"]
    files += [str(material.qualification / "qualification.json"), "--board", str(board), *key]
    assert promote_cli.main(files) == 0
    assert capsys.readouterr().out.startswith("already promoted: ")


def test_the_verb_without_a_key_needs_leave(material, tmp_path, capsys):
    with pytest.raises(UsageError, match=r"no key; sign with --key FILE \(robogate keygen"):
        promote_cli.main(arguments(material, tmp_path / "board"))
    assert not (tmp_path / "board").exists()
    assert promote_cli.main(arguments(material, tmp_path / "board", "--allow-unsigned")) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "UNSIGNED"
    both = ["--allow-unsigned", "--key", str(material.keys / "robogate.key")]
    with pytest.raises(UsageError, match="exclude each other"):
        promote_cli.main(arguments(material, tmp_path / "board", *both))


def test_the_verb_prints_json(material, tmp_path, capsys):
    more = ["--allow-unsigned", "--json"]
    assert promote_cli.main(arguments(material, tmp_path / "board", *more)) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["created"] is True and printed["signature"] == "unsigned"
    assert printed["bundle"].endswith(bundle_folders(tmp_path / "board")[0].name)
