"""Which requests a server takes up at all: by the name it was called under, the page that calls, and the proxy.

A page in somebody's browser may call any server that the browser can reach. Its own name may be made to lead here
(DNS rebinding), but then the request says that name; or it calls us by ours, and then says where it comes from. What
it loads without saying so (an image, a script) is marked by the browser (Sec-Fetch-Site).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from leaguekit.transport.addresses import LOCALHOST, PORTS, effective_address, is_ip_address, read_url
from leaguekit.transport.base import Unreachable
from leaguekit.transport.server import responses as answers

# Whatever HTML is served may load only what this server serves, and is shown in no other site's frame.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# With every answer of an application: a browser must not take one kind of content for another.
SECURITY_HEADERS = [
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("content-security-policy", PAGE_POLICY),
]
# The host of a caller whose address is not known.
UNKNOWN_HOST = "unknown"
_MAX_SEEN = 256
_BRACKETED = re.compile(r"\[([0-9a-f:.]+)\](?::[0-9]*)?")


class OriginHeaders(NamedTuple):
    """What a request's headers say of where it comes from; None where they do not."""

    host: bytes | None
    origin: bytes | None
    # The last address that a proxy added: its own peer's.
    forwarded: str | None
    # Two hosts are two opinions of what this request is.
    is_ambiguous: bool
    # It has a header that only MCP's clients send: one of its own, or that the answer may be a stream of events.
    is_mcp: bool = False
    # A browser says that a page of another site loads this, and does not go to it.
    is_foreign: bool = False


def read_origin_headers(headers: Sequence[tuple[bytes, bytes]]) -> OriginHeaders:
    host = origin = forwarded = None
    is_ambiguous = is_mcp = is_cross_site = is_visit = False
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
            is_visit = value == b"navigate"
        elif name[:4].lower() == b"mcp-":
            is_mcp = True
    return OriginHeaders(host, origin, forwarded, is_ambiguous, is_mcp, is_cross_site and not is_visit)


class HostNames:
    """The names under which a server is known, beside every address: an address cannot be made to lead elsewhere.

    ``endpoint`` is the URL at which others reach it.
    """

    def __init__(self, names: Iterable[str] = (), endpoint: str = "") -> None:
        self._names = {LOCALHOST, *(name.lower().rstrip(".") for name in names)}
        self._seen: set[bytes] = set()
        # The origin of its pages behind a proxy that passes a host without its port on, and that host.
        self._own_page: tuple[bytes, bytes] | None = None
        with contextlib.suppress(Unreachable):
            own = read_url(endpoint)
            host = own._replace(port=PORTS[own.scheme]).authority
            self._own_page = f"{own.scheme}://{own.authority}".encode(), host.encode()

    def refusal(self, found: OriginHeaders) -> bytes | None:
        """How a request is refused, if it is not for this server or from a page of another's."""
        host = found.host
        if host is not None and host not in self._seen:
            if found.is_ambiguous:
                return answers.BAD_REQUEST
            if not self._is_ours(host):
                return _misdirected(host)
            if len(self._seen) < _MAX_SEEN:
                self._seen.add(host)
        elif found.is_ambiguous:
            return answers.BAD_REQUEST
        if found.is_foreign:
            return answers.FOREIGN_PAGE
        if found.origin is None or _is_own_page(found.origin, host) or (found.origin, host) == self._own_page:
            return None
        if host is not None and _host_of(found.origin.partition(b"://")[2]) == _host_of(host):
            return answers.OTHER_PORT
        return answers.FOREIGN_PAGE

    def _is_ours(self, authority: bytes) -> bool:
        text = authority.decode("latin-1").lower()
        if found := _BRACKETED.fullmatch(text):
            return is_ip_address(found[1])
        host, _, port = text.partition(":")
        return (port.isdecimal() or not port) and (is_ip_address(host) or host.rstrip(".") in self._names)


def _misdirected(authority: bytes) -> bytes:
    name = "".join(
        char for char in authority.decode("latin-1") if char.isascii() and (char.isalnum() or char in "-._:")
    )
    sentence = f"This server is not known as {name[:100]}. Call it by its address, or tell it that name (--host-name)."
    return answers.refusal(b"421 Misdirected Request", b'{"error":"%b"}' % sentence.encode("ascii"))


def _is_own_page(origin: bytes, host: bytes | None) -> bool:
    """A page that this server served comes from where the request goes to, with or without TLS before it."""
    scheme, separator, authority = origin.partition(b"://")
    return bool(host and separator) and scheme in (b"http", b"https") and authority.lower() == (host or b"").lower()


def _host_of(authority: bytes) -> bytes:
    return re.sub(rb":[0-9]*$", b"", authority).lower()


def peer_address(text: str) -> str:
    """An address as it is shown and counted: IPv4 as such, without a port, and empty for what is none.

    A zone is left out: in a header it may be any text.
    """
    try:
        return str(effective_address(ip_address(_without_port(text).partition("%")[0])))
    except ValueError:
        return ""


def _without_port(text: str) -> str:
    """An address without the port that some proxies add: ``192.0.2.1:567``, ``[2001:db8::1]:443``."""
    if found := _BRACKETED.fullmatch(text.lower()):
        return found[1]
    host, _, port = text.partition(":")
    return host if port.isdecimal() else text


def address_block(host: str) -> str:
    """What counts as one address: of IPv6, whoever has one has 2**64 of them."""
    try:
        address = effective_address(ip_address(host))
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        return f"{IPv6Address(int(address) >> 64 << 64)}/64"
    return str(address)
