"""The world of the test doubles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

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
