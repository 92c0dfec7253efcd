from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from robogate.contract.canonical import loads_strict, sha256_json
from robogate.contract.identity import (
    AdapterIdentity,
    CheckpointFile,
    CheckpointIdentity,
    Distribution,
    GlIdentity,
    HarnessIdentity,
    HostIdentity,
    Identity,
    PolicyIdentity,
    SimulatorIdentity,
    assemble_identity,
    decode_identity,
    differences,
    environment_sha256,
    fingerprint_sha256,
    measure_checkpoint,
    measure_process,
)
from robogate.contract.strict import StrictError, encode
from robogate.errors import ConfigError


@pytest.fixture(scope="module")
def identity() -> Identity:
    runner = measure_process()
    worker = measure_process(
        simulator=SimulatorIdentity("mujoco", "4.0.0"),
        gl=GlIdentity("egl", "Mesa", "llvmpipe", "4.5"),
        distributions=("mujoco",),
    )
    return assemble_identity(
        harness=HarnessIdentity("harness", "1.0.0", "0.1.0", "ab" * 20, False, "0a" * 32),
        adapter=AdapterIdentity("python", "1", "0b" * 32),
        policy=PolicyIdentity(
            "measured", "python", "m", "C", None, None, None, "files", None, "m", 1,
            "0c" * 32, "0d" * 32, 0, "1d" * 32,
        ),
        checkpoint=CheckpointIdentity("measured", "/models/a", "main", 2, 10, "0e" * 32),
        runner=runner,
        worker=worker,
    )  # fmt: skip


@pytest.fixture
def document(identity: Identity) -> Any:
    return loads_strict(json.dumps(encode(identity)))


def test_an_identity_survives_json(identity: Identity, document: Any) -> None:
    assert decode_identity(document) == identity


@pytest.mark.parametrize("part", ["policy", "checkpoint"])
def test_parts_that_a_control_does_not_have_may_be_null(document: Any, part: str) -> None:
    document[part] = None
    assert getattr(decode_identity(document), part) is None


def faults(document: Any) -> list[str]:
    with pytest.raises(StrictError) as caught:
        decode_identity(document)
    return [str(f) for f in caught.value.faults]


def test_unknown_missing_and_mistyped_fields_are_named(document: Any) -> None:
    document["harness"]["note"] = "x"
    del document["adapter"]["kind"]
    document["worker"]["hardware"]["cores"] = 2.0
    found = faults(document)
    assert any(f.startswith("$.harness.note: unknown field") for f in found)
    assert any(f.startswith("$.adapter.kind: missing field") for f in found)
    assert any(f.startswith("$.worker.hardware.cores: is number") for f in found)


def test_another_schema_is_refused(document: Any) -> None:
    document["schema"] = "robogate.identity/2"
    assert "expected one of 'robogate.identity/1'" in faults(document)[0]


@pytest.mark.parametrize("process", ["runner", "worker"])
def test_an_environment_that_does_not_give_its_digest_is_refused(
    document: Any, process: str
) -> None:
    installed = document[process]["environment"]["distributions"]
    next(d for d in installed if d["name"] == "numpy")["version"] = "0.1"
    assert [f.partition(":")[0] for f in faults(document)] == [f"$.{process}.environment.sha256"]


def test_a_fingerprint_that_does_not_follow_is_refused(document: Any) -> None:
    document["worker"]["simulator"]["version"] = "3.3.7"
    assert [f.partition(":")[0] for f in faults(document)] == ["$.fingerprint_sha256"]


def replaced(process: Any, **parts: Any) -> Any:
    """A process with parts of its environment or hardware replaced."""
    environment = process.environment
    names = {f.name for f in dataclasses.fields(environment)}
    environment = dataclasses.replace(environment, **{k: v for k, v in parts.items() if k in names})
    environment = dataclasses.replace(
        environment,
        sha256=environment_sha256(
            environment.interpreter,
            environment.operating_system,
            environment.distributions,
            environment.gl,
        ),
    )
    hardware = dataclasses.replace(
        process.hardware, **{k: v for k, v in parts.items() if hasattr(process.hardware, k)}
    )
    return dataclasses.replace(process, environment=environment, hardware=hardware)


@pytest.mark.parametrize(
    "parts",
    [
        {"gl": GlIdentity("osmesa", "Mesa", "llvmpipe", "4.5")},
        {"declared_image_digest": "sha256:" + "00" * 32},
        {"cpu_model": "another"},
        {"cpu_flags_sha256": "00" * 32},
        {"gpus": ("NVIDIA H200",)},
        {"gpu_driver": "570.1"},
        {"distributions": (Distribution("numpy", "0.1", None, True),)},
    ],
    ids=lambda parts: next(iter(parts)),
)
def test_the_fingerprint_says_what_it_ran_on(identity: Identity, parts: dict[str, Any]) -> None:
    worker = replaced(identity.worker, **parts)
    assert fingerprint_sha256(identity.runner, worker) != identity.fingerprint_sha256
    runner = replaced(identity.runner, **parts)
    assert fingerprint_sha256(runner, identity.worker) != identity.fingerprint_sha256


def test_host_cores_and_unneeded_packages_are_not_in_it(identity: Identity) -> None:
    worker = replaced(
        identity.worker,
        cores=identity.worker.hardware.cores + 1,
        distributions=(
            *identity.worker.environment.distributions,
            Distribution("unneeded", "1", None, False),
        ),
    )
    worker = dataclasses.replace(worker, host=HostIdentity("other", "1.0"))
    assert fingerprint_sha256(identity.runner, worker) == identity.fingerprint_sha256


