from __future__ import annotations

import ast
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from robogate.contract.identity import harness as module
from robogate.contract.identity import (
    harness_files,
    harness_sha256,
    measure_adapter,
    measure_harness,
)
from robogate.contract.schema import Adapter
from robogate.errors import RunError
from robogate.scenes.pnp_config import PnpBench

PACKAGE = module.PACKAGE
ADAPTER = Adapter(
    kind="zero",
    version="1",
    benches=("pnp",),
    role="control",
    determinism="deterministic",
    transfer="none",
    execute=1,
    model=None,
    revision=None,
    checkpoint_sha256=None,
)


def copy_of_the_package(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(PACKAGE, tmp_path / "robogate", ignore=ignored))


def test_the_list_is_sorted_unique_and_free_of_byte_code(bench: PnpBench) -> None:
    files = harness_files(bench)
    assert list(files) == sorted(set(files))
    assert not [f for f in files if f.endswith(".pyc")]


@pytest.mark.parametrize(
    "covered",
    [
        "errors.py",
        "contract/canonical.py",
        "contract/identity/harness.py",
        "scenes/pnp.py",
        "records/pnp_judge.py",
        "benches/pnp/control.py",
        "adapters/zero.py",
        "adapters/pnp_oracle.py",
        "adapters/pnp_geometry.py",
        "evidence/validator.py",
    ],
)
def test_what_can_change_a_score_is_covered(bench: PnpBench, covered: str) -> None:
    assert covered in harness_files(bench)


@pytest.mark.parametrize("outside", ["cli.py", "reports/", "adapters/python.py", "evidence/sign"])
def test_what_cannot_is_not(bench: PnpBench, outside: str) -> None:
    assert not [f for f in harness_files(bench) if f.startswith(outside)]


def test_the_validator_imports_nothing_of_evidence_that_is_not_covered(bench: PnpBench) -> None:
    covered = set(harness_files(bench))
    for path in sorted(p for p in covered if p.startswith("evidence/")):
        for node in ast.walk(ast.parse((PACKAGE / path).read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "robogate.evidence."
            ):
                imported = f"evidence/{str(node.module).split('.')[2]}.py"
                assert imported in covered, f"{path} imports {imported}"


def test_one_changed_byte_anywhere_in_the_list_changes_the_hash(
    bench: PnpBench, tmp_path: Path
) -> None:
    package = copy_of_the_package(tmp_path)
    before = harness_sha256(bench, package)
    assert before == harness_sha256(bench)
    for path in ("contract/strict.py", "benches/pnp/control.py", "adapters/pnp_oracle.py"):
        file = package / path
        original = file.read_bytes()
        file.write_bytes(original + b"\n")
        assert harness_sha256(bench, package) != before, path
        file.write_bytes(original)
    assert harness_sha256(bench, package) == before


def test_a_file_that_moves_or_appears_changes_the_hash(bench: PnpBench, tmp_path: Path) -> None:
    package = copy_of_the_package(tmp_path)
    before = harness_sha256(bench, package)
    (package / "scenes" / "table.json").write_text("{}")
    with_data = harness_sha256(bench, package)
    assert with_data != before
    (package / "scenes" / "table.json").rename(package / "scenes" / "other.json")
    assert harness_sha256(bench, package) not in (before, with_data)


def test_reports_and_learned_adapters_do_not_change_it(bench: PnpBench, tmp_path: Path) -> None:
    package = copy_of_the_package(tmp_path)
    before = harness_sha256(bench, package)
    for path in ("reports/__init__.py", "adapters/python.py", "adapters/registry.py"):
        file = package / path
        file.write_bytes(file.read_bytes() + b"\n")
    assert harness_sha256(bench, package) == before


def test_another_bench_does_not_change_it(bench: PnpBench, tmp_path: Path) -> None:
    package = copy_of_the_package(tmp_path)
    before = harness_sha256(bench, package)
    (package / "benches" / "other").mkdir()
    (package / "benches" / "other" / "__init__.py").write_text("x = 1\n")
    assert harness_sha256(bench, package) == before
    other = replace(bench, environment="robogate.benches.other:create_environment")
    assert harness_sha256(other, package) != before


def test_harness_identity_names_the_bench_and_the_commit(bench: PnpBench) -> None:
    identity = measure_harness(bench)
    assert (identity.id, identity.version) == (bench.harness_id, bench.harness_version)
    assert identity.harness_sha256 == harness_sha256(bench)


def _checkout(repository: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in ("src/a.py", "conf/a.yaml", "manifests/a.json", "docs/a.md"):
        repository.write(path, "1\n")
    monkeypatch.setattr(module, "checkout_root", lambda: repository.root)


def test_dirty_looks_at_src_conf_and_manifests_only(
    bench: PnpBench, repository: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _checkout(repository, monkeypatch)
    revision = repository.commit()
    clean = measure_harness(bench)
    assert (clean.source_revision, clean.dirty) == (revision, False)
    repository.write("docs/a.md", "2\n")
    repository.write("outputs/run/result.json", "{}")
    assert measure_harness(bench).dirty is False
    for path in ("src/a.py", "src/new.py", "conf/a.yaml", "manifests/a.json"):
        repository.write(path, "2\n")
        assert measure_harness(bench).dirty is True, path
        repository.git("checkout", "-q", ".")
        repository.git("clean", "-qfd", "src")
        assert measure_harness(bench).dirty is False, path


def test_a_staged_change_is_dirty(
    bench: PnpBench, repository: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _checkout(repository, monkeypatch)
    repository.commit()
    repository.write("src/a.py", "2\n")
    repository.git("add", "-A")
    assert measure_harness(bench).dirty is True


def test_the_callers_git_variables_do_not_answer_for_another_repository(
    bench: PnpBench, repository: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _checkout(repository, monkeypatch)
    revision = repository.commit()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    assert measure_harness(bench).source_revision == revision


def test_outside_git_revision_and_dirty_are_null(
    bench: PnpBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for root in (tmp_path, None):
        monkeypatch.setattr(module, "checkout_root", lambda root=root: root)
        identity = measure_harness(bench)
        assert (identity.source_revision, identity.dirty) == (None, None)


def test_a_repository_without_a_commit_has_no_revision(
    bench: PnpBench, repository: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _checkout(repository, monkeypatch)
    identity = measure_harness(bench)
    assert (identity.source_revision, identity.dirty) == (None, True)


def test_adapter_identity_covers_its_modules(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "b.py").write_text("2")
    both = measure_adapter(ADAPTER, ("b.py", "a.py"), tmp_path)
    assert (both.kind, both.version) == ("zero", "1")
    assert both == measure_adapter(ADAPTER, ("a.py", "b.py"), tmp_path)
    assert both != measure_adapter(ADAPTER, ("a.py",), tmp_path)
    (tmp_path / "b.py").write_text("3")
    assert both != measure_adapter(ADAPTER, ("a.py", "b.py"), tmp_path)


def test_a_module_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"gone\.py: cannot be read for its hash") as caught:
        measure_adapter(ADAPTER, ("gone.py",), tmp_path)
    assert caught.value.code == "identity_mismatch"
