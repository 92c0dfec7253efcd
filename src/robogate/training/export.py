"""From weights to a checkpoint that runs without a training framework: ONNX and a document."""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from robogate.adapters.bc_checkpoint import (
    DOCUMENT,
    NETWORK,
    BcCheckpoint,
    Origin,
    SaidByNetwork,
    SeenByNetwork,
)
from robogate.adapters.bc_features import CAMERAS, STATE_SIZE
from robogate.contract.canonical import self_hash
from robogate.contract.files import write_atomic, write_json
from robogate.contract.strict import decode, encode
from robogate.errors import EvidenceError
from robogate.training.dataset_cli import ACTION_NAMES
from robogate.training.network import INPUTS, OUTPUT, Acting, Network
from robogate.training.recipe import Recipe

MODEL = "robogate-bc-pnp"
OPSET = 17
#: Largest difference between the framework's actions and the exported network's.
AGREE = 1e-4


def export(weights: Path, log: Mapping[str, Any], step: int, folder: Path) -> int:
    """Write one checkpoint and compare what it does with what was trained.

    Args:
        weights: Of `Training.save_weights`.
        log: `training.json`.
        step: Of the weights.
        folder: To write into.

    Returns:
        Size of the network, bytes.

    Raises:
        EvidenceError: The exported network does something else.
    """
    recipe = decode(Recipe, log["recipe"], "$.recipe")
    size = int(log["image_size"])
    network = Network(size, recipe.chunk)
    network.load_state_dict(torch.load(weights, weights_only=True))
    acting = Acting(network).eval()
    data = to_onnx(acting, size)
    _require_agreement(acting, data, size)
    write_atomic(folder / NETWORK, data)
    document = encode(_checkpoint(data, log, recipe, step))
    document["sha256"] = self_hash(document)
    write_json(folder / DOCUMENT, document)
    return len(data)


def to_onnx(acting: Acting, size: int) -> bytes:
    """The network as ONNX, for any number of observations at once."""
    example = (
        *(torch.zeros(1, size, size, 3, dtype=torch.uint8) for _ in CAMERAS),
        torch.zeros(1, STATE_SIZE),
    )
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # It announces another exporter, which writes the same network less plainly.
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.onnx.export(
            acting,
            example,
            buffer,
            input_names=list(INPUTS),
            output_names=[OUTPUT],
            dynamic_axes={name: {0: "batch"} for name in (*INPUTS, OUTPUT)},
            opset_version=OPSET,
            dynamo=False,
        )
    return buffer.getvalue()


def _require_agreement(acting: Acting, data: bytes, size: int) -> None:
    import onnxruntime

    random = np.random.default_rng(0)
    fed: dict[str, Any] = {
        name: random.integers(0, 256, (4, size, size, 3), dtype=np.uint8) for name in CAMERAS
    }
    fed["state"] = random.standard_normal((4, STATE_SIZE)).astype(np.float32)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    (found,) = session.run([OUTPUT], fed)
    with torch.no_grad():
        expected = acting(*(torch.from_numpy(fed[name]) for name in INPUTS)).numpy()
    worst = float(np.abs(found - expected).max())
    # A command next to a threshold may fall on its other side.
    if found.shape != expected.shape or np.mean(np.abs(found - expected) > AGREE) > 0.02:
        raise EvidenceError(
            f"the exported network's actions differ from the trained one's by up to {worst}",
            code="export",
        )


def _checkpoint(data: bytes, log: Mapping[str, Any], recipe: Recipe, step: int) -> BcCheckpoint:
    return BcCheckpoint(
        schema="robogate.bc_checkpoint/1",
        model=MODEL,
        network_sha256=hashlib.sha256(data).hexdigest(),
        seen=SeenByNetwork(
            cameras=CAMERAS,
            image_size=log["image_size"],
            image_resize="area",
            image_transform="none",
            image_row_order=log["image_row_order"],
            state_layout="pnp_16",
            state_mean=tuple(log["state_mean"]),
            state_std=tuple(log["state_std"]),
        ),
        said=SaidByNetwork(
            chunk=recipe.chunk,
            names=ACTION_NAMES,
            semantics="osc_pose_delta",
            gripper_decode="environment",
        ),
        origin=Origin(
            dataset_sha256=log["dataset_sha256"],
            environment_sha256=log["environment_sha256"],
            refused_manifest_sha256=log["refused_manifest_sha256"],
            demonstrations=log["demonstrations"],
            frames=log["frames"],
            step=step,
            steps=recipe.steps,
            recipe=log["recipe"],
            framework=log["framework"],
        ),
        sha256="",
    )
