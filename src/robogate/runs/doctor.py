"""Checks of the machine: what an evaluation needs, and what to type where it is not there."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from robogate.benches.gl import GL_HINT, GL_LIBRARIES, resolve_gl
from robogate.contract.assets import load_inventory, verify_tree
from robogate.contract.identity.machine import measure_hardware
from robogate.contract.layout import checkout_root, data_dir, manifests_dir
from robogate.errors import EvidenceError, UsageError
from robogate.evidence.keys import (
    PRIVATE_NAME,
    default_key_folder,
    load_private_key,
)
from robogate.evidence.signing import key_id

DISTRIBUTION = "robogate-harness"
INSTALL = f"pip install '{DISTRIBUTION}[full]'"

#: Extras without which nothing can be evaluated; without another, something else is missing.
NEEDED = ("config", "mujoco", "media", "full")
OPTIONAL = {
    "worker": "no environment can be served over HTTP",
    "wandb": "no run is mirrored to W&B",
    "dvc": "no pipeline runs, such as the qualification",
}

#: Free space, bytes: an evaluation with videos takes about 30 MB.
ENOUGH = 2 * 10**9
LEAST = 2 * 10**8

FRAME_S, WANDB_S, DVC_S = 60.0, 90.0, 60.0

OLDEST_PYTHON = (3, 10)

Level = Literal["ok", "note", "fault"]


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes:
        name: Of the check.
        level: ``fault``: something does not work; ``note``: something optional is not there.
        text: What was found.
        command: What to type, or to do, where it is not ``ok``; else empty.
    """

    name: str
    level: Level
    text: str
    command: str = ""


def examine(outputs: Path) -> Iterator[Finding]:
    """Make every check, each when it is asked for.

    Args:
        outputs: Folder that runs are written to; it need not exist.
    """
    checks: tuple[Callable[[], Finding], ...] = (
        check_python,
        check_packages,
        check_rendering,
        check_gpu,
        lambda: check_disk(outputs),
        check_assets,
        check_dvc,
        check_wandb,
        check_key,
    )
    for check in checks:
        yield check()


def check_python(version: tuple[int, ...] = tuple(sys.version_info[:3])) -> Finding:
    """The interpreter is one that robogate runs on.

    Args:
        version: Major, minor and micro.
    """
    shown = ".".join(map(str, version))
    if version < OLDEST_PYTHON:
        expected = ".".join(map(str, OLDEST_PYTHON))
        text = f"{shown}, expected {expected} or newer"
        return Finding("python", "fault", text, "make setup PYTHON=python3.11")
    return Finding("python", "ok", f"{shown}, {sys.executable}")


def required_distributions() -> dict[str, list[str]]:
    """Distributions that each extra of the installed package names, by extra."""
    found: dict[str, list[str]] = {}
    for line in importlib.metadata.requires(DISTRIBUTION) or ():
        name = re.match(r"[A-Za-z0-9._-]+", line)
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", line)
        if name and extra and name[0] != DISTRIBUTION:
            found.setdefault(extra[1], []).append(name[0])
    return found


def check_packages() -> Finding:
    """The extras are installed."""
    try:
        extras = required_distributions()
    except importlib.metadata.PackageNotFoundError:
        return Finding("packages", "fault", f"{DISTRIBUTION} is not installed", "pip install -e .")
    # 'full' names what the other extras do, too.
    optional = {name for extra in OPTIONAL for name in extras.get(extra, ())}
    wanted = {name for extra in NEEDED for name in extras.get(extra, ())}
    missing = sorted(name for name in wanted | optional if not _installed(name))
    if not missing:
        return Finding("packages", "ok", "everything of the extra 'full' is installed")
    why = [text for extra, text in OPTIONAL.items() if {*missing} & {*extras.get(extra, ())}]
    text = f"not installed: {', '.join(missing)}" + (f" ({'; '.join(why)})" if why else "")
    level: Level = "fault" if {*missing} - optional else "note"
    return Finding("packages", level, text, INSTALL)


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def check_rendering() -> Finding:
    """A frame can be drawn without a display."""
    if importlib.util.find_spec("mujoco") is None:
        return Finding("rendering", "fault", "no simulator is installed", INSTALL)
    broken: list[str] = []
    for backend, libraries in GL_LIBRARIES.items():
        try:
            resolve_gl(backend)
        except UsageError:
            broken.append(f"{backend}: {libraries[0]} cannot be loaded")
            continue
        drawn, why = _probe("frame", backend, limit_s=FRAME_S)
        if drawn is not None:
            text = f"{backend}: {drawn['renderer']}, one frame in {drawn['seconds']:.1f} s"
            if not broken:
                return Finding("rendering", "ok", text)
            return Finding(
                "rendering", "note", f"{text}; {'; '.join(broken)}", f"runtime.gl={backend}"
            )
        broken.append(f"{backend}: {why}")
    return Finding("rendering", "fault", "; ".join(broken), GL_HINT)


