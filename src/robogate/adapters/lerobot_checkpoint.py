"""A LeRobot checkpoint's files, checked against bench and contract before LeRobot is imported.

Facts: lerobot 0.6.1, `configs/policies.py`, `processor/pipeline.py`, `policies/*/modeling_*.py` and
`processor/normalize_processor.py`. A statistic that is missing skips the scaling there without a
word, and weights that are missing stay random; here both are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from robogate.adapters.checkpoint_files import Field, read_json, require_file, require_folder
from robogate.adapters.lerobot_statistics import check_processors
from robogate.adapters.safetensors_files import require_whole
from robogate.adapters.state_layouts import state_width
from robogate.contract.adapter_schema import LerobotAdapter
from robogate.contract.canonical import sha256_file
from robogate.contract.schema import Bench

CONFIG, WEIGHTS = "config.json", "model.safetensors"
PREPROCESSOR, POSTPROCESSOR = "policy_preprocessor.json", "policy_postprocessor.json"
ACTION = "action"

#: Key of a policy's configuration that says how many actions it gives out of one inference.
_STEPS: Mapping[str, str] = MappingProxyType({"vqbet": "action_chunk_size"})
#: Key, of those that a policy has, of how many actions it predicts at once.
_PREDICTED = ("chunk_size", "horizon")
_UNFIT: Mapping[str, str] = MappingProxyType(
    {
        "gaussian_actor": "it is the actor of an online learner",
        "lingbot_va": "it is fed with the images that its own actions led to",
    }
)
_MIGRATE = (
    "a checkpoint of an older LeRobot is brought up to date with "
    "lerobot.processor.migrate_policy_normalization"
)


@dataclass(frozen=True)
class LerobotCheckpoint:
    """What was read of a checkpoint.

    Attributes:
        folder: That holds it.
        policy: LeRobot's name of its type, such as ``act``.
        images: Camera of the bench by the key that the policy knows it under.
        chunk: Actions that the policy gives out of one inference.
        history: Observations that it looks at, the present one included.
        files: SHA-256 of each settings file that was checked, by name.
    """

    folder: Path
    policy: str
    images: Mapping[str, str]
    chunk: int
    history: int
    files: Mapping[str, str]


def read_checkpoint(
    folder: Path | None, adapter: LerobotAdapter, bench: Bench, cameras: tuple[str, ...]
) -> LerobotCheckpoint:
    """Check a checkpoint's files field by field; no weight is read.

    Args:
        folder: ``adapter.checkpoint``.
        adapter: Of the contract.
        bench: That it is going to drive.
        cameras: Names of the bench's cameras.

    Raises:
        RunError: ``checkpoint``: what is wrong, in which file and field, and what to do.
    """
    found = require_folder(folder)
    hint = f"'{found.name}/pretrained_model' holds one: give that folder"
    nested = (found / "pretrained_model" / CONFIG).is_file()
    config = read_json(require_file(found, CONFIG, hint if nested else ""))
    policy = _read_type(config)
    preprocessor, postprocessor = (
        read_json(require_file(found, name, _MIGRATE)) for name in (PREPROCESSOR, POSTPROCESSOR)
    )
    require_whole(require_file(found, WEIGHTS))
    features = config.get("input_features")
    _require_images(features, config, adapter, cameras)
    _require_state(features, adapter)
    _require_action(config.get("output_features"), bench)
    chunk = _read_chunk(config, policy, adapter)
    states = check_processors(found, config, preprocessor, postprocessor)
    files = [config.file, preprocessor.file, postprocessor.file, *states]
    return LerobotCheckpoint(
        folder=found,
        policy=policy,
        images=cameras_by_key(adapter),
        chunk=chunk,
        history=config.get("n_obs_steps").integer(),
        files={file.name: sha256_file(file) for file in files},
    )


def cameras_by_key(adapter: LerobotAdapter) -> dict[str, str]:
    """Camera by the key of the policy that gets its image."""
    return {key: camera for camera, key in adapter.image_keys.items() if key is not None}


def _read_type(config: Field) -> str:
    name = config.get("type", "LeRobot writes it beside the policy's settings")
    if name.text() in _UNFIT:
        raise name.error(f"is '{name.value}', which cannot be evaluated here: {_UNFIT[name.value]}")
    peft = config.optional("use_peft")
    if peft is not None and peft.flag():
        raise peft.error(
            "is true, so that the folder holds an adapter alone and the weights lie elsewhere: "
            "merge the two and save the whole policy"
        )
    return name.text()


def _require_images(
    features: Field, config: Field, adapter: LerobotAdapter, cameras: tuple[str, ...]
) -> None:
    """Every image that the policy reads comes from a camera, and in its size."""
    unknown = sorted(set(adapter.image_keys) - set(cameras))
    if unknown:
        raise features.error(
            f"cannot be fed: adapter.image_keys.{unknown[0]} names no camera of the bench, which "
            f"has {', '.join(cameras)}"
        )
    given = cameras_by_key(adapter)
    empty = config.optional("empty_cameras")
    padded = 0 if empty is None else empty.integer(least=0)
    absent = {f"observation.images.empty_camera_{i}" for i in range(padded)}
    wanted = {key: field for key, field in features.items() if _kind(field) == "VISUAL"}
    for key, field in wanted.items():
        if key in absent:
            continue
        if key not in given:
            raise field.error(
                f"is an image that no camera gives: set adapter.image_keys so that one of "
                f"{', '.join(cameras)} is '{key}'"
            )
        shape = field.get("shape")
        size = adapter.image_size
        if shape.integers() != (3, size, size):
            raise shape.wrong(f"[3, {size}, {size}], since adapter.image_size is {size}")
    for key, camera in given.items():
        if key not in wanted:
            has = ", ".join(wanted) or "no images"
            raise features.error(
                f"has no image '{key}', which adapter.image_keys.{camera} names; it has {has}"
            )


def _require_state(features: Field, adapter: LerobotAdapter) -> None:
    """The state is the contract's layout, and nothing is asked for that a policy may not see."""
    width = state_width(adapter.state_layout)
    for key, field in features.items():
        kind = _kind(field)
        if kind == "ENV":
            raise field.error("is the state of the scene, which no policy sees here")
        if kind != "STATE":
            continue
        if key != adapter.state_key:
            raise field.error(f"is a state, and adapter.state_key is '{adapter.state_key}'")
        shape = field.get("shape")
        if shape.integers() != (width,):
            raise shape.wrong(
                f"[{width}], the width of adapter.state_layout={adapter.state_layout}",
                "give the layout that the policy was trained with",
            )
    features.get(adapter.state_key, "adapter.state_key names the policy's state")


