"""What clients of the served dual arm see under each contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("msgpack", reason="the worker part is not installed")

from robogate.benches.dual_arm.environment import DualArmEnvironment
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.worker.contracts import DIRECT_CONTROL, NATIVE, XPOLICYLAB, Contract
from robogate.worker.embodiments import ARX_X5
from robogate.worker.requests import read_request
from robogate.worker.robot_api import RobotApi
from robogate.worker.wire import JSON


class Client:
    """A program under one contract, without HTTP in between."""

    def __init__(self, environment: DualArmEnvironment, contract: Contract) -> None:
        self._contract = contract
        embodiment = ARX_X5 if contract.calibration == "embodiment" else None
        self._api = RobotApi(environment, contract, embodiment)
        self.first = self.rpc("reset", task="click_bell_0", seed=0)
        self.episode = self.first["episode_id"]

    def rpc(self, method: str, **arguments: Any) -> Any:
        message = {"method": method, "arguments": arguments}
        return self._api.perform(read_request(message, self._contract, self._api.offered, JSON))

    def call(self, name: str, **arguments: Any) -> Any:
        return self.rpc("call", name=name, arguments=arguments)


@pytest.fixture
def client(make_environment: Callable[..., DualArmEnvironment]) -> Callable[[Contract], Client]:
    return lambda contract: Client(make_environment(), contract)


def test_the_embodiments_cameras_are_those_of_the_robot(
    client: Callable[[Contract], Client],
) -> None:
    native, filtered = client(NATIVE), client(XPOLICYLAB)
    command = native.call("profile")["start_command"]
    command[0] += 0.03
    for robot in (native, filtered):
        for step in range(3):
            robot.call("tick", episode_id=robot.episode, step=step, command=command)
    true = native.call("observe", episode_id=native.episode)
    seen = filtered.call("observe", episode_id=filtered.episode)
    for camera in true["images"]:
        for part in ("intrinsics", "camera_to_world"):
            assert np.allclose(seen[part][camera], true[part][camera], atol=1e-9)


def test_grippers_are_as_commanded_where_the_contract_says_so(
    client: Callable[[Contract], Client], bench: DualArmBench
) -> None:
    for contract, measured in ((NATIVE, True), (XPOLICYLAB, False), (DIRECT_CONTROL, False)):
        robot = client(contract)
        command = list(bench.reset_command)
        command[6] = 0.96  # within one period's acceleration; the fingers lag behind
        answer = robot.call("tick", episode_id=robot.episode, step=0, command=command)
        assert answer["shield"]["verdict"] == "accept"
        assert (answer["state"]["joint_position"][6] != 0.96) == measured
        assert ("left_ee_pose" in answer["state"]) == (contract is not DIRECT_CONTROL)
        assert ("step_limit" in robot.call("profile")) == (contract is not XPOLICYLAB)
