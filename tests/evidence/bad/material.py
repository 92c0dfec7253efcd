"""Valid material: a qualification, runs bound to it, bundles promoted from them, two key pairs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robogate.contract.adapter_schema import PythonAdapter
from robogate.contract.identity import (
    AdapterIdentity,
    CheckpointIdentity,
    Identity,
    PolicyIdentity,
    assemble_identity,
)
from robogate.evidence.keys import create_keys, load_private_key, load_public_key
from robogate.evidence.promotion import promote
from robogate.evidence.qualification_bundle import write_qualification
from robogate.records.contract import FrozenContract, freeze

NAMES = ("zero", "oracle_1", "oracle_2", "oracle_3")
NOTHING = ("step_limit",) * 4
#: Beginning of an MP4 file; what follows is nobody's business here.
MP4 = b"\0\0\0\x18ftypisom" + bytes(100)

SOURCE = PolicyIdentity(
    origin="measured",
    backend="python",
    module="my_policy",
    class_name="Reacher",
    distribution=None,
    distribution_version=None,
    record_sha256=None,
    source="checkout",
    git_revision="7a" * 20,
    package="my_policy",
    package_files=1,
    package_sha256="8b" * 32,
    module_sha256="9c" * 32,
    compiled_files=0,
    compiled_sha256="4f" * 32,
)


def policy_spec(base: type, **changes: Any) -> Any:
    """A run of a user's class; ``base`` is the synthetic runs' `Spec`."""

    @dataclass
    class PolicySpec(base):  # type: ignore[misc]
        model: str | None = None
        revision: str | None = None
        checkpoint: CheckpointIdentity | None = None
        source: PolicyIdentity | None = SOURCE
        role: str = "policy"
        dirty: bool = False
        options: dict[str, Any] = field(default_factory=dict)

        def frozen(self) -> FrozenContract:
            harness = super().frozen()
            if self.adapter != "python":
                adapter = dataclasses.replace(harness.adapter, role=self.role)
            else:
                adapter = PythonAdapter(
                    **{
                        **vars(harness.adapter),
                        "role": self.role,
                        "transfer": "zero_shot",
                        "model": self.model,
                        "revision": self.revision,
                        "checkpoint_sha256": self.checkpoint and self.checkpoint.sha256,
                    },
                    warmup_timeout_s=60.0,
                    seeding="none",
                    batch_invariant=False,
                    target="my_policy:Reacher",
                    options=self.options,
                )
            return freeze(harness.bench, harness.track, adapter, harness.renderer, harness.budget)

        def identity(self) -> Identity:
            identity = super().identity()
            return assemble_identity(
                harness=dataclasses.replace(identity.harness, dirty=self.dirty),
                adapter=AdapterIdentity(self.adapter, "1", "6f" * 32),
                policy=self.source if self.adapter == "python" else None,
                checkpoint=self.checkpoint,
                runner=identity.runner,
                worker=identity.worker,
            )

    return PolicySpec(
        **{
            "adapter": "python",
            "run": 5,
            "endings": ("success", "control_rejected", "policy_stop", "step_limit"),
            **changes,
        }
    )


def write_controls(builder: Any, folder: Path, **changes: Any) -> Path:
    """Four control runs; ``changes`` are of one control each by its name, or of ``each``."""
    for i, name in enumerate(NAMES):
        spec = {"run": i + 1, "adapter": name.partition("_")[0]}
        if name == "zero":
            spec |= {"endings": NOTHING, "noise": 7}
        options = {**spec, **changes.get("each", {}), **changes.get(name, {})}
        builder.write(folder / name, builder.Spec(**options))
    return folder


def qualify_folder(folder: Path) -> str:
    """Write the qualification of four runs in place; returns its ID."""
    oracles = [folder / name for name in NAMES[1:]]
    return str(write_qualification(folder / "zero", oracles, folder)["qualification_id"])


@dataclass(frozen=True)
class Material:
    """Not to be changed; copy what is to be spoilt.

    Attributes:
        qualification: Folder of a passed qualification, and its ID.
        run: A policy's run that is bound to it, with videos.
        board: Holds `bundle` and `other`.
        bundle: Promoted from `run`, signed with `key`.
        other: Promoted from another run of the same policy, with the same key.
        keys: Folder of the key pair that signed.
        strangers: Folder of another key pair.
    """

    qualification: Path
    qualification_id: str
    run: Path
    board: Path
    bundle: Path
    other: Path
    keys: Path
    strangers: Path

    @property
    def key(self) -> Any:
        return load_private_key(self.keys / "robogate.key")

    @property
    def public(self) -> Any:
        return load_public_key(self.keys / "robogate.pub")

    @property
    def stranger(self) -> Any:
        return load_private_key(self.strangers / "robogate.key")


def make_material(builder: Any, folder: Path) -> Material:
    qualification = write_controls(builder, folder / "qualification")
    qualification_id = qualify_folder(qualification)
    create_keys(folder / "keys")
    create_keys(folder / "strangers")
    key = load_private_key(folder / "keys" / "robogate.key")
    bundles = []
    for name, run, noise in (("run", 5, 3), ("second", 6, 4)):
        spec = policy_spec(builder.Spec, run=run, noise=noise, qualification_id=qualification_id)
        builder.write(folder / name, spec)
        if name == "run":
            add_videos(folder / name)
        done = promote(folder / name, qualification, folder / "board", key=key)
        bundles.append(done.folder)
    return Material(
        qualification=qualification,
        qualification_id=qualification_id,
        run=folder / "run",
        board=folder / "board",
        bundle=bundles[0],
        other=bundles[1],
        keys=folder / "keys",
        strangers=folder / "strangers",
    )


def add_videos(run: Path) -> None:
    """A video of each episode and camera, as a recorder leaves them."""
    (run / "videos").mkdir()
    for trace in (run / "traces").iterdir():
        for camera in ("primary", "wrist"):
            (run / "videos" / f"{trace.stem}_{camera}.mp4").write_bytes(MP4 + trace.stem.encode())
