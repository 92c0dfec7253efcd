from __future__ import annotations

import base64
import hashlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from robogate.contract.canonical import sha256_json
from robogate.contract.identity import PolicyIdentity, measure_policy, require_unchanged
from robogate.errors import RunError

Import = Callable[[Path, str], None]
CLASS = "class Policy: ...\n"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def measure(module: str) -> PolicyIdentity:
    return measure_policy("python", module, "Policy").identity


def refusal(module: str) -> str:
    with pytest.raises(RunError) as caught:
        measure_policy("python", module, "Policy")
    assert caught.value.code == "policy_source"
    return caught.value.message


def package(folder: Path, name: str) -> Path:
    root = folder / name
    (root / "deep").mkdir(parents=True)
    (root / "__init__.py").write_text("")
    (root / "policy.py").write_text(CLASS)
    (root / "deep" / "__init__.py").write_text("")
    (root / "deep" / "net.py").write_text("x = 1\n")
    (root / "weights.json").write_text("{}")
    return root


# --- plain files ---


def test_a_package_outside_git_is_known_by_its_files(
    tmp_path: Path, unique: str, imported: Import
) -> None:
    package(tmp_path, unique)
    imported(tmp_path, f"{unique}.policy")
    found = measure(f"{unique}.policy")
    files = {
        f"{unique}/__init__.py": "",
        f"{unique}/deep/__init__.py": "",
        f"{unique}/deep/net.py": "x = 1\n",
        f"{unique}/policy.py": CLASS,
    }
    assert found == PolicyIdentity(
        origin="measured",
        backend="python",
        module=f"{unique}.policy",
        class_name="Policy",
        distribution=None,
        distribution_version=None,
        record_sha256=None,
        source="files",
        git_revision=None,
        package=unique,
        package_files=4,
        package_sha256=sha256_json([[path, digest(text)] for path, text in files.items()]),
        module_sha256=digest(CLASS),
        compiled_files=0,
        compiled_sha256=sha256_json([]),
    )


def test_the_place_of_a_package_is_not_part_of_its_identity(
    tmp_path: Path, unique: str, imported: Import
) -> None:
    package(tmp_path / "here", unique)
    imported(tmp_path / "here", f"{unique}.policy")
    here = measure(f"{unique}.policy")
    for name in [m for m in sys.modules if m.partition(".")[0] == unique]:
        del sys.modules[name]
    package(tmp_path / "there", unique)
    imported(tmp_path / "there", f"{unique}.policy")
    assert Path(str(sys.modules[unique].__file__)).parent.parent.name == "there"
    assert measure(f"{unique}.policy") == here


def test_a_module_that_stands_alone_brings_what_lies_beside_it(
    tmp_path: Path, unique: str, imported: Import
) -> None:
    (tmp_path / f"{unique}.py").write_text(CLASS)
    (tmp_path / "helper.py").write_text("")
    package(tmp_path, "beside")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "script.py").write_text("")
    imported(tmp_path, unique)
    source = measure_policy("python", unique, "Policy")
    assert list(source.files) == [
        "beside/__init__.py",
        "beside/deep/__init__.py",
        "beside/deep/net.py",
        "beside/policy.py",
        "helper.py",
        f"{unique}.py",
    ]
    assert source.identity.package == unique
    assert source.identity.module_sha256 == digest(CLASS)


def test_byte_code_caches_are_not_source_but_byte_code_without_source_is(
    tmp_path: Path, unique: str, imported: Import
) -> None:
    root = package(tmp_path, unique)
    imported(tmp_path, f"{unique}.policy")
    before = measure(f"{unique}.policy")
    (root / "__pycache__").mkdir()
    (root / "__pycache__" / "policy.cpython-311.pyc").write_bytes(b"cache")
    assert measure(f"{unique}.policy") == before
    (root / "hidden.pyc").write_bytes(b"code")
    assert measure(f"{unique}.policy").package_files == before.package_files + 1


