"""What the command line may override, in Hydra's own syntax, and the points of a sweep."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from robogate.errors import ConfigError, nearest
from robogate.records.contract import GROUPS

if TYPE_CHECKING:
    from hydra.core.config_loader import ConfigLoader
    from hydra.core.override_parser.types import Override

#: Every group of `conf/`: the contract, and how a run is carried out.
ALL_GROUPS = (*GROUPS, "runtime")

#: Mappings whose keys are the user's own; everywhere else an unknown key is an error.
OPEN_MAPPINGS = ("adapter.options",)

#: Keys that stand elsewhere now.
MOVED = {"runtime.checkpoint": "adapter.checkpoint"}


def expand(overrides: Sequence[str], *, multirun: bool, loader: ConfigLoader) -> list[list[str]]:
    """Check overrides and list the points that they describe, the last one varying fastest.

    Args:
        overrides: As on the command line, such as ``adapter=zero,oracle``.
        multirun: Whether several values for one key are meant as several evaluations.
        loader: Knows the groups' options, for ``glob(…)``.

    Returns:
        Overrides of each point, in Hydra's syntax and without sweeps.

    Raises:
        ConfigError: An override that is malformed, adds or deletes, is given twice, or is aimed at
            something that is not a group.
    """
    parsed = [_parse(text, loader) for text in overrides]
    _refuse_overlaps([override.get_key_element() for override in parsed])
    return [list(point) for point in itertools.product(*(_values(o, multirun) for o in parsed))]


def _parse(text: str, loader: ConfigLoader) -> Override:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    if text.startswith(("+", "~")):
        what = "adds to" if text.startswith("+") else "deletes from"
        plain = text.lstrip("+~")
        raise ConfigError(
            f"'{text}' {what} the configuration, which is closed; change a value that is there:"
            f" {plain if '=' in plain else plain + '=…'}"
        )
    if "=" not in text:
        raise ConfigError(f"'{text}' is not an override; write KEY=VALUE")
    key = text.partition("=")[0]
    if key in MOVED:
        raise ConfigError(f"'{key}': this is {MOVED[key]} now; write {MOVED[key]}=…")
    group = key.partition(".")[0]
    if group.startswith("hydra"):
        raise ConfigError(
            f"'{key}': Hydra's own settings are not used here; run folders are set with"
            " runtime.output_dir, parallel episodes with runtime.workers"
        )
    if group not in ALL_GROUPS:
        raise ConfigError(f"'{key}': no such group; {nearest(group, ALL_GROUPS)}")
    try:
        override = OverridesParser.create(config_loader=loader).parse_overrides([text])[0]
    except HydraException as exc:
        reason = str(exc).splitlines()[0].removeprefix("LexerNoViableAltException: ")
        where = "" if reason == text else f": {reason}"
        raise ConfigError(
            f"'{text}' is not in Hydra's override syntax{where}{_quoted(text, loader)}"
        ) from exc
    if key in ALL_GROUPS and not override.is_sweep_override():
        if not isinstance(override.value(), str):
            hint = nearest("", loader.get_group_options(key))
            raise ConfigError(f"'{text}': expected the name of one {key}; {hint}")
    return override


def _quoted(text: str, loader: ConfigLoader) -> str:
    """How to write what is fine in quotes, such as a path with a space or an accent; else empty."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    key, _, value = text.partition("=")
    quoted = f"{key}='{value}'"
    if key in ALL_GROUPS or "'" in value:
        return ""
    try:
        OverridesParser.create(config_loader=loader).parse_overrides([quoted])
    except HydraException:
        return ""
    return f'; quote the value: "{quoted}"'


def _refuse_overlaps(keys: Sequence[str]) -> None:
    """Refuse what would make the order of overrides matter."""
    for first, second in itertools.combinations(keys, 2):
        if first == second:
            raise ConfigError(f"'{first}' is given twice; give it once")
        outer, inner = sorted((first, second), key=len)
        # A group's option is chosen before its values are overridden, in any order.
        if outer not in ALL_GROUPS and inner.startswith(outer + "."):
            raise ConfigError(f"'{outer}' and '{inner}' overlap; give the inner values alone")


def _values(override: Override, multirun: bool) -> Iterator[str]:
    from hydra.errors import HydraException

    key = override.get_key_element()
    prefix = "++" if key.startswith(tuple(f"{name}." for name in OPEN_MAPPINGS)) else ""
    if not override.is_sweep_override():
        yield f"{prefix}{key}={override.get_value_string()}"
        return
    if not multirun:
        raise ConfigError(
            f"'{override.input_line}' gives several values; add -m to evaluate each of them"
        )
    if not override.is_discrete_sweep():
        raise ConfigError(f"'{override.input_line}' cannot be listed; write the values out")
    try:
        values: list[Any] = list(override.sweep_string_iterator())
    except HydraException as exc:
        raise ConfigError(f"'{override.input_line}': {str(exc).splitlines()[0]}") from exc
    if not values:
        raise ConfigError(f"'{override.input_line}' matches nothing")
    for value in values:
        yield f"{prefix}{key}={value}"
