"""Text of others, made fit to be shown: names and strings that nobody vouches for."""

from __future__ import annotations


def printable(text: str) -> str:
    """Show what would move a terminal's cursor, turn its writing, or not be writable at all.

    A file name that is not UTF-8 reaches Python as half characters; they are shown too, so that
    what comes out can always be encoded.
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
