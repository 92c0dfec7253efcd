"""Where a policy is found: taken out of the adapter group, since no path or address is hashed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from robogate.config.coerce import to_record
from robogate.contract.adapter_schema import LOCAL_CHECKPOINT, SERVER_SCHEMES
from robogate.errors import ConfigError
from robogate.records.location import PolicyLocation

#: Keys of the adapter group that do not enter the contract.
CHECKPOINT, URL, ATTEST = "checkpoint", "url", "attest"
_HELPER_SCHEMES = ("http", "https")


@dataclass(frozen=True)
class _Keys:
    """The keys as they are written; what a kind does not have is null."""

    checkpoint: str | None
    url: str | None
    attest: str | None


def take_location(kind: str, raw: dict[str, Any]) -> PolicyLocation:
    """Take what is a path or an address out of an adapter group's raw values; changes ``raw``.

    Args:
        kind: Of adapter. A key that it has no use for is left, and so refused as unknown.
        raw: Values of the group, resolved.

    Raises:
        ConfigError: The path does not exist, or the address is none of that kind's server.
    """
    taken: dict[str, Any] = {CHECKPOINT: None, URL: None, ATTEST: None}
    if kind in LOCAL_CHECKPOINT and CHECKPOINT in raw:
        taken[CHECKPOINT] = raw.pop(CHECKPOINT)
    if kind in SERVER_SCHEMES:
        taken.update({name: raw.pop(name) for name in (URL, ATTEST) if name in raw})
    keys = to_record(_Keys, taken, "adapter")
    if kind in SERVER_SCHEMES:
        _require_address(URL, SERVER_SCHEMES[kind], keys.url)
    if keys.attest is not None:
        _require_address(ATTEST, _HELPER_SCHEMES, keys.attest)
    if keys.checkpoint is None:
        return PolicyLocation(url=keys.url, attest=keys.attest)
    path = Path(keys.checkpoint)
    if not keys.checkpoint or not path.exists():
        raise ConfigError(f"adapter.checkpoint: no such file or folder: {keys.checkpoint!r}")
    # A policy may change the working directory; the path has to lead there at the run's end too.
    return PolicyLocation(checkpoint=path.absolute())


def _require_address(name: str, schemes: tuple[str, ...], url: str | None) -> None:
    expected = f"expected {' or '.join(f'{scheme}://HOST:PORT' for scheme in schemes)}"
    if url is None:
        raise ConfigError(f"adapter.{name}: must be given: {expected}")
    try:
        parts = urlsplit(url)
        whole = parts.scheme in schemes and parts.hostname and parts.port
    except ValueError:
        whole = False
    if not whole:
        raise ConfigError(f"adapter.{name}: is {url!r:.120}, {expected}")
    if parts.username or parts.password or parts.query or parts.fragment:
        # The address is published with the result.
        raise ConfigError(
            f"adapter.{name}: holds more than an address, and it stands in every result: {expected}"
        )
