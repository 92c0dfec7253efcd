"""The environment interface: order, refusal, readback, images, shield, ends."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from robogate.benches.dual_arm.environment import DualArmEnvironment
from robogate.contract.schema import Renderer
from robogate.errors import EpisodeError, RunError, UsageError
from robogate.records.benches import bench_rules
from robogate.records.capabilities import CAPABILITIES
from robogate.records.environment import Environment
from robogate.records.observation import FloatArray, project
from robogate.scenes.dual_arm import resolve
from robogate.scenes.dual_arm_config import TASKS, DualArmBench
from robogate.scenes.readback import compare

MakeEnvironment = Callable[..., DualArmEnvironment]
RULES = bench_rules("dual_arm")


def test_it_is_an_environment_with_all_its_tools(make_environment: MakeEnvironment) -> None:
    environment = make_environment()
    assert isinstance(environment, Environment)
    description = environment.describe()
    assert (description.bench, description.tools) == ("dual_arm", CAPABILITIES)
    assert all(callable(getattr(environment, name)) for name in description.tools)


@pytest.mark.parametrize("task", TASKS)
def test_the_applied_scene_is_what_the_contract_says_at_every_step(
    make_environment: MakeEnvironment, bench: DualArmBench, renderer: Renderer,
    hold: FloatArray, task: str,
) -> None:  # fmt: skip
    environment = make_environment()
    observation = environment.reset(f"{task}_2", 2)
    expectation = RULES.expectation(bench, renderer, resolve(bench, task, 2))
    for step in range(3):
        half = observation.evaluator
        assert half is not None and observation.step == step
        assert compare(dict(half.applied_scene), expectation.at(step)) == []
        assert half.facts.shape == (len(RULES.facts),) and not half.success
        shapes = {name: value.size for name, value in observation.state.items()}
        assert shapes == dict(RULES.state)
        result = environment.step(observation.episode_id, step, hold)
        assert (result.executed, result.verdict, result.reasons) == (True, "accept", ())
        assert result.observation is not None
        observation = result.observation


@pytest.mark.parametrize(
    ("attribute", "path"),
    [
        ("opt.gravity", "$.physics.gravity[0]"),
        ("actuator_gainprm", "$.arms.left.kp[0]"),
        ("jnt_stiffness", "$.spring.stiffness"),
        ("mat_rgba", "$.table.material.rgba[0]"),
    ],
)
def test_a_changed_simulation_is_read_back(
    make_environment: MakeEnvironment, bench: DualArmBench, renderer: Renderer,
    hold: FloatArray, attribute: str, path: str,
) -> None:  # fmt: skip
    environment = make_environment()
    observation = environment.reset("click_bell_0", 0)
    episode = environment._episode
    assert episode is not None
    target = episode.simulation.model
    for name in attribute.split("."):
        target = getattr(target, name)
    target += 0.5
    result = environment.step(observation.episode_id, 0, hold)
    assert result.observation is not None and result.observation.evaluator is not None
    expected = RULES.expected_readback(bench, renderer, resolve(bench, "click_bell", 0), 1)
    faults = compare(dict(result.observation.evaluator.applied_scene), expected)
    assert path in [fault.path for fault in faults]


def test_images_are_three_different_views_with_the_top_row_first(
    make_environment: MakeEnvironment, renderer: Renderer
) -> None:
    observation = make_environment().reset("lift_pot_0", 0)
    assert tuple(observation.images) == renderer.cameras
    for image in observation.images.values():
        assert image.shape == (120, 160, 3) and image.dtype == np.uint8
        assert image.std() > 10 and not image.flags.writeable
    head = observation.images["cam_head"].astype(int)

    # The wall is grey and behind the table, which is brown: at the top of an upright image.
    def brown(row: int) -> float:
        return float((head[row, 60:100, 0] - head[row, 60:100, 2]).mean())

    assert brown(5) < 5 and brown(115) > 25


def test_a_policy_sees_neither_scene_nor_outcome(make_environment: MakeEnvironment) -> None:
    seen = project(make_environment().reset("click_bell_1", 1))
    assert set(vars(seen)) == {"step", "instruction", "state", "images"}
    assert seen.instruction == "press the red button of the bell with a gripper"


def test_only_the_next_step_of_the_present_episode_is_executed(
    make_environment: MakeEnvironment, hold: FloatArray
) -> None:
    environment = make_environment()
    first = environment.reset("click_bell_0", 0)
    environment.step(first.episode_id, 0, hold)
    for step in (0, 2, -1):
        with pytest.raises(EpisodeError, match="the next is 1; nothing moved") as caught:
            environment.step(first.episode_id, step, hold)
        assert caught.value.code == "out_of_order"
    assert environment.state(first.episode_id).step == 1
    second = environment.reset("click_bell_0", 0)
    assert second.episode_id != first.episode_id
    with pytest.raises(EpisodeError, match="is not the present one"):
        environment.step(first.episode_id, 1, hold)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (np.zeros(13), "action_shape"),
        (np.zeros(14, np.float32), "action_type"),
        ([0.0] * 14, "action_type"),
        (np.full(14, np.nan), "action_not_finite"),
    ],
)
def test_what_is_no_command_moves_nothing(
    make_environment: MakeEnvironment, command: object, code: str
) -> None:
    environment = make_environment()
    observation = environment.reset("click_bell_0", 0)
    before = environment._simulation(observation.episode_id)[0].data.qpos.tobytes()
    with pytest.raises(EpisodeError) as caught:
        environment.step(observation.episode_id, 0, command)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert environment._simulation(observation.episode_id)[0].data.qpos.tobytes() == before
    assert environment.observe(observation.episode_id) is observation


def test_a_command_beyond_the_limits_is_limited_and_says_so(
    make_environment: MakeEnvironment, bench: DualArmBench, hold: FloatArray
) -> None:
    environment = make_environment()
    episode_id = environment.reset("click_bell_0", 0).episode_id
    wild = np.array(hold)
    wild[0] = 50.0
    result = environment.step(episode_id, 0, wild)
    assert result.executed and result.verdict == "limit" and result.reasons
    executed = environment.state(episode_id).command
    joint = bench.arms.joints[0]
    period = 1.0 / bench.timing.control_hz
    assert 0.0 < executed[0] <= joint.acceleration * period * period + 1e-12
    assert executed[1:].tolist() == hold[1:].tolist()
    # The record keeps how often: the last command of an episode says nothing about the others.
    first = result.observation
    assert first is not None and first.evaluator is not None
    assert first.evaluator.diagnostics["limited"] == 1
    environment.tick(episode_id, 1, hold)
    while (
        environment.tick(episode_id, environment.state(episode_id).step, hold).verdict != "accept"
    ):
        pass
    last = environment.observe(episode_id).evaluator
    assert last is not None and last.diagnostics["verdict"] == "accept"
    assert last.diagnostics["limited"] >= 1


def test_resets_need_a_registration_a_scenario_and_its_seed(
    make_environment: MakeEnvironment,
) -> None:
    with pytest.raises(RunError, match="reset before register"):
        make_environment(registered=False).reset("click_bell_0", 0)
    environment = make_environment()
    with pytest.raises(RunError, match="not in the manifest; did you mean"):
        environment.reset("click_bell_00", 0)
    with pytest.raises(RunError, match="has seed 1 in the manifest, asked for 0"):
        environment.reset("click_bell_1", 0)


def test_the_budget_ends_an_episode(make_environment: MakeEnvironment, hold: FloatArray) -> None:
    environment = make_environment(max_actions=2)
    observation = environment.reset("lift_pot_0", 0)
    for step in range(2):
        assert not observation.done
        result = environment.step(observation.episode_id, step, hold)
        assert result.observation is not None
        observation = result.observation
    assert observation.done and environment.state(observation.episode_id).ended
    with pytest.raises(EpisodeError, match="takes no more actions"):
        environment.step(observation.episode_id, 2, hold)
    outcome = environment.outcome(observation.episode_id)
    assert (outcome.success, outcome.steps) == (False, 2)


def test_a_tick_renders_nothing_and_is_the_same_motion(
    make_environment: MakeEnvironment, hold: FloatArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    goal = np.array(hold)
    goal[7] = 0.02
    environment = make_environment()
    stepped = environment.step(environment.reset("lift_pot_1", 1).episode_id, 0, goal).observation
    episode_id = environment.reset("lift_pot_1", 1).episode_id
    episode = environment._episode
    assert episode is not None and stepped is not None
    render, rendered = episode.cameras.render, []
    monkeypatch.setattr(
        episode.cameras, "render", lambda data, names: rendered.extend(names) or render(data, names)
    )
    assert environment.tick(episode_id, 0, goal).verdict == "accept"
    assert rendered == []
    one = environment.render(episode_id, ["cam_left_wrist"])
    assert rendered == ["cam_left_wrist"]
    ticked = environment.observe(episode_id)
    assert sorted(rendered) == sorted(ticked.images), "each is rendered once"
    assert one["cam_left_wrist"] is ticked.images["cam_left_wrist"]
    for name, image in stepped.images.items():
        assert np.array_equal(image, ticked.images[name]), name
    assert ticked.evaluator is not None and stepped.evaluator is not None
    assert ticked.evaluator.facts.tobytes() == stepped.evaluator.facts.tobytes()
    with pytest.raises(UsageError, match="no camera 'cam_tail'"):
        environment.render(episode_id, ["cam_tail"])


def test_a_simulation_that_is_not_finite_is_an_error_of_the_episode(
    make_environment: MakeEnvironment, hold: FloatArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = make_environment()
    episode_id = environment.reset("click_bell_0", 0).episode_id
    episode = environment._episode
    assert episode is not None
    monkeypatch.setattr(type(episode.simulation), "finite", lambda self: False)
    with pytest.raises(EpisodeError) as caught:
        environment.step(episode_id, 0, hold)
    assert caught.value.code == "simulator_nan"
    with pytest.raises(EpisodeError, match="ended in an error"):
        environment.step(episode_id, 1, hold)
    assert environment.state(episode_id).ended
