"""A whole run on the toy environment as a process of its own, to be killed from outside.

Arguments: folder, number of workers, and ``new`` or ``resume``. A new run does not come to its end
by itself: after two of its scenarios, two others hang, from their action 3 on.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

from robogate.episodes.journal_writer import create_journal, resume_journal
from robogate.episodes.parallel import RunSetup, run_episodes
from robogate.episodes.resume import settle
from robogate.episodes.sinks import SinkFanOut
from robogate.errors import Terminated
from robogate.records.result import Episode
from toy_world import ToyOracle, World, make_world


class Announce:
    """Prints what happens, one line each."""

    def started(self, scenario: Any) -> None:
        print("started", scenario.id, flush=True)

    def observed(self, scenario: Any, observation: Any, action: Any) -> None:
        if observation.step == 3:
            print("acting", scenario.id, flush=True)

    def finished(self, episode: Any) -> None:
        print("finished", episode.scenario_id, flush=True)


def go(folder: Path, workers: int, how: str) -> list[Episode]:
    """Make or resume the run; return all records."""
    world: World = make_world(folder)
    path = folder / "journal.jsonl"
    scenarios = world.manifest.scenarios
    recorded: tuple[Episode, ...] = ()
    faults: dict[str, Any] = {}
    if how == "new":
        faults = {name: ["hang", 3] for name in world.ids[2:4]}
        (folder / "traces").mkdir()
        journal = create_journal(path, world.header())
    else:
        journal, contents = resume_journal(path, world.header())
        rest = settle(journal, contents, scenarios, folder)
        recorded, scenarios = rest.recorded, rest.remaining
    environments = [world.child(faults=faults) for _ in range(workers)]
    setup = RunSetup(
        frozen=world.frozen,
        registration=world.registration,
        identity=None,
        policy=ToyOracle(),
        make_environment=lambda i: environments[i],
        folder=folder,
        journal=journal,
        sinks=SinkFanOut([Announce()]),
    )
    threading.Thread(target=announce_workers, args=(environments,), daemon=True).start()
    try:
        episodes = run_episodes(scenarios, setup, workers=workers)
    finally:
        journal.close()
    return sorted((*recorded, *episodes), key=lambda e: e.index)


def announce_workers(environments: list[Any]) -> None:
    """Print the process ids as soon as there are some."""
    wait = threading.Event()
    for environment in environments:
        while not environment.worker_pid:
            wait.wait(0.01)
        print("worker", environment.worker_pid, flush=True)


if __name__ == "__main__":
    try:
        done = go(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    except Terminated as exc:
        sys.exit(exc.status)
    print("done", *(e.outcome for e in done), flush=True)
