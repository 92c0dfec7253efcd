"""Canonical JSON (RFC 8785), its SHA-256, and a JSON reader that accepts nothing doubtful."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, NoReturn

from robogate.errors import EvidenceError

MAX_DEPTH = 64
MAX_BYTES = 256 * 1024 * 1024
#: Most values in one document: text of `MAX_BYTES` that is all ``[],[],`` needs 7 GB when parsed.
MAX_VALUES = 4_000_000
#: Largest integer that every JSON implementation reads exactly, and that RFC 8785 can serialise.
MAX_INTEGER = 2**53 - 1

#: A string as JSON text, in which nothing but quotes, backslashes and controls is escaped.
_quoted = json.encoder.encode_basestring
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_NOT_BRACKETS = bytes(b for b in range(256) if b not in b"[]{}")
_BRACKET_STEPS = bytes.maketrans(b"[{]}", b"\x02\x02\x00\x00")


def canonical_bytes(value: Any) -> bytes:
    """Serialise a JSON value to its RFC 8785 text.

    Args:
        value: dicts with str keys, lists, tuples, str, bool, None, finite floats, and integers
            within ±(2^53 − 1).

    Raises:
        EvidenceError: The value has no canonical form (NaN, infinity, huge integer, other type).
    """
    try:
        return _text(value).encode("utf-8")
    except (_Unusual, UnicodeEncodeError, RecursionError, TypeError):
        pass  # the library decides, and words the refusal
    import rfc8785

    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, RecursionError) as exc:
        raise EvidenceError(f"value has no canonical JSON form: {exc}", code="canonical") from exc


class _Unusual(Exception):
    """A value that only the library serialises or refuses."""


def _text(value: Any) -> str:
    """The RFC 8785 text of what nearly every document consists of, four times as fast.

    Raises:
        _Unusual: Other types than JSON's own, keys beyond ASCII (RFC 8785 sorts them by UTF-16
            units), an integer or a float without a canonical form.
        TypeError: A key is no string.
    """
    kind = type(value)
    if kind is str:
        return _quoted(value)
    if kind is float:
        return _float_text(value)
    if kind is dict:
        if not "".join(value).isascii():
            raise _Unusual
        items = [f"{_quoted(key)}:{_text(value[key])}" for key in sorted(value)]
        return f"{{{','.join(items)}}}"
    if kind is list or kind is tuple:
        return f"[{','.join([_text(item) for item in value])}]"
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int and -MAX_INTEGER <= value <= MAX_INTEGER:
        return repr(value)
    raise _Unusual


def _float_text(value: float) -> str:
    """Python and ECMAScript agree on the digits, and on the form wherever there is no exponent."""
    text = repr(value)
    if "e" in text or "n" in text:  # an exponent, nan or inf
        import rfc8785

        try:
            return rfc8785.dumps(value).decode("ascii")
        except rfc8785.CanonicalizationError as exc:
            raise _Unusual from exc
    if text.endswith(".0"):
        return text[:-2] if value else "0"
    return text


def sha256_json(value: Any) -> str:
    """SHA-256 (64 lower-case hex digits) of the RFC 8785 text of a JSON value."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def self_hash(document: Mapping[str, Any], field: str = "sha256") -> str:
    """Hash a document without its own hash field."""
    return sha256_json({k: v for k, v in document.items() if k != field})


def sha256_file(path: Path) -> str:
    """SHA-256 (hex) over a file's bytes, streamed.

    Raises:
        OSError: The file cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def loads_strict(data: bytes | str, *, source: str = "document", max_bytes: int = MAX_BYTES) -> Any:
    """Parse JSON and refuse what parsers disagree about.

    Duplicate keys, NaN and infinities, integers beyond ±(2^53 − 1), floats that overflow, nesting
    deeper than `MAX_DEPTH`, more than `MAX_VALUES` values, invalid UTF-8, lone surrogates, a byte
    order mark and bodies above ``max_bytes`` are errors.

    Args:
        data: The JSON text.
        source: Name used in messages, such as a file name.
        max_bytes: Largest accepted size in bytes.

    Raises:
        EvidenceError: The text is not strict JSON; the message says why.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(raw) > max_bytes:
        raise EvidenceError(
            f"{source}: {len(raw)} bytes exceed the limit of {max_bytes}", code="json"
        )
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise EvidenceError(f"{source}: not valid UTF-8 at byte {exc.start}", code="json") from exc
    _check_structure(raw, source)

    def refuse_constant(name: str) -> NoReturn:
        raise EvidenceError(f"{source}: {name} is not JSON", code="json")

    def parse_int(literal: str) -> int:
        if len(literal) > 17 or abs(int(literal)) > MAX_INTEGER:
            raise EvidenceError(f"{source}: integer {literal[:24]} exceeds 2^53 - 1", code="json")
        return int(literal)

    def parse_float(literal: str) -> float:
        number = float(literal)
        if number in (float("inf"), float("-inf")):
            raise EvidenceError(f"{source}: number {literal[:24]} overflows", code="json")
        return number

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    raise EvidenceError(f"{source}: duplicate key '{key}'", code="json")
                seen.add(key)
        return mapping

    try:
        value = json.loads(
            text,
            object_pairs_hook=unique,
            parse_constant=refuse_constant,
            parse_int=parse_int,
            parse_float=parse_float,
        )
    except json.JSONDecodeError as exc:
        where = f"line {exc.lineno} column {exc.colno}"
        raise EvidenceError(f"{source}: not JSON: {exc.msg} at {where}", code="json") from exc
    except RecursionError as exc:  # brackets that only look like the inside of a string
        raise EvidenceError(f"{source}: not JSON: nested too deeply", code="json") from exc
    if _SURROGATE.search(raw):
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as exc:
            raise EvidenceError(f"{source}: a string holds half a character", code="json") from exc
    return value


def _check_structure(raw: bytes, source: str) -> None:
    """Refuse deep nesting before a recursive parser meets it, and what would fill the memory.

    Backslashes and quotes delimit strings; once escaped ones are gone, every second piece between
    quotes lies outside a string. Both passes run at the speed of `bytes`, not of a Python loop.
    """
    plain = raw.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in raw else raw
    outside = b"".join(plain.split(b'"')[::2])
    # Every value but the first of its list or object follows a comma, the first an open bracket.
    if outside.count(b",") + outside.count(b"[") + outside.count(b"{") > MAX_VALUES:
        raise EvidenceError(f"{source}: more than {MAX_VALUES} values", code="json")
    brackets = outside.translate(_BRACKET_STEPS, _NOT_BRACKETS)
    if any(d > MAX_DEPTH for d in accumulate(step - 1 for step in brackets)):
        raise EvidenceError(f"{source}: nested deeper than {MAX_DEPTH} levels", code="json")


def read_json(path: Path, *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a file as strict JSON.

    Raises:
        EvidenceError: The file is missing, unreadable or not strict JSON.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(max_bytes + 1)
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise EvidenceError(f"{path}: cannot be read ({reason})", code="unreadable") from exc
    return loads_strict(data, source=str(path), max_bytes=max_bytes)
