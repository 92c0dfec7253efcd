"""A policy of numpy alone, in simulation: two workers and one batch give one worker's run."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mujoco", reason="the embedded simulator is not installed")
pytest.importorskip("hydra", reason="conf/ needs Hydra")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from robogate.config.compose import compose
from robogate.runs.evaluate import evaluate

POLICY = textwrap.dedent(
    '''
    """A recurrent policy with random weights; its products are summed row by row."""

    import numpy as np

    from robogate.records.policy import Reply

    BATCHES = []


    class Recurrent:
        def __init__(self, weights=0):
            draw = np.random.default_rng(weights)
            self.inputs = draw.normal(0.0, 0.3, (8, 18))
            self.memory = draw.normal(0.0, 0.3, (8, 8))
            self.outputs = draw.normal(0.0, 0.05, (14, 8))

        def open_session(self, instruction, seed):
            return Session(self, instruction, seed)

        def warm_up(self, observation):
            session = Session(self, observation.instruction, 0)
            (reply,) = self.infer_batch([(session, observation)])
            return reply

        def infer_batch(self, requests):
            BATCHES.append(len(requests))
            hidden = np.stack([session.hidden for session, _ in requests])
            seen = np.stack([features(observation) for _, observation in requests])
            # A matrix product may group a sum by the number of rows; this one does not.
            hidden = np.tanh(times(self.inputs, seen) + times(self.memory, hidden))
            out = np.clip(times(self.outputs, hidden), -1.0, 1.0).reshape(-1, 2, 7)
            replies = []
            for (session, _), row, actions in zip(requests, hidden, out):
                session.hidden = row
                noise = session.draw.uniform(-0.01, 0.01, actions.shape)
                replies.append(Reply(np.clip(actions + noise, -1, 1), session.instruction, 1))
            return replies


    class Session:
        def __init__(self, policy, instruction, seed):
            self.policy, self.instruction = policy, instruction
            self.hidden = np.zeros(8)
            self.draw = np.random.default_rng(seed)

        def infer(self, observation):
            (reply,) = self.policy.infer_batch([(self, observation)])
            return reply


    def times(matrix, rows):
        return (matrix[None] * rows[:, None]).sum(axis=-1)


    def features(observation):
        state = np.concatenate([observation.state[name] for name in sorted(observation.state)])
        images = [observation.images[name].mean() / 255 for name in sorted(observation.images)]
        return np.array([*state, *images])
    '''
)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "batched_numpy.py").write_text(POLICY)
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import batched_numpy  # type: ignore[import-not-found]

    yield batched_numpy
    sys.modules.pop("batched_numpy", None)


def run(folder: Path, *overrides: str) -> dict[str, Any]:
    points = compose(
        [
            "bench=mujoco_pnp",
            "adapter=python",
            "adapter.target=batched_numpy:Recurrent",
            "adapter.execute=2",
            "adapter.seeding=per_episode",
            "budget=smoke",
            "budget.max_actions=6",
            "runtime.media=off",
            "runtime.wandb=off",
            "runtime.link_latest=off",
            "runtime.batch_window_s=60",
            f"runtime.output_dir={folder}",
            *overrides,
        ]
    )
    (outcome,) = evaluate(points, lambda point: [])
    return outcome.result


@pytest.mark.slow
@settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(weights=st.integers(0, 2**31))
def test_any_weights_act_alike_in_any_company(
    module: Any, tmp_path_factory: pytest.TempPathFactory, weights: int
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    options = ("adapter.batch_invariant=true", f"adapter.options.weights={weights}")
    alone = run(folder / "alone", *options)
    module.BATCHES.clear()
    together = run(folder / "together", *options, "runtime.workers=2")
    assert max(module.BATCHES) == 2
    assert alone["contract_sha256"] == together["contract_sha256"]
    assert [e["semantic_sha256"] for e in alone["episodes"]] == [
        e["semantic_sha256"] for e in together["episodes"]
    ]
    assert alone["summary"]["errored"] == 0 and alone["summary"]["scored"] == 16


def test_what_may_not_be_batched_is_not(module: Any, tmp_path: Path) -> None:
    result = run(tmp_path / "run", "adapter.batch_invariant=false", "runtime.workers=2")
    assert set(module.BATCHES) == {1}
    assert result["summary"]["scored"] == 16
    assert result["warm_up"]["backend_calls"] == 1
    for episode in result["episodes"]:
        assert episode["attestation"]["backend_calls"] == 3
