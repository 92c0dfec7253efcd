"""Makes the test double importable, here and in child processes, which inherit the import path."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from serving import Worker


@pytest.fixture
def start() -> Iterator[Callable[..., Worker]]:
    """Serve robots that end with the test."""
    made: list[Worker] = []

    def build(*arguments: Any, **options: Any) -> Worker:
        made.append(Worker(*arguments, **options))
        return made[-1]

    yield build
    for item in made:
        item.end()
