from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from robogate.contract.identity import (
    Distribution,
    GlIdentity,
    SimulatorIdentity,
    environment_sha256,
    machine,
    measure_environment,
    measure_hardware,
    measure_process,
)
from robogate.contract.identity.distributions import (
    find_distributions,
    measure_distributions,
    record_sha256,
)
from robogate.errors import ConfigError

GL = GlIdentity("egl", "Mesa", "llvmpipe", "4.5")


def install(
    site: Path, name: str, version: str = "1.0", record: bytes | None = b"", needs: str = ""
) -> Path:
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    requirements = "".join(f"Requires-Dist: {line}\n" for line in needs.splitlines())
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requirements}\nText\n"
    )
    if record is not None:
        (folder / "RECORD").write_bytes(record)
    return folder


def test_every_distribution_is_listed_sorted_by_normalised_name(tmp_path: Path) -> None:
    install(tmp_path, "Zeta_Two", "2.1")
    install(tmp_path, "alpha")
    install(tmp_path, "No.Record", record=None)
    found = measure_distributions([], [str(tmp_path)])
    assert [(d.name, d.version) for d in found] == [
        ("alpha", "1.0"),
        ("no-record", "1.0"),
        ("zeta-two", "2.1"),
    ]
    assert [d.record_sha256 is None for d in found] == [False, True, False]


def test_the_first_of_a_name_on_the_path_wins_as_for_imports(tmp_path: Path) -> None:
    install(tmp_path / "first", "pkg", "2.0")
    install(tmp_path / "second", "pkg", "1.0")
    path = [str(tmp_path / "first"), str(tmp_path / "second"), str(tmp_path / "missing")]
    assert [(n, v) for n, v, _ in find_distributions(path)] == [("pkg", "2.0")]


def test_a_legacy_egg_info_tells_its_version_in_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "old_style.egg-info"
    folder.mkdir()
    (folder / "PKG-INFO").write_text("Name: old-style\nVersion: 0.3\n\nVersion: 9\n")
    found = measure_distributions([], [str(tmp_path)])
    assert found == (Distribution("old-style", "0.3", None, False),)


def test_bound_are_the_roots_and_what_they_need(tmp_path: Path) -> None:
    install(tmp_path, "simulator", needs="Core_Lib>=1\nviewer ; extra == 'gui'\nabsent")
    install(tmp_path, "core.lib", needs="base (>=2)")
    for name in ("base", "viewer", "unrelated"):
        install(tmp_path, name)
    found = measure_distributions(["simulator", "not-installed"], [str(tmp_path)])
    assert [d.name for d in found if d.bound] == ["base", "core-lib", "simulator"]


def test_the_text_of_a_description_is_no_requirement(tmp_path: Path) -> None:
    folder = install(tmp_path, "simulator")
    (folder / "METADATA").write_text("Name: simulator\n\nRequires-Dist: other\n")
    install(tmp_path, "other")
    found = measure_distributions(["simulator"], [str(tmp_path)])
    assert [d.name for d in found if d.bound] == ["simulator"]


RECORD = (
    b"pkg/__init__.py,sha256=aaa,3\n"
    b"pkg/core.py,sha256=bbb,4\n"
    b"pkg-1.0.dist-info/METADATA,sha256=ccc,5\n"
    b"pkg-1.0.dist-info/RECORD,,\n"
)


@pytest.mark.parametrize(
    "line",
    [
        b"../../../bin/tool,sha256=ddd,174\n",
        b"pkg/__pycache__/core.cpython-311.pyc,,\n",
        b"pkg-1.0.dist-info/INSTALLER,sha256=eee,4\n",
        b"pkg-1.0.dist-info/REQUESTED,sha256=fff,0\n",
        b"pkg-1.0.dist-info/direct_url.json,sha256=ggg,60\n",
    ],
)
def test_a_record_is_the_same_wherever_and_however_it_was_installed(line: bytes) -> None:
    assert record_sha256(RECORD + line) == record_sha256(RECORD)


def test_a_record_changes_with_every_installed_file() -> None:
    changed = [
        RECORD.replace(b"bbb", b"xxx"),
        RECORD + b"pkg/extra.py,sha256=aaa,3\n",
        RECORD.replace(b"pkg/core.py,sha256=bbb,4\n", b""),
        RECORD.replace(b"core.py", b"cores.py"),
    ]
    assert len({record_sha256(r) for r in (RECORD, *changed)}) == 5
    lines = RECORD.splitlines(keepends=True)
    assert record_sha256(b"".join(reversed(lines))) == record_sha256(RECORD)


