from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import stub_robot
from stub_env import StubEnvironment
from stub_robot import LIMIT, MEASURED, SECRET_SEED, START, StubRobot

from robogate.errors import UsageError
from robogate.records.capabilities import CAPABILITIES
from robogate.records.environment import Environment
from robogate.worker.call_error import CallError
from robogate.worker.contracts import CONTRACTS, DIRECT_CONTROL, NATIVE, XPOLICYLAB, contract_of
from robogate.worker.embodiments import ARX_X5, embodiment_of
from robogate.worker.requests import read_request
from robogate.worker.robot_api import RobotApi
from robogate.worker.wire import JSON, MSGPACK

IDENTITY = {
    "contract_sha256": "a" * 64, "adapter": "zero", "adapter_version": "1",
    "adapter_sha256": "b" * 64, "model": None, "revision": None, "checkpoint_sha256": None,
    "policy_sha256": None,
    "server_sha256": None,
}  # fmt: skip


class Caller:
    """Makes requests as the server does, without one."""

    def __init__(
        self, robot: Any = None, contract: Any = NATIVE, media: str = JSON, embodiment: Any = None
    ) -> None:
        self.robot = robot or StubRobot()
        self.contract, self.media = contract, media
        self.api = RobotApi(self.robot, contract, embodiment, {"harness_sha256": "c" * 64})

    def rpc(self, method: str, **arguments: Any) -> Any:
        message = {"method": method, "arguments": arguments}
        request = read_request(message, self.contract, self.api.offered, self.media)
        return self.api.perform(request)

    def call(self, name: str, **arguments: Any) -> Any:
        return self.rpc("call", name=name, arguments=arguments)

    def refused(self, name: str, **arguments: Any) -> CallError:
        with pytest.raises(CallError) as caught:
            if name in ("describe", "reset"):
                self.rpc(name, **arguments)
            else:
                self.call(name, **arguments)
        return caught.value

    def begin(self) -> str:
        return str(self.rpc("reset", task="a", seed=1)["episode_id"])


@pytest.fixture
def caller() -> Caller:
    return Caller()


def tick(step: int, command: Any = START) -> dict[str, Any]:
    return {"step": step, "command": list(command)}


def test_the_double_has_every_capability() -> None:
    assert isinstance(StubRobot(), Environment)
    assert Caller().api.offered >= set(CAPABILITIES) - {"render", "calibration"}


def test_describe_and_the_first_observation(caller: Caller) -> None:
    about = caller.rpc("describe")
    assert about["protocol_version"] == 1 and about["name"] == "stub-robot"
    assert {"tick", "act", "plan", "claim_outcome", "identity"} <= set(about["tools"])
    first = caller.rpc("reset", task="a", seed=1)
    assert first["step"] == 0 and first["instruction"] == "do it"
    assert first["state"]["joint_position"] == [0.0, MEASURED, 0.0, MEASURED]
    assert first["images"]["cam_head"].startswith("data:image/png;base64,")


def test_a_tick_moves_and_says_what_the_shield_did(caller: Caller) -> None:
    episode = caller.begin()
    answer = caller.call("tick", episode_id=episode, **tick(0, [0.01, 1.0, 0.0, 1.0]))
    assert answer["executed"] and answer["shield"]["verdict"] == "accept"
    assert answer["shield"]["command"] == [0.01, 1.0, 0.0, 1.0]
    assert answer["state"]["step"] == 1 and answer["state"]["ended"] is False
    assert "observation" not in answer
    answer = caller.call("tick", episode_id=episode, **tick(1, [1.0, 1.0, 0.0, 1.0]))
    assert answer["shield"]["verdict"] == "limit"
    assert answer["shield"]["command"][0] == pytest.approx(0.084)
    assert answer["shield"]["reasons"] == ["left_joint: velocity limit 3/s"]


