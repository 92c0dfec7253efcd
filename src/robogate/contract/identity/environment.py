"""The software around the harness in the calling process, and that process as a whole."""

from __future__ import annotations

import os
import re
from collections.abc import Collection

from robogate.contract.identity.compare import environment_sha256
from robogate.contract.identity.distributions import measure_distributions
from robogate.contract.identity.machine import (
    measure_hardware,
    measure_host,
    measure_interpreter,
    measure_operating_system,
)
from robogate.contract.identity.records import (
    EnvironmentIdentity,
    GlIdentity,
    ProcessIdentity,
    SimulatorIdentity,
)
from robogate.errors import ConfigError

IMAGE_DIGEST_VARIABLE = "ROBOGATE_IMAGE_DIGEST"
#: Distributions that every process of the harness computes with; a bench adds its simulator.
CORE_DISTRIBUTIONS = ("numpy", "rfc8785")


def declared_image_digest() -> str | None:
    """The container image's digest as declared by whoever started the process.

    Raises:
        ConfigError: It is set but is no digest.
    """
    value = os.environ.get(IMAGE_DIGEST_VARIABLE)
    if not value:
        return None
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", value):
        raise ConfigError(
            f"{IMAGE_DIGEST_VARIABLE} is {value!r:.90}, expected sha256: and 64 lower-case hex "
            "digits; take it from `docker image inspect --format '{{index .RepoDigests 0}}'`, or "
            "unset it",
            code="image_digest",
        )
    return value


def measure_environment(
    *, gl: GlIdentity | None = None, distributions: Collection[str] = ()
) -> EnvironmentIdentity:
    """Measure interpreter, operating system and installed distributions of this process.

    Args:
        gl: The GL context, where this process renders.
        distributions: To bind besides `CORE_DISTRIBUTIONS`, such as the simulator.

    Raises:
        ConfigError: The declared image digest is malformed.
    """
    interpreter = measure_interpreter()
    system = measure_operating_system()
    installed = measure_distributions((*CORE_DISTRIBUTIONS, *distributions))
    return EnvironmentIdentity(
        interpreter=interpreter,
        operating_system=system,
        distributions=installed,
        gl=gl,
        declared_image_digest=declared_image_digest(),
        sha256=environment_sha256(interpreter, system, installed, gl),
    )


def measure_process(
    *,
    simulator: SimulatorIdentity | None = None,
    gl: GlIdentity | None = None,
    distributions: Collection[str] = (),
) -> ProcessIdentity:
    """Measure the calling process: software, hardware and host.

    Args:
        simulator: Where this process simulates.
        gl: Where it renders.
        distributions: To bind besides the core's, such as the simulator's.
    """
    return ProcessIdentity(
        environment=measure_environment(gl=gl, distributions=distributions),
        simulator=simulator,
        hardware=measure_hardware(),
        host=measure_host(),
    )
