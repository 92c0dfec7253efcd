"""Operating system, interpreter, hardware and host, read from what the kernel offers."""

from __future__ import annotations

import hashlib
import itertools
import os
import platform
import shutil
import subprocess

from robogate.contract.identity.records import (
    HardwareIdentity,
    HostIdentity,
    Interpreter,
    OperatingSystem,
)


def measure_interpreter() -> Interpreter:
    """Measure the running Python."""
    return Interpreter(
        implementation=platform.python_implementation(),
        version=platform.python_version(),
        build=" ".join(platform.python_build()),
        compiler=platform.python_compiler(),
    )


def measure_operating_system() -> OperatingSystem:
    """Measure the userland; the kernel belongs to the host."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (OSError, ValueError):
        libc = ""
    return OperatingSystem(
        system=platform.system(),
        distribution=release.get("ID", ""),
        release=release.get("VERSION_ID", ""),
        libc=libc,
        machine=platform.machine(),
    )


def parse_cpuinfo(text: str) -> tuple[str, str]:
    """Model name and sorted feature flags of the first processor in ``/proc/cpuinfo``.

    Arm kernels name no model; there the implementer, part and revision stand for it.
    """
    fields: dict[str, str] = {}
    for line in text.split("\n\n", 1)[0].splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    arm = [f"{k} {fields[k]}" for k in sorted(fields) if k.startswith("CPU ")]
    model = fields.get("model name") or fields.get("Model") or ", ".join(arm)
    flags = fields.get("flags") or fields.get("Features") or ""
    return model, " ".join(sorted(flags.split()))


def measure_hardware() -> HardwareIdentity:
    """Measure CPU and GPU."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            text = "".join(itertools.takewhile(str.strip, stream))
    except OSError:
        text = ""
    model, flags = parse_cpuinfo(text)
    affinity = getattr(os, "sched_getaffinity", None)
    gpus, driver = measure_gpus()
    return HardwareIdentity(
        cpu_model=model or platform.processor(),
        cpu_flags_sha256=hashlib.sha256(flags.encode()).hexdigest(),
        cores=len(affinity(0)) if affinity else os.cpu_count() or 1,
        gpus=gpus,
        gpu_driver=driver,
    )


def measure_gpus() -> tuple[tuple[str, ...], str | None]:
    """Models and driver version of the NVIDIA GPUs, as ``nvidia-smi`` reports them.

    Without the tool there is nothing to ask and nothing is started.
    """
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return (), None
    query = [tool, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return (), None
    rows = [line.rpartition(",") for line in done.stdout.splitlines() if "," in line]
    if done.returncode or not rows:
        return (), None
    return tuple(name.strip() for name, _, _ in rows), rows[0][2].strip()


def measure_host() -> HostIdentity:
    """Name and kernel of the host."""
    return HostIdentity(name=platform.node(), kernel=f"{platform.release()} {platform.version()}")
