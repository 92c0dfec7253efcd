from __future__ import annotations

from pathlib import Path

import pytest

from robogate.config.compose import compose
from robogate.runs import preflight
from robogate.runs.preflight import prepare
from robogate.worker.client import RemoteEnvironment
from robogate.worker.pipe import ChildEnvironment
from robogate.worker.served import ServedEnvironment


@pytest.mark.parametrize(
    ("overrides", "kind"),
    [
        ((), ChildEnvironment),
        (("runtime.env.url=http://127.0.0.1:1",), RemoteEnvironment),
        (("runtime.env.python=/usr/bin/python3",), ServedEnvironment),
    ],
)
def test_the_environment_runs_where_it_was_asked_to(
    overrides: tuple[str, ...], kind: type, tmp_path: Path
) -> None:
    (point,) = compose(["bench=mujoco_dual_arm", "adapter=zero", *overrides])
    environment = prepare(point).place(tmp_path).create(0)
    assert type(environment) is kind
    environment.close()


def test_what_a_worker_elsewhere_needs_is_not_asked_of_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(*_: object) -> None:
        raise AssertionError("it is asked for here")

    monkeypatch.setattr(preflight, "require_assets", absent)
    monkeypatch.setattr(preflight, "resolve_gl", absent)
    (point,) = compose(["adapter=zero", "runtime.env.url=http://127.0.0.1:1"])
    prepare(point)


def test_the_processes_of_all_workers_are_launched_before_anybody_waits(tmp_path: Path) -> None:
    (point,) = compose(["adapter=zero"])
    launched = prepare(point).place(tmp_path).launch(2)
    try:
        pids = [environment.worker_pid for environment in launched]  # type: ignore[attr-defined]
        assert all(pids) and len(set(pids)) == 2
    finally:
        for environment in launched:
            environment.close()


def test_a_worker_elsewhere_is_not_reached_before_it_is_needed(tmp_path: Path) -> None:
    (point,) = compose(["adapter=zero", "runtime.env.url=http://127.0.0.1:1"])
    (environment,) = prepare(point).place(tmp_path).launch(1)
    assert type(environment) is RemoteEnvironment