def _probe(name: str, *arguments: str, limit_s: float) -> tuple[dict[str, Any] | None, str]:
    """Run a probe in a process of its own.

    Returns:
        What it found, or None and why it found nothing.
    """
    command = [sys.executable, "-m", "robogate.runs.probes", name, *arguments]
    # Without what would decide the outcome from outside: a key, a mode, another GL backend.
    hidden = ("WANDB_", "MUJOCO_GL", "PYOPENGL_PLATFORM")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=limit_s,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return None, f"did not end within {limit_s:.0f} s"
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        return json.loads(lines[-1]), ""
    if done.returncode < 0:
        return None, f"its process died of signal {-done.returncode}"
    return None, next(reversed([x for x in done.stderr.splitlines() if x.strip()]), "no reason")


def check_gpu() -> Finding:
    """Which GPUs are there; none is needed."""
    hardware = measure_hardware()
    cores = f"{hardware.cores} cores"
    if hardware.gpus:
        return Finding(
            "hardware", "ok", f"{', '.join(hardware.gpus)}, {hardware.gpu_driver}; {cores}"
        )
    if shutil.which("nvidia-smi"):
        return Finding("hardware", "note", f"nvidia-smi names no GPU; {cores}", "nvidia-smi")
    return Finding("hardware", "ok", f"no GPU, and none is needed by an embedded bench; {cores}")


def check_disk(outputs: Path) -> Finding:
    """Runs can be written, and there is room for them."""
    place = outputs.absolute()
    while not place.exists():
        place = place.parent
    elsewhere = "runtime.output_dir=ELSEWHERE"
    try:
        with tempfile.TemporaryFile(dir=place) as stream:
            stream.write(b"robogate")
        free = shutil.disk_usage(place).free
    except OSError as exc:
        return Finding("disk", "fault", f"{place}: {exc.strerror or exc}", elsewhere)
    text = f"{free / 1e9:.1f} GB free in {place}"
    if free < LEAST:
        return Finding("disk", "fault", f"{text}: too little", elsewhere)
    return (
        Finding("disk", "ok", text) if free >= ENOUGH else Finding("disk", "note", text, elsewhere)
    )


def check_assets() -> Finding:
    """The pinned files are the pinned ones."""
    data = data_dir()
    try:
        inventories = [load_inventory(p) for p in sorted(manifests_dir().glob("assets_*.json"))]
    except EvidenceError as exc:
        return Finding("assets", "fault", exc.message, "git checkout manifests")
    for inventory in inventories:
        if not (data / inventory.root).exists():
            return Finding(
                "assets", "fault", f"{data / inventory.root} is missing", "robogate assets"
            )
        faults = verify_tree(data, inventory)
        if faults:
            more = f" and {len(faults) - 1} more" if len(faults) > 1 else ""
            return Finding("assets", "fault", f"{faults[0]}{more}", "robogate assets --force")
    count = sum(len(inventory.files) for inventory in inventories)
    return Finding("assets", "ok", f"{count} pinned files hold, in {data}")


def check_dvc() -> Finding:
    """DVC pins the same data."""
    root = checkout_root()
    if root is None or not (root / "data.dvc").is_file():
        return Finding("dvc", "ok", "not used outside a checkout")
    if importlib.util.find_spec("dvc") is None:
        return Finding("dvc", "note", "not installed", f"pip install '{DISTRIBUTION}[dvc]'")
    if not (root / ".dvc").is_dir():
        return Finding("dvc", "note", "this checkout is no DVC repository", "dvc init")
    command = [sys.executable, "-m", "dvc", "status", "data.dvc"]
    try:
        done = subprocess.run(
            command, cwd=root, capture_output=True, text=True, timeout=DVC_S,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Finding("dvc", "note", f"dvc status takes more than {DVC_S:.0f} s", "dvc status -v")
    output = " ".join((done.stdout or done.stderr).split())
    if done.returncode == 0 and "up to date" in output:
        return Finding("dvc", "ok", "data is what data.dvc pins")
    return Finding("dvc", "note", f"data.dvc: {output[-200:]}", "robogate assets --force")


def check_wandb() -> Finding:
    """The mirror works without a key and without a network."""
    if importlib.util.find_spec("wandb") is None:
        text = "not installed; runs go on without it"
        return Finding("wandb", "note", text, f"pip install '{DISTRIBUTION}[wandb]'")
    with tempfile.TemporaryDirectory(prefix="robogate-doctor-") as folder:
        made, why = _probe("wandb_offline", folder, limit_s=WANDB_S)
    if made is None:
        return Finding("wandb", "note", f"offline mode: {why}; runs go on", "runtime.wandb=off")
    return Finding("wandb", "ok", f"{made['version']}, offline works without a key")


def check_key() -> Finding:
    """There is a key to sign bundles with; only promotion needs one."""
    path = default_key_folder() / PRIVATE_NAME
    if not os.path.lexists(path):
        return Finding("key", "note", "none; only promote needs one", "robogate keygen")
    try:
        key = load_private_key(path)
    except UsageError as exc:
        text, _, command = exc.message.rpartition("; ")
        return Finding("key", "fault", text or exc.message, command or "robogate keygen")
    return Finding("key", "ok", f"{path}, id {key_id(key.public_key())[:16]}")
