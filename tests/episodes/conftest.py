"""Makes the test doubles importable, here and in child processes, which inherit the import path."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

if TYPE_CHECKING:
    from toy_world import World


@pytest.fixture(scope="session")
def world_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., World]:
    from toy_world import make_world

    def build(**options: object) -> World:
        return make_world(tmp_path_factory.mktemp("world"), **options)

    return build


@pytest.fixture(scope="session")
def world(world_of: Callable[..., World]) -> World:
    return world_of()
