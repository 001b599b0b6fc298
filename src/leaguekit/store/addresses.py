"""The address of a store: the name of a file, ``postgresql://user@host/database``, or ``memory:``."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from leaguekit.store.base import StoreError

# A log in memory, which ends with its manager.
MEMORY = "memory:"
# ``Path`` turns two slashes into one.
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):(//?)", re.IGNORECASE)
_POSTGRES = {"postgresql", "postgres"}


def is_postgres(address: str | Path) -> bool:
    """Whether an address names a PostgreSQL database. Raises StoreError if it names neither that nor a file."""
    found = _SCHEME.match(str(address))
    if found is None:
        return False
    if found[1].lower() in _POSTGRES and found[2] == "//":
        return True
    raise StoreError(
        f"{redact_address(address)} is not the address of a store: "
        "name a file, or a database as in postgresql://user@host/database."
    )


def redact_address(address: str | Path) -> str:
    """An address without its password."""
    text = str(address)
    if _SCHEME.match(text) is None:
        return text
    # Up to the last @, because a password that is not percent-encoded may contain any character.
    text, mark, query = re.sub(r"(:/[^:@]*):.*@", r"\1:***@", text).partition("?")
    fields = [(name, "***" if "password" in name else value) for name, value in parse_qsl(query)]
    return f"{text}{mark}{urlencode(fields, safe='*/,:')}"
