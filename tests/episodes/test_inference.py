from __future__ import annotations

import gc
import threading
import time
import weakref

import pytest

from robogate.episodes.inference import Cancelled, Hang, InferenceThread
from robogate.errors import EpisodeError, RunError


def never() -> bool:
    return False


def test_calls_are_made_one_after_the_other_on_one_other_thread() -> None:
    thread = InferenceThread(never)
    names = {thread.call(threading.get_ident, 5.0, "a call") for _ in range(3)}
    assert len(names) == 1 and threading.get_ident() not in names
    thread.close()


def test_a_hang_ends_in_time_and_the_next_call_gets_a_new_thread() -> None:
    thread = InferenceThread(never)
    release = threading.Event()
    began = time.monotonic()
    with pytest.raises(Hang, match="^inference 3 gave no answer within 0.3 s$") as caught:
        thread.call(lambda: release.wait(20.0), 0.3, "inference 3")
    assert caught.value.code == "inference_timeout"
    assert isinstance(caught.value, EpisodeError)
    assert time.monotonic() - began < 3.0
    assert thread.call(lambda: 7, 5.0, "inference 1") == 7
    release.set()
    thread.close()


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("bad\nvery"), "x raised ValueError: bad"),
        (SystemExit(3), "x raised SystemExit: 3"),
        (KeyboardInterrupt(), "x raised KeyboardInterrupt"),
        (Unprintable(), "x raised Unprintable: (its message cannot be printed)"),
    ],
)
def test_whatever_is_raised_is_an_episode_error(error: BaseException, text: str) -> None:
    def fail() -> None:
        raise error

    thread = InferenceThread(never)
    with pytest.raises(EpisodeError) as caught:
        thread.call(fail, 5.0, "x")
    assert (caught.value.code, caught.value.message) == ("inference_exception", text)
    thread.close()


def test_our_own_errors_pass_as_they_are() -> None:
    def fail() -> None:
        raise RunError("the source changed", code="policy_source_changed")

    thread = InferenceThread(never)
    with pytest.raises(RunError, match="^the source changed$"):
        thread.call(fail, 5.0, "x")
    thread.close()


def test_a_stopped_run_does_not_wait() -> None:
    stop = threading.Event()
    release = threading.Event()
    thread = InferenceThread(stop.is_set)
    threading.Timer(0.2, stop.set).start()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        thread.call(lambda: release.wait(20.0), 20.0, "x")
    assert time.monotonic() - began < 3.0
    release.set()


def test_an_idle_thread_keeps_nothing_alive() -> None:
    class Big:
        pass

    thread = InferenceThread(never)
    big = Big()
    watch = weakref.ref(big)
    assert thread.call(lambda big=big: big is not None, 5.0, "x")  # type: ignore[misc]
    del big
    deadline = time.monotonic() + 5.0
    while watch() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert watch() is None
    thread.close()
