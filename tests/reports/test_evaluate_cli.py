"""Evaluations of the command line, with the runs themselves replaced."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robogate.errors import UsageError
from robogate.reports import evaluate_cli

Evaluate = Callable[[Sequence[Any], Callable[[Any], Sequence[Any]]], list[Any]]


@dataclass
class Outcome:
    exit_code: int


@pytest.fixture
def evaluate(
    synthetic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Evaluate]:
    """Replaces the runs: each point's scenarios end as given."""

    def install(outcomes: dict[str, str], fails_at: str | None = None) -> Evaluate:
        def run(points: Sequence[Any], watchers: Callable[[Any], Sequence[Any]]) -> list[Any]:
            done = []
            for point in points:
                if point.name == fails_at:
                    raise UsageError("runtime.output_dir: is not empty")
                scenarios = synthetic.scenarios({"nominal": 2})
                plan = synthetic.plan(tmp_path / point.name, scenarios, kind=point.name)
                episodes = [synthetic.episode(s, outcomes[point.name]) for s in scenarios]
                result = synthetic.result(plan, episodes)
                for watcher in watchers(point):
                    watcher.run_started(plan)
                    watcher.run_finished(result, plan.folder)
                    watcher.close()
                done.append(Outcome(3 if outcomes[point.name] == "error" else 0))
            return done

        monkeypatch.setattr(evaluate_cli, "evaluate", run)
        return run

    return install


def points(*names: str) -> list[Any]:
    frozen = SimpleNamespace(adapter=SimpleNamespace(role="control"))
    return [
        SimpleNamespace(
            name=name,
            runtime=SimpleNamespace(wandb="off"),
            frozen=frozen,
            overrides=("budget=smoke", f"adapter={name}"),
        )
        for name in names
    ]


def test_one_evaluation_has_no_multirun_table(
    evaluate: Callable[..., Evaluate], capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate({"oracle": "success"})
    assert evaluate_cli.main(points("oracle"), json_output=False) == 0
    out = capsys.readouterr().out
    assert out.startswith("result status=complete") and "point " not in out


def test_a_multirun_ends_with_one_row_a_point_and_the_worst_status(
    evaluate: Callable[..., Evaluate], capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate({"zero": "failure", "python": "error", "oracle": "success"})
    assert evaluate_cli.main(points("zero", "python", "oracle"), json_output=False) == 3
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split()[1:5] for line in lines if line.startswith("point ")]
    assert [row[1] for row in rows] == ["adapter=zero", "adapter=python", "adapter=oracle"]
    assert [row[3] for row in rows] == ["status=complete", "status=error", "status=complete"]
    asked = [line for line in lines if line.startswith("point ")]
    assert 'asked="adapter=zero"' in asked[0] and "budget" not in asked[0]


def test_a_failing_policy_is_not_an_exit_code(evaluate: Callable[..., Evaluate]) -> None:
    evaluate({"zero": "failure"})
    assert evaluate_cli.main(points("zero"), json_output=True) == 0


def test_json_of_a_multirun_is_one_summary_a_line(
    evaluate: Callable[..., Evaluate], capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate({"zero": "failure", "oracle": "success"})
    evaluate_cli.main(points("zero", "oracle"), json_output=True)
    captured = capsys.readouterr()
    summaries = [json.loads(line) for line in captured.out.splitlines()]
    assert [summary["successes"] for summary in summaries] == [0, 2]
    assert captured.err.count("point ") == 2


def test_what_was_run_is_shown_when_a_later_point_cannot_be(
    evaluate: Callable[..., Evaluate], capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate({"zero": "failure", "oracle": "success"}, fails_at="oracle")
    with pytest.raises(UsageError):
        evaluate_cli.main(points("zero", "oracle"), json_output=False)
    assert capsys.readouterr().out.count("point number=0 adapter=zero") == 1
