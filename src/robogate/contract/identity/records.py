"""Records of what ran. Each field says what protects it (see `robogate.contract.strict.Origin`).

All digests are SHA-256 as 64 lower-case hex digits unless a field says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from robogate.contract.strict import BOUND, DERIVED, MEASURED

IDENTITY_SCHEMA = "robogate.identity/1"


@dataclass(frozen=True)
class HarnessIdentity:
    """The evaluation's own code.

    Attributes:
        id: Harness ID of the bench.
        version: Version of the bench's behaviour.
        software: Version of robogate.
        source_revision: Git commit of the checkout; null outside one.
        dirty: Whether `src`, `conf` or `manifests` differ from that commit; null outside one.
        harness_sha256: Over every file that can change a score, see `harness_files`.
    """

    id: Annotated[str, BOUND]
    version: Annotated[str, BOUND]
    software: Annotated[str, MEASURED]
    source_revision: Annotated[str | None, MEASURED]
    dirty: Annotated[bool | None, MEASURED]
    harness_sha256: Annotated[str, MEASURED]


@dataclass(frozen=True)
class AdapterIdentity:
    """The adapter's code, hashed apart from the harness.

    Attributes:
        kind: As in the contract.
        version: As in the contract.
        implementation_sha256: Over the adapter's modules.
    """

    kind: Annotated[str, BOUND]
    version: Annotated[str, BOUND]
    implementation_sha256: Annotated[str, MEASURED]


@dataclass(frozen=True)
class Interpreter:
    """The Python interpreter: implementation, version, build and compiler as it reports them."""

    implementation: str
    version: str
    build: str
    compiler: str


@dataclass(frozen=True)
class Distribution:
    """One installed distribution.

    Attributes:
        name: Normalised (lower case, runs of ``-_.`` as one ``-``).
        version: As installed.
        record_sha256: Over the lines of its RECORD that are the same wherever it is installed, see
            `robogate.contract.identity.distributions`; null where it has none.
        bound: Whether the harness depends on it, and the environment digest covers it.
    """

    name: str
    version: str
    record_sha256: str | None
    bound: bool


@dataclass(frozen=True)
class OperatingSystem:
    """The userland: its name and version from os-release, the C library, the machine type."""

    system: str
    distribution: str
    release: str
    libc: str
    machine: str


@dataclass(frozen=True)
class GlIdentity:
    """The GL context that renders: backend (``egl`` or ``osmesa``) and the driver's own strings."""

    backend: str
    vendor: str
    renderer: str
    version: str


@dataclass(frozen=True)
class EnvironmentIdentity:
    """The software that surrounds the harness in one process.

    Attributes:
        interpreter: Python.
        operating_system: Userland.
        distributions: Every installed distribution, sorted by name.
        gl: Renderer, where this process has one.
        declared_image_digest: Container image as declared in ``ROBOGATE_IMAGE_DIGEST``
            (``sha256:`` and 64 hex digits); nothing here can measure it.
        sha256: Over the interpreter, operating system, bound distributions and renderer.
    """

    interpreter: Annotated[Interpreter, MEASURED]
    operating_system: Annotated[OperatingSystem, MEASURED]
    distributions: Annotated[tuple[Distribution, ...], MEASURED]
    gl: Annotated[GlIdentity | None, MEASURED]
    declared_image_digest: Annotated[str | None, MEASURED]
    sha256: Annotated[str, DERIVED]


@dataclass(frozen=True)
class SimulatorIdentity:
    """The simulator as it reports itself."""

    name: str
    version: str


@dataclass(frozen=True)
class HardwareIdentity:
    """The hardware that computes.

    Attributes:
        cpu_model: As the kernel names it.
        cpu_flags_sha256: Over the sorted feature flags; numeric libraries choose kernels by them.
        cores: Usable by this process; not part of the fingerprint.
        gpus: Model of each GPU, in order; empty without one.
        gpu_driver: Version of the GPU driver, or null.
    """

    cpu_model: str
    cpu_flags_sha256: str
    cores: int
    gpus: tuple[str, ...]
    gpu_driver: str | None


