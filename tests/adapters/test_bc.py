"""The adapter with networks whose answers can be worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bc_checkpoints import SENTENCE, bc_adapter, observation, write_checkpoint

from robogate.adapters.bc import BcPolicy, BcSession
from robogate.adapters.registry import load_policy
from robogate.errors import EpisodeError, RunError
from robogate.records.location import PolicyLocation
from robogate.records.policy import BatchedPolicy, PolicyEpisode, WarmsUp
from robogate.scenes.pnp_config import PnpBench

pytest.importorskip("onnxruntime", reason="the extra 'bc' is not installed")


def loaded(bench: PnpBench, folder: Path) -> BcPolicy:
    policy = load_policy(bc_adapter(), bench, PolicyLocation(checkpoint=folder)).policy
    assert isinstance(policy, BcPolicy)
    return policy


def session(policy: BcPolicy) -> BcSession:
    return policy.open_session(PolicyEpisode(SENTENCE, 5))


def test_golden(bench: PnpBench, tmp_path: Path) -> None:
    """51 and 102 are 0.2 and 0.4 of 255; the state's 0, 6 and 9 are 0, 0.6 and 0.9, halved."""
    reply = session(loaded(bench, write_checkpoint(tmp_path))).infer(observation())
    assert len(reply.chunk) == 8
    for action in reply.chunk:
        assert action.dtype == np.float64 and action.shape == (7,)
        assert np.allclose(action, [0.2, 0.4, 0.0, 0.3, 0.45, 0.5, 1.0], atol=1e-6)
    assert reply.prompt == SENTENCE and reply.backend_calls == 1


def test_the_cameras_are_not_swapped(bench: PnpBench, tmp_path: Path) -> None:
    live = session(loaded(bench, write_checkpoint(tmp_path)))
    reply = live.infer(observation(primary=255, wrist=0))
    assert np.allclose(reply.chunk[0][:2], [1.0, 0.0], atol=1e-6)


def test_equal_observations_give_equal_actions(bench: PnpBench, tmp_path: Path) -> None:
    policy = loaded(bench, write_checkpoint(tmp_path))
    first, second = (np.stack(session(policy).infer(observation()).chunk) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_it_warms_up(bench: PnpBench, tmp_path: Path) -> None:
    policy = loaded(bench, write_checkpoint(tmp_path))
    assert isinstance(policy, WarmsUp)
    assert policy.warm_up(observation()).backend_calls == 1


def test_a_batch_is_answered_in_order_with_the_same_bits(bench: PnpBench, tmp_path: Path) -> None:
    policy = loaded(bench, write_checkpoint(tmp_path))
    assert isinstance(policy, BatchedPolicy)
    views = [observation(primary=17 * i, wrist=255 - 17 * i) for i in range(3)]
    replies = policy.infer_batch([(session(policy), view) for view in views])
    for view, reply in zip(views, replies):
        alone = session(policy).infer(view)
        assert np.stack(reply.chunk).tobytes() == np.stack(alone.chunk).tobytes()
        assert reply.prompt == SENTENCE and reply.backend_calls == 1


def test_a_machine_on_which_company_changes_the_bits(
    bench: PnpBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other_kernel(self: BcPolicy, fed: dict[str, Any]) -> Any:
        (actions,) = self._network.run(["actions"], fed)
        return np.nextafter(actions, np.float32(2.0)) if len(fed["state"]) > 2 else actions

    monkeypatch.setattr(BcPolicy, "_run", other_kernel)
    location = PolicyLocation(checkpoint=write_checkpoint(tmp_path))
    with pytest.raises(RunError, match="3 observations at once get other bits") as caught:
        load_policy(bc_adapter(), bench, location)
    assert caught.value.code == "batch_invariance"
    load_policy(bc_adapter(batch_invariant=False), bench, location)


def test_an_observation_that_lacks_a_camera(bench: PnpBench, tmp_path: Path) -> None:
    live = session(loaded(bench, write_checkpoint(tmp_path)))
    seen = observation()
    images = {"primary": seen.images["primary"]}
    blind = type(seen)(seen.step, seen.instruction, seen.state, images)
    with pytest.raises(EpisodeError, match="cannot be fed"):
        live.infer(blind)


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ("chunk_of_4", "output actions: is tensor(float) (None, 4, 7), expected"),
        ("pictures_of_32", "input primary: is tensor(uint8) (None, 32, 32, 3), expected"),
        ("another_camera", "has inputs ['front', 'wrist', 'state'], expected ['primary',"),
    ],
)
def test_a_network_that_is_not_what_its_document_says(
    bench: PnpBench, tmp_path: Path, network: str, expected: str
) -> None:
    with pytest.raises(RunError) as caught:
        loaded(bench, write_checkpoint(tmp_path, network=network))
    assert caught.value.message.startswith(f"{tmp_path / 'policy.onnx'}: ")
    assert expected in caught.value.message and caught.value.code == "checkpoint"


def test_bytes_that_are_no_network(bench: PnpBench, tmp_path: Path) -> None:
    import hashlib

    def change(document: dict[str, object]) -> None:
        document["network_sha256"] = hashlib.sha256(b"no network").hexdigest()

    folder = write_checkpoint(tmp_path, change)
    (folder / "policy.onnx").write_bytes(b"no network")
    with pytest.raises(RunError, match=r"policy\.onnx: onnxruntime cannot load it"):
        loaded(bench, folder)


def test_without_a_checkpoint(bench: PnpBench) -> None:
    with pytest.raises(RunError, match=r"adapter\.checkpoint is null"):
        load_policy(bc_adapter(), bench)


def test_the_runtime_is_identified(bench: PnpBench, tmp_path: Path) -> None:
    location = PolicyLocation(checkpoint=write_checkpoint(tmp_path))
    policy = load_policy(bc_adapter(), bench, location)
    assert policy.source is not None
    assert policy.source.distribution == "onnxruntime" and policy.source.source == "distribution"
    assert policy.source.compiled_files > 0
    policy.require_unchanged()
