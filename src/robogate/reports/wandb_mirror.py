"""Starts the process that mirrors a run to W&B, and leaves it alone.

A mirror is for looking at; the files of the run folder are the truth. The run spawns the mirror,
tells it when it is over, waits a few seconds at the most, and goes on. It never asks it anything.
"""

from __future__ import annotations

import importlib.util
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from robogate.records.result import Episode
from robogate.reports.figures import short_path
from robogate.runs.progress import NullReporter, RunPlan

#: How long the end of a run waits for its mirror, s.
WAIT_S = 5.0
PROJECT = "robogate"

#: In the run folder's ``wandb/``: the mirror's output, and what became of it.
LOG = "mirror.log"
STATUS = "mirror.json"

#: Variables of the user's environment that would make the mirror another run than this one.
_FOREIGN = (
    "WANDB_MODE",
    "WANDB_DISABLED",
    "WANDB_RUN_ID",
    "WANDB_RESUME",
    "WANDB_RUN_GROUP",
    "WANDB_NAME",
    "WANDB_DIR",
    "WANDB_JOB_TYPE",
    "WANDB_TAGS",
    "WANDB_SERVICE",
)


class WandbMirror(NullReporter):
    """Mirrors each run that it is told of by a process of its own.

    Args:
        mode: ``offline``, ``online`` or ``off``.
        warn: Takes one line about what is not mirrored and what to do.
        group: W&B group of the runs of one multirun, or None.
        wait_s: How long the end of a run may wait, s.
        init_timeout_s: How long the mirror tries to reach a server before it goes offline, s.
        niceness: Added to that of this process; the mirror takes what the run leaves.
    """

    def __init__(
        self,
        mode: str,
        warn: Callable[[str], None],
        *,
        group: str | None = None,
        wait_s: float = WAIT_S,
        init_timeout_s: float = 30.0,
        niceness: int = 19,
    ) -> None:
        if mode not in ("offline", "online", "off"):
            raise ValueError(f"mode is {mode!r}, expected offline, online or off")
        self._mode = mode
        self._warn = warn
        self._group = group
        self._wait_s = wait_s
        self._init_timeout_s = init_timeout_s
        self._niceness = niceness
        self._child: subprocess.Popen[bytes] | None = None
        self._folder = Path()
        # Left to finish on their own; kept so that they are reaped when this process ends.
        self._left: list[subprocess.Popen[bytes]] = []

    def run_started(self, plan: RunPlan) -> None:
        """Spawn the mirror of a run."""
        self.close()
        if self._mode == "off":
            return
        self._folder = plan.folder
        if importlib.util.find_spec("wandb") is None:
            self._warn(
                "W&B is not installed, so nothing is mirrored: install robogate-harness[wandb], "
                "or set runtime.wandb=off"
            )
            return
        home = plan.folder / "wandb"
        try:
            home.mkdir(exist_ok=True)
            (home / STATUS).unlink(missing_ok=True)
            with (home / LOG).open("ab") as log:
                self._child = subprocess.Popen(
                    self._command(plan),
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    env=self._environment(home),
                    start_new_session=True,
                )
        except OSError as exc:
            reason = exc.strerror or str(exc)
            self._warn(f"the W&B mirror cannot be started: {reason}; the run goes on without it")

    def _command(self, plan: RunPlan) -> list[str]:
        # A resumed run is told again from its first episode, as a W&B run of its own.
        resumed = f"-resumed-{secrets.token_hex(2)}" if plan.recorded else ""
        command = [
            sys.executable,
            "-m",
            "robogate.reports.wandb_child",
            str(plan.folder),
            f"--mode={self._mode}",
            f"--run-id={plan.run_id}{resumed}",
            f"--contract={plan.contract_sha256}",
            f"--init-timeout={self._init_timeout_s}",
            f"--niceness={self._niceness}",
            f"--project={os.environ.get('WANDB_PROJECT', PROJECT)}",
        ]
        return [*command, f"--group={self._group}"] if self._group else command

    def _environment(self, home: Path) -> dict[str, str]:
        environment = {k: v for k, v in os.environ.items() if k not in _FOREIGN}
        return environment | {
            # Caches and staged artifacts stay in the run folder.
            "WANDB_CACHE_DIR": str(home / "cache"),
            "WANDB_DATA_DIR": str(home / "data"),
            "WANDB_ARTIFACT_DIR": str(home / "artifacts"),
            "WANDB_ERROR_REPORTING": "false",
            "WANDB_SILENT": "true",
            "GOMAXPROCS": "1",
        }

    def episode_finished(self, episode: Episode) -> None:
        """Notice a mirror that died; the journal is what it reads."""
        if self._child is not None and self._child.poll() is not None:
            status, self._child = self._child.returncode, None
            self._report(status)

    def run_finished(self, result: Mapping[str, Any], folder: Path) -> None:
        """Tell the mirror that the result is there, and give it a moment."""
        self._end()

    def close(self) -> None:
        """The run is over, with or without a result."""
        self._end()
        self._left = [child for child in self._left if child.poll() is None]

    def _end(self) -> None:
        child = self._child
        if child is None:
            return
        try:
            if child.stdin is not None:
                child.stdin.write(b".")
                child.stdin.close()
        except OSError:
            pass  # it has ended already, and its exit status says how
        try:
            child.wait(self._wait_s)
        except subprocess.TimeoutExpired:
            self._left.append(child)
            self._child = None
            state, message = self._status()
            if self._mode == "online" and state == "following" and not message:
                return  # uploading, which may well take longer than this run's patience
            why = message or ("it is still writing" if state else "W&B has not answered yet")
            self._warn(
                f"the W&B mirror is left to finish by itself ({why}); the run and its files are "
                f"complete without it, see {self._log()}"
            )
            return
        self._child = None
        self._report(child.returncode)

    def _log(self) -> str:
        return f"{short_path(self._folder)}/wandb/{LOG}"

    def _status(self) -> tuple[str, str]:
        """State and message that the mirror left; empty where there are none."""
        try:
            document = json.loads((self._folder / "wandb" / STATUS).read_bytes())
        except (OSError, ValueError):
            return "", ""
        return document.get("state", ""), document.get("message", "")

    def _report(self, status: int) -> None:
        """Warn about a mirror that is not complete; the run is what it was."""
        state, message = self._status()
        if status == 0 and state in ("mirrored", "interrupted"):
            if message and state == "mirrored":
                self._warn(message)
            return
        if state != "failed" or not message:
            message = f"ended by signal {-status}" if status < 0 else f"exit status {status}"
        self._warn(
            f"the W&B mirror failed ({message}); the run and its files are complete without it, "
            f"see {self._log()}, or set runtime.wandb=off"
        )
