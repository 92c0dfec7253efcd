"""Drive a robot behind HTTP: lower the left hand by 5 cm along a planned path, and look.

python examples/drive_robot.py http://127.0.0.1:8000
"""

import sys

from robogate.worker.robot import Robot


def drive(url: str) -> list[str]:
    """Return the shield's verdict on every command."""
    with Robot(url) as robot:
        robot.reset("00_click_bell_00", seed=0)
        command = list(robot.profile()["start_command"])
        goal = robot.fk(command)["left"]  # x, y, z, qw, qx, qy, qz of link6
        goal[2] -= 0.05
        path = robot.plan("left", pose=goal)
        verdicts = []
        for joints in path["waypoints"]:  # one for each control period
            command[:6] = joints
            answer = robot.tick(command)
            verdicts.append(answer["shield"]["verdict"])
        seen = robot.observe(["cam_head"])
        height = seen["state"]["left_ee_pose"][2]
        print(f"{len(verdicts)} commands, left hand at {height:.3f} m (wanted {goal[2]:.3f} m)")
        print("image", seen["images"]["cam_head"].shape, "of", robot.describe()["name"])
        return verdicts


if __name__ == "__main__":
    drive(sys.argv[1])
