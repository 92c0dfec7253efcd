"""The steps around a LeRobot policy, and the statistics that they scale with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np

from robogate.adapters.checkpoint_files import Field, checkpoint_error, require_file
from robogate.adapters.safetensors_files import read_floats
from robogate.records.observation import FloatArray

NORMALIZER, UNNORMALIZER = "normalizer_processor", "unnormalizer_processor"
#: Statistics that a way of scaling needs: two that are added to or subtracted, or a range.
_NEEDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "MEAN_STD": ("mean", "std"),
        "MIN_MAX": ("min", "max"),
        "QUANTILES": ("q01", "q99"),
        "QUANTILE10": ("q10", "q90"),
    }
)
_IDENTITY = "IDENTITY"


def check_processors(
    folder: Path, config: Field, preprocessor: Field, postprocessor: Field
) -> list[Path]:
    """Check what happens to observations before the policy, and to actions after it.

    Args:
        folder: Of the checkpoint.
        config: The policy's settings.
        preprocessor: Of observations.
        postprocessor: Of actions.

    Returns:
        The files of statistics.

    Raises:
        RunError: ``checkpoint``: a step of foreign code, a statistic that is missing, of another
            width or not finite, a feature that is not scaled as the policy was trained.
    """
    inputs = dict(config.get("input_features").items())
    outputs = dict(config.get("output_features").items())
    read = _check_steps(folder, config, preprocessor, NORMALIZER, inputs)
    return read + _check_steps(folder, config, postprocessor, UNNORMALIZER, outputs)


def _check_steps(
    folder: Path, config: Field, processor: Field, scaler: str, features: Mapping[str, Field]
) -> list[Path]:
    files: list[Path] = []
    scaled: set[str] = set()
    for step in processor.get("steps").entries():
        _require_known_code(step)
        state = step.optional("state_file")
        file = (
            None if state is None else require_file(folder, state.text(), f"{state.path} names it")
        )
        if file is not None:
            files.append(file)
        if _name(step) == scaler:
            statistics = _read_statistics(file)
            scaled |= set(_check_scaling(step, file, statistics, features))
    for key, field in features.items():
        mode = _mode(config, field)
        if mode != _IDENTITY and key not in scaled:
            raise processor.error(
                f"scales no '{key}', and {config.file.name} says that the policy was trained with "
                f"it scaled ({mode})"
            )
    return files


def _require_known_code(step: Field) -> None:
    """A step is one of LeRobot's own: the checkpoint must not name code to import."""
    named = step.optional("class")
    if step.optional("registry_name") is not None:
        return
    if named is None:
        raise step.error("names no step: expected registry_name or class")
    if not named.text().startswith("lerobot."):
        raise named.wrong("a class of LeRobot", "foreign code is not imported from a checkpoint")


def _read_statistics(file: Path | None) -> dict[str, FloatArray]:
    return {} if file is None else dict(read_floats(file))


def _check_scaling(
    step: Field,
    file: Path | None,
    statistics: Mapping[str, FloatArray],
    features: Mapping[str, Field],
) -> Iterator[str]:
    """Check the features that one step scales.

    Yields:
        Key of each that is in order.
    """
    settings = step.get("config")
    modes = settings.get("norm_map")
    covered = settings.get("features")
    only = settings.optional("normalize_observation_keys")
    for key, field in features.items():
        own = covered.optional(key)
        if own is None or (only is not None and key not in only.texts()):
            continue
        shape = field.get("shape").integers()
        if own.get("shape").integers() != shape:
            raise own.get("shape").wrong(f"{list(shape)}, as in {field.file.name}")
        mode = modes.optional(own.get("type").text())
        if mode is None or mode.text() == _IDENTITY:
            continue
        if mode.text() not in _NEEDS:
            raise mode.wrong(f"one of {', '.join((_IDENTITY, *_NEEDS))}")
        if file is None:
            raise step.error(
                f"has no state_file, and scales '{key}' ({mode.value}): the policy was saved "
                "without its statistics, and would run unscaled"
            )
        _require_statistics(file, statistics, key, mode.text(), shape)
        yield key


def _require_statistics(
    file: Path, statistics: Mapping[str, FloatArray], key: str, mode: str, shape: tuple[int, ...]
) -> None:
    channels = shape[0]
    for name in (f"{key}.{statistic}" for statistic in _NEEDS[mode]):
        values = statistics.get(name)
        if values is None:
            raise checkpoint_error(
                file, f"is missing, and {mode} scales with it; without it nothing is scaled", name
            )
        if values.size != channels:
            raise checkpoint_error(file, f"has {values.size} values, expected {channels}", name)
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            index = int(wrong[0])
            raise checkpoint_error(
                file,
                f"is {values.flat[index]} at {index}, expected finite numbers: with it every "
                "action is worthless; compute the statistics anew",
                name,
            )
    low, high = (statistics[f"{key}.{statistic}"].reshape(-1) for statistic in _NEEDS[mode])
    if mode == "MEAN_STD" and (high < 0.0).any():
        raise checkpoint_error(file, "is below 0", f"{key}.std")
    if mode != "MEAN_STD" and (high < low).any():
        index = int(np.flatnonzero(high < low)[0])
        names = " and ".join(_NEEDS[mode])
        raise checkpoint_error(
            file,
            f"has {names} the wrong way round at {index}: {low[index]:g}, {high[index]:g}",
            key,
        )


def _mode(config: Field, feature: Field) -> str:
    modes = config.optional("normalization_mapping")
    mode = None if modes is None else modes.optional(feature.get("type").text())
    return _IDENTITY if mode is None else mode.text()


def _name(step: Field) -> str | None:
    name = step.optional("registry_name")
    return None if name is None else name.text()
