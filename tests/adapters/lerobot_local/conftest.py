"""LeRobot checkpoints: written file by file, and by LeRobot itself where it is installed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from robogate.contract.adapter_schema import LerobotAdapter
from robogate.records.observation import PolicyObservation

IMAGES = ("observation.images.image", "observation.images.image2")
SENTENCE = "pick up the red block and place it on the green target"
SIZE = 64
REASON = "LeRobot has an environment of its own: make test-lerobot"


def write_tensors(file: Path, tensors: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """A safetensors file of float32 arrays."""
    header: dict[str, Any] = {}
    body = b""
    for name, array in tensors.items():
        data = array.astype("<f4").tobytes()
        place = [len(body), len(body) + len(data)]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": place}
        body += data
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + body)


def statistics(width: int, channels: bool = False) -> dict[str, np.ndarray[Any, Any]]:
    shape = (width, 1, 1) if channels else (width,)
    return {
        "mean": np.zeros(shape),
        "std": np.full(shape, 0.25),
        "min": np.full(shape, -0.75),
        "max": np.full(shape, 0.75),
    }


def write_files(folder: Path) -> Path:
    """An ACT checkpoint as LeRobot 0.6.1 saves one, but for weights that fit no network."""
    image = {"type": "VISUAL", "shape": [3, SIZE, SIZE]}
    inputs: dict[str, Any] = {name: image for name in IMAGES}
    inputs["observation.state"] = {"type": "STATE", "shape": [8]}
    outputs = {"action": {"type": "ACTION", "shape": [7]}}
    modes = {"VISUAL": "MEAN_STD", "STATE": "MEAN_STD", "ACTION": "MIN_MAX"}
    config = {
        "type": "act",
        "n_obs_steps": 1,
        "input_features": inputs,
        "output_features": outputs,
        "device": "cpu",
        "use_peft": False,
        "chunk_size": 8,
        "n_action_steps": 8,
        "normalization_mapping": modes,
    }
    known = {name: statistics(3, channels=True) for name in IMAGES}
    known |= {"observation.state": statistics(8), "action": statistics(7)}
    tensors = {f"{key}.{name}": v for key, found in known.items() for name, v in found.items()}
    steps = {
        "policy_preprocessor": ("normalizer_processor", {**inputs, **outputs}),
        "policy_postprocessor": ("unnormalizer_processor", outputs),
    }
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    for name, (step, features) in steps.items():
        state = f"{name}_{step}.safetensors"
        entry = {
            "registry_name": step,
            "config": {"eps": 1e-8, "features": features, "norm_map": modes},
            "state_file": state,
        }
        document = {"name": name, "steps": [{"registry_name": "to_batch_processor"}, entry]}
        (folder / f"{name}.json").write_text(json.dumps(document))
        write_tensors(folder / state, tensors)
    write_tensors(folder / "model.safetensors", {"weight": np.zeros(2)})
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A checkpoint's files, in order in every respect."""
    return write_files(tmp_path / "checkpoint")


@pytest.fixture
def adapter() -> Callable[..., LerobotAdapter]:
    """Makes the record of ``adapter=lerobot``."""

    def make(**fields: Any) -> LerobotAdapter:
        values: dict[str, Any] = dict(
            kind="lerobot", version="1", benches=("pnp", "dual_arm"), role="policy",
            determinism="stochastic", transfer="zero_shot", execute=8, model=None, revision=None,
            checkpoint_sha256=None, warmup_timeout_s=60.0, seeding="per_episode",
            batch_invariant=False, chunk=8, replan="after_execute",
            image_transform="rotate_180", image_size=SIZE, image_resize="none",
            state_layout="libero_8", quaternion="axis_angle_raw", gripper_decode="environment",
            device="cpu", image_keys=dict(zip(("primary", "wrist"), IMAGES)),
            state_key="observation.state",
        )  # fmt: skip
        return LerobotAdapter(**{**values, **fields})

    return make


