"""The one list of what a qualification depends on.

Control runs must agree in all of it, and a result may only refer to a qualification that agrees
with it in all of it. Anything else (host, cores, run ids, timing) may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from robogate.contract.canonical import sha256_json

#: Fingerprint to the paths in a result document that it covers (protocol section 6). A path that a
#: bench does not have counts as null.
RELEVANT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "manifest": ("manifest_sha256",),
        "image": (
            "identity.runner.environment.sha256",
            "identity.runner.environment.declared_image_digest",
            "identity.worker.environment.sha256",
            "identity.worker.environment.declared_image_digest",
            "identity.worker.simulator",
        ),
        "harness": (
            "harness_contract_sha256",
            "identity.harness.id",
            "identity.harness.version",
            "identity.harness.harness_sha256",
        ),
        "budget": ("contract.budget",),
        "camera": (
            "contract.renderer",
            "contract.bench.image_row_order",
            "contract.bench.wrist",
            "contract.bench.scene.camera",
        ),
    }
)


def value_at(document: Any, path: str) -> Any:
    """The value at a dotted path, null where there is none."""
    for key in path.split("."):
        if type(document) is not dict or key not in document:
            return None
        document = document[key]
    return document


def relevant_fields(document: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Hash of every relevant field of a result, by fingerprint.

    Args:
        document: A result.
    """
    return {
        name: {path: sha256_json(value_at(document, path)) for path in paths}
        for name, paths in RELEVANT.items()
    }


def differing_fields(
    a: Mapping[str, Mapping[str, str]], b: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """Relevant fields in which two results differ, in the list's order."""
    return [
        path
        for name, paths in RELEVANT.items()
        for path in paths
        if a.get(name, {}).get(path) != b.get(name, {}).get(path)
    ]
