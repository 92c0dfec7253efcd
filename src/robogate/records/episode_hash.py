"""The two hashes of an episode record: what it says, and what it means.

``sha256`` covers the whole record without itself. ``semantic_sha256`` leaves out a closed list of
fields that may differ between two identical attempts, so that "identical" is one comparison.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from robogate.contract.canonical import self_hash, sha256_json
from robogate.contract.strict import encode
from robogate.records.result import VOLATILE_EPISODE_FIELDS, Episode


def semantic_sha256(document: Mapping[str, Any]) -> str:
    """Hash of an episode document without its volatile fields."""
    return sha256_json({k: v for k, v in document.items() if k not in VOLATILE_EPISODE_FIELDS})


def episode_sha256(document: Mapping[str, Any]) -> str:
    """Hash of an episode document without its own hash; it covers ``semantic_sha256``."""
    return self_hash(document)


def seal_episode(episode: Episode) -> Episode:
    """Fill in both hashes of a record whose other fields are final.

    Raises:
        EvidenceError: A value has no canonical JSON form.
    """
    document = encode(episode)
    document["semantic_sha256"] = semantic_sha256(document)
    document["sha256"] = episode_sha256(document)
    return dataclasses.replace(
        episode, semantic_sha256=document["semantic_sha256"], sha256=document["sha256"]
    )
