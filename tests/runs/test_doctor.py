"""`robogate doctor`: each fault of a machine, what is said of it and what there is to type."""

import importlib.metadata
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from robogate.errors import UsageError
from robogate.evidence.keys import create_keys
from robogate.reports import doctor_cli
from robogate.runs import doctor
from robogate.runs.doctor import Finding
from waiting import PATIENCE_S


def test_python():
    assert doctor.check_python((3, 10, 0)).level == "ok"
    found = doctor.check_python((3, 9, 18))
    assert found.level == "fault" and found.command == "make setup PYTHON=python3.11"


@pytest.fixture
def without(monkeypatch):
    """Pretend that distributions are not installed."""
    version = importlib.metadata.version

    def hide(*names):
        def hidden(name):
            if name in names:
                raise importlib.metadata.PackageNotFoundError(name)
            return version(name)

        monkeypatch.setattr(importlib.metadata, "version", hidden)

    return hide


def test_packages(without):
    assert {"mujoco", "mink", "ruckig"} <= set(doctor.required_distributions()["mujoco"])
    assert doctor.check_packages().level == "ok"
    without("wandb")
    found = doctor.check_packages()
    assert found.level == "note" and "wandb (no run is mirrored" in found.text
    without("mujoco", "wandb")
    found = doctor.check_packages()
    assert found.level == "fault" and "mujoco, wandb (no run" in found.text
    assert found.command == "pip install 'robogate-harness[full]'"
    without("torch", "sapien", "isaacsim", "pytest")
    assert doctor.check_packages().level == "ok"  # never part of what is needed


def test_rendering_draws_a_frame():
    found = doctor.check_rendering()
    assert found.level in ("ok", "note"), found
    assert "one frame in" in found.text


class TestBrokenRendering:
    def probe(self, monkeypatch, answers):
        def probe(name, backend, *, limit_s):
            return answers[backend]

        monkeypatch.setattr(doctor, "_probe", probe)
        monkeypatch.setattr(doctor, "resolve_gl", lambda backend: backend)

    def test_the_other_backend_works(self, monkeypatch):
        drawn = {"renderer": "llvmpipe", "seconds": 0.5}
        self.probe(
            monkeypatch, {"egl": (None, "its process died of signal 11"), "osmesa": (drawn, "")}
        )
        found = doctor.check_rendering()
        assert found.level == "note" and found.command == "runtime.gl=osmesa"
        assert "egl: its process died of signal 11" in found.text

    def test_none_works(self, monkeypatch):
        self.probe(monkeypatch, {"egl": (None, "no context"), "osmesa": (None, "a blank image")})
        found = doctor.check_rendering()
        assert found.level == "fault" and found.command.startswith("apt-get install")
        assert "egl: no context; osmesa: a blank image" in found.text

    def test_no_library(self, monkeypatch):
        def refuse(backend):
            raise UsageError("no library")

        monkeypatch.setattr(doctor, "resolve_gl", refuse)
        found = doctor.check_rendering()
        assert found.level == "fault" and "libEGL.so.1 cannot be loaded" in found.text


def test_a_probe_that_hangs_or_dies_is_told(monkeypatch, tmp_path):
    def stand_in(code, limit_s=PATIENCE_S):
        run = subprocess.run

        def other(command, **options):
            return run([sys.executable, "-c", code], **options)

        monkeypatch.setattr(subprocess, "run", other)
        found = doctor._probe("frame", "egl", limit_s=limit_s)
        monkeypatch.setattr(subprocess, "run", run)
        return found

    assert stand_in("import time; time.sleep(600)", 2.0) == (None, "did not end within 2 s")
    killed = stand_in("import os; os.kill(os.getpid(), 11)")
    assert killed == (None, "its process died of signal 11")
    assert stand_in("raise SystemExit('why')") == (None, "why")
    assert stand_in("raise SystemExit(1)") == (None, "no reason")
    assert stand_in("print('noise'); print('{\"a\": 1}')") == ({"a": 1}, "")


def test_a_probe_is_not_told_of_keys(monkeypatch):
    seen = {}

    def run(command, **options):
        seen.update(options["env"])
        return subprocess.CompletedProcess(command, 0, "{}\n", "")

    monkeypatch.setenv("WANDB_API_KEY", "secret")
    monkeypatch.setenv("MUJOCO_GL", "glfw")
    monkeypatch.setattr(subprocess, "run", run)
    doctor._probe("wandb_offline", "folder", limit_s=1.0)
    assert "PATH" in seen and not {"WANDB_API_KEY", "MUJOCO_GL"} & set(seen)


