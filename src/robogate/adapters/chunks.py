"""How many actions one inference has to return."""

from __future__ import annotations

from robogate.contract.adapter_schema import LearnedAdapter
from robogate.errors import EpisodeError


def require_chunk(length: int, adapter: LearnedAdapter) -> None:
    """Refuse a reply that does not hold as many actions as the contract says.

    Raises:
        EpisodeError: ``empty_chunk`` or ``chunk_length``.
    """
    if length == 0:
        raise EpisodeError("the reply holds no action", code="empty_chunk")
    if length != adapter.chunk:
        raise EpisodeError(
            f"the reply holds {length} actions, adapter.chunk says {adapter.chunk}: set it to what "
            f"the checkpoint returns (adapter.chunk={length})",
            code="chunk_length",
        )
