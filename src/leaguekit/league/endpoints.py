"""Endpoints of agents: parsing URLs, and deciding whether two URLs lead to the same server."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from posixpath import normpath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

_LOOPBACK = ("127.0.0.1", "::1")
_PORTS = {"http": 80, "https": 443}


class Endpoint(NamedTuple):
    """The parts of an endpoint. Every loopback address has the host ``localhost``."""

    host: str
    port: int
    path: str

    def __str__(self) -> str:
        return f"{self.host}:{self.port}{self.path}"


def parse_endpoint(url: str) -> Endpoint | None:
    """The endpoint that a URL names, or None if the URL is not valid.

    The state of a league has endpoints in this form. It is not the canonical form: logs of earlier releases may have
    agents whose endpoints differ in this form and are equal in the canonical one.
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
    return Endpoint("localhost" if host in _LOOPBACK else host, port, (parts.path or "/") + query)


@lru_cache(maxsize=16_384)
def canonical_endpoint(url: str) -> Endpoint | None:
    """The endpoint that a URL leads to, the same for every way to write the URL.

    Every loopback address counts as one host: a server that listens at 0.0.0.0 answers at all of them.
    """
    endpoint = parse_endpoint(url)
    if endpoint is None:
        return None
    path, mark, query = endpoint.path.partition("?")
    return Endpoint(
        _canonical_host(endpoint.host), endpoint.port, normpath(f"/{unquote(path).lstrip('/')}") + mark + unquote(query)
    )


def _canonical_host(host: str) -> str:
    # A text that is neither a valid name nor an address is returned unchanged.
    with suppress(ValueError):
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
        address = ip_address(host)
        if isinstance(address, IPv6Address):
            address = address.ipv4_mapped or address
        return "localhost" if address.is_loopback else str(address)
    return host


def is_same_server(url: str, other: str) -> bool:
    """Whether two URLs have the same host and port."""
    one, two = canonical_endpoint(url), canonical_endpoint(other)
    return one is not None and two is not None and one[:2] == two[:2]


def is_same_host(url: str, other: str) -> bool:
    """Whether two URLs have the same host."""
    one, two = canonical_endpoint(url), canonical_endpoint(other)
    return one is not None and two is not None and one.host == two.host
