"""What a client registers before the first reset, built from the contract and measured identity.

Runner and validator use this one function, so that the registration which every observation echoed
can be recomputed from what lies beside a result.
"""

from __future__ import annotations

from robogate.contract.canonical import sha256_json
from robogate.contract.identity.records import AdapterIdentity, PolicyIdentity, ServerIdentity
from robogate.contract.strict import encode
from robogate.records.contract import FrozenContract
from robogate.records.environment import Registration


def registration_of(
    frozen: FrozenContract,
    adapter: AdapterIdentity,
    policy: PolicyIdentity | None,
    server: ServerIdentity | None,
) -> Registration:
    """The registration of a run.

    Args:
        frozen: Says what was asked: contract, adapter, model, revision and checkpoint.
        adapter: Measured implementation of the adapter.
        policy: Measured or declared policy source; None where an adapter imports none. Its complete
            package source enters the registration.
        server: Measured or declared policy server; None where the policy is in this process.
    """
    return Registration(
        contract_sha256=frozen.sha256,
        adapter=frozen.adapter.kind,
        adapter_version=frozen.adapter.version,
        adapter_sha256=adapter.implementation_sha256,
        model=frozen.adapter.model,
        revision=frozen.adapter.revision,
        checkpoint_sha256=frozen.adapter.checkpoint_sha256,
        policy_sha256=None if policy is None else policy.package_sha256,
        server_sha256=None if server is None else sha256_json(encode(server)),
    )
