from __future__ import annotations

import subprocess
import sys

CODE = """
import resource, sys
import numpy as np
from robogate.worker.memory import keep_freed_memory
if sys.argv[1] == "keep":
    print(keep_freed_memory(), end=" ")

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

image = np.zeros((256, 256, 3), np.uint8)
kept = [image.copy(), image.copy()]
before = faults()
for _ in range(200):
    kept = [image.copy(), image.copy()]
print((faults() - before) // 200)
"""


def test_images_that_come_and_go_are_not_faulted_in_again() -> None:
    def run(how: str) -> list[str]:
        command = [sys.executable, "-c", CODE, how]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    done, faults = run("keep")
    assert done == "True" and int(faults) <= 2
