"""Two arms at a table on the embedded simulator, MuJoCo."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robogate.records.environment import Environment


def create_environment(
    contract: Mapping[str, Any],
    manifest: str,
    assets: str,
    gl: str,
    render_threads: int = 1,
) -> Environment:
    """Build the environment of a frozen contract; the simulator is imported here.

    Args:
        contract: The contract's document.
        manifest: Scenario manifest file.
        assets: Folder of pinned assets; this bench is built from code alone and reads none.
        gl: OpenGL backend, ``egl`` or ``osmesa``.
        render_threads: Threads of a software rasteriser.

    Raises:
        UsageError: No such GL backend here.
        RunError: Contract, manifest or simulator differ from what was frozen.
    """
    from robogate.benches.rendering import prepare_process

    prepare_process(gl, render_threads)
    from robogate.benches.dual_arm.assembly import assemble

    return assemble(contract, Path(manifest), gl)
