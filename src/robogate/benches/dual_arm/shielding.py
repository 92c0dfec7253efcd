"""What the shield keeps on this bench: the contract's limits, and distances of a robot's copy."""

from __future__ import annotations

from robogate.benches.dual_arm.clearance import Clearance
from robogate.benches.dual_arm.robot_copy import RobotCopy
from robogate.records.shield import ShieldOptions
from robogate.scenes.dual_arm_config import DualArmBench
from robogate.scenes.dual_arm_spec import SIDES
from robogate.worker.shield import Shield


def shield_options(bench: DualArmBench) -> ShieldOptions:
    """The contract's limits, component by component."""
    arms, gripper, limits = bench.arms, bench.arms.gripper, bench.limits
    velocity = (*(joint.velocity for joint in arms.joints), gripper.velocity)
    acceleration = (*(joint.acceleration for joint in arms.joints), gripper.acceleration)
    return ShieldOptions(
        mode=bench.shield,
        names=bench.action.names,
        low=bench.action.low,
        high=bench.action.high,
        velocity=velocity * len(SIDES),
        acceleration=acceleration * len(SIDES),
        period_s=1.0 / bench.timing.control_hz,
        workspace_low=limits.workspace_low,
        workspace_high=limits.workspace_high,
        arm_distance=limits.arm_distance,
        self_distance=limits.self_distance,
        table_distance=limits.table_distance,
    )


def make_shield(bench: DualArmBench, robot: RobotCopy) -> Shield:
    """The shield that every command passes before the robot."""
    rules = Clearance(bench, robot)
    return Shield(shield_options(bench), rules, bench.interpolation_steps + 1)
