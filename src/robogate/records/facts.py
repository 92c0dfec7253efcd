"""Task facts of the pick-and-place benches: what the success state machine judges.

An environment measures them after the last physics step of every action; a trace stores them, so
that anyone can judge again.
"""

from __future__ import annotations

#: Order of the fact vector. Positions in the world frame, m; speeds m/s; flags 0.0 or 1.0.
PNP_FACTS = (
    "object_x",
    "object_y",
    "object_z",
    "object_qw",
    "object_qx",
    "object_qy",
    "object_qz",
    "object_speed",
    "grip_distance",
    "gripper_width",
    "held",
    "push_steps",
)
