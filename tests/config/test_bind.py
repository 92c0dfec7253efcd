"""Content stands in a contract, and a path never does."""

import json
import shutil

import pytest

from robogate.config import bind as module
from robogate.config.compose import compose
from robogate.contract.layout import manifests_dir
from robogate.errors import ConfigError
from robogate.records.location import PolicyLocation

PYTHON = ("adapter=python", "adapter.target=m:C")


def one(*overrides):
    (point,) = compose(overrides)
    return point


def message(*overrides):
    with pytest.raises(ConfigError) as caught:
        compose(overrides)
    return caught.value.message


@pytest.fixture
def manifests(tmp_path, monkeypatch):
    """A copy of manifests/ that may be changed."""
    folder = tmp_path / "manifests"
    shutil.copytree(manifests_dir(), folder)
    monkeypatch.setattr(module, "manifests_dir", lambda: folder)
    return folder


def test_digests_are_the_files_own(manifests):
    contract = one().frozen.document
    manifest = json.loads((manifests / "fair_pnp_v2.json").read_text())
    inventory = json.loads((manifests / "assets_panda.json").read_text())
    assert contract["track"]["manifest_sha256"] == manifest["sha256"]
    assert contract["bench"]["assets"]["sha256"] == inventory["assets_sha256"]


def test_a_manifest_of_another_name_is_the_same_contract(manifests):
    before = one().frozen.sha256
    shutil.copy(manifests / "fair_pnp_v2.json", manifests / "copy.json")
    point = one("track.manifest=copy.json")
    assert point.frozen.sha256 == before
    assert point.manifest_path == manifests / "copy.json"


@pytest.mark.parametrize("name", ["fair_pnp_v2.json", "assets_panda.json"])
def test_one_changed_byte_is_an_error_that_names_the_file(manifests, name):
    file = manifests / name
    text = file.read_text()
    old = next(digit for digit in "0123456789" if f": {digit}" in text)
    at = text.rindex(f": {old}") + 2
    file.write_text(text[:at] + str((int(old) + 1) % 10) + text[at + 1 :])
    assert message().startswith(f"{file}: $")


@pytest.mark.parametrize("name", ["fair_pnp_v2.json", "assets_panda.json"])
def test_no_json_is_an_error_that_names_the_file(manifests, name):
    (manifests / name).write_text("{")
    assert message().startswith(f"{manifests / name}: not JSON")


def test_a_stated_digest_has_to_be_the_files(manifests):
    found = one().frozen.track.manifest_sha256
    stated = "a" * 64
    assert one(f"track.manifest_sha256={found}").frozen.track.manifest_sha256 == found
    assert message(f"track.manifest_sha256={stated}") == (
        f"track.manifest_sha256: {manifests / 'fair_pnp_v2.json'} has {found}, the configuration"
        f" expects {stated}; restore the file, or set the key to null to measure what is there"
    )
    assert message(f"bench.assets.sha256={stated}").startswith(
        f"bench.assets.sha256: {manifests / 'assets_panda.json'} has "
    )


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("track.scenarios=67", "track.scenarios: is 67, {manifest} has 68"),
        ("track.task=stack", "track.task: is 'stack', {manifest} is for 'pick_and_place'"),
        (
            "track.manifest=fair_pnp_v3.json",
            "track.manifest: no file 'fair_pnp_v3.json' in {folder}; did you mean"
            " 'fair_pnp_v2.json'?",
        ),
        (
            "track.manifest=../manifests/fair_pnp_v2.json",
            "track.manifest: no file '../manifests/fair_pnp_v2.json' in {folder}; did you mean"
            " 'fair_pnp_v2.json'?",
        ),
        (
            "bench.assets.inventory=assets_pandas.json",
            "bench.assets.inventory: no file 'assets_pandas.json' in {folder}; did you mean"
            " 'assets_panda.json'?",
        ),
        ("track.manifest=assets_panda.json", "{folder}/assets_panda.json: $"),
    ],
)
def test_what_the_files_do_not_say_is_refused(manifests, override, expected):
    text = expected.format(folder=manifests, manifest=manifests / "fair_pnp_v2.json")
    assert message(override).startswith(text)


# Checkpoints -------------------------------------------------------------------------------------


@pytest.fixture
def checkpoint(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights.bin").write_bytes(b"1234")
    (folder / "config.json").write_bytes(b"{}")
    return folder


def test_a_checkpoints_content_is_hashed_and_its_path_is_not(checkpoint, tmp_path):
    point = one(*PYTHON, f"adapter.checkpoint={checkpoint}")
    moved = shutil.copytree(checkpoint, tmp_path / "elsewhere")
    assert one(*PYTHON, f"adapter.checkpoint={moved}").frozen.sha256 == point.frozen.sha256
    assert point.checkpoint is not None
    assert point.frozen.adapter.checkpoint_sha256 == point.checkpoint.sha256
    assert one(*PYTHON).frozen.sha256 != point.frozen.sha256
    assert one(*PYTHON).checkpoint is None
    (moved / "weights.bin").write_bytes(b"1235")
    assert one(*PYTHON, f"adapter.checkpoint={moved}").frozen.sha256 != point.frozen.sha256


def test_a_stated_checkpoint_digest_has_to_be_the_files(checkpoint):
    stated = "b" * 64
    text = message(
        *PYTHON, f"adapter.checkpoint={checkpoint}", f"adapter.checkpoint_sha256={stated}"
    )
    assert text.startswith(f"adapter.checkpoint_sha256: {checkpoint} has ")
    assert f"the configuration expects {stated}" in text


def test_a_control_has_no_checkpoint(checkpoint):
    assert message("adapter=zero", f"adapter.checkpoint={checkpoint}").startswith(
        "adapter.checkpoint: unknown key; "
    )


def test_a_digest_without_files_is_refused():
    assert message(*PYTHON, f"adapter.checkpoint_sha256={'b' * 64}") == (
        "adapter.checkpoint_sha256: is stated, and there are no files to compare it with;"
        " give adapter.checkpoint=PATH"
    )


def test_the_path_stands_in_the_location_alone(checkpoint, monkeypatch):
    monkeypatch.chdir(checkpoint.parent)
    point = one(*PYTHON, "adapter.checkpoint=model")
    assert point.location == PolicyLocation(checkpoint=checkpoint)
    assert "checkpoint" not in point.frozen.document["adapter"]
    assert str(checkpoint) not in json.dumps(point.frozen.document)
    assert one(*PYTHON).location == PolicyLocation()


def test_the_old_key_says_where_it_went(checkpoint):
    assert message(*PYTHON, f"runtime.checkpoint={checkpoint}") == (
        "'runtime.checkpoint': this is adapter.checkpoint now; write adapter.checkpoint=…"
    )


def test_an_empty_checkpoint_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    assert "holds no file" in message(*PYTHON, f"adapter.checkpoint={tmp_path / 'empty'}")
    assert message(*PYTHON, f"adapter.checkpoint={tmp_path / 'none'}").startswith(
        "adapter.checkpoint: no such file or folder: "
    )
