"""What identity tests share: a bench, and small git repositories."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from robogate.contract.strict import decode
from robogate.scenes.pnp_config import PnpBench

_NAMES = itertools.count()


@pytest.fixture(scope="session")
def bench() -> PnpBench:
    file = Path(__file__).parents[1] / "scenes" / "mujoco_pnp.json"
    return decode(PnpBench, json.loads(file.read_text()))


class Repository:
    """A throw-away git repository."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q")

    def git(self, *arguments: str) -> str:
        identity = {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "test"), ("EMAIL", "test@example.org"))
        }
        clean = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        return subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env={**clean, **identity, "HOME": str(self.root.parent)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def write(self, path: str, text: str = "") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def commit(self) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "state")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


@pytest.fixture
def unique() -> str:
    """A name that no other test imports a module by."""
    return f"policy_package_{next(_NAMES)}"


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path, str], None]]:
    """Import a module from a folder, and forget it and its package afterwards."""
    before = set(sys.modules)

    def load(folder: Path, module: str) -> None:
        monkeypatch.syspath_prepend(str(folder))
        importlib.import_module(module)

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield load
    for name in set(sys.modules) - before:
        del sys.modules[name]
