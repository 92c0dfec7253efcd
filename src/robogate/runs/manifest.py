"""`robogate manifest`: generate the committed scenario manifests, or check that they are current.

A manifest is generated from the seed recipe and the bench's own configuration, nothing else; every
scene in it is checked before it is written.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from robogate.config.bind import leave_unbound
from robogate.config.coerce import to_record
from robogate.config.hydra_values import hydra_composer
from robogate.contract.canonical import read_json
from robogate.contract.files import write_atomic
from robogate.contract.layout import manifests_dir
from robogate.contract.schema import Renderer
from robogate.contract.strict import Fault, encode
from robogate.errors import EvidenceError, UsageError, nearest
from robogate.records.benches import bench_rules
from robogate.scenes.dual_arm import rows
from robogate.scenes.dual_arm_config import TASKS
from robogate.scenes.manifest import Manifest, generate, manifest_text
from robogate.scenes.readback import compare
from robogate.scenes.recipe import Row, version_1_rows

_SHOWN = 20


@dataclass(frozen=True)
class Source:
    """What a manifest is generated from.

    Attributes:
        bench: Option of the bench group; its configuration resolves the scenes.
        task: Task of the bench.
        rows: Domain, label and seed of each scenario.
    """

    bench: str
    task: str
    rows: Callable[[], Iterable[Row]]


SOURCES = {
    "fair_pnp_v2": Source("mujoco_pnp", "pick_and_place", version_1_rows),
    **{
        f"{task}{suffix}": Source("mujoco_dual_arm", task, functools.partial(rows, task, count))
        for task in TASKS
        for suffix, count in (("", 50), ("_quick", 10))
    },
}


def main(argv: Sequence[str]) -> int:
    """Run the verb.

    Returns:
        0 where every manifest is current (or was written), 3 where one differs.

    Raises:
        UsageError: Unknown manifest, no write access, a configuration that does not compose.
        EvidenceError: A scene that cannot be: bodies in one another, two equal scenes.
    """
    args = _parser().parse_args(argv)
    for name in args.names:
        if name not in SOURCES:
            raise UsageError(f"no manifest '{name}'; {nearest(name, SOURCES)}", code="manifest")
    folder = args.dir or manifests_dir()
    differing = 0
    for name in args.names or SOURCES:
        file = folder / f"{name}.json"
        manifest = build(name)
        if args.write:
            _write(file, manifest_text(manifest))
        elif not _is_current(file, manifest):
            differing += 1
            continue
        print(f"{name}: {len(manifest.scenarios)} scenarios, {manifest.sha256}")
    return 3 if differing else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="robogate manifest",
        description="Generate the scenario manifests anew and compare them, or write them.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="manifests; all when none given")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="compare only, the default")
    what.add_argument("--write", action="store_true", help="write the files")
    parser.add_argument("--dir", type=Path, metavar="DIR", help="folder (default: manifests)")
    return parser


def build(name: str) -> Manifest:
    """Generate a manifest from its source.

    Args:
        name: A key of `SOURCES`.

    Raises:
        ConfigError: The bench's configuration does not compose, or contradicts itself.
        EvidenceError: A scene is wrong in itself, or two are equal.
    """
    source = SOURCES[name]
    with hydra_composer(None) as composer:
        raw = composer.values([f"bench={source.bench}"]).contract
    rules = bench_rules(raw["bench"].get("kind"))
    leave_unbound("bench", raw["bench"])
    bench = to_record(rules.config, raw["bench"], "bench")
    faults = rules.check(bench, to_record(Renderer, raw["renderer"], "renderer"))
    if faults:
        raise UsageError("; ".join(str(fault) for fault in faults[:5]), code="config")

    def resolve(variant: str, seed: int) -> object:
        scene = rules.resolve(bench, variant, seed)
        wrong = rules.check_scene(scene)
        if wrong:
            detail = "; ".join(str(fault) for fault in wrong[:5])
            raise EvidenceError(f"{variant}, seed {seed}: {detail}", code="scene")
        return scene

    manifest = generate(name, bench.kind, source.task, source.rows(), resolve)
    first: dict[str, str] = {}
    for scenario in manifest.scenarios:
        twin = first.setdefault(scenario.scene_sha256, scenario.id)
        if twin != scenario.id:
            raise EvidenceError(f"{scenario.id} and {twin} have the same scene", code="scene")
    return manifest


def _is_current(file: Path, manifest: Manifest) -> bool:
    """Whether a file is what was generated; print each difference where it is not."""
    stated = read_json(file)
    expected = encode(manifest)
    faults = compare(stated, expected)
    if not faults and file.read_bytes() != manifest_text(manifest).encode("ascii"):
        faults = [Fault("$", "holds the same values in another text")]
    for fault in faults[:_SHOWN]:
        print(f"{file.name}:{fault}", file=sys.stderr)
    if len(faults) > _SHOWN:
        print(f"{file.name}: {len(faults) - _SHOWN} more", file=sys.stderr)
    if faults:
        print(f"{file}: is not current; run `robogate manifest --write`", file=sys.stderr)
    return not faults


def _write(file: Path, text: str) -> None:
    try:
        write_atomic(file, text.encode("ascii"))
    except OSError as exc:
        raise UsageError(f"{file}: cannot be written ({exc.strerror or exc})") from exc
