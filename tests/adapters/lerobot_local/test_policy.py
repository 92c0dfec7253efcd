"""LeRobot's own policy classes behind the adapter, against LeRobot's own loop.

The weights are random, and what is compared is exact: the adapter must hand the policy what
LeRobot's loop would hand it, and give its actions on as they are.
"""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robogate.adapters.loaded import LoadedPolicy
from robogate.adapters.registry import load_policy
from robogate.adapters.seeds import inference_seed
from robogate.contract.adapter_schema import LerobotAdapter
from robogate.errors import ConfigError, EpisodeError, RunError
from robogate.records.location import PolicyLocation
from robogate.records.observation import PolicyObservation
from robogate.records.policy import PolicyEpisode, Reply
from robogate.scenes.pnp_config import PnpBench

# One line for all that is skipped where it is not installed.
pytest.importorskip("lerobot", reason="LeRobot has an environment of its own: make test-lerobot")

pytestmark = [
    pytest.mark.lerobot,
    # The first one imports LeRobot, which takes a minute on a busy machine.
    pytest.mark.timeout(900),
    # VQ-BeT says so of random weights.
    pytest.mark.filterwarnings("ignore:To evaluate in the environment"),
]

Make = Callable[..., LerobotAdapter]
Load = Callable[..., LoadedPolicy]
Observe = Callable[[int], PolicyObservation]
Saved = Callable[..., Path]
SENTENCE = "pick up the red block and place it on the green target"
IMAGE, IMAGE2 = "observation.images.image", "observation.images.image2"
CHUNK = {"act": 8, "diffusion": 4, "vqbet": 3}


@pytest.fixture
def load(saved: Saved, adapter: Make, bench: PnpBench) -> Load:
    def make(kind: str, *, folder: Path | None = None, **fields: Any) -> LoadedPolicy:
        checkpoint = folder or saved(kind)
        values: dict[str, Any] = {"chunk": CHUNK[kind], "execute": CHUNK[kind]}
        if kind == "vqbet":
            values["image_keys"] = {"primary": IMAGE, "wrist": None}
        values |= fields
        return load_policy(adapter(**values), bench, PolicyLocation(checkpoint=checkpoint))

    return make


def open_session(loaded: LoadedPolicy, seed: int = 7) -> Any:
    return loaded.open_session(PolicyEpisode(SENTENCE, seed))


def play(session: Any, observe: Observe, steps: int, execute: int) -> list[list[float]]:
    """Actions that a harness would execute at the first steps."""
    done: list[list[float]] = []
    pending: list[Any] = []
    for step in range(steps):
        if not pending:
            reply = session.infer(observe(step))
            assert isinstance(reply, Reply) and reply.backend_calls == 1
            assert reply.prompt == SENTENCE
            pending = list(reply.chunk[:execute])
        elif hasattr(session, "watch"):
            session.watch(observe(step))
        done.append(pending.pop(0).tolist())
    return done


