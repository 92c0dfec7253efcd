"""A policy that is wrong in another way in each episode, and some that are wrong in other ways.

Tests run them through ``adapter=python`` in a process of its own, from a copy of this file outside
the checkout (a policy in the checkout would have to be committed and clean).
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

STILL = [0.0] * 6 + [-1.0]


class Well:
    """Behaves: no motion, gripper open."""

    episodes = 0

    def reset(self, instruction: str) -> None:
        type(self).episodes += 1
        self.episode = type(self).episodes - 1

    def act(self, observation: Any) -> Any:
        return np.array(STILL)


class Parade(Well):
    """Misbehaves at the second call of each episode, in its own way."""

    def act(self, observation: Any) -> Any:
        still = np.array(STILL)
        if observation.step == 0:
            return still
        match self.episode:
            case 0:
                still[1] = np.nan
            case 1:
                still[0] = 1.5
            case 2:
                return still[:6]
            case 3:
                return []
            case 4:
                raise RuntimeError("the network\nfell over")
            case 5:
                time.sleep(3600.0)
            case 6:
                return "forward"
            case 7:
                for pid in simulators():
                    os.kill(pid, signal.SIGKILL)
            case 8:
                raise SystemExit(0)
            case 9:
                # Behaves from here on, however unusually.
                return [still.astype(np.float32)] * 1000
            case 10:
                return STILL
            case 11:
                for array in (*observation.state.values(), *observation.images.values()):
                    array[...] = 0
            case 12:
                print("a print of the policy")
                os.write(1, b"a print of a native library\n")
                subprocess.run(["echo", "a print of a child"], check=True)
            case 13:
                os.chdir("/")
        return still


class Mutable(Well):
    """Changes its own source while it runs."""

    def act(self, observation: Any) -> Any:
        with open(__file__, "a") as stream:
            stream.write("# changed\n")
        return np.array(STILL)


class Waits(Well):
    """Behaves for two episodes, then says that it acts and gives somebody time to interrupt it."""

    def act(self, observation: Any) -> Any:
        if self.episode == 2 and os.environ.get("WAIT") == "act":
            announce_and_wait()
        return np.array(STILL)


class WaitsOnLoad(Well):
    def __init__(self) -> None:
        announce_and_wait()


def announce_and_wait() -> None:
    Path("waiting").touch()
    time.sleep(3600.0)


def simulators() -> list[int]:
    """Processes that simulate for this one."""
    out = subprocess.run(
        ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(os.getpid())],
        text=True,
        capture_output=True,
        check=True,
    ).stdout
    return [int(line.split()[0]) for line in out.splitlines() if "robogate.worker.child" in line]
