"""The frozen contract: five typed groups, the document that is hashed, and what must hold in it.

`freeze` turns typed groups into a document and its hashes; `thaw` decodes a stored one with the
light core alone. Both apply the same checks: a contract which was composed can always be
read again, and one which could never have been composed is refused by a validator too.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from robogate.contract.canonical import sha256_json
from robogate.contract.schema import (
    Adapter,
    Bench,
    Budget,
    PythonAdapter,
    Renderer,
    Track,
    check_choices,
)
from robogate.contract.strict import Fault, StrictError, decode, encode
from robogate.errors import ConfigError, nearest
from robogate.records.benches import bench_rules

CONTRACT_SCHEMA = "robogate.contract/1"

#: The groups that are the contract, in the order in which documents show them.
GROUPS = ("bench", "track", "adapter", "renderer", "budget")

#: Record of each kind of adapter; the schema of ``adapter`` in a contract.
ADAPTERS: Mapping[str, type[Adapter]] = MappingProxyType(
    {"zero": Adapter, "oracle": Adapter, "python": PythonAdapter}
)

_SHA256 = re.compile(r"[0-9a-f]{64}")
_TARGET = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


@dataclass(frozen=True)
class FrozenContract:
    """A contract and its hashes.

    Attributes:
        document: ``schema`` and the five groups as plain JSON values; do not write to it.
        sha256: Of the document's RFC 8785 text.
        harness_sha256: The same without the adapter group; what a qualification covers.
        bench: Typed ``document["bench"]``, of the class that its kind's rules name.
        track: Typed ``document["track"]``; its ``manifest`` is empty in a thawed contract.
        adapter: Typed ``document["adapter"]``.
        renderer: Typed ``document["renderer"]``.
        budget: Typed ``document["budget"]``.
    """

    document: dict[str, Any]
    sha256: str
    harness_sha256: str
    bench: Bench
    track: Track
    adapter: Adapter
    renderer: Renderer
    budget: Budget


def freeze(
    bench: Bench, track: Track, adapter: Adapter, renderer: Renderer, budget: Budget
) -> FrozenContract:
    """Make the contract's document and hash it.

    Args:
        bench: With its assets' digest bound.
        track: With its manifest's digest bound.
        adapter: With its checkpoint's digest bound, or null.
        renderer: As composed.
        budget: As composed.

    Raises:
        ConfigError: Values contradict one another or lie outside their range.
        EvidenceError: A value has no canonical form, such as an integer beyond 2^53.
    """
    faults = contract_faults(bench, track, adapter, renderer, budget, root="")
    if faults:
        raise ConfigError("; ".join(str(fault) for fault in faults[:5]))
    groups = {
        "bench": encode(bench),
        "track": {k: v for k, v in encode(track).items() if k != "manifest"},
        "adapter": encode(adapter),
        "renderer": encode(renderer),
        "budget": encode(budget),
    }
    document = {"schema": CONTRACT_SCHEMA, **groups}
    return FrozenContract(
        document=document,
        sha256=sha256_json(document),
        harness_sha256=harness_sha256(document),
        bench=bench,
        track=track,
        adapter=adapter,
        renderer=renderer,
        budget=budget,
    )


def harness_sha256(document: Mapping[str, Any]) -> str:
    """Hash of a contract document without its adapter: what a qualification covers."""
    return sha256_json({k: v for k, v in document.items() if k != "adapter"})


def thaw(document: Any) -> FrozenContract:
    """Decode a stored contract document, type-exact and closed.

    Raises:
        StrictError: With every fault, each with its JSON path.
    """
    faults = _shape_faults(document)
    if faults:
        raise StrictError(faults)
    types = group_types(document["bench"]["kind"], document["adapter"]["kind"])
    values = dict(document)
    values["track"] = {**document["track"], "manifest": ""}
    groups: dict[str, Any] = {}
    for name in GROUPS:
        try:
            groups[name] = decode(types[name], values[name], f"$.{name}")
        except StrictError as exc:
            faults.extend(exc.faults)
    faults = faults or contract_faults(**groups)
    if faults:
        raise StrictError(faults)
    return freeze(**groups)


def group_types(bench_kind: str, adapter_kind: str) -> dict[str, type]:
    """The record class of each group.

    Raises:
        ConfigError: Unknown kind of bench or adapter; the message names the nearest valid ones.
    """
    adapter = ADAPTERS.get(adapter_kind)
    if adapter is None:
        hint = nearest(str(adapter_kind), ADAPTERS)
        raise ConfigError(f"adapter.kind: no adapter is called {adapter_kind!r}; {hint}")
    return {
        "bench": bench_rules(bench_kind).config,
        "track": Track,
        "adapter": adapter,
        "renderer": Renderer,
        "budget": Budget,
    }


def _shape_faults(document: Any) -> list[Fault]:
    """What must hold before the groups' classes are known."""
    if type(document) is not dict:
        return [Fault("$", "is not an object")]
    expected = ("schema", *GROUPS)
    faults = [Fault(f"$.{k}", "unknown field") for k in document if k not in expected]
    faults += [Fault(f"$.{k}", "missing field") for k in expected if k not in document]
    if faults:
        return faults
    if document["schema"] != CONTRACT_SCHEMA:
        faults.append(Fault("$.schema", f"is {document['schema']!r}, expected {CONTRACT_SCHEMA!r}"))
    for name in GROUPS:
        if type(document[name]) is not dict:
            faults.append(Fault(f"$.{name}", "is not an object"))
    if faults:
        return faults
    if "manifest" in document["track"]:
        faults.append(Fault("$.track.manifest", "unknown field"))
    for name in ("bench", "adapter"):
        kind = document[name].get("kind")
        if type(kind) is not str:
            faults.append(Fault(f"$.{name}.kind", "is missing or not a string"))
    if not faults:
        try:
            group_types(document["bench"]["kind"], document["adapter"]["kind"])
        except ConfigError as exc:
            faults.append(Fault("$", exc.message))
    return faults


