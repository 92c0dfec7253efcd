from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robogate.contract.schema import Renderer
from robogate.contract.strict import encode
from robogate.scenes.pnp import VARIANTS, resolve
from robogate.scenes.pnp_config import PnpBench
from robogate.scenes.pnp_readback import ReadbackExpectation, applied_steps, expected_readback
from robogate.scenes.readback import READBACK_SCHEMA, binary32, compare, readback_sha256


@pytest.mark.parametrize("variant", sorted(VARIANTS))
def test_document_holds_the_whole_scene_in_binary32(
    bench: PnpBench, renderer: Renderer, variant: str
) -> None:
    scene = resolve(bench, variant, 5)
    document = expected_readback(bench, renderer, scene, 0)
    assert document["schema"] == READBACK_SCHEMA
    assert document["sha256"] == readback_sha256(document)
    assert document["physics"]["timestep_s"] == binary32(1 / 240)
    assert document["physics"]["gravity"] == [0.0, 0.0, binary32(-9.81)]
    assert (document["primary_camera"]["width"], document["wrist_camera"]["height"]) == (256, 256)
    direction = document["lighting"].pop("direction")
    assert math.hypot(*direction) == pytest.approx(1.0, abs=1e-6)
    for camera in ("primary_camera", "wrist_camera"):
        assert document[camera].pop("width") == document[camera].pop("height") == 256
    if document["disturbance"] is not None:
        assert document["disturbance"].pop("applied_steps") == 0
    for name, value in encode(scene).items():
        assert document[name] == rounded(value), name


def test_direction_is_where_the_light_shines(bench: PnpBench, renderer: Renderer) -> None:
    scene = resolve(bench, "standard_objects", 5)
    document = expected_readback(bench, renderer, scene, 0)
    position, direction = document["lighting"]["position"], document["lighting"]["direction"]
    reach = (position[2] - 0.3) / -direction[2]
    hit = [p + reach * d for p, d in zip(position[:2], direction[:2])]
    assert hit == pytest.approx([0.5, 0.0], abs=1e-5)


def test_wrist_mount_is_the_codes_whatever_the_contract_says(
    bench: PnpBench, renderer: Renderer
) -> None:
    scene = resolve(bench, "standard_objects", 5)
    moved = dataclasses.replace(bench.wrist, fovy=90.0, parent="link7")
    other = dataclasses.replace(bench, wrist=moved)
    assert expected_readback(other, renderer, scene, 0) == expected_readback(
        bench, renderer, scene, 0
    )


def test_push_is_counted_in_physics_steps(bench: PnpBench, renderer: Renderer) -> None:
    scene = resolve(bench, "moving_disturbance", 5)
    push = scene.disturbance
    assert push is not None
    first, length = push.start_action, push.actions
    expected = {0: 0, first: 0, first + 1: 3, first + length: 3 * length, 300: 3 * length}
    assert {step: applied_steps(bench, scene, step) for step in expected} == expected
    late = expected_readback(bench, renderer, scene, 300)["disturbance"]
    assert late == {
        "start_action": first,
        "actions": length,
        "force": rounded(list(push.force)),
        "applied_steps": 3 * length,
    }
    assert applied_steps(bench, resolve(bench, "lighting", 5), 300) == 0


@given(st.sampled_from(sorted(VARIANTS)), st.lists(st.integers(0, 300), max_size=8))
@settings(max_examples=20)
def test_memoised_documents_are_the_plain_ones(
    bench: PnpBench, renderer: Renderer, variant: str, steps: list[int]
) -> None:
    scene = resolve(bench, variant, 9)
    expectation = ReadbackExpectation(bench, renderer, scene)
    for step in steps:
        assert expectation.at(step) == expected_readback(bench, renderer, scene, step)


@pytest.mark.parametrize("variant", ["cluttered_scene", "moving_disturbance", "occluded_objects"])
def test_every_value_counts_and_its_difference_is_named(
    bench: PnpBench, renderer: Renderer, variant: str
) -> None:
    expected = expected_readback(bench, renderer, resolve(bench, variant, 5), 20)
    paths = [path for path in leaves(expected) if path != ("sha256",)]
    assert len(paths) > 60
    for path in paths:
        actual = copy.deepcopy(expected)
        parent = actual
        for key in path[:-1]:
            parent = parent[key]
        parent[path[-1]] = changed(parent[path[-1]])
        (fault,) = compare(actual, expected)
        assert str(path[-1]).strip("'") in fault.path
        assert readback_sha256(actual) != expected["sha256"]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else None
    )
    if items is None:
        yield path
        return
    for key, item in items:
        yield from leaves(item, (*path, key))


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return float(value)
    if isinstance(value, float):
        return binary32(value * (1 + 2**-22) if value else 2.0**-60)
    return "other" if value is not None else {}


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return binary32(value) if isinstance(value, float) else value