def test_a_linked_folder_in_a_package_is_refused_by_name(
    tmp_path: Path, unique: str, imported: Import
) -> None:
    root = package(tmp_path, unique)
    (root / "linked").symlink_to(package(tmp_path / "elsewhere", "other"))
    imported(tmp_path, f"{unique}.policy")
    assert f"folder {unique}/linked is a symbolic link" in refusal(f"{unique}.policy")


def test_a_module_without_source_is_refused() -> None:
    assert "policy module math has no Python source file" in refusal("math")
    assert "policy module never_imported is not imported" in refusal("never_imported")


# --- installed packages ---


def install(site: Path, name: str, *, editable: Path | None = None) -> Path:
    root = site / name
    rows = []
    if editable is None:
        if not root.exists():
            package(site, name)
        for file in sorted([*root.rglob("*.py"), *root.rglob("*.so")]):
            raw = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest())
            rows.append(f"{file.relative_to(site).as_posix()},sha256={raw.decode().rstrip('=')},1")
    info = site / f"{name}-3.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Name: {name}\nVersion: 3.2\n")
    if editable is not None:
        (info / "direct_url.json").write_text(
            f'{{"url": "file://{editable}", "dir_info": {{"editable": true}}}}'
        )
    (info / "RECORD").write_text("\n".join([*rows, f"{info.name}/RECORD,,"]))
    return root


def test_an_installed_package_is_known_by_its_record(
    tmp_path: Path, unique: str, imported: Import
) -> None:
    root = install(tmp_path, unique)
    imported(tmp_path, f"{unique}.policy")
    found = measure(f"{unique}.policy")
    assert found.source == "distribution"
    assert found.distribution == unique.replace("_", "-")
    assert found.distribution_version == "3.2"
    assert found.record_sha256 is not None
    # A package that is not what was installed is not known by that record.
    for name, text in (("deep/net.py", "x = 2\n"), ("extra.py", "")):
        file = root / name
        before = file.read_text() if file.exists() else None
        file.write_text(text)
        assert measure(f"{unique}.policy").source == "files", name
        file.unlink() if before is None else file.write_text(before)
    assert measure(f"{unique}.policy") == found


def test_a_compiled_module_is_part_of_what_was_installed(
    tmp_path: Path, unique: str, imported: Import
) -> None:
    root = package(tmp_path, unique)
    library = root / "deep" / "fast.abi3.so"
    library.write_bytes(b"code")
    install(tmp_path, unique)
    imported(tmp_path, f"{unique}.policy")
    before = measure_policy("python", f"{unique}.policy", "Policy")
    assert (before.identity.source, before.identity.compiled_files) == ("distribution", 1)
    library.write_bytes(b"other code")
    assert measure(f"{unique}.policy").source == "files"
    with pytest.raises(RunError, match=r"deep/fast\.abi3\.so was modified"):
        require_unchanged(before)


def test_an_installed_module_does_not_own_its_neighbours(
    tmp_path: Path, unique: str, imported: Import
) -> None:
    (tmp_path / f"{unique}.py").write_text(CLASS)
    (tmp_path / "someone_elses.py").write_text("")
    raw = base64.urlsafe_b64encode(hashlib.sha256(CLASS.encode()).digest()).decode().rstrip("=")
    info = tmp_path / f"{unique}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {unique}\nVersion: 1.0\n")
    (info / "RECORD").write_text(f"{unique}.py,sha256={raw},1\n{info.name}/RECORD,,\n")
    imported(tmp_path, unique)
    source = measure_policy("python", unique, "Policy")
    assert list(source.files) == [f"{unique}.py"]
    assert source.identity.source == "distribution"


