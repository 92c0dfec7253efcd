"""Two arms at a table on the embedded simulator, MuJoCo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robogate.records.environment import Environment


#: What is served where nobody says what.
DEFAULT_CONTRACT = "click_bell"


def create_environment(
    contract: Mapping[str, Any] | str = DEFAULT_CONTRACT,
    manifest: str | None = None,
    assets: str | None = None,
    gl: str = "auto",
    render_threads: int = 1,
) -> Environment:
    """Build the environment of a frozen contract; the simulator is imported here.

    Args:
        contract: The contract's document, the name of a committed contract, or a file that
            ``robogate contract`` printed: it says task, scenarios and renderer.
        manifest: Scenario manifest file; None: the one that the contract is bound to.
        assets: Folder of pinned assets; this bench is built from code alone and reads none.
        gl: OpenGL backend, ``egl`` or ``osmesa``; ``auto``: the first that there is.
        render_threads: Threads of a software rasteriser.

    Raises:
        UsageError: No such contract or manifest, no GL backend here.
        RunError: Contract, manifest or simulator differ from what was frozen.
    """
    from robogate.benches.defaults import origin_of
    from robogate.benches.rendering import prepare_process

    origin = origin_of(contract, manifest, assets, gl)
    prepare_process(origin.gl, render_threads)
    from robogate.benches.dual_arm.assembly import assemble

    return assemble(origin.contract, origin.manifest, origin.gl)
