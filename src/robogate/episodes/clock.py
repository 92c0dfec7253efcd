"""The one form of a time in records."""

from __future__ import annotations

import datetime


def utc_now() -> str:
    """Now, UTC, ISO 8601 with microseconds."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="microseconds")
