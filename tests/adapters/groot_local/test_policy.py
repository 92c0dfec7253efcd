"""The adapter around NVIDIA's policy class: what it is given, and what becomes of its answer."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robogate.adapters.loaded import LoadedPolicy
from robogate.adapters.registry import load_policy
from robogate.contract.adapter_schema import GrootAdapter
from robogate.errors import ConfigError, EpisodeError, RunError
from robogate.records.location import PolicyLocation
from robogate.records.observation import PolicyObservation
from robogate.records.policy import PolicyEpisode, Reply
from robogate.scenes.pnp_config import PnpBench

Make = Callable[..., GrootAdapter]
Write = Callable[[str], Path]
Install = Callable[[str], Path]

SENTENCE = "pick up the red block and place it on the green target"
GENERATION = {"n1.5": "n15", "n1.6": "n16", "n1.7": "n16"}
LAYOUTS = list(GENERATION)

# The card: every pixel differs from every other, so that any turn or flip is another picture.
CARD = np.arange(4 * 4 * 3, dtype=np.uint8).reshape(4, 4, 3)
# A quarter turn about z: as a rotation vector [0, 0, π/2].
QUARTER = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])


def observation() -> PolicyObservation:
    return PolicyObservation(
        step=0,
        instruction=SENTENCE,
        state={
            "ee_position": np.array([0.5, -0.25, 0.75]),
            "ee_orientation": QUARTER,
            "finger_position": np.array([0.03, 0.02]),
        },
        images={"primary": CARD, "wrist": CARD + 100},
    )


@pytest.fixture
def load(
    adapter: Make, checkpoint: Write, package: Install, bench: PnpBench
) -> Callable[..., LoadedPolicy]:
    def make(layout: str, **fields: Any) -> LoadedPolicy:
        package(GENERATION[layout])
        location = PolicyLocation(checkpoint=checkpoint(layout))
        return load_policy(adapter(layout, **fields), bench, location)

    return make


def infer(loaded: LoadedPolicy) -> Reply:
    session = loaded.open_session(PolicyEpisode(SENTENCE, 7))
    reply = session.infer(observation())  # type: ignore[union-attr]
    assert isinstance(reply, Reply)
    return reply


def seen_by(loaded: LoadedPolicy) -> list[Any]:
    """The list in which the stand-in keeps what it was given."""
    call = loaded.policy._runtime.call  # type: ignore[union-attr]
    policy = getattr(call, "__self__", None)
    if policy is None:
        policy = next(cell.cell_contents for cell in call.__closure__)
    given: list[Any] = policy.given
    return given


def test_later_generations_get_libero_s_tensors(
    load: Callable[..., LoadedPolicy],
) -> None:
    loaded = load("n1.6")
    given = seen_by(loaded)
    reply = infer(loaded)
    (seen,) = given
    assert seen["language"] == {"annotation.human.action.task_description": [[SENTENCE]]}
    assert reply.prompt == SENTENCE and reply.backend_calls == 1
    assert np.array_equal(seen["video"]["image"], CARD[None, None, ::-1, ::-1])
    assert np.array_equal(seen["video"]["wrist_image"], (CARD + 100)[None, None, ::-1, ::-1])
    expected = {
        "x": [0.5], "y": [-0.25], "z": [0.75], "roll": [0.0], "pitch": [0.0],
        "yaw": [np.float32(np.pi / 2)], "gripper": [np.float32(0.03), np.float32(-0.02)],
    }  # fmt: skip
    for name, values in expected.items():
        array = seen["state"][name]
        assert array.dtype == np.float32 and array.shape == (1, 1, len(values))
        np.testing.assert_allclose(array[0, 0], values, rtol=1e-6, atol=1e-7)


def test_n15_gets_the_flat_form(load: Callable[..., LoadedPolicy]) -> None:
    loaded = load("n1.5")
    given = seen_by(loaded)
    assert infer(loaded).prompt == SENTENCE
    (seen,) = given
    assert seen["annotation.human.action.task_description"] == [SENTENCE]
    assert np.array_equal(seen["video.image"], CARD[None, ::-1, ::-1])
    assert seen["state.x"].tolist() == [[0.5]]
    assert seen["state.gripper"].tolist() == [[0.03, -0.02]]


def test_the_gripper_is_decoded_and_nothing_else(load: Callable[..., LoadedPolicy]) -> None:
    chunk = np.array(infer(load("n1.7")).chunk)
    assert chunk.dtype == np.float64 and chunk.shape == (16, 7)
    assert chunk[0].tolist() == [0.0, 0.125, 0.25, 0.375, 0.5, 0.625, -1.0]
    assert chunk[15].tolist() == [0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 1.0]


def test_what_was_imported_is_measured_and_a_change_is_noticed(
    load: Callable[..., LoadedPolicy], tmp_path: Path
) -> None:
    loaded = load("n1.6")
    source = loaded.source
    assert source is not None
    assert (source.module, source.class_name) == ("gr00t.policy.gr00t_policy", "Gr00tPolicy")
    assert source.package == "gr00t" and source.package_files == 5
    loaded.require_unchanged()
    (tmp_path / "standin_n16/gr00t/data/embodiment_tags.py").write_text("changed = True\n")
    with pytest.raises(RunError, match=r"embodiment_tags\.py was modified"):
        loaded.require_unchanged()


def test_nothing_is_imported_before_the_files_are_in_order(
    checkpoint: Write, adapter: Make, bench: PnpBench
) -> None:
    folder = checkpoint("n1.6")
    (folder / "statistics.json").write_text("{}")
    with pytest.raises(RunError, match="statistics.json") as caught:
        load_policy(adapter(), bench, PolicyLocation(checkpoint=folder))
    assert caught.value.code == "checkpoint"
    assert "gr00t" not in sys.modules


def refused(load: Callable[..., LoadedPolicy], layout: str, **fields: Any) -> str:
    with pytest.raises(RunError) as caught:
        load(layout, **fields)
    assert caught.value.code == "load"
    return caught.value.message


def test_without_the_package_the_message_says_what_to_install(
    checkpoint: Write, adapter: Make, bench: PnpBench
) -> None:
    with pytest.raises(RunError, match="install NVIDIA/Isaac-GR00T of generation n1.6"):
        load_policy(adapter(), bench, PolicyLocation(checkpoint=checkpoint("n1.6")))


def test_the_package_of_another_generation_is_refused(
    checkpoint: Write, adapter: Make, package: Install, bench: PnpBench
) -> None:
    package("n15")
    with pytest.raises(RunError, match=r"no module 'gr00t\.policy'.*check adapter\.layout"):
        load_policy(adapter(), bench, PolicyLocation(checkpoint=checkpoint("n1.6")))


def test_n15_needs_its_data_configuration(load: Callable[..., LoadedPolicy]) -> None:
    assert "adapter.data_config must name" in refused(load, "n1.5", data_config=None)


def test_a_data_configuration_with_another_horizon_is_refused(
    load: Callable[..., LoadedPolicy],
) -> None:
    short = "examples.Libero.custom_data_config:ShortDataConfig"
    message = refused(load, "n1.5", data_config=short)
    assert "adapter.data_config has a horizon of 8, the checkpoint one of 16" in message


def test_a_tag_that_the_package_does_not_know_is_refused(
    checkpoint: Write, adapter: Make, package: Install, bench: PnpBench
) -> None:
    folder = checkpoint("n1.6")
    for file in ("processor_config.json", "statistics.json", "embodiment_id.json"):
        text = (folder / file).read_text().replace("libero_panda", "my_robot")
        (folder / file).write_text(text)
    package("n16")
    with pytest.raises(RunError, match="knows no embodiment tag 'my_robot'"):
        load_policy(adapter(), bench, PolicyLocation(checkpoint=folder))


def test_a_class_that_refuses_the_weights_stops_the_run(
    checkpoint: Write, adapter: Make, package: Install, bench: PnpBench,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    package("n16")
    import gr00t.policy.gr00t_policy as standin

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("weights do not fit")

    monkeypatch.setattr(standin.Gr00tPolicy, "__init__", fail)
    with pytest.raises(RunError, match="cannot load it .OSError: weights do not fit") as caught:
        load_policy(adapter(), bench, PolicyLocation(checkpoint=checkpoint("n1.6")))
    assert caught.value.code == "load"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda action: {**action, "x": np.zeros((1, 8, 1), np.float32)}, "bad_reply"),
        (lambda action: {**action, "x": np.full((1, 16, 1), np.nan, np.float32)},
         "action_not_finite"),
        (lambda action: {k: v for k, v in action.items() if k != "yaw"}, "action_shape"),
        (lambda action: {k: v[:, :8] for k, v in action.items()}, "chunk_length"),
        (lambda action: {**action, "gripper": np.full((1, 16, 1), -3, np.float32)},
         "gripper_decode"),
    ],
)  # fmt: skip
def test_a_wrong_answer_is_an_error_of_the_episode(
    answer: Callable[[Any], Any], code: str, load: Callable[..., LoadedPolicy],
) -> None:  # fmt: skip
    loaded = load("n1.6")
    policy: Any = loaded.policy
    right = policy._runtime.call
    policy._runtime = dataclasses.replace(policy._runtime, call=lambda given: answer(right(given)))
    with pytest.raises(EpisodeError) as caught:
        infer(loaded)
    assert caught.value.code == code


def test_a_bench_with_other_actions_is_refused(
    checkpoint: Write, adapter: Make, package: Install, bench: PnpBench
) -> None:
    package("n16")
    joints = dataclasses.replace(
        bench, action=dataclasses.replace(bench.action, semantics="joint_position_absolute")
    )
    with pytest.raises(ConfigError, match="semantics"):
        load_policy(adapter(), joints, PolicyLocation(checkpoint=checkpoint("n1.6")))


def test_the_warm_up_makes_one_inference(load: Callable[..., LoadedPolicy]) -> None:
    loaded = load("n1.6")
    given = seen_by(loaded)
    assert loaded.policy.warm_up(observation()).backend_calls == 1  # type: ignore[union-attr]
    assert len(given) == 1


@pytest.mark.lerobot
def test_what_is_drawn_follows_from_the_episode_s_seed(load: Callable[..., LoadedPolicy]) -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch, as GR00T does")
    loaded = load("n1.6", seeding="per_episode")
    call: Any = loaded.policy._runtime.call  # type: ignore[union-attr]
    policy = next(cell.cell_contents for cell in call.__closure__)
    policy.draw = lambda shape: torch.rand(shape).numpy()

    def draw(seed: int, number: int = 1) -> list[float]:
        session: Any = loaded.open_session(PolicyEpisode(SENTENCE, seed))
        replies = [session.infer(observation()) for _ in range(number)]
        return np.array(replies[-1].chunk)[:, 0].tolist()

    assert draw(3) == draw(3)
    assert draw(3) != draw(4)
    assert draw(3, number=2) != draw(3)
