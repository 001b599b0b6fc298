"""Codes that people pass on: a player's seat code, and the code that lets referees in.

They stand behind the ? of the manager's URL (``/mcp?seat=…``, ``/mcp?referee=…``), so that agents which know nothing of
them can carry them. The manager keeps only what recognises a code.
"""

from __future__ import annotations

import hashlib
from typing import Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

Purpose = Literal["seat", "referee"]

# Crockford's: nothing in it looks like anything else in it.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
# 80 bits: sixteen signs, in fours.
ENTROPY_BYTES = 10
_PURPOSES: tuple[Purpose, ...] = ("seat", "referee")
_MISREAD = str.maketrans("OIL", "011", "- \t")


def new_code(entropy: bytes) -> str:
    """A code such as ``7K2M-Q9XD-0RTB-5HVN``; the randomness is passed in."""
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"a code needs {ENTROPY_BYTES} random bytes, got {len(entropy)}")
    number = int.from_bytes(entropy)
    signs = "".join(ALPHABET[number >> shift & 31] for shift in range(75, -1, -5))
    return "-".join(signs[first : first + 4] for first in range(0, len(signs), 4))


def verifier(purpose: Purpose, code: str) -> bytes:
    """By what a code is recognised, however it was typed; a seat's code is never a referee's."""
    plain = code.upper().translate(_MISREAD)
    return hashlib.sha256(f"{purpose} code:{plain}".encode()).digest()


def shown_in(query: str, purpose: Purpose) -> str | None:
    """The code that a URL's query shows, if any."""
    return dict(parse_qsl(query)).get(purpose)


def with_code(url: str, purpose: Purpose, code: str) -> str:
    """A URL that shows a code."""
    return f"{url}{'&' if urlsplit(url).query else '?'}{purpose}={quote(code, safe='')}"


def without_codes(url: str) -> str:
    """A URL that shows none: codes are for registering, and for nobody's eyes."""
    address, mark, query = url.partition("?")
    rest = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name not in _PURPOSES]
    return address if not rest else f"{address}{mark}{urlencode(rest)}"