@pytest.mark.parametrize("name", ["tick", "act"])
@pytest.mark.parametrize("step", [0, 1, 3, 2**40])
def test_a_step_that_is_not_the_next_is_never_executed(name: str, step: int) -> None:
    caller = Caller()
    episode = caller.begin()
    for i in range(2):
        caller.call("tick", episode_id=episode, **tick(i))
    key = "command" if name == "tick" else "action"
    error = caller.refused(name, episode_id=episode, step=step, **{key: list(START)})
    assert (error.status, error.code) == (409, "out_of_order")
    assert "the next is 2" in error.message
    assert caller.call("state", episode_id=episode)["step"] == 2


@pytest.mark.parametrize("name", ["tick", "state", "observe", "ik", "plan", "policy_obs"])
def test_another_episode_is_refused(name: str, caller: Caller) -> None:
    old = caller.begin()
    caller.begin()
    more: dict[str, Any] = {"tick": tick(0), "ik": {"arm": "left", "pose": [0.0] * 7}}.get(name, {})
    if name == "plan":
        more = {"arm": "left", "joints": [0.1]}
    error = caller.refused(name, episode_id=old, **more)
    assert (error.status, error.code) == (409, "out_of_order")


@pytest.mark.parametrize("command", [[0.0] * 3, [0.0] * 5, []])
def test_a_command_of_another_dimension_is_a_reject(command: list[float], caller: Caller) -> None:
    episode = caller.begin()
    answer = caller.call("tick", episode_id=episode, **tick(0, command))
    assert answer["executed"] is False and answer["state"]["step"] == 0
    assert answer["shield"]["verdict"] == "reject" and "shape" in answer["shield"]["reasons"][0]
    # A reject does not use up the step: the same key may carry another command.
    assert caller.call("tick", episode_id=episode, **tick(0))["executed"]
    error = caller.refused("act", episode_id=episode, step=1, action=command)
    assert (error.status, error.code, error.kind) == (422, "action_shape", "episode")
    assert caller.call("state", episode_id=episode)["step"] == 1


def test_a_value_that_is_not_finite_is_a_reject() -> None:
    caller = Caller(media=MSGPACK)
    episode = caller.begin()
    command = np.array([0.0, np.nan, 0.0, 0.0])
    answer = caller.call("tick", episode_id=episode, step=0, command=command)
    assert answer["shield"]["reasons"] == ["command is not finite: left_gripper=nan"]


def test_act_passes_the_shield_too(caller: Caller) -> None:
    episode = caller.begin()
    answer = caller.call("act", episode_id=episode, step=0, action=[1.0, 1.0, 0.0, 1.0])
    assert answer["executed"] and answer["shield"]["verdict"] == "limit"
    assert answer["shield"]["command"] == pytest.approx([0.064, 1.0, 0.0, 1.0])
    assert answer["observation"]["state"]["joint_position"][0] == pytest.approx(0.064)
    gentle = [0.1, 1.0, 0.0, 1.0]
    answer = caller.call("act", episode_id=episode, step=1, action=gentle)
    assert answer["shield"] == {"verdict": "accept", "command": gentle, "reasons": []}
    assert "evaluator" not in answer and "evaluator" not in answer["observation"]


