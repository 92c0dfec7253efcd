"""The process that mirrors one run to W&B: it follows the run folder's files and nothing else.

Started by `robogate.reports.wandb_mirror` in a session of its own, at the lowest priority. It reads
the journal while the run goes on and the result when it is there. Whatever happens to it (no key,
no network, a dead server, a full disk, a kill), the run does not wait for it and learns of it as a
warning alone. It ends by itself: soon after the run's process, if that dies without a result.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from robogate.contract.files import write_atomic
from robogate.evidence.files import CONTRACT, IDENTITY, JOURNAL, MANIFEST, RESULT
from robogate.reports.follow import finished_episodes
from robogate.reports.wandb_follower import FINISH_S, POLL_S, Follower, clear, end_now
from robogate.reports.wandb_log import history_rows
from robogate.reports.wandb_mirror import STATUS
from robogate.reports.wandb_rows import (
    EPISODE_COLUMNS,
    GROUP_COLUMNS,
    History,
    episode_rows,
    group_rows,
    summary_row,
    unsuccessful,
)
from robogate.runs.folder import VIDEOS

#: Videos of unsuccessful episodes that are mirrored; the rest stay in the run folder.
MOST_VIDEOS = 24


def start_over_offline(options: argparse.Namespace, why: str) -> NoReturn:
    """Begin anew without a server, in the same process: W&B cannot be talked out of waiting."""
    clear(options.scratch)
    command = [sys.executable, "-m", "robogate.reports.wandb_child", str(options.folder)]
    command += [
        "--mode=offline",
        f"--run-id={options.run_id}",
        f"--contract={options.contract}",
        f"--project={options.project}",
        f"--init-timeout={options.init_timeout}",
        "--niceness=0",  # it has been added
        f"--note={why}",
    ]
    if options.group:
        command.append(f"--group={options.group}")
    # They name the service that has just been ended, and its folder.
    environment = {k: v for k, v in os.environ.items() if k not in ("WANDB_SERVICE", "TMPDIR")}
    os.execve(sys.executable, command, environment)


def say(folder: Path, state: str, message: str, **more: Any) -> None:
    """Leave a status for the run's process; a disk that takes none is told by the exit status."""
    document = {"state": state, "message": message, **more}
    print(json.dumps(document), flush=True)
    write_atomic(folder / "wandb" / STATUS, (json.dumps(document) + "\n").encode())


def open_run(folder: Path, options: argparse.Namespace) -> Any:
    """Begin the W&B run; its config is the contract document, and nothing else."""
    import wandb

    contract = json.loads((folder / CONTRACT).read_bytes())
    settings = wandb.Settings(
        silent=True,
        console="off",
        disable_git=True,
        disable_code=True,
        disable_job_creation=True,
        x_disable_stats=True,
        x_disable_meta=True,
        x_disable_machine_info=True,
        x_save_requirements=False,
        init_timeout=options.init_timeout,
        finish_timeout=0.8 * FINISH_S[options.mode],
        finish_timeout_raises=True,
    )
    run = wandb.init(
        project=options.project,
        group=options.group,
        id=options.run_id,
        name=folder.name,
        dir=str(folder),
        mode="online" if options.mode == "online" else "offline",
        job_type="evaluation",
        tags=[contract["bench"]["kind"], contract["adapter"]["kind"], options.contract[:8]],
        config=contract,
        settings=settings,
    )
    # The summary is the result's; without this the last episode's values would stand in it.
    run.define_metric("episode/*", summary="none")
    run.define_metric("running/*", summary="none")
    return run


