from __future__ import annotations

import threading
from typing import Any

import pytest

from robogate.episodes.sinks import SinkFanOut


class Sink:
    def __init__(self, fails_at: str = "", error: BaseException | None = None) -> None:
        self.seen: list[tuple[Any, ...]] = []
        self._fails_at, self._error = fails_at, error or OSError("disk full")

    def _see(self, what: str, *args: Any) -> None:
        self.seen.append((what, *args))
        if what == self._fails_at:
            raise self._error

    def started(self, scenario: Any) -> None:
        self._see("started", scenario)

    def observed(self, scenario: Any, observation: Any, action: Any) -> None:
        self._see("observed", scenario, observation, action)

    def finished(self, episode: Any) -> None:
        self._see("finished", episode)


def tell(fan: Any) -> None:
    fan.started("s")
    fan.observed("s", "o", None)
    fan.observed("s", "p", "a")
    fan.finished("e")


ALL = [("started", "s"), ("observed", "s", "o", None), ("observed", "s", "p", "a"),
       ("finished", "e")]  # fmt: skip


def test_every_sink_is_told_everything() -> None:
    first, second = Sink(), Sink()
    fan = SinkFanOut([first, second])
    tell(fan)
    assert first.seen == second.seen == ALL
    assert fan.warnings == ()


def test_a_sink_that_fails_is_left_alone_and_reported_once() -> None:
    warnings: list[str] = []
    bad, good = Sink("observed"), Sink()
    fan = SinkFanOut([bad, good], warnings.append)
    tell(fan)
    assert good.seen == ALL
    assert bad.seen == ALL[:2]
    text = (
        "Sink failed at 'observed' and is told nothing more (OSError: disk full); "
        "the run itself is not affected"
    )
    assert fan.warnings == (text,) == tuple(warnings)


def test_a_warning_that_cannot_be_shown_changes_nothing() -> None:
    def warn(text: str) -> None:
        raise BrokenPipeError

    good = Sink()
    fan = SinkFanOut([Sink("started"), good], warn)
    tell(fan)
    assert good.seen == ALL and len(fan.warnings) == 1


def test_an_interrupt_is_not_a_sinks_failure() -> None:
    fan = SinkFanOut([Sink("started", KeyboardInterrupt())])
    with pytest.raises(KeyboardInterrupt):
        fan.started("s")  # type: ignore[arg-type]


def test_calls_come_one_at_a_time() -> None:
    class Slow(Sink):
        inside = 0
        most = 0

        def _see(self, what: str, *args: Any) -> None:
            Slow.inside += 1
            Slow.most = max(Slow.most, Slow.inside)
            threading.Event().wait(0.005)
            Slow.inside -= 1

    fan = SinkFanOut([Slow()])
    threads = [threading.Thread(target=tell, args=(fan,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Slow.most == 1