def test_disk(tmp_path, monkeypatch):
    found = doctor.check_disk(tmp_path / "not" / "there" / "yet")
    assert found.level in ("ok", "note") and str(tmp_path) in found.text
    assert list(tmp_path.iterdir()) == []
    for free, level in ((10**8, "fault"), (10**9, "note"), (10**10, "ok")):
        usage = SimpleNamespace(free=free)
        monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place, usage=usage: usage)
        found = doctor.check_disk(tmp_path)
        assert found.level == level
        assert (found.command == "runtime.output_dir=ELSEWHERE") is (level != "ok")


def test_a_disk_that_cannot_be_written(tmp_path, monkeypatch):
    def refuse(**options):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", refuse)
    found = doctor.check_disk(tmp_path)
    assert found.level == "fault" and "Read-only file system" in found.text


def test_assets(monkeypatch, tmp_path):
    assert doctor.check_assets().level == "ok"
    monkeypatch.setattr(doctor, "data_dir", lambda: tmp_path)
    found = doctor.check_assets()
    assert found.level == "fault" and found.command == "robogate assets"
    (tmp_path / "panda").mkdir()
    (tmp_path / "panda" / "extra").write_text("x")
    found = doctor.check_assets()
    assert found.level == "fault" and found.command == "robogate assets --force"


@pytest.mark.parametrize(
    ("done", "level"),
    [
        ((0, "Data and pipelines are up to date.\n", ""), "ok"),
        ((0, "data.dvc:\n\tchanged outs:\n\t\tmodified: data\n", ""), "note"),
        ((255, "", "ERROR: broken"), "note"),
    ],
)
def test_dvc(monkeypatch, done, level):
    monkeypatch.setattr(
        subprocess, "run", lambda command, **options: subprocess.CompletedProcess(command, *done)
    )
    found = doctor.check_dvc()
    assert found.level == level
    assert level == "ok" or "modified: data" in found.text or "broken" in found.text


def test_key(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    found = doctor.check_key()
    assert found.level == "note" and found.command == "robogate keygen"
    private, _ = create_keys(tmp_path / "robogate")
    assert doctor.check_key().level == "ok"
    private.chmod(0o644)
    found = doctor.check_key()
    assert found.level == "fault" and found.command == f"chmod 600 {private}"


@pytest.mark.slow
def test_wandb_offline_without_a_key_and_a_network(monkeypatch):
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    found = doctor.check_wandb()
    assert found.level == "ok" and "offline works without a key" in found.text


class TestCommand:
    def run(self, monkeypatch, capsys, findings, *argv):
        monkeypatch.setattr(doctor_cli, "examine", lambda outputs: iter(findings))
        status = doctor_cli.main(argv)
        return status, capsys.readouterr().out

    GOOD = Finding("python", "ok", "3.11.7")
    LACK = Finding("key", "note", "none; only promote needs one", "robogate keygen")
    BAD = Finding("assets", "fault", "a long text " * 20 + "\x1b[2J", "robogate assets --force")

    def test_status(self, monkeypatch, capsys):
        status, out = self.run(monkeypatch, capsys, [self.GOOD, self.LACK])
        assert status == 0 and out.endswith("ready to evaluate\n")
        status, out = self.run(monkeypatch, capsys, [self.GOOD, self.LACK, self.BAD])
        assert status == 3 and out.endswith("1 fault\n")

    def test_text_fits_and_says_what_to_type(self, monkeypatch, capsys):
        _, out = self.run(monkeypatch, capsys, [self.GOOD, self.LACK, self.BAD])
        assert max(map(len, out.splitlines())) <= 80
        assert "type:  robogate keygen" in out and "type:  robogate assets --force" in out
        assert out.count("FAULT") == 1 and "\x1b" not in out

    def test_json(self, monkeypatch, capsys):
        status, out = self.run(monkeypatch, capsys, [self.GOOD, self.BAD], "--json")
        document = json.loads(out)
        assert status == 3 and document["healthy"] is False
        assert [c["level"] for c in document["checks"]] == ["ok", "fault"]
