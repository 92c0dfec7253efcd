"""Sweeps are Hydra's: the same points in the same order as its own sweeper makes."""

import pytest
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser

from robogate.config.hydra_values import hydra_composer
from robogate.config.overrides import expand
from robogate.errors import ConfigError


@pytest.fixture(scope="module")
def loader():
    with hydra_composer(None) as composer:
        yield composer.loader


@pytest.mark.parametrize(
    "overrides",
    [
        ["adapter=zero,oracle"],
        ["adapter=zero,oracle", "budget=smoke,standard", "runtime.workers=2"],
        ["adapter.execute=range(1,4)"],
        ["adapter.execute=choice(1,8)", "adapter=python"],
        ["adapter=glob(*)"],
        ["adapter=glob(*, exclude=python)"],
        ["bench.control.home_fingers=[0.04,0.04],[0.0,0.0]"],
        ["bench.instruction='a, b','c'"],
        ["bench.instruction='a \\'quoted\\' word'"],
    ],
)
def test_points_are_those_of_hydras_sweeper(loader, overrides):
    parsed = OverridesParser.create(config_loader=loader).parse_overrides(overrides)
    (theirs,) = BasicSweeper.split_arguments(parsed, None)
    assert expand(overrides, multirun=True, loader=loader) == [list(p) for p in theirs]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("runtime.workers=interval(1,3)", "'runtime.workers=interval(1,3)' cannot be listed"),
        ("adapter=glob(nosuch*)", "'adapter=glob(nosuch*)' matches nothing"),
        ("adapter=nosuch(1)", "'adapter=nosuch(1)' is not in Hydra's override syntax"),
    ],
)
def test_what_is_no_list_of_points_is_refused(loader, override, message):
    with pytest.raises(ConfigError) as caught:
        expand([override], multirun=True, loader=loader)
    assert caught.value.message.startswith(message)
    assert "\n" not in caught.value.message
