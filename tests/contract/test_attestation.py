"""What a helper beside a server measures: a real process on a real port."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from robogate.contract.identity import measure_checkpoint
from robogate.contract.identity.attestation import Subject, attest
from robogate.contract.identity.listening import listening_process, started_at
from robogate.errors import RunError, UsageError

SERVER = """
import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
print(s.getsockname()[1], flush=True)
input()
"""
NONCE = "0" * 32


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that must not be executed, and a checkpoint."""
    folder = tmp_path / "acting"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise SystemExit('imported')\n")
    (folder / "policy.py").write_text("class Policy: ...\n")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights.bin").write_bytes(b"weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    for path in [*folder.iterdir(), tmp_path / "model" / "weights.bin"]:
        age(path)
    return tmp_path


def age(path: Path) -> None:
    """Files are compared with the second in which a server was started."""
    os.utime(path, (time.time() - 60, time.time() - 60))


@pytest.fixture
def server():
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield process.pid, port
        process.kill()


def subject(port: int, checkpoint: Path | None = None, name: str = "acting.policy") -> Subject:
    return Subject(port, port, name, "Policy", checkpoint)


def test_the_process_that_listens_is_found(server):
    pid, port = server
    found = listening_process(port)
    assert found.pid == pid
    assert abs(started_at(found) - time.time()) < 3600
    assert found == listening_process(port)


def test_a_port_on_which_nothing_listens_says_so():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        with pytest.raises(UsageError, match="beside the server"):
            listening_process(probe.getsockname()[1])


def test_package_and_checkpoint_are_measured_without_being_imported(server, package):
    pid, port = server
    found = attest(subject(port, package / "model"), NONCE)
    assert (found.port, found.process.pid, found.nonce) == (port, pid, NONCE)
    assert (found.policy.origin, found.policy.package) == ("measured", "acting")
    assert found.policy.package_files == 2
    assert found.checkpoint == measure_checkpoint(package / "model", None)
    assert "acting" not in sys.modules


@pytest.mark.parametrize("name", ["acting/policy.py", "model/weights.bin"])
def test_a_file_that_is_newer_than_the_server_is_not_what_it_runs(
    server, package, name, monkeypatch
):
    import robogate.contract.identity.attestation as module

    began = started_at(listening_process(server[1]))
    monkeypatch.setattr(module, "started_at", lambda process: began - 100)
    with pytest.raises(RunError, match="changed after the server was started"):
        attest(subject(server[1], package / "model"), NONCE)
    monkeypatch.setattr(module, "started_at", lambda process: began + 100)
    (package / name).write_bytes(b"# another\n")
    assert attest(subject(server[1], package / "model"), NONCE)


def test_a_module_that_is_not_there_says_so(server, package):
    for name in ("acting.other", "nothing", "nothing.at.all", "acting.policy.deeper"):
        with pytest.raises(RunError, match="there is no"):
            attest(subject(server[1], name=name), NONCE)


def test_an_imported_and_a_found_module_are_the_same_source(monkeypatch, tmp_path):
    from robogate.contract.identity import measure_policy

    (tmp_path / "lonely.py").write_text("class Policy: ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = measure_policy("python", "lonely", "Policy", imported=False)
    assert "lonely" not in sys.modules
    __import__("lonely")
    try:
        assert measure_policy("python", "lonely", "Policy") == found
    finally:
        del sys.modules["lonely"]
