"""What an install brings, what an import pulls in, and what the lock files promise."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import tomllib

import robogate

ROOT = Path(__file__).resolve().parent.parent
LIGHT = ["robogate.contract", "robogate.scenes", "robogate.records", "robogate.evidence"]
HEAVY = {
    "hydra", "omegaconf", "mujoco", "mink", "ruckig", "sapien", "pyarrow", "av", "wandb", "dvc",
    "torch", "rich", "starlette", "uvicorn", "msgpack", "PIL", "yaml", "scipy", "pandas",
}  # fmt: skip
LOCKS = ["full", "core", "worker", "test", "lerobot"]


def imported_by(statements: str) -> set[str]:
    """Top-level modules loaded by a fresh interpreter after the statements."""
    program = f"{statements}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {name.split(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


def every_module_of(*packages: str) -> str:
    return (
        "import importlib, pkgutil\n"
        f"for name in {list(packages)!r}:\n"
        "    package = importlib.import_module(name)\n"
        "    for found in pkgutil.walk_packages(package.__path__, name + '.'):\n"
        "        importlib.import_module(found.name)\n"
    )


def test_the_check_for_heavy_modules_sees_one() -> None:
    assert "yaml" in imported_by("import yaml") & HEAVY


def test_the_light_core_imports_nothing_heavy() -> None:
    assert imported_by(every_module_of(*LIGHT)) & HEAVY == set()


def test_the_worker_part_imports_no_simulator_and_no_hydra() -> None:
    server = {"starlette", "uvicorn", "msgpack", "PIL"}
    assert imported_by(every_module_of("robogate.worker")) & (HEAVY - server) == set()


def test_importing_the_package_imports_nothing_else() -> None:
    assert imported_by("import robogate") & (HEAVY | {"numpy", "rfc8785", "cryptography"}) == set()


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!;~ ]", r)[0] for r in requirements}


def test_the_base_install_is_the_light_core() -> None:
    assert names(project()["dependencies"]) == {"numpy", "rfc8785", "cryptography"}


def test_full_pulls_in_nothing_that_needs_a_gpu() -> None:
    extras = project()["optional-dependencies"]
    (itself,) = [r for r in extras["full"] if r.startswith("robogate-harness[")]
    included = set(itself[itself.index("[") + 1 : -1].split(","))
    assert included == set(extras) - {"full", "dev", "torch", "sapien", "isaacsim", "lerobot"}


def test_the_version_is_the_one_that_is_installed() -> None:
    from importlib.metadata import version

    assert version("robogate-harness") == robogate.__version__


def locked(name: str) -> list[tuple[str, str, int]]:
    """(requirement, marker, number of hashes) of each entry of a lock file."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    joined = text.replace("\\\n", " ")
    entries = []
    for line in joined.splitlines():
        if line and not line.startswith("#"):
            requirement, *hashes = line.split("--hash=sha256:")
            pin, _, marker = requirement.partition(";")
            entries.append((pin.strip(), marker.strip(), len(hashes)))
    return entries


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_requirement_is_exact_and_hashed(name: str) -> None:
    entries = locked(name)
    assert entries
    assert [e for e in entries if not re.fullmatch(r"[a-z0-9-]+==[^=\s]+", e[0])] == []
    assert [e for e in entries if e[2] == 0] == []


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_file_names_no_index_and_no_path(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    options = [x for x in text.splitlines() if x.startswith("-")]
    assert options == [] and "://" not in text and " @ " not in text


def test_the_full_lock_holds_the_pinned_versions_and_no_torch() -> None:
    pins = {pin for pin, _, _ in locked("full")}
    assert {"mujoco==4.0.0", "dvc==3.67.1", "wandb==0.31.0"} <= pins
    found = {pin.split("==")[0] for pin in pins}
    assert {n for n in found if n == "torch" or n.startswith("nvidia-")} == set()


def test_the_full_product_has_one_version_of_each_package() -> None:
    """Results on 3.11 and 3.12 then differ by the interpreter alone."""
    found = [pin.split("==")[0] for pin, _, _ in locked("full")]
    assert sorted(set(found)) == sorted(found)


def test_the_lock_for_lerobot_holds_lerobot_and_the_same_simulator() -> None:
    pins = {pin for pin, _, _ in locked("lerobot")}
    assert {"lerobot==0.6.1", "mujoco==4.0.0"} <= pins
    wanted = names(project()["dependencies"])
    for extra in ("config", "worker", "mujoco", "media", "lerobot"):
        wanted |= names(project()["optional-dependencies"][extra])
    assert wanted <= {pin.split("==")[0] for pin in pins}


@pytest.mark.parametrize("name", ["core", "worker"])
def test_the_parts_are_locked_for_an_old_python_with_numpy_1(name: str) -> None:
    numpy = {marker: pin for pin, marker, _ in locked(name) if pin.startswith("numpy==")}
    (old,) = [pin for marker, pin in numpy.items() if "< '3.11'" in marker]
    assert old == "numpy==1.26.4"


def test_the_lock_covers_the_declared_requirements() -> None:
    extras = project()["optional-dependencies"]
    wanted = names(project()["dependencies"])
    for extra in ("config", "worker", "mujoco", "media", "wandb", "dvc", "full", "dev"):
        wanted |= names(extras[extra])
    assert wanted - {"robogate-harness"} <= {pin.split("==")[0] for pin, _, _ in locked("full")}


def test_each_dependency_says_why_it_is_here() -> None:
    reasons = (ROOT / "docs" / "dependencies.md").read_text()
    declared = names(project()["dependencies"])
    for extra in project()["optional-dependencies"].values():
        declared |= names(extra)
    missing = {d for d in declared - {"robogate-harness"} if f"`{d}`" not in reasons}
    assert missing == set()


@pytest.mark.slow
def test_a_wheel_carries_the_config_and_the_manifests(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "-w", str(tmp_path), str(ROOT)],
        check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("robogate_harness-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    for folder in ("conf", "manifests"):
        committed = subprocess.run(
            ["git", "ls-files", folder], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.split()
        assert committed
        assert {f"robogate/{name}" for name in committed} <= inside
    assert "robogate/py.typed" in inside
    assert not [n for n in inside if n.startswith(("tests/", "data/", "robogate/data"))]

    # Unpacked elsewhere, the package finds its own files, not a checkout's.
    site = tmp_path / "site"
    subprocess.run(
        [*pip, "install", "--no-deps", "--target", str(site), str(wheel)],
        check=True, capture_output=True,
    )  # fmt: skip
    program = (
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "from robogate.contract import layout\n"
        "assert layout.checkout_root() is None\n"
        "print(layout.manifests_dir() / 'assets_panda.json', layout.data_dir())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    inventory, data = done.stdout.split()
    assert Path(inventory) == site / "robogate/manifests/assets_panda.json"
    assert Path(inventory).is_file() and Path(data) == tmp_path / "data"
