"""Where a policy is found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PolicyLocation:
    """Where a policy is found. It stands in the identity, never in the contract.

    Attributes:
        checkpoint: File or folder of its weights, absolute; None where there is none.
        url: Address of its server; None where it is in this process.
        attest: Address of the helper that measures the server from beside it; None where nobody
            does.
    """

    checkpoint: Path | None = None
    url: str | None = None
    attest: str | None = None
