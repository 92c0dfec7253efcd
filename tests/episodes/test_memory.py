from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import re, sys
from pathlib import Path
import toy_world as toy
from robogate.contract.schema import Renderer
from robogate.scenes.recipe import Row

def peak():
    # What `getrusage` says includes the process that this one was forked from.
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])

folder = Path(sys.argv[2])
rows = [Row("nominal", "cluttered_scene", seed) for seed in range(int(sys.argv[1]))]
renderer = Renderer("mujoco", 256, 256, 4, False, ("primary", "wrist"))
world = toy.make_world(folder, rows=rows, renderer=renderer)
before = peak()
episodes = world.run(folder / "run", toy.ToyOracle(), lambda i: world.child(), workers=2)
assert all(e.outcome == "success" for e in episodes)
print(peak() - before)
"""


@pytest.mark.slow
def test_peak_memory_does_not_grow_with_the_number_of_episodes(tmp_path: Path) -> None:
    grown = []
    for count in (4, 40):
        folder = tmp_path / str(count)
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", CODE, str(count), str(folder)],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[1],
        )
        grown.append(int(done.stdout))
    few, many = grown
    # 36 episodes of two 256×256 cameras observe 400 MB; their records are about 20 KB each.
    assert many - few < 4_000, grown
