"""A checkpoint is refused before anything is loaded, by file and field."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bc_checkpoints import bc_adapter, raw, text_of, write_checkpoint

from robogate.adapters.bc_checkpoint import read_checkpoint, read_network
from robogate.errors import RunError
from robogate.scenes.pnp_config import PnpBench

Change = Callable[[dict[str, Any]], object]


def put(path: str, value: Any) -> Change:
    """A change of one field."""

    def change(document: dict[str, Any]) -> None:
        *parents, key = path.split(".")
        for parent in parents:
            document = document[parent]
        document[key] = value

    return change


def refusal(bench: PnpBench, folder: Path, **changes: Any) -> str:
    with pytest.raises(RunError) as caught:
        read_checkpoint(folder, bc_adapter(**changes), bench)
    assert caught.value.code == "checkpoint"
    return caught.value.message


def test_a_right_one_is_read(bench: PnpBench, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path)
    checkpoint = read_checkpoint(folder, bc_adapter(), bench)
    assert checkpoint.said.chunk == 8
    assert read_network(folder, checkpoint) == (folder / "policy.onnx").read_bytes()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (put("seen.image_size", 96), "$.seen.image_size: is 96, adapter.image_size is 64"),
        (put("seen.image_resize", "pad"), "$.seen.image_resize: is 'pad'"),
        (put("seen.image_transform", "rotate_180"), "adapter.image_transform is 'none'"),
        (put("seen.image_row_order", "top_first"), "bench.image_row_order is 'bottom_first'"),
        (put("seen.state_layout", "libero_8"), "adapter.state_layout is 'pnp_16'"),
        (put("seen.cameras", ["wrist", "primary"]), "$.seen.cameras: is ('wrist', 'primary')"),
        (put("seen.state_mean", [0.0] * 15), "$.seen.state_mean: has 15 values, expected 16"),
        (put("seen.state_std", [1.0] * 3 + [0.0] * 13), "$.seen.state_std[3]: is 0.0"),
        (put("seen.state_std", [-1.0] + [1.0] * 15), "expected a finite number above 0"),
        (put("seen.state_mean", [0] * 16), "$.seen.state_mean[0]"),  # an integer is no number
        (put("said.chunk", 16), "$.said.chunk: is 16, adapter.chunk is 8"),
        (put("said.names", ["dx"] * 7), "$.said.names"),
        (put("said.semantics", "joint_position_absolute"), "bench.action.semantics is"),
        (put("said.gripper_decode", "unit_open"), "adapter.gripper_decode is 'environment'"),
        (put("model", "another"), "$.model: is 'another', adapter.model is 'robogate-bc-pnp'"),
        (put("network_sha256", "zz"), "$.network_sha256: is 'zz', expected 64"),
        (put("origin.dataset_sha256", ""), "$.origin.dataset_sha256"),
        (put("schema", "robogate.bc_checkpoint/2"), "$.schema"),
        (put("extra", 1), "$.extra"),
        (lambda d: d["seen"].pop("state_std"), "$.seen.state_std"),
    ],
)  # fmt: skip
def test_each_field_is_checked(
    bench: PnpBench, tmp_path: Path, change: Change, expected: str
) -> None:
    message = refusal(bench, write_checkpoint(tmp_path, change))
    assert message.startswith(f"{tmp_path / 'policy.json'}: ")
    assert expected in message


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_statistics_are_finite(bench: PnpBench, tmp_path: Path, word: str) -> None:
    text = text_of(write_checkpoint(tmp_path)).replace("[0.0,", f"[{word},", 1)
    message = refusal(bench, raw(tmp_path, text))
    assert "policy.json" in message and word in message


def test_a_statistic_beyond_double_precision(bench: PnpBench, tmp_path: Path) -> None:
    text = text_of(write_checkpoint(tmp_path)).replace("[0.0,", "[1e999,", 1)
    assert "1e999" in refusal(bench, raw(tmp_path, text))


def test_a_document_that_was_edited_by_hand(bench: PnpBench, tmp_path: Path) -> None:
    document = json.loads(text_of(write_checkpoint(tmp_path)))
    document["origin"]["step"] = 11
    assert "$.sha256" in refusal(bench, raw(tmp_path, json.dumps(document)))


def test_the_contract_asks_for_another_chunk(bench: PnpBench, tmp_path: Path) -> None:
    message = refusal(bench, write_checkpoint(tmp_path), chunk=4)
    assert "$.said.chunk: is 8, adapter.chunk is 4" in message


def test_a_model_that_the_contract_leaves_open(bench: PnpBench, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path, put("model", "another"))
    assert read_checkpoint(folder, bc_adapter(model=None), bench).model == "another"


def test_a_folder_that_is_something_else(bench: PnpBench, tmp_path: Path) -> None:
    assert "policy.json: is missing" in refusal(bench, tmp_path)
    assert "robogate train" in refusal(bench, tmp_path)
    assert "is no folder" in refusal(bench, tmp_path / "nowhere")
    assert "policy.json" in refusal(bench, raw(tmp_path, "{"))


def test_a_network_of_another_training(bench: PnpBench, tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path)
    checkpoint = read_checkpoint(folder, bc_adapter(), bench)
    (folder / "policy.onnx").write_bytes(b"another")
    with pytest.raises(RunError, match=r"policy\.onnx: has SHA-256 .* \$\.network_sha256"):
        read_network(folder, checkpoint)
    (folder / "policy.onnx").unlink()
    with pytest.raises(RunError, match=r"policy\.onnx: is missing"):
        read_network(folder, checkpoint)
