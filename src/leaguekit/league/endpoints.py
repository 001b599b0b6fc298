"""Where an agent listens, in a form that shows when two addresses are the same place."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from posixpath import normpath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

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
    """The place that a URL names, or None if it names none.

    The state of a league has this form. Logs have agents whose places differ only here, and not in ``canonical_endpoint``.
    """
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


@lru_cache(maxsize=16_384)
def canonical_endpoint(url: str) -> Place | None:
    """The place that a URL leads to, the same for every way to write it.

    Every loopback address counts as one host: a server that listens at 0.0.0.0 answers at all of them.
    """
    where = place(url)
    if where is None:
        return None
    path, mark, query = where.path.partition("?")
    return Place(_plain_host(where.host), where.port, normpath(f"/{unquote(path).lstrip('/')}") + mark + unquote(query))


def _plain_host(host: str) -> str:
    # What is neither a valid name nor an address is left as it is.
    with suppress(ValueError):
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
        address = ip_address(host)
        if isinstance(address, IPv6Address):
            address = address.ipv4_mapped or address
        return "localhost" if address.is_loopback else str(address)
    return host


def is_same_server(url: str, other: str) -> bool:
    """Whether two URLs are of one server, whatever the path."""
    one, two = canonical_endpoint(url), canonical_endpoint(other)
    return one is not None and two is not None and one[:2] == two[:2]


def is_same_host(url: str, other: str) -> bool:
    """Whether two URLs are of one machine, whatever the port."""
    one, two = canonical_endpoint(url), canonical_endpoint(other)
    return one is not None and two is not None and one.host == two.host
