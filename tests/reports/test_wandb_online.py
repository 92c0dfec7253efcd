"""The mirror online: the real client against a local server that takes what it is sent."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from robogate.contract.files import write_json
from robogate.episodes.journal import Header
from robogate.episodes.journal_writer import create_journal
from robogate.reports.wandb_mirror import WandbMirror
from waiting import PATIENCE_S, until

pytest.importorskip("wandb")
pytestmark = pytest.mark.slow


class Server(ThreadingHTTPServer):
    """Answers W&B's client as far as this needs, and keeps what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.operations: list[tuple[str, dict[str, Any]]] = []
        self.uploads: dict[str, bytes] = {}
        self.stream: list[dict[str, Any]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is ended breaks its connection; that is not this test's business."""

    def answer(self, name: str, variables: dict[str, Any]) -> dict[str, Any]:
        number = len(self.operations)
        if name == "UpsertBucket":
            owner = {"id": "p", "name": variables["project"], "entity": {"id": "e", "name": "me"}}
            bucket = {"id": "b", "name": variables["name"], "displayName": "", "project": owner}
            return {"upsertBucket": {"bucket": bucket | {"config": "{}"}, "inserted": True}}
        if name == "Viewer":
            return {"viewer": {"id": "u", "entity": "me", "username": "me", "flags": "{}"}}
        if name == "ServerFeaturesQuery":
            return {"serverInfo": {"features": []}}
        if name == "ArtifactType":
            return {"project": None}
        if name == "CreateRunFiles":
            files = [{"name": f, "uploadUrl": f"{self.url}/run/{f}"} for f in variables["files"]]
            return {"createRunFiles": {"runID": "b", "uploadHeaders": [], "files": files}}
        if name == "CreateArtifact":
            sequence = {"id": "s", "latestArtifact": None}
            artifact = {"id": f"a{number}", "state": "PENDING", "artifactSequence": sequence}
            return {"createArtifact": {"artifact": artifact}}
        if name == "CreateArtifactManifest":
            file = {"id": "f", "uploadUrl": f"{self.url}/manifest/{number}", "uploadHeaders": []}
            return {"createArtifactManifest": {"artifactManifest": {"id": "m", "file": file}}}
        if name == "CreateArtifactFiles":
            nodes = [
                {
                    "id": "f",
                    "name": spec["name"],
                    "displayName": spec["name"],
                    "uploadUrl": f"{self.url}/artifact/{spec['name']}",
                    "uploadHeaders": [],
                    "artifact": {"id": spec["artifactID"]},
                }
                for spec in variables["input"]["artifactFiles"]
            ]
            return {"createArtifactFiles": {"files": {"edges": [{"node": n} for n in nodes]}}}
        if name == "CommitArtifact":
            return {"commitArtifact": {"artifact": {"id": "a", "digest": "d"}}}
        return {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *args: Any) -> None:
        pass

    def _body(self) -> bytes:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data

    def _reply(self, document: dict[str, Any]) -> None:
        data = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self._reply({})

    def do_PUT(self) -> None:
        self.server.uploads[self.path] = self._body()
        self._reply({})

    def do_POST(self) -> None:
        document = json.loads(self._body())
        if not self.path.endswith("/graphql"):
            self.server.stream.append(document)
            return self._reply({})
        match = re.search(r"(?:query|mutation)\s+(\w+)", document["query"])
        name = document.get("operationName") or (match.group(1) if match else "")
        variables = document.get("variables") or {}
        self.server.operations.append((name, variables))
        self._reply({"data": self.server.answer(name, variables)})


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server() as running:
        (tmp_path / "home").mkdir()
        for name in [name for name in os.environ if name.startswith("WANDB_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setenv("WANDB_BASE_URL", running.url)
        monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
        yield running
        running.shutdown()


def begin(synthetic: Any, folder: Path, mirror: WandbMirror) -> tuple[Any, Any]:
    folder.mkdir()
    plan = synthetic.plan(folder, synthetic.scenarios({"nominal": 4}))
    write_json(folder / "contract.json", dict(plan.contract))
    header = Header(plan.run_id, plan.contract_sha256, "f" * 64, "a" * 64, "now")
    journal = create_journal(folder / "journal.jsonl", header)
    mirror.run_started(plan)
    return plan, journal


def end(synthetic: Any, plan: Any, journal: Any, mirror: WandbMirror) -> dict[str, Any]:
    episodes = [synthetic.episode(scenario) for scenario in plan.scenarios]
    for scenario, episode in zip(plan.scenarios, episodes):
        journal.started(scenario)
        journal.finished(episode)
    journal.close()
    result: dict[str, Any] = synthetic.result(plan, episodes)
    write_json(plan.folder / "result.json", result)
    mirror.run_finished(result, plan.folder)
    mirror.close()
    return result


def test_everything_reaches_the_server(synthetic: Any, tmp_path: Path, server: Server) -> None:
    mirror = WandbMirror("online", pytest.fail, wait_s=2 * PATIENCE_S, niceness=0)
    plan, journal = begin(synthetic, tmp_path / "run", mirror)
    result = end(synthetic, plan, journal, mirror)
    created = next(values for name, values in server.operations if name == "UpsertBucket")
    assert created["name"] == plan.run_id and created["project"] == "robogate"
    config = {k: v["value"] for k, v in json.loads(created["config"]).items() if k != "_wandb"}
    assert config == plan.contract
    lines = [
        line
        for message in server.stream
        for name, part in (message.get("files") or {}).items()
        if name == "wandb-history.jsonl"
        for line in part["content"]
    ]
    rows = [json.loads(line) for line in lines]
    assert [row["episode/index"] for row in rows if "episode/index" in row] == [0, 1, 2, 3]
    assert json.loads(server.uploads["/artifact/result.json"]) == result
    assert server.stream[-1]["complete"] is True and server.stream[-1]["exitcode"] == 0
    assert json.loads((plan.folder / "wandb" / "mirror.json").read_bytes())["state"] == "mirrored"


def test_a_server_that_dies_does_not_hold_the_run(
    synthetic: Any, tmp_path: Path, server: Server
) -> None:
    warnings: list[str] = []
    mirror = WandbMirror("online", warnings.append, wait_s=1.0, niceness=0)
    plan, journal = begin(synthetic, tmp_path / "run", mirror)
    assert until(lambda: server.operations), "the mirror never reached the server"
    server.shutdown()
    server.server_close()
    result = end(synthetic, plan, journal, mirror)
    assert result["summary"]["successes"] == 4
    # It is still trying, on its own time; nobody waits for it here.
    (child,) = mirror._left
    os.killpg(child.pid, signal.SIGKILL)
    child.wait(PATIENCE_S)
