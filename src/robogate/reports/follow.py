"""Follows a journal while it is being written, without judging it: for mirrors and displays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def finished_episodes(path: Path, position: int) -> tuple[list[dict[str, Any]], int]:
    """Terminal records that were added to a journal, as plain JSON values.

    Args:
        path: Of the journal; it may not be there yet.
        position: Where the last call ended, bytes; 0 at first.

    Returns:
        The episodes, in the order in which they ended, and the new position. A last line without
        its line break is left for the next call.
    """
    try:
        with path.open("rb") as stream:
            stream.seek(position)
            data = stream.read()
    except FileNotFoundError:
        return [], position
    whole = data.rfind(b"\n") + 1
    episodes = []
    for line in data[:whole].splitlines():
        record = json.loads(line)["record"]
        if record["kind"] == "finished":
            episodes.append(record["body"]["episode"])
    return episodes, position + whole