@dataclass(frozen=True)
class HostIdentity:
    """Where it ran, for people; never part of the fingerprint."""

    name: str
    kernel: str


@dataclass(frozen=True)
class ProcessIdentity:
    """One process: what `Environment.identity` reports of the worker, and the runner of itself."""

    environment: EnvironmentIdentity
    simulator: Annotated[SimulatorIdentity | None, MEASURED]
    hardware: Annotated[HardwareIdentity, MEASURED]
    host: Annotated[HostIdentity, MEASURED]


@dataclass(frozen=True)
class PolicyIdentity:
    """The policy runtime (protocol section 2).

    Attributes:
        origin: ``measured`` in a process of ours, in this one or beside a server, or ``declared``
            by a server.
        backend: What runs the policy, such as ``python``.
        module: Module of the class.
        class_name: Qualified name of the class in it.
        distribution: Name of the distribution that installed it, or null.
        distribution_version: Its version, or null.
        record_sha256: Identity of the installed package, or null where it is not installed.
        source: ``checkout`` (tracked by git and clean), ``distribution`` (installed) or ``files``
            (neither: nothing but the hashes says what it is).
        git_revision: Commit of the checkout; null for the other two.
        package: Name of the top-level package, or of the module where it stands alone.
        package_files: Number of Python files in it.
        package_sha256: Over path and content of each of them.
        module_sha256: Content of the module's file.
        compiled_files: Number of compiled modules and libraries in the package.
        compiled_sha256: Over path and content of each of them.
    """

    origin: Literal["measured", "declared"]
    backend: str
    module: str
    class_name: str
    distribution: str | None
    distribution_version: str | None
    record_sha256: str | None
    source: Literal["checkout", "distribution", "files"]
    git_revision: str | None
    package: str
    package_files: int
    package_sha256: str
    module_sha256: str
    compiled_files: int
    compiled_sha256: str


@dataclass(frozen=True)
class CheckpointFile:
    """One file of a checkpoint.

    Attributes:
        path: In the checkpoint's folder, POSIX.
        bytes: Its size.
        sha256: Of its content.
    """

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class CheckpointIdentity:
    """A model checkpoint.

    Attributes:
        origin: ``measured`` here, or ``declared`` by a server.
        path: Where it lay or what it was called; not part of the fingerprint.
        revision: As declared in the contract, or null.
        files: Number of files.
        bytes: Sum of their sizes.
        sha256: Of the file where it is one, else over path, size and content of each file.
        listing: Each file of a measured folder, in the order of the paths' UTF-8 bytes; else empty.
    """

    origin: Literal["measured", "declared"]
    path: str
    revision: str | None
    files: int
    bytes: int
    sha256: str
    listing: tuple[CheckpointFile, ...] = ()


@dataclass(frozen=True)
class ServerIdentity:
    """A policy server, as it was found when the run connected.

    Attributes:
        origin: ``declared`` by the server, or ``measured`` where a helper beside it measured the
            package and the checkpoint that it serves.
        url: Its address; not part of the fingerprint.
        backend: What it serves, such as ``groot`` or ``openpi``.
        metadata: What it sent about itself, as JSON values; empty where it sends nothing.
    """

    origin: Literal["measured", "declared"]
    url: str
    backend: str
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Identity:
    """Everything that ran.

    Attributes:
        schema: `IDENTITY_SCHEMA`.
        server: The policy server; null where the policy was in the runner's process.
        runner: The process that drove the policy and wrote the evidence.
        worker: The process that simulated; equal to `runner` where there was only one.
        fingerprint_sha256: Of what it ran on, see `fingerprint_sha256`.
    """

    schema: Annotated[Literal["robogate.identity/1"], BOUND]
    harness: HarnessIdentity
    adapter: AdapterIdentity
    policy: Annotated[PolicyIdentity | None, MEASURED]
    checkpoint: Annotated[CheckpointIdentity | None, MEASURED]
    server: Annotated[ServerIdentity | None, MEASURED]
    runner: ProcessIdentity
    worker: ProcessIdentity
    fingerprint_sha256: Annotated[str, DERIVED]
