"""Serve a robot: a factory of one's own, and a worker that is started and ended by a program.

python -m robogate serve --factory examples.serve_robot:create_environment   (from the shell)
python examples/serve_robot.py                                            (from a program)
"""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any


def create_environment(task: str = "click_bell") -> Any:
    """What `--factory` names: any function that returns an environment."""
    from robogate.benches import dual_arm  # the simulator is imported by the worker alone

    return dual_arm.create_environment(contract=f"{task}_quick")


@contextlib.contextmanager
def served(*options: str) -> Iterator[str]:
    """Start a worker on a free port, wait until it can be reached, end it at the end."""
    command = [sys.executable, "-m", "robogate", "serve", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        try:
            ready = json.loads(worker.stdout.readline())
            yield f"http://{ready['host']}:{ready['port']}"
        finally:
            worker.terminate()  # it closes the robot and ends by itself


if __name__ == "__main__":
    with served("--factory", "examples.serve_robot:create_environment") as url:
        print("the robot is at", url)
