"""Checks of a request's origin: the host name that it was sent to, the web page that sent it, and the proxy.

A page in a browser may send requests to any server that the browser can reach. There are three cases:

- The name of the page's own site may be made to lead here (DNS rebinding). Then the Host header has that name.
- The page may call this server by its own name. Then the Origin header has the page's site.
- The page may load an image or a script without an Origin header. Then the browser adds Sec-Fetch-Site.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from leaguekit.transport.addresses import LOCALHOST, PORTS, effective_address, is_ip_address, read_url
from leaguekit.transport.base import Unreachable
from leaguekit.transport.server import responses

# Served HTML may load only what this server serves, and may not be embedded in a frame of another site.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Sent with every response of an application.
SECURITY_HEADERS = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("content-security-policy", PAGE_POLICY),
]
# The host of a peer whose address is not known.
UNKNOWN_HOST = "unknown"
_MAX_ACCEPTED = 256
_BRACKETED = re.compile(r"\[([0-9a-f:.]+)\](?::[0-9]*)?")


class OriginHeaders(NamedTuple):
    """The headers of a request that name its origin, or None where they are missing."""

    host: bytes | None
    origin: bytes | None
    # The last address in X-Forwarded-For, which the nearest proxy added.
    forwarded: str | None
    # Whether there are two Host headers. Programs differ in which of them they use.
    is_ambiguous: bool
    # Whether it has a header that only MCP clients send: an Mcp-… header, or one that accepts an event stream.
    is_mcp: bool = False
    # Whether a page of another site loads this as a part of itself, and not as a link that the user follows.
    is_cross_site_load: bool = False


def read_origin_headers(headers: Sequence[tuple[bytes, bytes]]) -> OriginHeaders:
    host = origin = forwarded = None
    is_ambiguous = is_mcp = is_cross_site = is_navigation = False
    for name, value in headers:
        size = len(name)
        if size == 4 and name.lower() == b"host":
            is_ambiguous = host is not None
            host = value
        elif size == 6 and name.lower() == b"origin":
            origin = value
        elif size == 6 and name.lower() == b"accept":
            is_mcp = is_mcp or b"text/event-stream" in value
        elif size == 15 and name.lower() == b"x-forwarded-for":
            forwarded = value.rpartition(b",")[2].strip().decode("latin-1")
        elif size == 14 and name.lower() == b"sec-fetch-site":
            is_cross_site = value == b"cross-site"
        elif size == 14 and name.lower() == b"sec-fetch-mode":
            is_navigation = value == b"navigate"
        elif name[:4].lower() == b"mcp-":
            is_mcp = True
    return OriginHeaders(host, origin, forwarded, is_ambiguous, is_mcp, is_cross_site and not is_navigation)


class HostNames:
    """The host names under which a server accepts requests.

    Every IP address is accepted as well, because it cannot be made to lead elsewhere. ``endpoint`` is the URL at which
    others reach the server.
    """

    def __init__(self, names: Iterable[str] = (), endpoint: str = "") -> None:
        self._names = {LOCALHOST, *(name.lower().rstrip(".") for name in names)}
        self._accepted_hosts: set[bytes] = set()
        # The origin of its pages and the Host header, behind a proxy that drops the port from the Host header.
        self._own_origin: tuple[bytes, bytes] | None = None
        with contextlib.suppress(Unreachable):
            url = read_url(endpoint)
            host = url._replace(port=PORTS[url.scheme]).authority
            self._own_origin = f"{url.scheme}://{url.authority}".encode(), host.encode()

    def refusal(self, headers: OriginHeaders) -> bytes | None:
        """The refusal of a request that is not for this server or comes from a page of another site, or None."""
        host = headers.host
        if host is not None and host not in self._accepted_hosts:
            if headers.is_ambiguous:
                return responses.BAD_REQUEST
            if not self._is_own_host(host):
                return _misdirected(host)
            if len(self._accepted_hosts) < _MAX_ACCEPTED:
                self._accepted_hosts.add(host)
        elif headers.is_ambiguous:
            return responses.BAD_REQUEST
        if headers.is_cross_site_load:
            return responses.FOREIGN_PAGE
        if headers.origin is None or _is_own_page(headers.origin, host) or (headers.origin, host) == self._own_origin:
            return None
        if host is not None and _host_of(headers.origin.partition(b"://")[2]) == _host_of(host):
            return responses.WRONG_PORT
        return responses.FOREIGN_PAGE

    def _is_own_host(self, authority: bytes) -> bool:
        text = authority.decode("latin-1").lower()
        if match := _BRACKETED.fullmatch(text):
            return is_ip_address(match[1])
        host, _, port = text.partition(":")
        return (port.isdecimal() or not port) and (is_ip_address(host) or host.rstrip(".") in self._names)


def _misdirected(authority: bytes) -> bytes:
    name = "".join(
        char for char in authority.decode("latin-1") if char.isascii() and (char.isalnum() or char in "-._:")
    )
    sentence = f"This server is not known as {name[:100]}. Call it by its address, or give it that name (--host-name)."
    return responses.refusal(b"421 Misdirected Request", b'{"error":"%b"}' % sentence.encode("ascii"))


def _is_own_page(origin: bytes, host: bytes | None) -> bool:
    """Whether an origin is this server. The scheme may differ, because a proxy may add TLS."""
    scheme, separator, authority = origin.partition(b"://")
    return bool(host and separator) and scheme in (b"http", b"https") and authority.lower() == (host or b"").lower()


def _host_of(authority: bytes) -> bytes:
    return re.sub(rb":[0-9]*$", b"", authority).lower()


def peer_address(text: str) -> str:
    """The canonical form of an address, without a port. Empty if the text is not an address.

    A zone is removed, because in a header it may be any text.
    """
    try:
        return str(effective_address(ip_address(_without_port(text).partition("%")[0])))
    except ValueError:
        return ""


def _without_port(text: str) -> str:
    """An address without the port that some proxies add: ``192.0.2.1:567``, ``[2001:db8::1]:443``."""
    if match := _BRACKETED.fullmatch(text.lower()):
        return match[1]
    host, _, port = text.partition(":")
    return host if port.isdecimal() else text


def address_block(host: str) -> str:
    """The address block that counts as one peer: an IPv4 address, or a /64 network of IPv6, which one host may own."""
    try:
        address = effective_address(ip_address(host))
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return str(address)