def test_an_episode_that_broke_off_takes_nothing_more(
    caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    episode = caller.begin()
    error = caller.refused("tick", episode_id=episode, **tick(0, [-0.5, 0.0, 0.0, 0.0]))
    assert (error.status, error.code) == (500, "internal")
    assert error.message == "the environment raised ZeroDivisionError; the worker's log says where"
    assert "ZeroDivisionError" in caplog.text
    for step in (0, 1):
        assert caller.refused("tick", episode_id=episode, **tick(step)).status == 409
    assert caller.call("tick", episode_id=caller.begin(), **tick(0))["executed"]


def test_nothing_moves_after_the_end(caller: Caller) -> None:
    episode = caller.begin()
    for step in range(LIMIT):
        answer = caller.call("tick", episode_id=episode, **tick(step))
    assert answer["state"]["ended"] is True
    assert caller.refused("tick", episode_id=episode, **tick(LIMIT)).status == 409


def test_only_the_cameras_asked_for_are_rendered(caller: Caller) -> None:
    episode = caller.begin()
    robot = caller.robot
    robot.rendered.clear()
    caller.call("tick", episode_id=episode, **tick(0))
    caller.call("state", episode_id=episode)
    caller.call("observe", episode_id=episode, cameras=[])
    assert robot.rendered == []
    seen = caller.call("tick", episode_id=episode, **tick(1), cameras=["cam_left_wrist"])
    assert robot.rendered == ["cam_left_wrist"]
    assert list(seen["observation"]["images"]) == ["cam_left_wrist"]
    assert seen["observation"]["image_size"] == {"cam_left_wrist": [12, 8]}
    assert seen["observation"]["intrinsics"]["cam_left_wrist"][0] == [5.0, 0.0, 0.0]
    error = caller.refused("observe", episode_id=episode, cameras=["cam_haed"])
    assert error.status == 422 and "did you mean 'cam_head'?" in error.message


def test_image_formats() -> None:
    caller = Caller()
    episode = caller.begin()
    seen = caller.call("observe", episode_id=episode, image_format="jpeg", quality=30)
    assert seen["images"]["cam_head"].startswith("data:image/jpeg;base64,")
    assert caller.refused("observe", episode_id=episode, image_format="raw").status == 422
    packed = Caller(media=MSGPACK)
    episode = packed.begin()
    seen = packed.call("observe", episode_id=episode)
    assert seen["images"]["cam_head"].code == 1  # an array, as it is
    seen = packed.call("observe", episode_id=episode, image_format="png")
    assert seen["images"]["cam_head"].startswith("data:image/png;base64,")


def test_tools(caller: Caller) -> None:
    episode = caller.begin()
    assert caller.call("fk", command=list(START))["left"][:3] == [0.0, 0.0, 1.0]
    pose = [0.5, 0, 1, 1, 0, 0, 0]
    found = caller.call("ik", episode_id=episode, arm="left", pose=pose)
    assert found == {"success": True, "joints": [0.5]}
    found = caller.call("ik", episode_id=episode, arm="left", pose=[2.0, 0, 1, 1, 0, 0, 0])
    assert found == {"success": False, "joints": None}
    path = caller.call("plan", episode_id=episode, arm="left", joints=[0.4])
    assert path == {"success": True, "waypoints": [[0.2], [0.4]]}
    path = caller.call("plan", episode_id=episode, arm="left", joints=[0.4], raw=True)
    assert path["waypoints"] == [[0.4]]
    assert caller.call("profile")["step_limit"] == LIMIT
    assert caller.call("action_spec")["arms"]["left"]["velocity"] == [3.0]
    assert caller.call("policy_obs", episode_id=episode)["additional_info"] == {"frequency": 25}
    error = caller.refused("fk", command=[0.0])
    assert (error.status, error.kind) == (422, "usage")


def test_a_robot_offers_what_it_has() -> None:
    caller = Caller(StubEnvironment())
    caller.call("register", identity=IDENTITY)
    assert caller.refused("tick", episode_id="x", **tick(0)).status == 404
    assert caller.refused("profile").status == 404
    episode = caller.begin()
    seen = caller.call("observe", episode_id=episode)
    assert seen["intrinsics"] == {} and set(seen["images"]) == {"primary", "wrist"}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("state", {}, "'episode_id' is missing"),
        ("state", {"episode_id": 3}, "is 3, expected a string"),
        ("state", {"episode_id": "x", "stpe": 1}, "'stpe' is not known"),
        ("tick", {"episode_id": "x", "step": True, "command": []}, "is true, expected"),
        ("tick", {"episode_id": "x", "step": 1.0, "command": []}, "is 1.0, expected an int"),
        ("tick", {"episode_id": "x", "step": -1, "command": []}, "is -1, expected"),
        ("tick", {"episode_id": "x", "step": 0, "command": "no"}, "is a string, expected a list"),
        (
            "tick",
            {"episode_id": "x", "step": 0, "command": [1, "2"]},
            "is a list of numbers and strings",
        ),
        ("tick", {"episode_id": "x", "step": 0, "command": [True]}, "is a list of true or false"),
        ("tick", {"episode_id": "x", "step": 0, "command": [[1]]}, "is a list of lists, expected"),
        ("tick", {"episode_id": "x", "step": 0, "command": [0] * 5000}, "at most 4096 numbers"),
        ("observe", {"episode_id": "x", "cameras": "all"}, "expected a list of strings"),
        ("observe", {"episode_id": "x", "cameras": ["a", "a"]}, "each once"),
        ("observe", {"episode_id": "x", "image_format": "gif"}, "one of png, jpeg, raw"),
        ("observe", {"episode_id": "x", "quality": 0}, "from 1 to 100"),
        ("plan", {"episode_id": "x", "arm": "left", "raw": 1}, "expected true or false"),
        ("register", {"identity": []}, "expected an object"),
        ("register", {"identity": {"adapter": "x"}}, "missing field"),
        ("reset", {"task": "a", "seed": 1.5}, "expected an integer"),
    ],
)
def test_wrong_arguments(
    name: str, arguments: dict[str, Any], message: str, caller: Caller
) -> None:
    error = caller.refused(name, **arguments)
    assert (error.status, error.code) == (422, "bad_arguments")
    assert message in error.message


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ([], 400),
        ({}, 400),
        ({"method": "describe", "more": 1}, 400),
        ({"method": 3}, 400),
        ({"method": "close"}, 404),
        ({"method": "_move"}, 404),
        ({"method": "call"}, 422),
        ({"method": "call", "arguments": {"name": "x"}}, 404),
        ({"method": "call", "arguments": {"name": "close"}}, 404),
        ({"method": "call", "arguments": {"name": "step"}}, 404),
        ({"method": "call", "arguments": {"name": "reset"}}, 404),
        ({"method": "call", "arguments": {"name": "render"}}, 404),
        ({"method": "call", "arguments": {"name": "__class__"}}, 404),
        ({"method": "call", "arguments": {"name": "state", "arguments": []}}, 422),
        ({"method": "describe", "arguments": {"x": 1}}, 422),
        ({"method": "describe", "arguments": None}, 422),
    ],
)
def test_what_is_no_request(message: Any, status: int, caller: Caller) -> None:
    with pytest.raises(CallError) as caught:
        read_request(message, NATIVE, caller.api.offered, JSON)
    assert caught.value.status == status