def own_loop(folder: Path, observe: Observe, steps: int, every: int) -> list[list[float]]:
    """What LeRobot's own loop does at the first steps, seeded before each inference."""
    import torch
    from lerobot.configs import PreTrainedConfig
    from lerobot.policies.factory import get_policy_class, make_pre_post_processors
    from lerobot.policies.utils import prepare_observation_for_inference

    config = PreTrainedConfig.from_pretrained(folder)
    policy = get_policy_class(config.type).from_pretrained(folder, config=config)
    before, after = make_pre_post_processors(config, pretrained_path=str(folder))
    policy.reset()
    done = []
    for step in range(steps):
        seen = observe(step)
        position, fingers = seen.state["ee_position"], seen.state["finger_position"]
        # The hand's quaternion in these observations is half a turn about x.
        state = np.concatenate([position, [np.pi, 0, 0], [fingers[0], -fingers[1]]])
        frame: dict[str, Any] = {
            IMAGE: seen.images["primary"][::-1, ::-1].copy(),
            IMAGE2: seen.images["wrist"][::-1, ::-1].copy(),
            "observation.state": state.astype(np.float32),
        }
        batch = before(prepare_observation_for_inference(frame, torch.device("cpu"), SENTENCE))
        if step % every == 0:
            torch.manual_seed(inference_seed(7, step // every + 1))
        done.append(after(policy.select_action(batch))[0].double().tolist())
    return done


@pytest.mark.parametrize("kind", ["act", "diffusion", "vqbet"])
def test_the_actions_are_those_of_lerobot_s_own_loop(
    kind: str, load: Load, saved: Saved, observe: Observe
) -> None:
    steps = 2 * CHUNK[kind] + 1
    found = play(open_session(load(kind)), observe, steps, CHUNK[kind])
    assert found == own_loop(saved(kind), observe, steps, CHUNK[kind])
    assert len({tuple(action) for action in found}) == steps


@pytest.mark.parametrize("kind", ["act", "diffusion"])
def test_what_is_left_of_a_chunk_is_not_given_out_after_the_next_inference(
    kind: str, load: Load, observe: Observe
) -> None:
    loaded = load(kind, execute=2)
    first = play(open_session(loaded), observe, 4, execute=2)
    again = open_session(loaded)
    begin = again.infer(observe(0)).chunk
    assert first[:2] == [action.tolist() for action in begin[:2]]
    assert first[2] != begin[2].tolist()


def test_fewer_executed_actions_are_what_lerobot_gives_with_fewer_action_steps(
    load: Load, saved: Saved, observe: Observe
) -> None:
    # LeRobot's own way to replan earlier is the checkpoint's n_action_steps.
    short = own_loop(saved("act", n_action_steps=2), observe, 6, every=2)
    assert play(open_session(load("act", execute=2)), observe, 6, execute=2) == short


@pytest.mark.parametrize("kind", ["act", "diffusion"])
def test_episodes_side_by_side_are_those_that_run_alone(
    kind: str, load: Load, observe: Observe
) -> None:
    loaded = load(kind)
    steps = CHUNK[kind] + 1
    alone = [play(open_session(loaded, seed), observe, steps, CHUNK[kind]) for seed in (1, 2)]
    one, two = open_session(loaded, 1), open_session(loaded, 2)
    sessions = {1: one, 2: two}
    pending: dict[int, list[Any]] = {1: [], 2: []}
    found: dict[int, list[list[float]]] = {1: [], 2: []}
    for step in range(steps):
        for seed, session in sessions.items():
            if not pending[seed]:
                pending[seed] = list(session.infer(observe(step)).chunk)
            elif hasattr(session, "watch"):
                session.watch(observe(step))
            found[seed].append(pending[seed].pop(0).tolist())
    assert [found[1], found[2]] == alone


def test_open_sessions_share_the_weights(load: Load) -> None:
    loaded = load("act")
    one, two = open_session(loaded), open_session(loaded)
    first, second = one._model.policy, two._model.policy
    assert first is not second
    pairs = zip(first.parameters(), second.parameters())
    assert all(a.data_ptr() == b.data_ptr() for a, b in pairs)
    one.close()
    assert open_session(loaded)._model.policy is first


@pytest.mark.parametrize("kind", ["act", "diffusion"])
def test_nothing_of_an_episode_is_left_in_the_next(kind: str, load: Load, observe: Observe) -> None:
    loaded = load(kind)
    session = open_session(loaded)
    fresh = play(session, observe, 2, CHUNK[kind])
    session.close()
    session = open_session(loaded)
    assert play(session, observe, 2, CHUNK[kind]) == fresh


def test_the_seed_of_the_episode_is_all_that_chance_depends_on(
    load: Load, observe: Observe
) -> None:
    import torch

    loaded = load("diffusion")
    torch.manual_seed(0)
    state = torch.random.get_rng_state()
    one = play(open_session(loaded, 3), observe, 5, 4)
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.rand(5)
    np.random.rand(5)
    assert play(open_session(loaded, 3), observe, 5, 4) == one
    assert play(open_session(loaded, 4), observe, 5, 4) != one


def test_without_seeding_chance_is_the_process_s(load: Load, observe: Observe) -> None:
    loaded = load("diffusion", seeding="none")
    one = play(open_session(loaded, 3), observe, 1, 4)
    assert play(open_session(loaded, 3), observe, 1, 4) != one


def test_a_policy_that_looks_back_must_be_shown_every_observation(
    load: Load, observe: Observe
) -> None:
    session = open_session(load("diffusion"))
    session.infer(observe(0))
    with pytest.raises(EpisodeError, match="shown step 4 instead of step 1") as caught:
        session.infer(observe(4))
    assert caught.value.code == "out_of_order"


def test_a_policy_that_does_not_look_back_is_shown_nothing_in_between(load: Load) -> None:
    assert not hasattr(open_session(load("act")), "watch")


def test_the_policy_gets_upright_mirrored_images_and_libero_s_state(
    load: Load, observe: Observe, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load("act")
    session = open_session(loaded)
    seen: list[Any] = []
    before = session._model._preprocessor

    def look(batch: Any) -> Any:
        seen.append({k: v.clone() if hasattr(v, "clone") else v for k, v in batch.items()})
        return before(batch)

    monkeypatch.setattr(session._model, "_preprocessor", look)
    observation = observe(0)
    session.infer(observation)
    (batch,) = seen
    assert batch["task"] == SENTENCE
    for key, camera in ((IMAGE, "primary"), (IMAGE2, "wrist")):
        turned = observation.images[camera][::-1, ::-1].transpose(2, 0, 1)
        expected = turned[None].astype(np.float32) / np.float32(255)
        assert batch[key].numpy().dtype == np.float32
        assert np.array_equal(batch[key].numpy(), expected)
    x, y, z = observation.state["ee_position"]
    state = np.array([x, y, z, np.pi, 0, 0, 0.03, -0.02], np.float32)
    assert np.array_equal(batch["observation.state"].numpy()[0], state)


def test_a_gripper_between_0_and_1_is_decoded(load: Load, observe: Observe) -> None:
    plain = play(open_session(load("act")), observe, 8, 8)
    opened = play(open_session(load("act", gripper_decode="unit_open")), observe, 8, 8)
    for raw, action in zip(plain, opened):
        assert action[:6] == raw[:6]
        assert action[6] == -np.sign(2 * raw[6] - 1)


def test_lerobot_s_source_is_measured(load: Load) -> None:
    loaded = load("act")
    assert loaded.source is not None
    assert loaded.source.module == "lerobot.policies.act.modeling_act"
    assert (loaded.source.distribution, loaded.source.class_name) == ("lerobot", "ACTPolicy")
    loaded.require_unchanged()


def test_the_warm_up_leaves_nothing_behind(load: Load, observe: Observe) -> None:
    loaded = load("diffusion")
    cold = play(open_session(load("diffusion")), observe, 5, 4)
    reply = loaded.policy.warm_up(observe(3))  # type: ignore[union-attr]
    assert len(reply.chunk) == 4
    assert play(open_session(loaded), observe, 5, 4) == cold


def test_loading_prints_nothing(load: Load, capfd: pytest.CaptureFixture[str]) -> None:
    load("act")
    assert capfd.readouterr().out == ""


def test_other_states_than_libero_s_can_be_fed(load: Load, saved: Saved, observe: Observe) -> None:
    loaded = load("act", folder=saved("act", 16), state_layout="pnp_16", quaternion="none")
    assert len(play(open_session(loaded), observe, 1, 8)) == 1


def test_temporal_ensembling_is_an_inference_at_each_step(
    load: Load, saved: Saved, observe: Observe
) -> None:
    folder = saved("act", n_action_steps=1, temporal_ensemble_coeff=0.01)
    loaded = load("act", folder=folder, chunk=1, execute=1)
    assert play(open_session(loaded), observe, 5, 1) == own_loop(folder, observe, 5, 1)


def refused(load: Load, kind: str = "act", **fields: Any) -> RunError:
    with pytest.raises(RunError) as caught:
        load(kind, **fields)
    return caught.value


def test_weights_that_a_network_lacks_are_refused(load: Load, saved: Saved, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "cut"
    shutil.copytree(saved("act"), folder)
    tensors = load_file(folder / "model.safetensors")
    tensors.pop("model.action_head.weight")
    save_file(tensors, folder / "model.safetensors")
    error = refused(load, folder=folder)
    assert error.code == "load" and "model.action_head.weight" in error.message


def test_a_type_that_lerobot_does_not_know_is_refused(
    load: Load, saved: Saved, tmp_path: Path
) -> None:
    folder = tmp_path / "odd"
    shutil.copytree(saved("act"), folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "type": "my_policy"}))
    error = refused(load, folder=folder)
    assert error.code == "load" and "'my_policy'" in error.message


def test_a_gpu_that_is_not_there_is_not_replaced(load: Load) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    error = refused(load, device="cuda")
    assert error.code == "load" and "finds no GPU" in error.message


def test_statistics_are_checked_in_what_lerobot_itself_saves(
    load: Load, saved: Saved, tmp_path: Path
) -> None:
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "nan"
    shutil.copytree(saved("act"), folder)
    (file,) = folder.glob("policy_postprocessor*.safetensors")
    tensors = load_file(file)
    tensors["action.std"][3] = float("nan")
    save_file(tensors, file)
    error = refused(load, folder=folder)
    assert error.code == "checkpoint"
    assert f"{file}: action.std is nan at 3" in error.message


def test_upright_images_are_not_turned(saved: Saved, adapter: Make, bench: PnpBench) -> None:
    upright = dataclasses.replace(bench, image_row_order="top_first")
    with pytest.raises(ConfigError, match=r"adapter\.image_transform"):
        load_policy(adapter(), upright, PolicyLocation(checkpoint=saved("act")))


def test_a_state_is_named_as_what_it_is(saved: Saved, adapter: Make, bench: PnpBench) -> None:
    wrong = adapter(quaternion="none")
    with pytest.raises(ConfigError, match=r"adapter\.quaternion: is 'none'"):
        load_policy(wrong, bench, PolicyLocation(checkpoint=saved("act")))