def test_no_path_of_this_machine_is_in_an_identity(identity: Identity) -> None:
    text = json.dumps(encode(dataclasses.replace(identity, checkpoint=None)))
    assert str(Path.home()) not in text
    assert os.getcwd() not in text


# --- differences ---


def test_equal_identities_do_not_differ(identity: Identity, document: Any) -> None:
    assert differences(identity, document) == []


def test_differences_are_field_paths(identity: Identity, document: Any) -> None:
    other = copy.deepcopy(document)
    other["harness"]["dirty"] = True
    other["policy"] = None
    other["worker"]["host"]["name"] = "elsewhere"
    del other["adapter"]["version"]
    other["adapter"]["note"] = 1
    assert differences(identity, other) == [
        "harness.dirty",
        "adapter.version",
        "adapter.note",
        "policy",
        "worker.host.name",
    ]
    assert differences(identity, other, ignore=("worker.host", "adapter", "policy")) == [
        "harness.dirty"
    ]


def test_a_package_more_is_one_difference_by_its_name(document: Any) -> None:
    other = copy.deepcopy(document)
    installed = other["runner"]["environment"]["distributions"]
    installed.insert(0, {"name": "aaa", "version": "1", "record_sha256": None, "bound": False})
    next(d for d in installed if d["name"] == "numpy")["version"] = "0"
    assert differences(document, other) == [
        "runner.environment.distributions[aaa]",
        "runner.environment.distributions[numpy].version",
    ]


def test_types_are_part_of_a_value() -> None:
    assert differences({"a": [1, 1, True]}, {"a": [1.0, True, True]}) == ["a[0]", "a[1]"]
    assert differences({"a": [1]}, {"a": [1, 2]}) == ["a"]


# --- checkpoints ---


def checkpoint(root: Path) -> Path:
    (root / "a").mkdir(parents=True)
    (root / "weights.bin").write_bytes(b"w" * 3_000_000)
    (root / "a" / "config.json").write_text("{}")
    (root / "é.txt").write_text("text")
    return root


def test_a_folder_is_hashed_in_a_defined_order(tmp_path: Path) -> None:
    root = checkpoint(tmp_path / "model")
    found = measure_checkpoint(root, "v1")
    listing = []
    for name in ("a/config.json", "weights.bin", "é.txt"):
        data = (root / name).read_bytes()
        listing.append(CheckpointFile(name, len(data), hashlib.sha256(data).hexdigest()))
    rows = [[file.path, file.bytes, file.sha256] for file in listing]
    assert found == CheckpointIdentity(
        "measured", str(root), "v1", 3, 3_000_006, sha256_json(rows), tuple(listing)
    )


def test_a_copy_elsewhere_has_the_same_digest(tmp_path: Path) -> None:
    first = measure_checkpoint(checkpoint(tmp_path / "one"), None)
    second = measure_checkpoint(checkpoint(tmp_path / "two"), None)
    assert first.sha256 == second.sha256


@pytest.mark.parametrize("change", ["byte", "name", "extra", "missing"])
def test_every_change_changes_it(tmp_path: Path, change: str) -> None:
    root = checkpoint(tmp_path / "model")
    before = measure_checkpoint(root, None).sha256
    if change == "byte":
        (root / "weights.bin").write_bytes(b"w" * 2_999_999 + b"x")
    elif change == "name":
        (root / "weights.bin").rename(root / "weight.bin")
    elif change == "extra":
        (root / "empty").write_text("")
    else:
        (root / "a" / "config.json").unlink()
    assert measure_checkpoint(root, None).sha256 != before


def test_notes_of_download_tools_are_not_part_of_it(tmp_path: Path) -> None:
    root = checkpoint(tmp_path / "model")
    before = measure_checkpoint(root, None)
    for folder in (".git", ".cache", "__pycache__"):
        (root / folder).mkdir()
        (root / folder / "file").write_text("x")
    assert measure_checkpoint(root, None) == before


def test_a_single_file_is_known_by_its_own_digest(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(b"abc")
    found = measure_checkpoint(tmp_path / "model.pt", None)
    assert found.sha256 == hashlib.sha256(b"abc").hexdigest()
    assert (found.files, found.bytes) == (1, 3)


def test_linked_files_are_followed_and_linked_folders_refused(tmp_path: Path) -> None:
    root = checkpoint(tmp_path / "model")
    cache = tmp_path / "snapshot"
    cache.mkdir()
    for name in ("weights.bin", "é.txt"):
        (cache / name).symlink_to(root / name)
    (cache / "a").mkdir()
    (cache / "a" / "config.json").symlink_to(root / "a" / "config.json")
    assert measure_checkpoint(cache, None).sha256 == measure_checkpoint(root, None).sha256
    (cache / "b").symlink_to(root / "a")
    with pytest.raises(ConfigError, match=r"snapshot/b is a symbolic link"):
        measure_checkpoint(cache, None)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone does not exist"):
        measure_checkpoint(tmp_path / "gone", None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"empty holds no file"):
        measure_checkpoint(tmp_path / "empty", None)
    (tmp_path / "dangling").mkdir()
    (tmp_path / "dangling" / "weights").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"dangling/weights cannot be read"):
        measure_checkpoint(tmp_path / "dangling", None)
