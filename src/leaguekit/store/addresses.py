"""The address of a store: the name of a file, ``postgresql://user@host/database``, or ``memory:``."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from leaguekit.store.base import StoreError

# A log that is gone with its manager.
MEMORY = "memory:"
# One slash is what a Path makes of two.
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):(//?)", re.IGNORECASE)
_POSTGRES = {"postgresql", "postgres"}


def is_postgres(address: str | Path) -> bool:
    """Whether it names a database and no file; raises StoreError if it is the address of something else."""
    found = _SCHEME.match(str(address))
    if found is None:
        return False
    if found[1].lower() in _POSTGRES and found[2] == "//":
        return True
    raise StoreError(
        f"{shown(address)} is no address of a store: name a file, or a database as in postgresql://user@host/database."
    )


def shown(address: str | Path) -> str:
    """An address as it may be shown: without its password."""
    text = str(address)
    if _SCHEME.match(text) is None:
        return text
    # To the last @, for whoever forgets to percent-encode a password has anything in it.
    text, mark, query = re.sub(r"(:/[^:@]*):.*@", r"\1:***@", text).partition("?")
    fields = [(name, "***" if "password" in name else value) for name, value in parse_qsl(query)]
    return f"{text}{mark}{urlencode(fields, safe='*/,:')}"
