"""Where a run's environments come from: child processes of this Python, for now.

The runner asks for an `Environment` and cannot tell where it runs. Which factory builds it is a
contract field; how it is reached is a runtime one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from robogate.benches.gl import resolve_gl
from robogate.records.contract import FrozenContract
from robogate.worker.pipe import ChildEnvironment, Deadlines

__all__ = ["Place", "resolve_gl"]

#: Software-render threads of a simulator process. More only compete with the other processes:
#: without shadows, rendering is bound by one thread.
RENDER_THREADS = 1


@dataclass(frozen=True)
class Place:
    """How to build the environments of a run.

    Attributes:
        frozen: The contract; names the factory.
        manifest: Scenario manifest file.
        assets: Folder of the pinned assets.
        gl: OpenGL backend, ``egl`` or ``osmesa``.
        deadlines: When a call counts as hanging.
        log_folder: Where each child's output goes, or None.
    """

    frozen: FrozenContract
    manifest: Path
    assets: Path
    gl: str
    deadlines: Deadlines = Deadlines()
    log_folder: Path | None = None

    def create(self, index: int = 0) -> ChildEnvironment:
        """Make an environment; its process starts at the first call.

        Args:
            index: Number of the worker, for its log.
        """
        return ChildEnvironment(
            factory=self.frozen.bench.environment,
            options={
                "contract": self.frozen.document,
                "manifest": str(self.manifest),
                "assets": str(self.assets),
                "gl": self.gl,
                "render_threads": RENDER_THREADS,
            },
            env_vars={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            deadlines=self.deadlines,
            log=None if self.log_folder is None else self.log_folder / f"worker_{index}.log",
        )
