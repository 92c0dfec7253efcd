from __future__ import annotations

from typing import Any

from robogate.runs.progress import NullReporter, Reporters


class Noting(NullReporter):
    def __init__(self) -> None:
        self.told: list[str] = []

    def episode_finished(self, episode: Any) -> None:
        self.told.append("finished")

    def warning(self, text: str) -> None:
        self.told.append(text)


class Failing(NullReporter):
    def __init__(self) -> None:
        self.calls = 0

    def episode_finished(self, episode: Any) -> None:
        self.calls += 1
        raise BrokenPipeError("stdout was closed")

    def warning(self, text: str) -> None:
        raise AssertionError("a watcher that failed is told nothing more")


def test_a_watcher_that_fails_harms_neither_the_run_nor_the_others() -> None:
    failing, noting = Failing(), Noting()
    reporters = Reporters([failing, noting])
    episode: Any = None
    reporters.episode_finished(episode)
    reporters.episode_finished(episode)
    assert failing.calls == 1
    assert noting.told == [
        "Failing failed at episode_finished and reports nothing more "
        "(BrokenPipeError: stdout was closed); the run itself is not affected",
        "finished",
        "finished",
    ]


def test_nobody_left_to_tell_is_no_error() -> None:
    reporters = Reporters([Failing()])
    episode: Any = None
    reporters.episode_finished(episode)
    reporters.warning("nobody hears")
    reporters.close()
