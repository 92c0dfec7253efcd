"""HTML as values: whatever is text is escaped, because only an element is markup."""

from __future__ import annotations

import html
import json
from typing import Any

#: Elements without content and end tag.
_VOID = frozenset({"meta", "input", "br", "link", "source"})


class Markup(str):
    """Finished HTML. Made by `element` and `fragment` only."""

    __slots__ = ()


Child = str | Markup | None


def text(value: str) -> Markup:
    """Text as HTML; control characters, and those that turn the writing direction, are shown."""
    shown = "".join(c if c.isprintable() or c in "\n\t" else f"\\u{ord(c):04x}" for c in value)
    return Markup(html.escape(shown, quote=True))


def element(tag: str, *children: Child, **attributes: str | bool | None) -> Markup:
    """An element.

    Args:
        tag: Its name.
        children: Its content; None is nothing, a `Markup` stays, all other text is escaped.
        attributes: A trailing underscore is dropped and an inner one is a hyphen (``class_``,
            ``aria_label``); None and False are left out, True stands without a value.
    """
    parts = [tag]
    for name, value in attributes.items():
        key = name.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(key)
        elif value is not None and value is not False:
            parts.append(f'{key}="{text(value)}"')
    head = " ".join(parts)
    if tag in _VOID:
        return Markup(f"<{head}>")
    return Markup(f"<{head}>{fragment(*children)}</{tag}>")


def fragment(*children: Child) -> Markup:
    """Several pieces of content, one after the other."""
    return Markup(
        "".join(c if isinstance(c, Markup) else text(c) for c in children if c is not None)
    )


def embedded_json(value: Any) -> Markup:
    """A JSON value as the content of a script element: nothing in it can end that element.

    Raises:
        ValueError: It holds NaN or an infinity.
    """
    plain = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        plain = plain.replace(char, f"\\u{ord(char):04x}")
    return Markup(plain)


def raw(content: str) -> Markup:
    """Our own style sheet or script, as it is."""
    if "</" in content:
        raise ValueError("a style sheet or script must not hold an end tag")
    return Markup(content)