def contract_faults(
    bench: Bench,
    track: Track,
    adapter: Adapter,
    renderer: Renderer,
    budget: Budget,
    root: str = "$.",
) -> list[Fault]:
    """Everything that types alone do not say: closed strings, ranges, and what fits together.

    Args:
        bench: Typed group.
        track: Typed group.
        adapter: Typed group.
        renderer: Typed group.
        budget: Typed group.
        root: Prefix of the faults' paths.
    """
    groups = {
        "bench": bench,
        "track": track,
        "adapter": adapter,
        "renderer": renderer,
        "budget": budget,
    }
    faults: list[Fault] = []
    for name, record in groups.items():
        faults += check_choices(record, root + name)
    faults += (Fault(root + path, message) for path, message in _range_faults(groups))
    faults += (Fault(root + path, message) for path, message in _fit_faults(groups))
    if not faults:
        # A bench's own check may rely on all of the above.
        for fault in bench_rules(bench.kind).check(bench, renderer):
            faults.append(Fault(root + fault.path.removeprefix("$."), fault.message))
    return faults


#: Smallest accepted value of a count.
_AT_LEAST = {
    "bench.timing.physics_steps_per_action": 1,
    "bench.timing.simulator_substeps": 1,
    "bench.timing.reset_physics_steps": 0,
    "track.scenarios": 1,
    "adapter.execute": 1,
    "renderer.width": 1,
    "renderer.height": 1,
    "renderer.multisamples": 0,
    "budget.max_actions": 1,
}
_POSITIVE = (
    "bench.timing.control_hz",
    "bench.timing.physics_step_s",
    "bench.inference_timeout_s",
)
_DIGESTS = ("bench.assets.sha256", "track.manifest_sha256", "adapter.checkpoint_sha256")


def _at(groups: Mapping[str, Any], path: str) -> Any:
    name, *rest = path.split(".")
    value = groups[name]
    for part in rest:
        value = getattr(value, part)
    return value


