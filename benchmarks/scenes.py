"""The scenes that the loops in one process share: one of each variant, as in budget=smoke."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any

from robogate.benches.rendering import prepare_process
from robogate.config.compose import Point, compose
from robogate.records.benches import bench_rules
from robogate.runs.environment import RENDER_THREADS
from robogate.scenes.manifest import Scenario, load_manifest, select


@dataclass(frozen=True)
class Subject:
    """What is measured.

    Attributes:
        point: Its contract and files.
        scenarios: One of each variant.
        scenes: Their resolved scenes.
    """

    point: Point
    scenarios: tuple[Scenario, ...]
    scenes: tuple[Any, ...]


def subject(adapter: str, max_actions: int) -> Subject:
    """Compose the evaluation, for a process that renders with EGL itself."""
    prepare_process("egl", RENDER_THREADS)
    overrides = [f"adapter={adapter}", "budget=smoke", f"budget.max_actions={max_actions}"]
    point = compose(overrides)[0]
    frozen = point.frozen
    scenarios = tuple(select(load_manifest(point.manifest_path), frozen.budget))
    rules = bench_rules(frozen.bench.kind)
    scenes = tuple(rules.resolve(frozen.bench, s.variant, s.seed) for s in scenarios)
    if os.environ.get("OMP_NUM_THREADS") != "1":
        sys.exit("this is a part of control_step.py, which sets the environment variables")
    return Subject(point, scenarios, scenes)
