"""Text from agents, made plain: for terminals, log files and JSON files that people look at.

What moves a cursor, colours a terminal, turns the writing around or is seen by nobody becomes visible instead. Nothing
here judges a text: whatever it says, it stays data.
"""

from __future__ import annotations

import json
import re
from typing import Any

# Controls, line and paragraph separators, marks of direction, whatever has no width, blanks that pass for letters, and
# halves of pairs, which no terminal can be given. Not U+FE0E and U+FE0F: they say how the emoji before them is drawn.
_UNSEEN = (
    r"\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\u2800\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffc\U00016fe4\U0001bca0-\U0001bca3\U0001d159"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
INVISIBLE_CHARACTERS = re.compile(f"[{_UNSEEN}]")
_UNSEEN_IN_JSON = re.compile(f"(?![\n])[{_UNSEEN}]")
# Where an agent listens is nobody's business: addresses in words that we pass on are left out.
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s\"'<>]*", re.IGNORECASE)
_PLACE = re.compile(
    r"(?:\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}|\[[0-9a-f]*:[0-9a-f:.]+\]|\blocalhost\b|\b[a-z0-9-][a-z0-9.-]*(?=:[0-9]{4,5}\b))"
    r"(?::[0-9]+)?",
    re.IGNORECASE,
)


def sanitize_line(text: object) -> str:
    """A text on one line, with a sign in the place of everything that is not one."""
    return INVISIBLE_CHARACTERS.sub("�", str(text))


def sanitize_lines(text: object) -> str:
    """The same for a text of several lines."""
    return "\n".join(map(sanitize_line, str(text).split("\n")))


def escaped(text: str) -> str:
    """JSON with the same signs escaped: nothing is lost. Line breaks between its values stay."""
    # Of ASCII only the controls are not printable.
    return text if text.isascii() and text.isprintable() else _UNSEEN_IN_JSON.sub(_escape, text)


def escaped_bytes(text: bytes) -> bytes:
    """The same for JSON in UTF-8, in which the controls of ASCII but one are escaped already."""
    return text if text.isascii() and b"\x7f" not in text else escaped(text.decode()).encode()


def _escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


def remove_addresses(value: Any) -> Any:
    """A JSON value without the addresses in its texts."""
    if isinstance(value, str):
        return _PLACE.sub("…", _URL.sub("…", value))
    if isinstance(value, dict):
        return {remove_addresses(name): remove_addresses(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [remove_addresses(inner) for inner in value]
    return value
