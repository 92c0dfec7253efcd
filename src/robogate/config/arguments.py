"""Reading a command line that is made of overrides and a few flags."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from robogate.errors import UsageError, nearest

MULTIRUN = ("-m", "--multirun")
CONFIG_DIR = "--config-dir"


@dataclass(frozen=True)
class Arguments:
    """A command line, split.

    Attributes:
        overrides: Everything that is not a flag, in order.
        switches: Flags without a value that were given, `--multirun` in its long form.
        config_dir: The user's own config groups, or None.
    """

    overrides: tuple[str, ...]
    switches: frozenset[str]
    config_dir: Path | None


def read_arguments(argv: Sequence[str], switches: Collection[str]) -> Arguments:
    """Split a command line into overrides and flags, in any order.

    Args:
        argv: Without the program's and the verb's name.
        switches: Accepted flags without a value, long forms.

    Raises:
        UsageError: Unknown flag, a flag without its folder, or a word that is not an override.
    """
    overrides: list[str] = []
    given: set[str] = set()
    config_dir: Path | None = None
    words = iter(argv)
    for word in words:
        if not word.startswith("-"):
            if "=" not in word and not word.startswith(("+", "~")):
                raise UsageError(f"'{word}' is not an override; write KEY=VALUE")
            overrides.append(word)
            continue
        flag, assigned, value = word.partition("=")
        if flag == CONFIG_DIR:
            folder = value if assigned else next(words, "")
            if not folder:
                raise UsageError(f"{CONFIG_DIR}: give a folder")
            config_dir = Path(folder)
            continue
        name = "--multirun" if word in MULTIRUN else word
        if name not in switches:
            valid = [*switches, CONFIG_DIR, "--help"]
            raise UsageError(f"unknown flag '{word}'; {nearest(word, valid)}")
        given.add(name)
    return Arguments(tuple(overrides), frozenset(given), config_dir)
