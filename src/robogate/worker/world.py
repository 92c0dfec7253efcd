"""Which world a worker serves, and by which code: what a run compares before it trusts one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from robogate.contract.identity.harness import harness_sha256
from robogate.errors import RunError
from robogate.records.contract import environment_sha256, thaw


@dataclass(frozen=True)
class World:
    """One world.

    Attributes:
        harness_sha256: The harness hash of the bench, as measured where it is stated.
        environment_contract_sha256: `robogate.records.contract.environment_sha256` of the contract.
    """

    harness_sha256: str
    environment_contract_sha256: str

    def require(self, about: Mapping[str, Any]) -> None:
        """Require that a worker serves this very world.

        Args:
            about: What its ``describe`` says.

        Raises:
            RunError: ``contract_mismatch`` or ``identity_mismatch``.
        """
        served = about.get("environment_contract_sha256")
        if served != self.environment_contract_sha256:
            raise RunError(
                f"the worker serves another world (environment contract {str(served)[:12]}, this "
                f"run's is {self.environment_contract_sha256[:12]}): print this run's with "
                "`robogate contract ... > FILE` and start the worker with --options and "
                '{"contract": "FILE"} in them',
                code="contract_mismatch",
            )
        code = about.get("harness_sha256")
        if code != self.harness_sha256:
            raise RunError(
                f"the worker runs another robogate (harness {str(code)[:12]}, here "
                f"{self.harness_sha256[:12]}): install the same version there",
                code="identity_mismatch",
            )


def world_of(document: Mapping[str, Any]) -> World:
    """The world of a contract's document, under the code of this process.

    Raises:
        StrictError: The document does not hold.
    """
    return World(harness_sha256(thaw(dict(document)).bench), environment_sha256(document))
