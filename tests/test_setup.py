"""The set-up scripts: which Python they take, and what they say where something is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the scripts alone."""
    shutil.copytree(SCRIPTS, tmp_path / "scripts")
    return tmp_path


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def call(clone: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{clone / 'stubs'}:{os.environ['PATH']}"
    return subprocess.run(
        [str(clone / "scripts" / words[0]), *words[1:]],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path, **env},
    )


def test_the_named_python_is_taken(clone: Path) -> None:
    version = "{}.{}".format(*sys.version_info[:2])
    base = str(Path(sys.base_prefix) / "bin" / f"python{version}")
    assert call(clone, "find_python.sh", "3.1", version, PYTHON=base).stdout == f"{base}\n"


def test_a_named_python_that_does_not_fit_is_not_replaced_by_another(clone: Path) -> None:
    done = call(clone, "find_python.sh", "3.1", PYTHON=sys.executable)
    assert (done.returncode, done.stdout) == (1, "")


def test_a_python_without_venv_is_passed_over(clone: Path) -> None:
    # Debian splits venv off; such an interpreter starts, and cannot make an environment.
    stub = '#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\n'
    done = call(clone, "find_python.sh", "3.11", PYTHON=str(program(clone / "py", stub)))
    assert (done.returncode, done.stdout) == (1, "")


def test_without_a_fitting_python_setup_says_what_to_do(clone: Path) -> None:
    done = call(clone, "setup.sh", PYTHON="/nowhere/python3.11")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "robogate needs Python 3.11 or 3.12 with its venv module, and none was found.",
        "Install one (Debian, Ubuntu: apt-get install python3.11-venv), or say where it is:",
        "  make setup PYTHON=/path/to/python3.11",
    ]
    assert not (clone / ".venv").exists()


# Stands for the environment's Python: renders only once the packages are there.
RENDERS_AFTER_INSTALL = '#!/bin/sh\n[ -e "$(dirname "$0")/../../installed" ]\n'


def test_where_rendering_works_nothing_is_installed(clone: Path) -> None:
    program(clone / ".venv/bin/python", "#!/bin/sh\nexit 0\n")
    program(clone / "stubs/apt-get", f"#!/bin/sh\ntouch {clone}/installed\n")
    done = call(clone, "setup_gl.sh")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (clone / "installed").exists()


def test_a_user_is_told_the_one_line_to_type(clone: Path) -> None:
    program(clone / ".venv/bin/python", RENDERS_AFTER_INSTALL)
    program(clone / "stubs/apt-get", f"#!/bin/sh\ntouch {clone}/installed\n")
    program(clone / "stubs/id", "#!/bin/sh\necho 1000\n")
    done = call(clone, "setup_gl.sh")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "robogate renders with EGL or OSMesa, and neither works here. Type this, then try again:",
        "  sudo apt-get install -y --no-install-recommends libegl1 libgl1-mesa-dri libosmesa6",
    ]
    assert not (clone / "installed").exists()


def test_root_on_debian_gets_the_libraries_even_where_osmesa_is_no_longer_shipped(
    clone: Path,
) -> None:
    program(clone / ".venv/bin/python", RENDERS_AFTER_INSTALL)
    program(
        clone / "stubs/apt-get",
        f'#!/bin/sh\necho "$@" >>{clone}/calls\n'
        f'case "$*" in *osmesa*) exit 100;; install*) touch {clone}/installed;; esac\n',
    )
    program(clone / "stubs/id", "#!/bin/sh\necho 0\n")
    done = call(clone, "setup_gl.sh")
    assert (done.returncode, done.stderr) == (0, "")
    assert (clone / "calls").read_text().splitlines() == [
        "update -qq",
        "install -y --no-install-recommends libegl1 libgl1-mesa-dri -qq libosmesa6",
        "install -y --no-install-recommends libegl1 libgl1-mesa-dri -qq",
    ]


def test_root_whose_install_does_not_help_gets_exit_2(clone: Path) -> None:
    program(clone / ".venv/bin/python", "#!/bin/sh\necho no driver >&2\nexit 1\n")
    program(clone / "stubs/apt-get", "#!/bin/sh\nexit 0\n")
    program(clone / "stubs/id", "#!/bin/sh\necho 0\n")
    done = call(clone, "setup_gl.sh")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "EGL is installed, and still no rendering context can be made:",
        "no driver",
    ]


def test_root_without_a_package_mirror_gets_exit_2(clone: Path) -> None:
    program(clone / ".venv/bin/python", RENDERS_AFTER_INSTALL)
    program(clone / "stubs/apt-get", "#!/bin/sh\nexit 100\n")
    program(clone / "stubs/id", "#!/bin/sh\necho 0\n")
    done = call(clone, "setup_gl.sh")
    assert done.returncode == 2
    assert done.stderr == (
        "robogate renders with EGL or OSMesa, and apt-get could not install them: "
        "apt-get install -y --no-install-recommends libegl1 libgl1-mesa-dri\n"
    )