def _range_faults(groups: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for path, smallest in _AT_LEAST.items():
        value = _at(groups, path)
        if value < smallest:
            yield path, f"is {value}, expected at least {smallest}"
    for path in _POSITIVE:
        value = _at(groups, path)
        if not value > 0:
            yield path, f"is {value}, expected a number above 0"
    for path in _DIGESTS:
        value = _at(groups, path)
        if value is not None and not _SHA256.fullmatch(value):
            yield path, f"is {value!r:.80}, expected 64 lower-case hexadecimal digits"
    for name, record in groups.items():
        yield from _empty_strings(record, name)
    adapter = groups["adapter"]
    if isinstance(adapter, PythonAdapter):
        if not _TARGET.fullmatch(adapter.target):
            yield "adapter.target", f"is {adapter.target!r:.80}, expected module:Class"
        for key, value in adapter.options.items():
            if not _is_plain(value):
                what = "expected a finite number, a string, true or false"
                yield f"adapter.options.{key}", f"is {value!r:.40}, {what}"
    yield from _action_faults(groups["bench"])
    cameras = groups["renderer"].cameras
    if not cameras or len(set(cameras)) != len(cameras):
        yield "renderer.cameras", f"is {list(cameras)}, expected at least one name, none twice"


def _empty_strings(record: Any, path: str) -> Iterator[tuple[str, str]]:
    for item in dataclasses.fields(record):
        value = getattr(record, item.name)
        # A thawed track has no manifest path: the digest took its place.
        if value == "" and (path, item.name) != ("track", "manifest"):
            yield f"{path}.{item.name}", "is empty"
        elif dataclasses.is_dataclass(value):
            yield from _empty_strings(value, f"{path}.{item.name}")


def _is_plain(value: Any) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is int:
        return abs(value) <= 2**53
    return type(value) in (str, bool)


def _action_faults(bench: Bench) -> Iterator[tuple[str, str]]:
    action, timing = bench.action, bench.timing
    if not action.names or len(set(action.names)) != len(action.names):
        yield "bench.action.names", "expected at least one name, none twice"
    for name, bound in (("low", action.low), ("high", action.high)):
        if len(bound) != len(action.names):
            message = f"has {len(bound)} values, expected {len(action.names)}, one for each name"
            yield f"bench.action.{name}", message
    if any(low >= high for low, high in zip(action.low, action.high)):
        yield "bench.action.low", "expected every value below the one in bench.action.high"
    # Protocol section 4: no hidden time between two observations.
    action_s = timing.physics_steps_per_action * timing.physics_step_s
    if timing.control_hz > 0 and not math.isclose(action_s * timing.control_hz, 1.0, rel_tol=1e-9):
        yield (
            "bench.timing.control_hz",
            f"is {timing.control_hz}, but physics_steps_per_action x physics_step_s"
            f" = {action_s} s, which is not one action",
        )


def _fit_faults(groups: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in ("track", "adapter", "renderer"):
        reason = misfit(name, vars(groups[name]), groups["bench"])
        if reason is not None:
            yield name, reason


def misfit(group: str, values: Mapping[str, Any], bench: Bench) -> str | None:
    """Why a track, an adapter or a renderer is not for a bench.

    Args:
        group: ``track``, ``adapter`` or ``renderer``.
        values: Of that group, at least the keys that say what it is for.
        bench: The bench.

    Returns:
        The reason, or None where it fits.
    """
    if group == "track" and values["bench"] != bench.kind:
        return f"it is for kind '{values['bench']}', not '{bench.kind}'"
    if group == "adapter" and bench.kind not in values["benches"]:
        drives = ", ".join(f"'{kind}'" for kind in values["benches"])
        return f"it drives {drives or 'nothing'}, not '{bench.kind}'"
    if group == "renderer" and values["kind"] != bench.simulator:
        return f"it belongs to simulator '{values['kind']}', not '{bench.simulator}'"
    return None
