"""The scenario manifest: which scenarios, in which order, each with its resolved scene.

The file is committed and generated; its self-hash is what a contract binds. Each scene stands in it
with its own hash, and whoever holds the bench's configuration resolves it again and compares.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from robogate.contract.canonical import read_json, self_hash, sha256_json
from robogate.contract.schema import Budget
from robogate.contract.strict import BOUND, DERIVED, Fault, StrictError, decode, encode
from robogate.errors import EvidenceError
from robogate.scenes.recipe import Row

MANIFEST_SCHEMA = "robogate.manifest/1"
Resolver = Callable[[str, int], Any]
_ID = re.compile(r"[a-z0-9][a-z0-9_]{0,63}")


@dataclass(frozen=True)
class Scenario:
    """One scenario.

    Attributes:
        index: Place in the manifest, from 0.
        id: Unique and stable; safe as a file name.
        domain: Group of labels.
        variant: Label.
        seed: With the label, what the scene is resolved from.
        scene: The resolved scene, as plain JSON values.
        scene_sha256: SHA-256 of its RFC 8785 text.
    """

    index: Annotated[int, BOUND]
    id: Annotated[str, BOUND]
    domain: Annotated[str, BOUND]
    variant: Annotated[str, BOUND]
    seed: Annotated[int, BOUND]
    scene: Annotated[dict[str, Any], DERIVED]
    scene_sha256: Annotated[str, DERIVED]


@dataclass(frozen=True)
class Manifest:
    """Every scenario of a track.

    Attributes:
        schema: Of this document.
        name: Of the manifest.
        bench: Kind of bench that its scenes are of.
        task: Task of the bench.
        scenarios: In the order in which they are run.
        sha256: Self-hash.
    """

    schema: Annotated[Literal["robogate.manifest/1"], BOUND]
    name: Annotated[str, BOUND]
    bench: Annotated[str, BOUND]
    task: Annotated[str, BOUND]
    scenarios: tuple[Scenario, ...]
    sha256: Annotated[str, DERIVED]

    def scenario(self, scenario_id: str) -> Scenario:
        """The scenario of this name.

        Raises:
            EvidenceError: There is none.
        """
        for scenario in self.scenarios:
            if scenario.id == scenario_id:
                return scenario
        raise EvidenceError(
            f"manifest {self.name} has no scenario {scenario_id!r}", code="manifest"
        )


def generate(name: str, bench: str, task: str, rows: Iterable[Row], resolve: Resolver) -> Manifest:
    """Resolve rows into a manifest.

    Args:
        name: Of the manifest.
        bench: Kind of bench.
        task: Task of the bench.
        rows: Domain, label and seed of each scenario, in order.
        resolve: (variant, seed) → scene.
    """
    seen: dict[str, int] = {}
    scenarios = []
    for index, row in enumerate(rows):
        cycle = seen.get(row.variant, 0)
        seen[row.variant] = cycle + 1
        scene = encode(resolve(row.variant, row.seed))
        scenarios.append(
            Scenario(
                index=index,
                id=f"{index:02d}_{row.variant}_{cycle:02d}",
                domain=row.domain,
                variant=row.variant,
                seed=row.seed,
                scene=scene,
                scene_sha256=sha256_json(scene),
            )
        )
    manifest = Manifest("robogate.manifest/1", name, bench, task, tuple(scenarios), "")
    return dataclasses.replace(manifest, sha256=self_hash(encode(manifest)))


def manifest_text(manifest: Manifest) -> str:
    """The committed file's text: one field a line, a newline at the end."""
    return json.dumps(encode(manifest), indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def parse_manifest(document: Any) -> Manifest:
    """Decode a manifest and check all of it that needs nothing else: form, order, hashes.

    Raises:
        StrictError: With every fault.
    """
    manifest = decode(Manifest, document)
    faults: list[Fault] = []
    seen: dict[Any, int] = {}
    for i, scenario in enumerate(manifest.scenarios):
        path = f"$.scenarios[{i}]"
        if scenario.index != i:
            faults.append(Fault(f"{path}.index", f"is {scenario.index}, expected {i}"))
        if not _ID.fullmatch(scenario.id):
            faults.append(Fault(f"{path}.id", f"is {scenario.id!r:.80}, not safe as a file name"))
        for field, value in (("id", scenario.id), ("seed", scenario.seed)):
            first = seen.setdefault((field, value), i)
            if first != i:
                faults.append(Fault(f"{path}.{field}", f"is that of $.scenarios[{first}], too"))
        _expect(faults, f"{path}.scene_sha256", scenario.scene_sha256, sha256_json(scenario.scene))
    if not manifest.scenarios:
        faults.append(Fault("$.scenarios", "is empty"))
    _expect(faults, "$.sha256", manifest.sha256, self_hash(document))
    if faults:
        raise StrictError(faults)
    return manifest


def _expect(faults: list[Fault], path: str, stated: str, recomputed: str) -> None:
    if stated != recomputed:
        faults.append(Fault(path, f"is {stated:.80}, recomputed {recomputed}"))


def load_manifest(path: Path) -> Manifest:
    """Read a manifest file and check what needs nothing else.

    Raises:
        EvidenceError: Unreadable, not strict JSON, another form, a hash that does not hold; the
            message names the file and the first faults.
    """
    document = read_json(path)
    try:
        return parse_manifest(document)
    except StrictError as exc:
        raise EvidenceError(f"{path}: {exc.message}", code="manifest") from exc


def resolve_again(manifest: Manifest, resolve: Resolver) -> list[Fault]:
    """Resolve every scenario anew and compare it with what the manifest states.

    Args:
        manifest: Whose scenes are in question.
        resolve: (variant, seed) → scene, by the contract's bench.

    Returns:
        Every scenario whose scene differs; empty where all hold.
    """
    faults: list[Fault] = []
    for i, scenario in enumerate(manifest.scenarios):
        digest = sha256_json(encode(resolve(scenario.variant, scenario.seed)))
        _expect(faults, f"$.scenarios[{i}].scene_sha256", scenario.scene_sha256, digest)
    return faults


def select(manifest: Manifest, budget: Budget) -> tuple[Scenario, ...]:
    """The scenarios that a budget runs, in the manifest's order.

    Raises:
        ValueError: The budget's subset is unknown.
    """
    if budget.subset == "all":
        return manifest.scenarios
    if budget.subset != "first_of_each_variant":
        raise ValueError(f"budget.subset: {budget.subset!r} is unknown")
    first: dict[str, Scenario] = {}
    for scenario in manifest.scenarios:
        first.setdefault(scenario.variant, scenario)
    return tuple(first.values())
