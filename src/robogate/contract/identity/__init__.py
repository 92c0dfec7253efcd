"""Who and what ran: records, the functions that measure them, and their comparison.

Nothing here imports a simulator, a policy framework or another package of robogate above the
contract floor; what only the measuring process knows (the GL renderer, the simulator) is passed in.
"""

from robogate.contract.identity.checkpoint import measure_checkpoint
from robogate.contract.identity.compare import (
    ABSENT,
    assemble_identity,
    changes,
    decode_identity,
    differences,
    environment_sha256,
    fingerprint_sha256,
)
from robogate.contract.identity.environment import measure_environment, measure_process
from robogate.contract.identity.harness import (
    harness_files,
    harness_sha256,
    measure_adapter,
    measure_harness,
)
from robogate.contract.identity.machine import measure_hardware, measure_host
from robogate.contract.identity.policy import PolicySource, measure_policy, require_unchanged
from robogate.contract.identity.records import (
    IDENTITY_SCHEMA,
    AdapterIdentity,
    CheckpointFile,
    CheckpointIdentity,
    Distribution,
    EnvironmentIdentity,
    GlIdentity,
    HardwareIdentity,
    HarnessIdentity,
    HostIdentity,
    Identity,
    Interpreter,
    OperatingSystem,
    PolicyIdentity,
    ProcessIdentity,
    ServerIdentity,
    SimulatorIdentity,
)

__all__ = [
    "ABSENT",
    "IDENTITY_SCHEMA",
    "AdapterIdentity",
    "CheckpointFile",
    "CheckpointIdentity",
    "Distribution",
    "EnvironmentIdentity",
    "GlIdentity",
    "HardwareIdentity",
    "HarnessIdentity",
    "HostIdentity",
    "Identity",
    "Interpreter",
    "OperatingSystem",
    "PolicyIdentity",
    "PolicySource",
    "ProcessIdentity",
    "ServerIdentity",
    "SimulatorIdentity",
    "assemble_identity",
    "changes",
    "decode_identity",
    "differences",
    "environment_sha256",
    "fingerprint_sha256",
    "harness_files",
    "harness_sha256",
    "measure_adapter",
    "measure_checkpoint",
    "measure_environment",
    "measure_hardware",
    "measure_harness",
    "measure_host",
    "measure_policy",
    "measure_process",
    "require_unchanged",
]
