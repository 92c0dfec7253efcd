from __future__ import annotations

from pathlib import Path
from typing import Any

from robogate.contract.strict import encode
from robogate.reports.wandb_rows import (
    EPISODE_COLUMNS,
    GROUP_COLUMNS,
    History,
    episode_rows,
    group_rows,
    summary_row,
    unsuccessful,
)


def test_an_error_is_neither_success_nor_failure_in_the_history(synthetic: Any) -> None:
    history = History()
    outcomes = ["success", "error", "failure", "control_rejected", "success"]
    scenarios = synthetic.scenarios()
    rows = [history.row(encode(synthetic.episode(s, o))) for s, o in zip(scenarios, outcomes)]
    assert [row.get("episode/success") for row in rows] == [1, None, 0, 0, 1]
    assert [row["running/scored"] for row in rows] == [1, 1, 2, 3, 4]
    assert [row["running/errored"] for row in rows] == [0, 1, 1, 1, 1]
    assert [row["running/successes"] for row in rows] == [1, 1, 1, 1, 2]
    assert rows[1]["episode/error_code"] == "worker_died"
    assert rows[0]["episode/inference_s"] == 0.25 and "episode/error_code" not in rows[0]
    assert not any("." in name for row in rows for name in row), "W&B would nest it"
    assert not any("rate" in name for row in rows for name in row), "a rate without its counts"


def test_tables_and_summary_repeat_the_result(synthetic: Any, tmp_path: Path) -> None:
    scenarios = synthetic.scenarios({"nominal": 2, "edge": 1})
    plan = synthetic.plan(tmp_path, scenarios)
    episodes = [synthetic.episode(s, o) for s, o in zip(scenarios, ["success", "failure", "error"])]
    result = synthetic.result(plan, episodes)
    rows = [dict(zip(EPISODE_COLUMNS, row)) for row in episode_rows(result)]
    assert [row["outcome"] for row in rows] == ["success", "failure", "error"]
    assert rows[1]["failure_stage"] == "grasped" and rows[2]["error_code"] == "worker_died"
    groups = {
        (row[0], row[1]): dict(zip(GROUP_COLUMNS, row[2:], strict=True))
        for row in group_rows(result)
    }
    assert groups["domain", "nominal"]["success_rate"] == 0.5
    assert groups["domain", "edge"]["success_rate"] is None
    assert (groups["all", "all"]["bound_low"], groups["all", "all"]["bound_high"]) == (1 / 3, 2 / 3)
    summary = summary_row(result)
    assert summary["success_rate"] == 0.5 and summary["errored"] == 1
    assert summary["contract_sha256"] == result["contract_sha256"]
    assert summary["status"] == "error" and "qualification_id" not in summary
    assert [e["scenario_id"] for e in unsuccessful(result)] == [s.id for s in scenarios[1:]]
