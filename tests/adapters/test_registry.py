from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from robogate.adapters import registry
from robogate.adapters.registry import adapter_entry, load_policy
from robogate.contract.identity.harness import PACKAGE, harness_files
from robogate.contract.schema import Adapter
from robogate.errors import ConfigError
from robogate.records.policy import PolicyEpisode, PrivilegedSession
from robogate.scenes.pnp_config import PnpBench

Control = Callable[[str], Adapter]


@pytest.mark.parametrize("kind", sorted(registry._ADAPTERS))
def test_every_entry_names_a_loader_and_files_that_exist(kind: str) -> None:
    entry = adapter_entry(kind)
    module, _, function = entry.loader.partition(":")
    assert callable(getattr(importlib.import_module(module), function))
    assert list(entry.modules) == sorted(entry.modules)
    for path in entry.modules:
        assert (PACKAGE / path).is_file(), path


def test_every_module_of_the_floor_is_hashed_somewhere(bench: PnpBench) -> None:
    hashed = set(harness_files(bench))
    for entry in registry._ADAPTERS.values():
        hashed.update(entry.modules)
    files = {f"adapters/{p.name}" for p in (PACKAGE / "adapters").glob("*.py")}
    # The registry is a table; what it names is hashed.
    assert files - hashed == {"adapters/__init__.py", "adapters/registry.py"}


def imports(path: str) -> set[str]:
    """Files of the floor that a file of it imports, wherever in it."""
    tree = ast.parse((PACKAGE / path).read_text())
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    prefix = "robogate.adapters."
    return {f"adapters/{n[len(prefix) :]}.py" for n in names if n and n.startswith(prefix)}


@pytest.mark.parametrize("kind", sorted(registry._ADAPTERS))
def test_an_adapter_s_hash_covers_everything_that_it_imports(kind: str) -> None:
    entry = adapter_entry(kind)
    found: set[str] = set()
    waiting = {entry.loader.partition(":")[0].replace("robogate.", "").replace(".", "/") + ".py"}
    while waiting:
        path = waiting.pop()
        found.add(path)
        waiting |= imports(path) - found
    assert found - set(entry.modules) == set()


@pytest.mark.parametrize("kind", ["zero", "oracle"])
@pytest.mark.parametrize("folder", ["pnp", "dual_arm"])
def test_a_control_is_covered_by_the_harness_hash_of_its_bench(
    kind: str, folder: str, bench: PnpBench
) -> None:
    own = replace(bench, environment=f"robogate.benches.{folder}:create_environment")
    others = {"pnp", "dual_arm"} - {folder}
    modules = {
        path
        for path in adapter_entry(kind).modules
        if not path.startswith(tuple(f"adapters/{other}_" for other in others))
    }
    assert modules <= set(harness_files(own))


def test_another_benchs_control_is_not_in_a_benchs_harness_hash(bench: PnpBench) -> None:
    covered = [p for p in harness_files(bench) if p.startswith("adapters/")]
    assert "adapters/pnp_oracle.py" in covered
    assert not [p for p in covered if p.startswith("adapters/dual_arm")]


def test_an_unknown_kind_is_refused_with_the_nearest(control: Control, bench: PnpBench) -> None:
    with pytest.raises(ConfigError, match=r"no adapter 'orakle'; did you mean 'oracle'\?"):
        load_policy(control("orakle"), bench)


def test_an_adapter_that_does_not_drive_the_bench_is_refused(
    control: Control, bench: PnpBench
) -> None:
    with pytest.raises(ConfigError, match="adapter 'zero' does not drive bench 'pnp'; it drives x"):
        load_policy(replace(control("zero"), benches=("x",)), bench)


@pytest.mark.parametrize(("kind", "privileged"), [("zero", False), ("oracle", True)])
def test_a_control_loads_and_says_what_it_sees(
    control: Control, bench: PnpBench, kind: str, privileged: bool
) -> None:
    policy = load_policy(control(kind), bench)
    assert policy.privileged is privileged
    session: Any = policy.open_session(PolicyEpisode("do it", 7))
    assert isinstance(session, PrivilegedSession) is privileged
    identity = policy.identity()
    assert identity["adapter"]["kind"] == kind
    assert (identity["policy"], identity["checkpoint"]) == (None, None)
    policy.require_unchanged()
    session.close()
    policy.close()