def test_an_editable_installation_of_a_checkout_is_the_checkout(
    tmp_path: Path, unique: str, imported: Import, repository: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(repository.root / "src", unique)
    revision = repository.commit()
    site = tmp_path / "site"
    install(site, unique, editable=repository.root)
    monkeypatch.syspath_prepend(str(site))
    imported(repository.root / "src", f"{unique}.policy")
    found = measure(f"{unique}.policy")
    assert (found.source, found.git_revision) == ("checkout", revision)
    assert (found.distribution_version, found.record_sha256) == ("3.2", None)


def test_an_ignored_site_packages_in_a_checkout_is_no_checkout(
    unique: str, imported: Import, repository: Any
) -> None:
    repository.write(".gitignore", "venv/\n")
    repository.write("project.py", "")
    repository.commit()
    site = repository.root / "venv" / "site-packages"
    install(site, unique)
    imported(site, f"{unique}.policy")
    found = measure(f"{unique}.policy")
    assert (found.source, found.git_revision) == ("distribution", None)


# --- tracked checkouts ---


@pytest.fixture
def tracked(repository: Any, unique: str, imported: Import) -> Path:
    """A committed, imported package in ``src`` of a repository; returns its folder."""
    root = package(repository.root / "src", unique)
    repository.write("README.md", "text\n")
    repository.write(".gitignore", "*.log\nlocal_*.py\n__pycache__/\n")
    repository.commit()
    imported(repository.root / "src", f"{unique}.policy")
    return root


def test_a_clean_checkout_is_known_by_its_commit(
    tracked: Path, unique: str, repository: Any
) -> None:
    found = measure(f"{unique}.policy")
    assert found.source == "checkout"
    assert found.git_revision == repository.git("rev-parse", "HEAD")
    assert found.package_files == 4


def test_what_is_no_source_of_it_does_not_matter(
    tracked: Path, unique: str, repository: Any
) -> None:
    before = measure(f"{unique}.policy")
    repository.write("README.md", "changed\n")
    repository.write("tools/script.py", "")
    repository.write(f"src/{unique}/run.log", "")
    repository.write(f"src/{unique}/notes.txt", "")
    assert measure(f"{unique}.policy") == before


@pytest.mark.parametrize("name", ["extra.py", "deep/extra.py", "local_settings.py", "old.pyc"])
def test_an_extra_file_is_refused_by_name_even_if_ignored(
    tracked: Path, unique: str, name: str
) -> None:
    (tracked / name).write_text("")
    message = refusal(f"{unique}.policy")
    assert f"{unique}/{name} is not tracked" in message
    assert "must hold exactly its tracked Python files" in message


@pytest.mark.parametrize("name", ["deep/net.abi3.so", "net.so"])
def test_a_compiled_module_that_nobody_tracks_is_refused(
    tracked: Path, unique: str, repository: Any, name: str
) -> None:
    """It would be imported in place of the Python file beside it."""
    repository.write(".gitignore", "*.so\n")
    (tracked / name).write_bytes(b"")
    assert f"{unique}/{name} is not tracked" in refusal(f"{unique}.policy")


def test_a_compiled_module_in_an_environment_beside_a_module_is_not_its_source(
    unique: str, imported: Import, repository: Any
) -> None:
    repository.write(f"{unique}.py", CLASS)
    revision = repository.commit()
    repository.write(".venv/lib/site-packages/thing/x.so", "")
    repository.write("build/x.so", "")
    imported(repository.root, unique)
    assert measure(unique).git_revision == revision
    repository.write("x.so", "")
    assert "x.so is not tracked" in refusal(unique)


def test_an_extra_module_beside_the_package_is_refused(
    tracked: Path, unique: str, repository: Any
) -> None:
    repository.write("src/helper.py", "")
    assert "src/helper.py is not tracked" in refusal(f"{unique}.policy")


def test_a_staged_but_uncommitted_file_is_refused(
    tracked: Path, unique: str, repository: Any
) -> None:
    (tracked / "new.py").write_text("")
    repository.git("add", "-A")
    assert f"{unique}/new.py is not tracked" in refusal(f"{unique}.policy")


def test_a_missing_file_is_refused_by_name(tracked: Path, unique: str) -> None:
    (tracked / "deep" / "net.py").unlink()
    assert f"{unique}/deep/net.py is tracked but missing" in refusal(f"{unique}.policy")


def test_a_modified_file_is_refused_by_name(tracked: Path, unique: str) -> None:
    (tracked / "deep" / "net.py").write_text("x = 2\n")
    assert f"{unique}/deep/net.py is modified" in refusal(f"{unique}.policy")


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_an_index_told_to_look_away_hides_nothing(
    tracked: Path, unique: str, repository: Any, flag: str
) -> None:
    repository.git("update-index", flag, f"src/{unique}/deep/net.py")
    (tracked / "deep" / "net.py").write_text("x = 2\n")
    assert repository.git("status", "--porcelain") == ""
    assert f"{unique}/deep/net.py is modified" in refusal(f"{unique}.policy")


@pytest.mark.parametrize(
    ("attribute", "content"),
    (
        ("ident", "x = 1  # $Id$\n"),
        ("working-tree-encoding=UTF-7", "+AHg- = 10\n"),
    ),
)
def test_a_conversion_of_the_repository_hides_nothing(
    tracked: Path, unique: str, repository: Any, attribute: str, content: str
) -> None:
    (tracked / "deep" / "net.py").write_text(content.replace("+AHg-", "x"))
    repository.commit()
    (repository.root / ".git/info").mkdir(exist_ok=True)
    (repository.root / ".git/info/attributes").write_text(f"*.py {attribute}\n")
    assert measure(f"{unique}.policy").source == "checkout"
    (tracked / "deep" / "net.py").write_text(content.replace("$Id$", "$Id: anything $"))
    assert f"{unique}/deep/net.py is modified" in refusal(f"{unique}.policy")


def test_a_filter_of_the_repository_hides_nothing(
    tracked: Path, unique: str, repository: Any
) -> None:
    """A clean filter tells git what to take a file's content for; git runs it, Python does not."""
    name = f"src/{unique}/deep/net.py"
    repository.git("config", "filter.hide.clean", f"git cat-file blob HEAD:{name}")
    (repository.root / ".git/info").mkdir(exist_ok=True)
    (repository.root / ".git/info/attributes").write_text("net.py filter=hide\n")
    assert measure(f"{unique}.policy").source == "checkout"
    (tracked / "deep" / "net.py").write_text("x = 2\n")
    assert f"{unique}/deep/net.py is modified" in refusal(f"{unique}.policy")


def test_a_replaced_commit_hides_nothing(tracked: Path, unique: str, repository: Any) -> None:
    """A replacement lets one commit's name stand for the content of another."""
    first = repository.git("rev-parse", "HEAD")
    (tracked / "deep" / "net.py").write_text("x = 2\n")
    second = repository.commit()
    repository.git("reset", "-q", "--soft", first)
    repository.git("replace", first, second)
    assert f"{unique}/deep/net.py is modified" in refusal(f"{unique}.policy")


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_an_index_told_to_look_away_hides_no_neighbour(
    tracked: Path, unique: str, repository: Any, flag: str
) -> None:
    repository.write("src/helper.py", "x = 1\n")
    repository.commit()
    repository.git("update-index", flag, "src/helper.py")
    repository.write("src/helper.py", "x = 2\n")
    assert "src/helper.py is one that git was told not to look at" in refusal(f"{unique}.policy")


def test_a_modified_data_file_of_the_package_is_refused(tracked: Path, unique: str) -> None:
    (tracked / "weights.json").write_text("[]")
    assert f"{unique}/weights.json is modified" in refusal(f"{unique}.policy")


def test_a_linked_file_is_refused_by_name(tracked: Path, unique: str, repository: Any) -> None:
    target = repository.write("elsewhere/net.py", "x = 1\n")
    (tracked / "deep" / "net.py").unlink()
    (tracked / "deep" / "net.py").symlink_to(target)
    assert f"{unique}/deep/net.py is a symbolic link" in refusal(f"{unique}.policy")
    repository.commit()
    assert f"{unique}/deep/net.py is a symbolic link" in refusal(f"{unique}.policy")


def test_a_linked_package_folder_is_checked_where_it_lies(
    tmp_path: Path, unique: str, imported: Import, repository: Any
) -> None:
    package(repository.root, unique)
    revision = repository.commit()
    place = tmp_path / "place"
    place.mkdir()
    (place / unique).symlink_to(repository.root / unique)
    imported(place, f"{unique}.policy")
    assert measure(f"{unique}.policy").git_revision == revision
    (repository.root / unique / "extra.py").write_text("")
    assert f"{unique}/extra.py is not tracked" in refusal(f"{unique}.policy")


def test_line_end_conversion_is_no_modification(
    unique: str, imported: Import, repository: Any
) -> None:
    root = package(repository.root, unique)
    repository.write(".gitattributes", "*.py text eol=crlf\n")
    (root / "policy.py").write_bytes(b"class Policy: ...\r\n")
    revision = repository.commit()
    imported(repository.root, f"{unique}.policy")
    assert measure(f"{unique}.policy").git_revision == revision


def test_a_module_that_stands_alone_in_a_checkout(
    unique: str, imported: Import, repository: Any
) -> None:
    repository.write(f"policies/{unique}.py", CLASS)
    repository.write("policies/scripts/tool.py", "")
    repository.write("other/file.py", "")
    revision = repository.commit()
    imported(repository.root / "policies", unique)
    assert measure(unique).git_revision == revision
    repository.write("other/file.py", "changed")
    assert measure(unique).git_revision == revision
    repository.write("policies/helper.py", "")
    assert "helper.py is not tracked" in refusal(unique)


def test_an_untracked_folder_in_a_repository_is_no_checkout(
    unique: str, imported: Import, repository: Any
) -> None:
    repository.write("committed.py", "")
    repository.commit()
    package(repository.root / "scratch", unique)
    imported(repository.root / "scratch", f"{unique}.policy")
    assert measure(f"{unique}.policy").source == "files"


def test_a_broken_repository_is_no_excuse(tracked: Path, unique: str, repository: Any) -> None:
    (repository.root / ".git" / "HEAD").write_text("nonsense\n")
    assert "git cannot say whether it is clean" in refusal(f"{unique}.policy")


# --- measured again ---


def changed(source: Any) -> str:
    with pytest.raises(RunError) as caught:
        require_unchanged(source)
    assert caught.value.code == "policy_source_changed"
    return caught.value.message


def test_nothing_changed(tracked: Path, unique: str) -> None:
    require_unchanged(measure_policy("python", f"{unique}.policy", "Policy"))


@pytest.mark.parametrize(
    ("name", "text", "how"),
    [
        ("policy.py", "class Policy: x = 1\n", "was modified"),
        ("late.py", "", "appeared"),
        ("deep/net.py", None, "disappeared"),
    ],
)
def test_a_change_during_the_run_is_named(
    tmp_path: Path, unique: str, imported: Import, name: str, text: str | None, how: str
) -> None:
    root = package(tmp_path, unique)
    imported(tmp_path, f"{unique}.policy")
    source = measure_policy("python", f"{unique}.policy", "Policy")
    (root / name).unlink() if text is None else (root / name).write_text(text)
    assert f"{unique}/{name} {how}" in changed(source)


def test_a_change_of_a_checkout_during_the_run_is_named(
    tracked: Path, unique: str, repository: Any
) -> None:
    source = measure_policy("python", f"{unique}.policy", "Policy")
    (tracked / "policy.py").write_text("class Policy: x = 1\n")
    assert f"{unique}/policy.py is modified" in changed(source)
    repository.commit()
    assert f"{unique}/policy.py was modified" in changed(source)


def test_another_commit_of_the_same_source_is_a_change(
    tracked: Path, unique: str, repository: Any
) -> None:
    source = measure_policy("python", f"{unique}.policy", "Policy")
    repository.write("README.md", "more\n")
    now = repository.commit()
    assert f"is at {now}, it was at {source.identity.git_revision}" in changed(source)


@pytest.mark.parametrize("whole", [False, True])
def test_source_that_is_gone_at_the_end_is_a_change(
    tmp_path: Path, unique: str, imported: Import, whole: bool
) -> None:
    root = package(tmp_path, unique)
    imported(tmp_path, f"{unique}.policy")
    source = measure_policy("python", f"{unique}.policy", "Policy")
    shutil.rmtree(root) if whole else (root / "policy.py").unlink()
    what = f"{unique} cannot be read" if whole else f"{unique}/policy.py is not there any more"
    assert f"policy source {tmp_path}/{what}" in changed(source)