def mirror(folder: Path, options: argparse.Namespace, follower: Follower) -> tuple[str, str]:
    """Follow one run from its first episode to its result; returns state and message."""
    try:
        run = open_run(folder, options)
    except Exception as exc:
        if options.mode == "offline":
            raise
        start_over_offline(
            options, f"W&B cannot be reached ({_line(exc)}): mirrored offline instead"
        )
    say(folder, "following", options.note, mode=options.mode, run_id=run.id)
    history, position, rows = History(), 0, 0
    while True:
        over = follower.over()
        episodes, position = finished_episodes(folder / JOURNAL, position)
        for episode in episodes:
            run.log(history.row(episode), step=rows)
            rows += 1
        if over:
            break
        time.sleep(POLL_S)
    if not follower.has_result():
        run.summary["status"] = "interrupted"
        finish(run, 1)
        return "interrupted", "the run ended without a result"
    log_result(run, folder, rows)
    finish(run, 0)
    if options.mode == "online":
        return "mirrored", ""
    check(Path(run.settings.sync_file), rows + 1)
    if not options.note:
        return "mirrored", ""
    return "mirrored", f"{options.note}; upload it with: wandb sync {run.settings.sync_dir}"


def finish(run: Any, exit_code: int) -> None:
    """End the W&B run, and W&B's own service: only then is its log whole on the disk."""
    import wandb

    run.finish(exit_code=exit_code)
    wandb.teardown(exit_code)


def check(log: Path, rows: int) -> None:
    """Compare the offline log with what it should hold: W&B reports no failed write.

    Raises:
        RuntimeError: Rows are missing.
    """
    found = history_rows(log) if log.is_file() else 0
    if found != rows:
        raise RuntimeError(f"{found} of {rows} rows reached {log.name}: is the disk full?")


def log_result(run: Any, folder: Path, step: int) -> None:
    """Mirror the result: summary, tables, videos of what did not succeed, and the files."""
    import wandb

    result = json.loads((folder / RESULT).read_bytes())
    videos: dict[str, Any] = {}
    wanted = unsuccessful(result)
    for episode in wanted[:MOST_VIDEOS]:
        for path in sorted((folder / VIDEOS).glob(f"{episode['scenario_id']}_*.mp4")):
            caption = f"{episode['scenario_id']} {episode['outcome']}"
            videos[f"videos/{path.stem}"] = wandb.Video(str(path), caption=caption)
    run.log(
        {
            "episodes": wandb.Table(columns=list(EPISODE_COLUMNS), data=episode_rows(result)),
            "groups": wandb.Table(columns=["by", "name", *GROUP_COLUMNS], data=group_rows(result)),
            **videos,
        },
        step=step,
    )
    run.summary.update(summary_row(result))
    run.summary["videos_left_out"] = max(0, len(wanted) - MOST_VIDEOS)
    artifact = wandb.Artifact(f"result-{run.id}", type="evaluation", description=result["scope"])
    for name in (RESULT, CONTRACT, IDENTITY, MANIFEST):
        if (folder / name).is_file():
            artifact.add_file(str(folder / name))
    run.log_artifact(artifact)


def _line(exc: BaseException) -> str:
    text = " ".join(str(exc).split()) or type(exc).__name__
    return text[:200]


def make_scratch() -> Path:
    """A temporary folder for this process and its children; its path is short, for W&B's socket."""
    scratch = tempfile.mkdtemp(prefix="robogate-wandb-")
    # Registered first, so it runs last.
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    os.environ["TMPDIR"] = tempfile.tempdir = scratch
    return Path(scratch)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the child process; exit status 0 means that everything was mirrored."""
    parser = argparse.ArgumentParser(prog="robogate.reports.wandb_child")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--mode", choices=["offline", "online"], required=True)
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--contract", required=True)
    parser.add_argument("--project", required=True)
    parser.add_argument("--group")
    parser.add_argument("--note", default="")
    parser.add_argument("--init-timeout", type=float, required=True)
    parser.add_argument("--niceness", type=int, required=True)
    options = parser.parse_args(argv)
    folder = options.folder
    os.nice(options.niceness)
    options.scratch = make_scratch()
    try:
        follower = Follower(folder, options.mode, options.scratch)
        state, message = mirror(folder, options, follower)
        say(folder, state, message, run_id=options.run_id)
    except Exception as exc:
        try:
            print(_line(exc), flush=True)
            say(folder, "failed", _line(exc), run_id=options.run_id)
        finally:
            # W&B's own clean-up could wait for a server that does not answer.
            end_now(1, options.scratch)
    return 0


if __name__ == "__main__":
    sys.exit(main())
