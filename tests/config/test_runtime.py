"""What the runtime group refuses although its types are right."""

import dataclasses

import pytest

from robogate.config.runtime import Deadlines, EnvironmentPlace, Runtime, runtime_faults

GOOD = Runtime(
    output_dir=None,
    link_latest=True,
    workers=1,
    batch_window_s=0.02,
    media=True,
    gl="auto",
    wandb="off",
    resume=None,
    qualification=None,
    env=EnvironmentPlace(None, None),
    deadlines=Deadlines(1.0, 1.0, 1.0),
)


def test_good():
    assert runtime_faults(GOOD) == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"workers": 0}, "runtime.workers: is 0, expected at least 1"),
        (
            {"batch_window_s": -0.5},
            "runtime.batch_window_s: is -0.5, expected a number of seconds, or 0",
        ),
        ({"wandb": "maybe"}, "runtime.wandb: is 'maybe', expected one of offline, online, off"),
        (
            {"deadlines": Deadlines(1.0, 0.0, 1.0)},
            "runtime.deadlines.reset: is 0.0, expected a number of seconds above 0",
        ),
        ({"resume": "no/such"}, "runtime.resume: no such folder: 'no/such'"),
        ({"qualification": "no/such"}, "runtime.qualification: no such folder: 'no/such'"),
        (
            {"resume": ".", "output_dir": "x"},
            "runtime.output_dir: a resumed run keeps its folder; give runtime.resume alone",
        ),
        (
            {"env": EnvironmentPlace("host:80", None)},
            "runtime.env.url: is 'host:80', expected http://HOST:PORT",
        ),
        (
            {"env": EnvironmentPlace("http://[::1", None)},
            "runtime.env.url: is 'http://[::1', expected http://HOST:PORT",
        ),
        (
            {"env": EnvironmentPlace("http://host:80", "python3")},
            "runtime.env.python: an environment at runtime.env.url has its own interpreter",
        ),
        (
            {"env": EnvironmentPlace("http://host:80", None), "workers": 2},
            "runtime.workers: is 2, and a worker at runtime.env.url has one environment: set it to"
            " 1, or let runtime.env.python start as many as are wanted",
        ),
    ],
)
def test_refused(changes, fault):
    assert [str(f) for f in runtime_faults(dataclasses.replace(GOOD, **changes))] == [fault]
