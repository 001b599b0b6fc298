"""Where an agent listens, in a form that shows when two addresses are the same place."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

_LOOPBACK = ("127.0.0.1", "::1")
_PORTS = {"http": 80, "https": 443}


class Place(NamedTuple):
    """An endpoint taken apart; the same machine is always called by the same name."""

    host: str
    port: int
    path: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port}{self.path}"


def place(url: str) -> Place | None:
    """The place that a URL names, or None if it names none."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    if not host:
        return None
    query = f"?{parts.query}" if parts.query else ""
    return Place("localhost" if host in _LOOPBACK else host, port, (parts.path or "/") + query)


def same_server(url: str, other: str) -> bool:
    """Whether two URLs are of one server, whatever the path."""
    one, two = place(url), place(other)
    return one is not None and two is not None and one[:2] == two[:2]


def same_host(url: str, other: str) -> bool:
    """Whether two URLs are of one machine, whatever the port."""
    one, two = place(url), place(other)
    return one is not None and two is not None and one.host == two.host
