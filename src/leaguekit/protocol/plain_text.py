"""Sanitizes texts of agents for terminals, log files and JSON files.

Control characters, bidirectional controls and invisible characters are replaced by visible ones. So a text cannot move
a cursor, colour a terminal, or reverse the direction of writing.
"""

from __future__ import annotations

import json
import re
from typing import Any

# Control characters, line and paragraph separators, direction marks, characters without a width, blanks that are
# classified as letters, and surrogates, which cannot be encoded. U+FE0E and U+FE0F are not included: they select the
# presentation of an emoji.
_INVISIBLE = (
    r"\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\u2800\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffc\U00016fe4\U0001bca0-\U0001bca3\U0001d159"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
INVISIBLE_CHARACTERS = re.compile(f"[{_INVISIBLE}]")
_INVISIBLE_IN_JSON = re.compile(f"(?![\n])[{_INVISIBLE}]")
# Network addresses, which are removed from texts that are published.
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s\"'<>]*", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?:\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}|\[[0-9a-f]*:[0-9a-f:.]+\]|\blocalhost\b|\b[a-z0-9-][a-z0-9.-]*(?=:[0-9]{4,5}\b))"
    r"(?::[0-9]+)?",
    re.IGNORECASE,
)


def sanitize_line(text: object) -> str:
    """A text on one line, in which U+FFFD replaces each invisible character."""
    return INVISIBLE_CHARACTERS.sub("�", str(text))


def sanitize_lines(text: object) -> str:
    """The same for a text of several lines."""
    return "\n".join(map(sanitize_line, str(text).split("\n")))


def escaped(text: str) -> str:
    """A JSON text in which the same characters are escaped. Line breaks between values stay."""
    # In ASCII only control characters are not printable.
    return text if text.isascii() and text.isprintable() else _INVISIBLE_IN_JSON.sub(_escape, text)


def escaped_bytes(text: bytes) -> bytes:
    """The same for JSON in UTF-8. Its ASCII control characters are already escaped, except U+007F."""
    return text if text.isascii() and b"\x7f" not in text else escaped(text.decode()).encode()


def _escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


def remove_addresses(value: Any) -> Any:
    """A JSON value in whose texts network addresses are replaced."""
    if isinstance(value, str):
        return _ADDRESS.sub("…", _URL.sub("…", value))
    if isinstance(value, dict):
        return {remove_addresses(name): remove_addresses(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [remove_addresses(inner) for inner in value]
    return value