@pytest.fixture
def observe() -> Callable[[int], PolicyObservation]:
    """Makes observations, each another one, the same ones every time."""

    def make(step: int) -> PolicyObservation:
        draw = np.random.default_rng(step)
        image = draw.integers(0, 256, (2, SIZE, SIZE, 3), dtype=np.uint8)
        return PolicyObservation(
            step=step,
            instruction=SENTENCE,
            state={
                "joint_position": draw.normal(size=7),
                "finger_position": np.array([0.03, 0.02]),
                "ee_position": draw.normal(size=3),
                "ee_orientation": np.array([0.0, 1.0, 0.0, 0.0]),
            },
            images={"primary": image[0], "wrist": image[1]},
        )

    return make


@pytest.fixture(scope="session")
def lerobot() -> ModuleType:
    """LeRobot, or a skipped test."""
    module: ModuleType = pytest.importorskip("lerobot.policies", reason=REASON)
    return module


def _features(state: int) -> tuple[dict[str, Any], dict[str, Any]]:
    from lerobot.configs import FeatureType, PolicyFeature

    image = PolicyFeature(type=FeatureType.VISUAL, shape=(3, SIZE, SIZE))
    inputs: dict[str, Any] = {name: image for name in IMAGES}
    inputs["observation.state"] = PolicyFeature(type=FeatureType.STATE, shape=(state,))
    return inputs, {"action": PolicyFeature(type=FeatureType.ACTION, shape=(7,))}


def make_config(kind: str, state: int = 8, **fields: Any) -> Any:
    """A tiny configuration of one of LeRobot's own types of policy."""
    from lerobot.policies.factory import make_policy_config

    inputs, outputs = _features(state)
    if kind == "vqbet":
        del inputs[IMAGES[1]]  # it takes one camera
    small: dict[str, dict[str, Any]] = {
        "act": dict(
            chunk_size=8, n_action_steps=8, dim_model=16, n_heads=2, dim_feedforward=16,
            n_encoder_layers=1, n_vae_encoder_layers=1, latent_dim=4,
            pretrained_backbone_weights=None,
        ),
        "diffusion": dict(
            horizon=8, n_action_steps=4, n_obs_steps=2, down_dims=(8, 16), n_groups=4,
            diffusion_step_embed_dim=8, num_train_timesteps=3, spatial_softmax_num_keypoints=2,
            pretrained_backbone_weights=None, crop_shape=None,
        ),
        "vqbet": dict(
            n_obs_steps=2, n_action_pred_token=2, action_chunk_size=3, gpt_hidden_dim=16,
            gpt_input_dim=16, gpt_output_dim=16, gpt_n_layer=1, gpt_n_head=2,
            pretrained_backbone_weights=None, crop_shape=None,
        ),
    }  # fmt: skip
    common = dict(input_features=inputs, output_features=outputs, device="cpu")
    return make_policy_config(kind, **{**common, **small[kind], **fields})


def save(folder: Path, config: Any) -> Path:
    """Make a policy of random weights, and save it and its processors as LeRobot does."""
    import torch
    from lerobot.policies.factory import get_policy_class, make_pre_post_processors

    known = {name: statistics(3, channels=True) for name in IMAGES}
    width = config.input_features["observation.state"].shape[0]
    known |= {"observation.state": statistics(width), "action": statistics(7)}
    tensors = {
        key: {name: torch.tensor(value, dtype=torch.float32) for name, value in found.items()}
        for key, found in known.items()
    }
    torch.manual_seed(5)
    policy = get_policy_class(config.type)(config)
    policy.save_pretrained(folder)
    for processor in make_pre_post_processors(config, dataset_stats=tensors):
        processor.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def saved(lerobot: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Saves a policy of a kind, once for each set of fields."""
    folders: dict[str, Path] = {}

    def make(kind: str, state: int = 8, **fields: Any) -> Path:
        name = repr((kind, state, sorted(fields.items())))
        if name not in folders:
            folder = tmp_path_factory.mktemp(kind)
            folders[name] = save(folder, make_config(kind, state, **fields))
        return folders[name]

    return make