def test_this_environment_is_complete_and_binds_numpy() -> None:
    environment = measure_environment()
    by_name = {d.name: d for d in environment.distributions}
    assert by_name["numpy"].bound and by_name["numpy"].record_sha256 is not None
    assert not by_name["pytest"].bound
    assert environment.interpreter.version.startswith(f"{sys.version_info[0]}.")
    assert environment == measure_environment()


def test_the_digest_follows_what_is_bound_and_nothing_else() -> None:
    environment = measure_environment(gl=GL)
    parts = (
        environment.interpreter,
        environment.operating_system,
        environment.distributions,
        environment.gl,
    )
    assert environment.sha256 == environment_sha256(*parts)
    interpreter, system, installed, gl = parts

    def patched(name: str) -> tuple[Distribution, ...]:
        return tuple(
            dataclasses.replace(d, version="0") if d.name == name else d for d in installed
        )

    assert environment_sha256(interpreter, system, patched("pytest"), gl) == environment.sha256
    others = [
        environment_sha256(interpreter, system, patched("numpy"), gl),
        environment_sha256(interpreter, system, installed, None),
        environment_sha256(
            interpreter, system, installed, dataclasses.replace(GL, renderer="llvmpipe (LLVM 15)")
        ),
        environment_sha256(
            interpreter, dataclasses.replace(system, libc="glibc 2.40"), installed, gl
        ),
        environment_sha256(
            dataclasses.replace(interpreter, version="3.10.0"), system, installed, gl
        ),
    ]
    assert len({environment.sha256, *others}) == 6


def test_a_declared_image_is_recorded_beside_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROBOGATE_IMAGE_DIGEST", raising=False)
    bare = measure_environment()
    assert bare.declared_image_digest is None
    monkeypatch.setenv("ROBOGATE_IMAGE_DIGEST", "sha256:" + "0a" * 32)
    declared = measure_environment()
    assert declared.declared_image_digest == "sha256:" + "0a" * 32
    assert declared.sha256 == bare.sha256


@pytest.mark.parametrize(
    "value", ["latest", "sha256:", "sha256:" + "0A" * 32, "0a" * 32, "sha256:" + "0a" * 32 + "\n"]
)
def test_a_malformed_image_digest_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("ROBOGATE_IMAGE_DIGEST", value)
    with pytest.raises(ConfigError, match="ROBOGATE_IMAGE_DIGEST is .* expected sha256: and 64"):
        measure_environment()


def test_a_process_carries_its_simulator_and_renderer() -> None:
    simulator = SimulatorIdentity("mujoco", "4.0.0")
    process = measure_process(simulator=simulator, gl=GL, distributions=("mujoco",))
    assert process.simulator == simulator
    assert process.environment.gl == GL
    assert process.host.name == os.uname().nodename


def test_it_measures_the_same_in_a_child_process() -> None:
    code = (
        "from robogate.contract.identity import measure_environment as m; "
        "e = m(distributions=('mujoco',)); print(e.sha256, len(e.distributions))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    here = measure_environment(distributions=("mujoco",))
    assert done.stdout.split() == [here.sha256, str(len(here.distributions))]


def test_measuring_imports_no_simulator_and_no_framework() -> None:
    code = (
        "import sys; from robogate.contract.identity import measure_process; measure_process(); "
        "print([m for m in ('mujoco', 'numpy', 'hydra', 'urllib.request') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


X86 = """processor\t: 0
model name\t: Some CPU @ 3 GHz
flags\t\t: sse fpu avx2

processor\t: 1
model name\t: Other
flags\t\t: none
"""
ARM = """processor\t: 0
Features\t: fp asimd
CPU implementer\t: 0x41
CPU part\t: 0xd0c
"""


def test_cpuinfo_gives_model_and_sorted_flags() -> None:
    assert machine.parse_cpuinfo(X86) == ("Some CPU @ 3 GHz", "avx2 fpu sse")
    assert machine.parse_cpuinfo(ARM) == ("CPU implementer 0x41, CPU part 0xd0c", "asimd fp")
    assert machine.parse_cpuinfo("") == ("", "")


def _tool(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = folder / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{body}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_gpus_come_from_the_driver_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _tool(tmp_path, "printf 'NVIDIA H200, 570.1\\nNVIDIA H200, 570.1\\n'", monkeypatch)
    hardware = measure_hardware()
    assert hardware.gpus == ("NVIDIA H200", "NVIDIA H200")
    assert hardware.gpu_driver == "570.1"


@pytest.mark.parametrize("body", ["exit 9", "echo 'no devices were found'"])
def test_without_a_working_driver_there_is_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    _tool(tmp_path, body, monkeypatch)
    assert (measure_hardware().gpus, measure_hardware().gpu_driver) == ((), None)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert (measure_hardware().gpus, measure_hardware().gpu_driver) == ((), None)