class TestOutcome:
    def test_one_token_an_episode(self, caller: Caller) -> None:
        episode = caller.begin()
        token = caller.call("claim_outcome", episode_id=episode)
        assert len(bytes.fromhex(token)) == 32
        assert caller.refused("claim_outcome", episode_id=episode).code == "claimed"
        outcome = caller.call("outcome", token=token)
        assert outcome == {
            "success": False, "steps": 0, "terminated": False, "truncated": False, "reward": 0.5,
            "process_score": None,
        }  # fmt: skip
        again = caller.begin()
        assert caller.refused("claim_outcome", episode_id=episode).status == 409
        for stale in (token, "", "0" * 64, "ä", "\ud800"):
            assert caller.refused("outcome", token=stale).status == 401
        assert caller.call("claim_outcome", episode_id=again) != token

    def test_nobody_guesses_before_it_is_claimed(self, caller: Caller) -> None:
        caller.begin()
        assert caller.refused("outcome", token="0" * 64).status == 401
        fresh = Caller()
        assert fresh.refused("outcome", token="0" * 64).status == 401
        assert fresh.refused("claim_outcome", episode_id="").status == 409

    @pytest.mark.parametrize("name", ["act", "observe"])
    def test_a_wrong_token_is_refused_before_any_motion(self, name: str, caller: Caller) -> None:
        episode = caller.begin()
        more = {"step": 0, "action": list(START)} if name == "act" else {}
        error = caller.refused(name, episode_id=episode, token="0" * 64, **more)
        assert (error.status, error.code) == (401, "outcome_token")
        assert caller.call("state", episode_id=episode)["step"] == 0

    def test_the_evaluators_half_comes_with_the_token(self, caller: Caller) -> None:
        episode = caller.begin()
        token = caller.call("claim_outcome", episode_id=episode)
        half = caller.call("observe", episode_id=episode, token=token, cameras=[])["evaluator"]
        assert half["seed"] == SECRET_SEED and half["success"] is False
        answer = caller.call("act", episode_id=episode, step=0, action=list(START), token=token)
        assert answer["evaluator"]["facts"] == [1.0, 2.0]

    def test_the_outcome_shows_nowhere_else(self, caplog: pytest.LogCaptureFixture) -> None:
        shown: list[Any] = []
        for contract in CONTRACTS.values():
            embodiment = ARX_X5 if contract is XPOLICYLAB else None
            caller = Caller(contract=contract, embodiment=embodiment)
            episode = caller.begin()
            shown += [caller.rpc("describe"), caller.rpc("reset", task="a", seed=1)]
            episode = shown[-1]["episode_id"]
            for step in range(LIMIT):  # from step 3 on it is a success
                answer = caller.call("tick", episode_id=episode, **tick(step), cameras=["cam_head"])
                answer["state"].pop("ended")
                shown.append(answer)
            names = caller.api.offered - {
                "describe",
                "reset",
                "register",
                "identity",
                "tick",
                "act",
            }
            for name in sorted(names - {"claim_outcome", "outcome", "fk", "ik", "plan"}):
                needs = {} if name in ("profile", "action_spec") else {"episode_id": episode}
                shown.append(caller.call(name, **needs))
            for wrong in ({"episode_id": episode}, {}, {"token": "x"}, {"episode_id": "x"}):
                for name in ("claim_outcome", "outcome", "state", "observe"):
                    try:
                        caller.call(name, **wrong)
                    except CallError as error:
                        shown.append(error.body())
            episode = caller.begin()
            crash = tick(0, [-0.5, 0, 0, 0])
            shown.append(caller.refused("tick", episode_id=episode, **crash).body())
        text = json.dumps([item for item in shown if item is not None])
        if "policy_obs" in NATIVE.calls:
            text = text.replace(f'"seed": {SECRET_SEED}', "", 1)  # the double's own leak, natively
        for secret in (
            "success",
            str(SECRET_SEED),
            "secret_scenario",
            "secret_diagnostics",
            "reward",
        ):
            assert secret not in text.replace('"success": true, "joints"', "")


