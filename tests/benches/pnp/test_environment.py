from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from robogate.errors import EpisodeError, RunError
from robogate.records.benches import bench_rules
from robogate.records.digests import registration_sha256
from robogate.records.environment import Environment, Registration
from robogate.records.facts import PNP_FACTS
from robogate.scenes.readback import compare

OPEN = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0])


def test_observation_carries_the_protocol(make_environment, bench, renderer, scene):
    environment = make_environment()
    assert isinstance(environment, Environment)
    registration = Registration("d" * 64, "zero", "1", "b" * 64, None, None, None, None, None)
    echoed = environment.register(registration)
    first = environment.reset("nominal", 7)
    result = environment.step(first.episode_id, 0, OPEN)
    assert (result.executed, result.verdict, result.reasons) == (True, "accept", ())
    second = result.observation
    rules = bench_rules("pnp")
    for step, observation in enumerate((first, second)):
        assert observation.protocol_version == "2.0.0"
        assert observation.episode_id == first.episode_id
        assert observation.step == step and observation.done is False
        assert observation.instruction == bench.instruction
        assert observation.registration_sha256 == echoed == registration_sha256(registration)
        assert {k: v.shape for k, v in observation.state.items()} == {
            name: (length,) for name, length in rules.state.items()
        }
        assert all(v.dtype == np.float64 for v in observation.state.values())
        assert tuple(observation.images) == renderer.cameras
        evaluator = observation.evaluator
        assert (evaluator.scenario_id, evaluator.seed, evaluator.success) == ("nominal", 7, False)
        assert evaluator.facts.shape == (len(PNP_FACTS),)
        expected = rules.expected_readback(bench, renderer, scene, step)
        assert compare(evaluator.applied_scene, expected) == []
    assert first.evaluator.facts[:7] == pytest.approx(
        (*scene.object.position, *scene.object.orientation), abs=1e-15
    )


def test_observation_zero_is_before_any_physics(make_environment, bench):
    first = make_environment().reset("nominal", 7)
    assert tuple(first.state["joint_position"]) == bench.control.home
    assert tuple(first.state["finger_position"]) == bench.control.home_fingers
    assert first.evaluator.facts[7] == 0.0


def test_image_is_of_its_own_action(make_environment):
    """What an observation shows is the state that it reports, not the one before."""
    environment = make_environment()
    observation = environment.reset("nominal", 7)
    for step in range(3):
        action = np.array([0.0, 0.8, 0.0, 0.0, 0.0, 0.0, -1.0])
        observation = environment.step(observation.episode_id, step, action).observation
    episode = environment._episode
    again = episode.cameras.render(episode.simulation.data)
    fresh_joints = episode.simulation.data.qpos.copy()
    episode.simulation.sensors.refresh()
    after = episode.cameras.render(episode.simulation.data)
    assert (fresh_joints == episode.simulation.data.qpos).all()
    for name, image in observation.images.items():
        assert (image == again[name]).all() and (image == after[name]).all()


def test_observe_returns_the_present_observation(make_environment):
    environment = make_environment()
    first = environment.reset("nominal", 7)
    assert environment.observe(first.episode_id) is first
    second = environment.step(first.episode_id, 0, OPEN).observation
    assert environment.observe(first.episode_id) is second


def test_closed_fingers_are_never_negative(make_environment):
    environment = make_environment()
    observation = environment.reset("nominal", 7)
    for step in range(20):
        observation = environment.step(observation.episode_id, step, np.zeros(7)).observation
        assert (observation.state["finger_position"] >= 0.0).all()
    assert observation.state["finger_position"].max() < 1e-4


@pytest.mark.parametrize("step", [1, -1, True, 0.0, "0"])
def test_any_but_the_next_step_is_refused_and_nothing_moves(make_environment, step):
    environment = make_environment()
    first = environment.reset("nominal", 7)
    with pytest.raises(EpisodeError) as caught:
        environment.step(first.episode_id, step, OPEN)
    assert caught.value.code == "out_of_order"
    assert environment.observe(first.episode_id) is first
    assert environment._episode.simulation.data.time == 0.0


def test_the_same_step_twice_is_refused(make_environment):
    environment = make_environment()
    first = environment.reset("nominal", 7)
    second = environment.step(first.episode_id, 0, OPEN).observation
    with pytest.raises(EpisodeError) as caught:
        environment.step(first.episode_id, 0, OPEN)
    assert caught.value.message == "action is for step 0, the next is 1; nothing moved"
    assert environment.observe(first.episode_id) is second


def test_an_earlier_episode_is_refused(make_environment):
    environment = make_environment()
    old = environment.reset("nominal", 7)
    new = environment.reset("nominal", 7)
    assert new.episode_id != old.episode_id
    for call in (
        lambda: environment.step(old.episode_id, 0, OPEN),
        lambda: environment.observe(old.episode_id),
        lambda: environment.outcome(old.episode_id),
    ):
        with pytest.raises(EpisodeError) as caught:
            call()
        assert caught.value.code == "out_of_order"


def test_a_refused_action_leaves_everything_as_it_was(make_environment):
    environment = make_environment()
    first = environment.reset("nominal", 7)
    for action, code in (
        (np.full(7, np.nan), "action_not_finite"),
        (np.full(7, 1.01), "action_out_of_range"),
        (np.zeros(6), "action_shape"),
    ):
        with pytest.raises(EpisodeError) as caught:
            environment.step(first.episode_id, 0, action)
        assert caught.value.code == code
    assert environment.observe(first.episode_id) is first
    assert environment.step(first.episode_id, 0, OPEN).executed