def _require_action(features: Field, bench: Bench) -> None:
    shape = features.get(ACTION).get("shape")
    names = bench.action.names
    if shape.integers() != (len(names),):
        raise shape.wrong(f"[{len(names)}], an action of the bench ({', '.join(names)})")


def _read_chunk(config: Field, policy: str, adapter: LerobotAdapter) -> int:
    field = config.get(_STEPS.get(policy, "n_action_steps"))
    chunk = field.integer()
    repeats = config.optional("n_action_repeats")
    if repeats is not None and repeats.integer() > 1:
        field, chunk = repeats, repeats.integer()
    for name in _PREDICTED:
        predicted = config.optional(name)
        if predicted is not None and field is not repeats and predicted.integer() < chunk:
            raise predicted.error(f"is {predicted.value}, less than the {chunk} of {field.path}")
    if chunk < adapter.execute:
        raise field.error(
            f"is {chunk}, adapter.execute is {adapter.execute}: execute at most {chunk} of them"
        )
    if chunk != adapter.chunk:
        raise field.error(
            f"is {chunk}, adapter.chunk is {adapter.chunk}: set adapter.chunk={chunk}, and "
            "adapter.execute to how many of them are executed"
        )
    return chunk


def _kind(feature: Field) -> str:
    return feature.get("type").text()
