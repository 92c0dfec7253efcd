"""How a network is trained: a file of numbers, read without torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from robogate.contract.canonical import read_json
from robogate.contract.strict import StrictError, decode
from robogate.errors import UsageError


@dataclass(frozen=True)
class Recipe:
    """How a network is trained; all of it stands in its checkpoint.

    Attributes:
        seed: Of initial weights, batches and pictures' changes.
        chunk: Actions ahead.
        batch: Rows per step.
        steps: Steps in all.
        rate: Highest learning rate.
        warmup: Steps until the rate is reached; from there it falls to zero along a cosine.
        decay: Weight decay.
        average: Share of the averaged weights that stays from step to step.
        shift: Most pixels that a picture is shifted by, each way.
        gain: Most that brightness and each colour are scaled by, either way.
        turn_weight: Of the rotation's error, beside the translation's.
        grip_weight: Of the gripper's.
        way_weight: Of the way's.
        threads: Of the arithmetic.
        checkpoints: Steps after which the averaged weights are kept; the last is ``steps``.
    """

    seed: int
    chunk: int
    batch: int
    steps: int
    rate: float
    warmup: int
    decay: float
    average: float
    shift: int
    gain: float
    turn_weight: float
    grip_weight: float
    way_weight: float
    threads: int
    checkpoints: tuple[int, ...]


def read_recipe(path: Path) -> Recipe:
    """Read a recipe.

    Raises:
        UsageError: A field is missing, unknown or of another type, or a number makes no sense.
    """
    try:
        recipe = decode(Recipe, read_json(path))
    except StrictError as exc:
        raise UsageError(f"{path}: {exc.message}", code="recipe") from exc
    for name in ("chunk", "batch", "steps", "warmup", "threads"):
        if getattr(recipe, name) < 1:
            raise UsageError(
                f"{path}: $.{name}: is {getattr(recipe, name)}, expected at least 1", code="recipe"
            )
    marks = recipe.checkpoints
    if not marks or list(marks) != sorted(set(marks)) or marks[0] < 1 or marks[-1] != recipe.steps:
        raise UsageError(
            f"{path}: $.checkpoints: is {list(marks)}, expected rising steps that end with "
            f"$.steps={recipe.steps}",
            code="recipe",
        )
    return recipe
