"""Codes for registration: the seat code of a player, and the code of the referees. People pass them on.

A code is in the query of the manager's URL (``/mcp?seat=…``, ``/mcp?referee=…``), so that an agent that does not know
about codes sends it too. The manager stores only the verifier of a code.
"""

from __future__ import annotations

import hashlib
import re
from typing import Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

Purpose = Literal["seat", "referee"]

# Crockford's base 32: no two characters look alike.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
# 80 bits: sixteen characters, in groups of four.
ENTROPY_BYTES = 10
_PURPOSES: tuple[Purpose, ...] = ("seat", "referee")
_TYPING_VARIANTS = str.maketrans("OIL", "011", "-")


def new_code(entropy: bytes) -> str:
    """A code such as ``7K2M-Q9XD-0RTB-5HVN``. The random bytes are passed in."""
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"a code needs {ENTROPY_BYTES} random bytes, got {len(entropy)}")
    number = int.from_bytes(entropy)
    characters = "".join(ALPHABET[number >> shift & 31] for shift in range(75, -1, -5))
    return "-".join(characters[first : first + 4] for first in range(0, len(characters), 4))


def verifier(purpose: Purpose, code: str) -> bytes:
    """The value by which a code is recognised, in any spelling. It differs between seats and referees.

    White space is ignored: a code that was cut out of a file may end with the end of its line.
    """
    normal = "".join(code.split()).upper().translate(_TYPING_VARIANTS)
    return hashlib.sha256(f"{purpose} code:{normal}".encode()).digest()


def code_in_query(query: str, purpose: Purpose) -> str | None:
    """The code in the query of a URL, if any."""
    return dict(parse_qsl(query)).get(purpose)


def mcp_url(url: str) -> str:
    """The URL at which a server accepts messages. If it is the URL of its page, it becomes that of /mcp.

    An address such as 192.168.1.10:8000 is one of HTTP.
    """
    if re.match(r"[\w.-]+:\d", url):
        url = f"http://{url}"
    address, mark, query = url.partition("#")[0].partition("?")
    if address.count("/") == 2:
        address += "/"
    return f"{address}{'mcp' if address.endswith('/') else ''}{mark}{query}"


def with_code(url: str, purpose: Purpose, code: str) -> str:
    """A URL with a code."""
    return f"{url}{'&' if urlsplit(url).query else '?'}{purpose}={quote(code, safe='')}"


def without_codes(url: str) -> str:
    """A URL without codes, for logs and pages."""
    address, mark, query = url.partition("?")
    rest = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name not in _PURPOSES]
    return address if not rest else f"{address}{mark}{urlencode(rest)}"