def test_unreachable_pose_is_control_rejected_and_the_step_stays(make_environment):
    environment = make_environment()
    observation = environment.reset("nominal", 7)
    outward = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0])
    for step in range(60):
        result = environment.step(observation.episode_id, step, outward)
        if not result.executed:
            break
        observation = result.observation
    assert result.verdict == "control_rejected" and result.observation is None
    assert result.reasons == ("no joint configuration within limits reaches the requested pose",)
    assert environment.observe(observation.episode_id) is observation
    assert environment.outcome(observation.episode_id).steps == step
    assert environment.step(observation.episode_id, step, -outward).executed


def test_done_at_the_budget_and_no_action_after(make_environment):
    environment = make_environment(max_actions=2)
    first = environment.reset("nominal", 7)
    assert not environment.step(first.episode_id, 0, OPEN).observation.done
    assert environment.step(first.episode_id, 1, OPEN).observation.done
    with pytest.raises(EpisodeError) as caught:
        environment.step(first.episode_id, 2, OPEN)
    assert caught.value.code == "out_of_order"


def test_success_ends_the_episode(make_environment, drive, scene):
    block = dataclasses.replace(
        scene.object, position=(0.45, 0.1, 0.32), orientation=(1.0, 0.0, 0.0, 0.0)
    )
    environment = make_environment({"easy": dataclasses.replace(scene, object=block)})
    observation = environment.reset("easy", 7)
    target = np.array([*scene.target.position[:2], 0.32])
    above = np.array([0.0, 0.0, 0.1])
    start = np.array(block.position)
    plan = (
        (start + above, -1.0, 12), (start, -1.0, 8), (start, 1.0, 6), (start + above, 1.0, 6),
        (target + above, 1.0, 12), (target, 1.0, 8), (target, -1.0, 4), (target + above, -1.0, 20),
    )  # fmt: skip
    for goal, gripper, actions in plan:
        for _ in range(actions):
            action = np.zeros(7)
            action[:3] = np.clip((goal - observation.state["ee_position"]) / 0.05, -1.0, 1.0)
            action[6] = gripper
            result = environment.step(observation.episode_id, observation.step, action)
            observation = result.observation
            if observation.done:
                break
    assert observation.done and observation.evaluator.success
    outcome = environment.outcome(observation.episode_id)
    assert (outcome.success, outcome.terminated, outcome.steps) == (True, True, observation.step)


def test_reset_wants_a_registration(make_environment):
    environment = make_environment(registered=False)
    with pytest.raises(RunError) as caught:
        environment.reset("nominal", 7)
    assert caught.value.code == "registration_mismatch"


@pytest.mark.parametrize(("name", "seed"), [("nominall", 7), ("nominal", 8)])
def test_scenario_and_seed_are_the_manifests(make_environment, name, seed):
    with pytest.raises(RunError) as caught:
        make_environment().reset(name, seed)
    assert caught.value.code == "wrong_scenario"


def test_a_scene_that_is_successful_at_reset_is_a_run_error(make_environment, scene):
    there = dataclasses.replace(scene.object, position=(*scene.target.position[:2], 0.32))
    environment = make_environment({"there": dataclasses.replace(scene, object=there)})
    with pytest.raises(RunError) as caught:
        environment.reset("there", 7)
    assert caught.value.code == "success_at_reset"


def test_a_diverged_simulation_is_an_episode_error_and_final(make_environment):
    environment = make_environment()
    first = environment.reset("nominal", 7)
    environment._episode.simulation.data.qvel[9] = np.nan
    with pytest.raises(EpisodeError) as caught:
        environment.step(first.episode_id, 0, OPEN)
    assert caught.value.code == "simulator_nan"
    with pytest.raises(EpisodeError) as caught:
        environment.step(first.episode_id, 1, OPEN)
    assert caught.value.code == "out_of_order"
    assert environment.reset("nominal", 7).step == 0


def test_a_scene_that_cannot_be_built_is_an_episode_error(make_environment, scene):
    flat = dataclasses.replace(scene.object, size=(0.0, 0.04, 0.04))
    environment = make_environment({"flat": dataclasses.replace(scene, object=flat), "good": scene})
    with pytest.raises(EpisodeError) as caught:
        environment.reset("flat", 7)
    assert caught.value.code == "reset_failed" and "flat" in caught.value.message
    assert environment.reset("good", 7).step == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"simulator_version": "3.9.9"}, "bench.simulator is mujoco 3.9.9, installed is mujoco "),
        ({"image_row_order": "top_first"}, "bench.image_row_order is 'top_first', this "),
    ],
)
def test_what_the_environment_does_not_offer_is_refused(make_environment, bench, change, message):
    with pytest.raises(RunError) as caught:
        make_environment(bench=dataclasses.replace(bench, **change))
    assert caught.value.code == "contract_mismatch"
    assert caught.value.message.startswith(message)


def test_identity_names_simulator_and_renderer(make_environment, bench, gl):
    identity = make_environment().identity()
    assert identity["simulator"] == {"name": "mujoco", "version": bench.simulator_version}
    assert identity["environment"]["gl"]["backend"] == gl
    assert identity["environment"]["gl"]["renderer"]
    bound = {d["name"] for d in identity["environment"]["distributions"] if d["bound"]}
    assert {"mujoco", "numpy", "pyopengl"} <= bound


def test_description(make_environment, bench):
    description = make_environment().describe()
    assert (description.protocol_version, description.name, description.bench) == (
        1, bench.harness_id, "pnp",
    )  # fmt: skip


def test_close_twice(make_environment):
    environment = make_environment()
    environment.reset("nominal", 7)
    environment.close()
    environment.close()
