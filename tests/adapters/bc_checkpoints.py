"""Checkpoints of ``adapter=bc``, written around the small networks, right and wrong."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from robogate.contract.adapter_schema import BcAdapter
from robogate.contract.canonical import self_hash
from robogate.contract.files import write_json
from robogate.records.observation import PolicyObservation

NETWORKS = Path(__file__).parent / "bc_networks"
SENTENCE = "pick up the red block and place it on the green target"


def bc_adapter(**changes: Any) -> BcAdapter:
    """The record as conf/adapter has it."""
    fields: dict[str, Any] = {
        "kind": "bc",
        "version": "1",
        "benches": ("pnp",),
        "role": "policy",
        "determinism": "deterministic",
        "transfer": "in_environment",
        "execute": 8,
        "model": "robogate-bc-pnp",
        "revision": "1",
        "checkpoint_sha256": None,
        "warmup_timeout_s": 60.0,
        "seeding": "none",
        "batch_invariant": True,
        "chunk": 8,
        "replan": "after_execute",
        "image_transform": "none",
        "image_size": 64,
        "image_resize": "area",
        "state_layout": "pnp_16",
        "quaternion": "none",
        "gripper_decode": "environment",
    }
    return BcAdapter(**{**fields, **changes})


def document(network: bytes) -> dict[str, Any]:
    """What `policy.json` says of a network; its self-hash is still open."""
    return {
        "schema": "robogate.bc_checkpoint/1",
        "model": "robogate-bc-pnp",
        "network_sha256": hashlib.sha256(network).hexdigest(),
        "seen": {
            "cameras": ["primary", "wrist"],
            "image_size": 64,
            "image_resize": "area",
            "image_transform": "none",
            "image_row_order": "bottom_first",
            "state_layout": "pnp_16",
            "state_mean": [0.0] * 16,
            "state_std": [2.0] * 16,
        },
        "said": {
            "chunk": 8,
            "names": ["dx", "dy", "dz", "rx", "ry", "rz", "gripper"],
            "semantics": "osc_pose_delta",
            "gripper_decode": "environment",
        },
        "origin": {
            "dataset_sha256": "a" * 64,
            "environment_sha256": "b" * 64,
            "refused_manifest_sha256": "c" * 64,
            "demonstrations": 3,
            "frames": 200,
            "step": 10,
            "steps": 10,
            "recipe": {"seed": 1},
            "framework": "none, made by hand",
        },
        "sha256": "",
    }


def write_checkpoint(
    folder: Path,
    change: Callable[[dict[str, Any]], object] = lambda _: None,
    network: str = "right",
) -> Path:
    """Write one, its document changed and sealed again."""
    folder.mkdir(parents=True, exist_ok=True)
    data = (NETWORKS / f"{network}.onnx").read_bytes()
    (folder / "policy.onnx").write_bytes(data)
    text = document(data)
    change(text)
    text["sha256"] = self_hash(text)
    write_json(folder / "policy.json", text)
    return folder


def raw(folder: Path, text: str) -> Path:
    """A checkpoint whose document is this text."""
    write_checkpoint(folder)
    (folder / "policy.json").write_text(text)
    return folder


def text_of(folder: Path) -> str:
    return json.dumps(json.loads((folder / "policy.json").read_text()))


def observation(primary: int = 51, wrist: int = 102) -> PolicyObservation:
    """Two pictures of one grey each, and a state that counts."""
    state = np.arange(16, dtype=np.float64) / 10.0
    return PolicyObservation(
        step=0,
        instruction=SENTENCE,
        state={
            "joint_position": state[:7],
            "finger_position": state[7:9],
            "ee_position": state[9:12],
            "ee_orientation": state[12:],
        },
        images={
            "primary": np.full((256, 256, 3), primary, np.uint8),
            "wrist": np.full((256, 256, 3), wrist, np.uint8),
        },
    )