class TestContracts:
    def test_xpolicylab_shows_what_the_official_client_hands_out(self) -> None:
        caller = Caller(contract=XPOLICYLAB, embodiment=ARX_X5)
        assert set(caller.rpc("describe")) == {"protocol_version", "name", "tools"}
        first = caller.rpc("reset", task="a", seed=1)
        assert set(first) == {"episode_id", "step", "instruction", "state", "images"}
        # Grippers are what was commanded, not what is measured.
        assert first["state"]["joint_position"] == list(START)
        answer = caller.call(
            "tick", episode_id=first["episode_id"], **tick(0, [0.01, 0.98, 0.0, 1.0]),
            cameras=["cam_head"],
        )  # fmt: skip
        assert answer["state"]["joint_position"] == [0.01, 0.98, 0.0, 1.0]
        assert set(answer["state"]) == {
            "step", "ended", "joint_position", "left_ee_pose", "right_ee_pose",
        }  # fmt: skip
        seen = answer["observation"]
        assert set(seen) == {"images", "intrinsics", "camera_to_world", "image_size"}
        assert seen["intrinsics"]["cam_head"] != (5.0 * np.eye(3)).tolist()  # not the robot's own
        profile = caller.call("profile")
        assert profile["observation_contract"] == "xpolicylab"
        assert profile["gripper_feedback"] == "commanded"
        assert "step_limit" not in profile
        observed = caller.call("policy_obs", episode_id=first["episode_id"])
        assert "seed" not in observed
        for name in ("act", "register"):
            assert caller.refused(name).status == 404
        error = caller.refused("observe", episode_id=first["episode_id"], token="x")
        assert "'token' is not known" in error.message

    def test_a_wrist_camera_moves_with_the_reported_pose(self) -> None:
        caller = Caller(contract=XPOLICYLAB, embodiment=ARX_X5)
        episode = caller.begin()
        before = caller.call("observe", episode_id=episode)["camera_to_world"]
        caller.call("tick", episode_id=episode, **tick(0, [0.05, 1.0, 0.0, 1.0]))
        after = caller.call("observe", episode_id=episode)["camera_to_world"]
        moved = np.subtract(after["cam_left_wrist"], before["cam_left_wrist"])
        assert moved[0, 3] == pytest.approx(0.05)
        assert after["cam_right_wrist"] == before["cam_right_wrist"]
        assert after["cam_head"] == before["cam_head"]

    def test_direct_control_has_no_kinematics_and_no_calibration(self) -> None:
        caller = Caller(contract=DIRECT_CONTROL)
        for name in ("fk", "ik", "plan", "policy_obs", "action_spec"):
            assert caller.refused(name).status == 404
        first = caller.rpc("reset", task="a", seed=1)
        assert set(first["state"]) == {"joint_position"}
        seen = caller.call("observe", episode_id=first["episode_id"])
        assert set(seen) == {"state", "images", "image_size"}
        assert set(seen["state"]) == {"step", "ended", "joint_position"}
        answer = caller.call(
            "act", episode_id=first["episode_id"], step=0, action=[0.01, 0.98, 0.0, 1.0]
        )
        assert answer["observation"]["state"] == {"joint_position": [0.01, 0.98, 0.0, 1.0]}
        assert "arm_bases" not in caller.call("profile")

    def test_what_is_in_no_table_does_not_pass(self) -> None:
        class Talkative(StubRobot):
            def describe(self) -> Any:
                return super().describe()

            def secret(self) -> int:
                return 1

            def state(self, episode_id: str) -> Any:
                state = super().state(episode_id)
                return type(state)(
                    state.episode_id, state.step, state.ended,
                    {**state.values, "object_pose": np.zeros(7)}, state.command,
                )  # fmt: skip

        for contract in (XPOLICYLAB, DIRECT_CONTROL):
            caller = Caller(Talkative(), contract, embodiment=ARX_X5)
            episode = caller.begin()
            answer = caller.call("tick", episode_id=episode, **tick(0), cameras=["cam_head"])
            assert "object_pose" not in json.dumps(answer)
            assert "object_pose" not in json.dumps(caller.call("observe", episode_id=episode))
            assert caller.refused("secret").status == 404

    def test_what_cannot_be_served(self) -> None:
        with pytest.raises(UsageError, match="needs --embodiment"):
            Caller(contract=XPOLICYLAB)
        with pytest.raises(UsageError, match="needs a robot that says its profile"):
            Caller(StubEnvironment(), DIRECT_CONTROL)
        with pytest.raises(UsageError, match="did you mean 'xpolicylab'"):
            contract_of("xpolicylabs")
        with pytest.raises(UsageError, match="arx_x5"):
            embodiment_of("arx")


def test_the_stub_is_where_the_tests_expect_it() -> None:
    assert stub_robot.CAMERAS == tuple(ARX_X5.cameras)
