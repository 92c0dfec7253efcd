"""Inventories of pinned assets, and folders that differ from them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from robogate.contract.assets import load_inventory, verify_tree
from robogate.contract.canonical import sha256_json
from robogate.contract.layout import manifests_dir
from robogate.errors import EvidenceError

CONTENT = {"LICENSE": b"do what you like\n", "meshes/arm.stl": bytes(range(200))}


def document() -> dict[str, Any]:
    files = [
        {"path": p, "bytes": len(b), "sha256": hashlib.sha256(b).hexdigest()}
        for p, b in sorted(CONTENT.items())
    ]
    return {
        "schema": "robogate-assets/1",
        "name": "arm",
        "root": "arm",
        "licence": "Apache-2.0",
        "source": {
            "distribution": "arm-meshes",
            "version": "1.0",
            "filename": "arm_meshes-1.0-py3-none-any.whl",
            "bytes": 1,
            "sha256": "0" * 64,
            "members": {p: f"arm_meshes/{p}" for p in CONTENT},
        },
        "files": files,
        "assets_sha256": sha256_json(files),
    }


def write(folder: Path, value: dict[str, Any]) -> Path:
    path = folder / "assets_arm.json"
    path.write_text(json.dumps(value))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, content in CONTENT.items():
        file = tmp_path / "data" / "arm" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return tmp_path / "data"


def faults(data: Path, tmp_path: Path) -> list[str]:
    return [str(f) for f in verify_tree(data, load_inventory(write(tmp_path, document())))]


def test_an_equal_folder_has_no_fault(data: Path, tmp_path: Path) -> None:
    assert faults(data, tmp_path) == []


def test_one_changed_byte_names_the_file_and_both_digests(data: Path, tmp_path: Path) -> None:
    changed = b"\xff" + CONTENT["meshes/arm.stl"][1:]
    (data / "arm/meshes/arm.stl").write_bytes(changed)
    assert faults(data, tmp_path) == [
        f"arm/meshes/arm.stl: has SHA-256 {hashlib.sha256(changed).hexdigest()}, "
        f"expected {hashlib.sha256(CONTENT['meshes/arm.stl']).hexdigest()}"
    ]


def test_another_size_names_the_file_and_both_sizes(data: Path, tmp_path: Path) -> None:
    (data / "arm/LICENSE").write_bytes(b"")
    assert faults(data, tmp_path) == ["arm/LICENSE: has 0 bytes, expected 17"]


def test_a_missing_and_an_extra_file_are_both_reported(data: Path, tmp_path: Path) -> None:
    (data / "arm/meshes/arm.stl").rename(data / "arm/meshes/leg.stl")
    assert faults(data, tmp_path) == [
        "arm/meshes/arm.stl: is missing, expected 200 bytes",
        "arm/meshes/leg.stl: is not in the inventory; remove it",
    ]


def test_a_folder_in_a_files_place_is_a_fault(data: Path, tmp_path: Path) -> None:
    (data / "arm/LICENSE").unlink()
    (data / "arm/LICENSE").mkdir()
    assert faults(data, tmp_path) == ["arm/LICENSE: is not a file"]


def test_a_linked_file_with_the_right_content_holds(data: Path, tmp_path: Path) -> None:
    # A DVC cache may be configured to link.
    (data / "arm/LICENSE").rename(tmp_path / "cached")
    (data / "arm/LICENSE").symlink_to(tmp_path / "cached")
    assert faults(data, tmp_path) == []


def test_an_empty_folder_lacks_every_file(tmp_path: Path) -> None:
    assert len(faults(tmp_path / "nowhere", tmp_path)) == len(CONTENT)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda d: d["files"][0].update(bytes=18),
            "$.assets_sha256: is {claimed}, the files give {computed}",
        ),
        (lambda d: d.update(schema="x"), "$.schema: is 'x', expected 'robogate-assets/1'"),
        (lambda d: d.update(root="../arm"), "$.root: '../arm' is not a plain relative path"),
        (lambda d: d.update(root="/arm"), "$.root: '/arm' is not a plain relative path"),
        (lambda d: d["files"].reverse(), "$.files: are not unique and sorted by path"),
        (
            lambda d: d["source"]["members"].pop("LICENSE"),
            "$.source.members: do not name the same files as $.files",
        ),
    ],
)
def test_an_inventory_that_contradicts_itself_is_refused(
    tmp_path: Path, change: Any, message: str
) -> None:
    doc = document()
    claimed = doc["assets_sha256"]
    change(doc)
    path = write(tmp_path, doc)
    expected = message.format(claimed=claimed, computed=sha256_json(doc["files"]))
    with pytest.raises(EvidenceError) as caught:
        load_inventory(path)
    assert caught.value.message.startswith(f"{path}: {expected}")


def test_an_unknown_key_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, {**document(), "extra": 1})
    with pytest.raises(EvidenceError, match=r"assets_arm\.json: \$.*extra"):
        load_inventory(path)


def test_the_committed_inventories_hold_in_themselves() -> None:
    found = {p.name: load_inventory(p) for p in manifests_dir().glob("assets_*.json")}
    panda = found["assets_panda.json"]
    assert sum(f.bytes for f in panda.files if f.path != "LICENSE") == 263_254
    assert all(name == f"assets_{inv.name}.json" for name, inv in found.items())
    # A set without its licence's text may not be passed on.
    assert all(any(f.path == "LICENSE" for f in inv.files) for inv in found.values())
