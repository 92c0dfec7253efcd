"""Who answers at a policy server: declared, or measured by a helper that runs beside it.

`robogate attest-server` is asked before the first episode and after the last. Where what it
measures differs from the contract or from the first time, nothing is scored.
"""

from __future__ import annotations

import dataclasses
import http.client
import json
import os
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from robogate.adapters.attest_cli import PATH, TOKEN_VARIABLE
from robogate.adapters.remote import Identified, declared_checkpoint
from robogate.contract.adapter_schema import LearnedAdapter
from robogate.contract.canonical import loads_strict
from robogate.contract.identity import differences
from robogate.contract.identity.attestation import Attestation
from robogate.contract.identity.records import CheckpointIdentity, ServerIdentity
from robogate.contract.strict import decode
from robogate.errors import EvidenceError, RunError
from robogate.records.location import PolicyLocation

#: For measuring a checkpoint of many gigabytes, s.
LIMIT_S = 1800.0
_MAX_REPLY = 1 << 20


def identify(
    adapter: LearnedAdapter, location: PolicyLocation, said: Mapping[str, Any]
) -> Identified:
    """Identity of a server.

    Args:
        adapter: Of the contract.
        location: The server's address, and the helper's where there is one.
        said: What the server says of itself.

    Raises:
        RunError: ``attestation``: the helper cannot be asked, or measures another server;
            ``identity_mismatch``: another checkpoint than the contract's.
    """
    url = str(location.url)
    if location.attest is None:
        server = ServerIdentity("declared", url, adapter.kind, dict(said))
        return Identified(server, None, declared_checkpoint(adapter, url), _nothing)
    helper = location.attest
    first = fetch(helper)
    port = urlsplit(url).port
    if first.port != port:
        raise RunError(
            f"{helper}: it measures the server on port {first.port}, adapter.url has port {port}; "
            "start attest-server with the server's --port, and with --public-port where a tunnel "
            "changes it",
            code="attestation",
        )
    checkpoint = _checkpoint(adapter, first, url, helper)
    policy = dataclasses.replace(first.policy, backend=adapter.kind)

    def require_unchanged() -> None:
        changed = differences(first, fetch(helper), ignore=("nonce",))
        if changed:
            raise RunError(
                f"{helper}: {', '.join(changed[:5])} differ from the beginning of the run; nothing "
                "of it is scored: leave server, package and checkpoint alone and run again",
                code="policy_source_changed",
            )

    server = ServerIdentity("measured", url, adapter.kind, dict(said))
    return Identified(server, policy, checkpoint, require_unchanged)


def _nothing() -> None:
    """Nobody measures a declared identity; each connection compares what the server says."""


def _checkpoint(
    adapter: LearnedAdapter, found: Attestation, url: str, helper: str
) -> CheckpointIdentity | None:
    if found.checkpoint is None:
        return declared_checkpoint(adapter, url)
    measured = found.checkpoint.sha256
    if adapter.checkpoint_sha256 != measured:
        raise RunError(
            f"{helper}: the server's checkpoint {found.checkpoint.path} has {measured}, "
            f"adapter.checkpoint_sha256 is {adapter.checkpoint_sha256 or 'null'}; "
            f"if it is the one that is meant: adapter.checkpoint_sha256={measured}",
            code="identity_mismatch",
        )
    return dataclasses.replace(found.checkpoint, revision=adapter.revision)


def fetch(url: str, limit_s: float = LIMIT_S) -> Attestation:
    """Ask a helper for a measurement.

    Args:
        url: ``http://HOST:PORT``.
        limit_s: For every wait, s.

    Raises:
        RunError: ``attestation``.
    """
    nonce = secrets.token_hex(16)
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = connect(str(parts.hostname), parts.port, timeout=limit_s)
    token = os.environ.get(TOKEN_VARIABLE)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        connection.request("GET", f"{PATH}?nonce={nonce}", headers=headers)
        reply = connection.getresponse()
        body = reply.read(_MAX_REPLY + 1)
    except (OSError, http.client.HTTPException) as exc:
        why = str(exc) or type(exc).__name__
        raise _error(url, f"cannot be asked ({why}); start it beside the server") from exc
    finally:
        connection.close()
    if reply.status != 200:
        raise _error(url, _refusal(reply.status, body))
    try:
        found = decode(Attestation, loads_strict(body.decode("utf-8")), "$")
    except (EvidenceError, UnicodeDecodeError) as exc:
        raise _error(url, f"answers with something that is no attestation ({exc})") from exc
    if found.nonce != nonce:
        raise _error(url, "answers another question than the one that was asked")
    return found


def _refusal(status: int, body: bytes) -> str:
    try:
        said = str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        said = "no reason given"
    hint = f"; set {TOKEN_VARIABLE} to its token" if status == 401 else ""
    return f"refuses ({status}): {' '.join(said.split())[:400]}{hint}"


def _error(url: str, what: str) -> RunError:
    return RunError(f"attest-server {url}: {what}", code="attestation")
