"""Every convention between a bench and a network is shown, whatever the kind of adapter."""

import dataclasses

from robogate.contract.adapter_schema import ADAPTERS, LearnedAdapter
from robogate.contract.strict import encode
from robogate.reports.wiring import wiring, wiring_line

LEARNED = LearnedAdapter(
    "bc", "1", ("pnp",), "policy", "deterministic", "in_environment", 8, "m", "r", None,
    60.0, "none", False, 16, "after_execute", "rotate_180", 224, "pad", "libero_8",
    "axis_angle_raw", "unit_open",
)  # fmt: skip


def test_a_learned_adapters_line_names_every_convention():
    line = wiring_line(encode(LEARNED))
    for text in (
        "chunk 16", "execute 8", "replan after_execute", "image transform rotate_180",
        "image size 224", "image resize pad", "state layout libero_8",
        "quaternion axis_angle_raw", "gripper decode unit_open", "seeding none",
        "batch invariant no", "transfer in_environment", "warmup timeout s 60",
    ):  # fmt: skip
        assert text in line.split(", "), line


def test_no_field_of_any_kind_is_left_out():
    who = {"kind", "version", "benches", "role", "model", "revision", "checkpoint_sha256"}
    for record in ADAPTERS.values():
        names = {field.name for field in dataclasses.fields(record)}
        shown = wiring(dict.fromkeys(names, "x"))
        assert {name.replace("_", " ") for name in names - who - {"target", "options"}} == {*shown}
