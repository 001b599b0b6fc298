"""Which addresses may be called, and how URLs and host names are resolved.

A host name is looked up once per connection. The resulting addresses are checked here, and only a checked address is
connected to. So a name that leads elsewhere the next time cannot bypass the check.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import threading
from collections.abc import Callable, Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple
from urllib.parse import quote, urlsplit

from leaguekit.transport.base import Unreachable

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
# A blocking look-up: host and port → addresses, in the order in which they are tried.
LookUp = Callable[[str, int], list[str]]

MAX_THREADS = 16
# For endpoints that are not registered. An applicant may name a host whose look-up takes long.
MAX_THREADS_FOR_APPLICANTS = 4
PORTS = {"http": 80, "https": 443}
_SAFE_IN_PATH = "/%:@!$&'()*+,;=~-._"

_NAT64 = IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
LOOPBACK: Final[tuple[Network, ...]] = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
LOCALHOST = "localhost"
# A server that listens there listens at all addresses of its machine.
EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
LOCALHOST_ADDRESSES = ("127.0.0.1", "::1")
# Networks that are never called, whatever the operator allows. Cloud providers serve credentials in some of them.
NEVER_ALLOWED: Final[tuple[Network, ...]] = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",  # "this host": a call to it reaches loopback
        "169.254.0.0/16",  # link-local, and the metadata service of most clouds
        "100.100.100.200/32",  # metadata, Alibaba
        "127.255.255.255/32",  # broadcast
        "168.63.129.16/32",  # metadata, Azure
        "192.0.0.192/32",  # metadata, Oracle
        "192.88.99.0/24",  # a deprecated relay to IPv6
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "::/128",
        "fe80::/10",  # link-local
        "fec0::/10",  # site-local, deprecated
        "ff00::/8",  # multicast
        "fd00:ec2::254/128",  # metadata, Amazon
        "fd20:ce::254/128",  # metadata, Google
        "64:ff9b:1::/48",  # these carry an IPv4 address that could be any of the above
        "::ffff:0:0:0/96",
        "2001::/32",
        "2002::/16",
    )
)


class AddressPolicy:
    """Decides which addresses may be called.

    ``networks`` may be called, and with ``public_too`` every public address. ``trusted`` are pairs of host and port
    that the operator named.
    """

    def __init__(
        self,
        networks: Iterable[Network] = (),
        *,
        public_too: bool = False,
        trusted: Iterable[tuple[str, int]] = (),
    ) -> None:
        self._networks = tuple(networks)
        self._public_too = public_too
        self._trusted = frozenset(trusted)
        # If only loopback is allowed, a name may lead to loopback. No other machine takes part that could misuse that.
        self._allows_loopback_names = all(network.is_loopback for network in self._networks) and not public_too

    @classmethod
    def local(cls) -> AddressPolicy:
        """Loopback only."""
        return cls(LOOPBACK)

    @classmethod
    def lan(cls, cidrs: Iterable[str]) -> AddressPolicy:
        """Exactly these networks, such as ``192.168.1.0/24``. Loopback is allowed only if it is one of them."""
        return cls(ip_network(cidr, strict=False) for cidr in cidrs)

    @classmethod
    def public(cls) -> AddressPolicy:
        """Every public address, and no private one."""
        return cls(public_too=True)

    @classmethod
    def only(cls, url: str) -> AddressPolicy:
        """Only the server of this URL."""
        return cls().trusting(url)

    def trusting(self, *urls: str) -> AddressPolicy:
        """A copy of this policy that also allows the servers of these URLs, because the operator named them.

        What is not a URL is ignored here. A call to it fails with the reason.
        """
        trusted = set(self._trusted)
        for url in urls:
            with contextlib.suppress(Unreachable):
                trusted.add(read_url(url)[1:3])
        return AddressPolicy(self._networks, public_too=self._public_too, trusted=trusted)

    def allows(self, ip: str | Address, host: str | None = None, port: int = 0) -> bool:
        """Whether an address may be connected to, to which the host and port of a URL led."""
        try:
            found = ip_address(ip)
        except ValueError:
            return False
        address = effective_address(found)
        if any(address in network for network in NEVER_ALLOWED) or _is_ipv4_compatible(address):
            return False
        if (host, port) in self._trusted:
            return True
        if found in _NAT64:
            # What a NAT64 gateway does with an address that is not public is not known.
            return self._public_too and address.is_global
        if is_loopback(address):
            # Not by a name, which may lead elsewhere when it is registered and here when it is called.
            by_name = host is not None and host != LOCALHOST and not is_ip_address(host)
            is_listed = any(address in network for network in self._networks if network.is_loopback)
            return is_listed and (self._allows_loopback_names or not by_name)
        return any(address in network for network in self._networks) or (self._public_too and _is_public(address))

    def forbids(self, url: str) -> bool:
        """Whether a URL has an IP address that may not be called. Host names are checked only when they are called.

        Raises Unreachable for what is not an HTTP URL.
        """
        _, host, port, _ = read_url(url)
        named = LOCALHOST_ADDRESSES if host == LOCALHOST else (host,)
        return (host == LOCALHOST or is_ip_address(host)) and not any(self.allows(ip, host, port) for ip in named)


def effective_address(address: Address) -> Address:
    """The address that packets go to: the IPv4 address that an IPv6 address may contain."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _is_ipv4_compatible(address: Address) -> bool:
    """Whether it is ``::a.b.c.d``, a deprecated way to write IPv4. Where packets to it go is not known."""
    return isinstance(address, IPv6Address) and 1 < int(address) < 1 << 32


def _is_public(address: Address) -> bool:
    return address.is_global and (isinstance(address, IPv4Address) or address in _GLOBAL_UNICAST)


def is_loopback(host: str | Address) -> bool:
    """Whether a host is a loopback address or localhost."""
    return host == LOCALHOST or is_in_networks(host, LOOPBACK)


def is_behind_proxy(url: str, addresses: Iterable[tuple[str, int]]) -> bool:
    """Whether a server that listens at these addresses can be reached at a URL only through a proxy."""
    try:
        url_parts = read_url(url)
    except Unreachable:
        return False
    listening = [host for host, port in addresses if port == url_parts.port]
    return (
        url_parts.scheme == "https"
        or not listening
        or (all(map(is_loopback, listening)) and not is_loopback(url_parts.host))
    )


def is_in_networks(host: str | Address, networks: Iterable[Network]) -> bool:
    """Whether a host is an address in one of these networks."""
    try:
        address = effective_address(ip_address(host))
    except ValueError:
        return False
    return any(address in network for network in networks)


def suggest_url(url: str, peer: str) -> str | None:
    """The URL that a peer should use instead of one that nobody can call it at. None if the URL may be right.

    From another machine, a loopback URL is wrong. The address at which a server listens everywhere always is.
    """
    try:
        url_parts = read_url(url)
        address = effective_address(ip_address(peer))
    except (Unreachable, ValueError):
        return None
    is_wrong = is_loopback(url_parts.host) and not is_loopback(address)
    if not is_wrong and url_parts.host not in EVERY_ADDRESS:
        return None
    return url_parts._replace(host=str(address)).full


def is_ip_address(host: str) -> bool:
    """Whether a host is an IP address, which need not be looked up."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def system_look_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Resolver:
    """Looks up host names in at most ``max_threads`` threads of its own, so that a slow name delays only its callers.

    The threads are daemons, because a look-up that hangs must not delay the end of the program.
    """

    def __init__(self, look_up: LookUp = system_look_up, max_threads: int = MAX_THREADS) -> None:
        self._look_up = look_up
        self._max_threads = max_threads
        self._lookups: dict[tuple[str, int], _PendingLookUp] = {}
        # Look-ups that have no thread yet, the oldest first.
        self._queue: dict[tuple[str, int], _PendingLookUp] = {}
        self._threads = 0

    async def resolve(self, host: str, port: int, on_start: Callable[[], None] | None = None) -> list[str]:
        """The addresses of a host, unchecked. Raises OSError or ValueError.

        ``on_start`` is called when the look-up gets a thread. IP addresses and localhost need none.
        """
        if host == LOCALHOST or is_ip_address(host):
            if on_start is not None:
                on_start()
            return list(LOCALHOST_ADDRESSES) if host == LOCALHOST else [host]
        name, loop = (host, port), asyncio.get_running_loop()
        look_up = self._lookups.get(name)
        if look_up is None:
            look_up = self._lookups[name] = self._queue[name] = _PendingLookUp(loop)
            self._start(loop)
        look_up.callers += 1
        try:
            # The look-up is shared by all callers of this name. A caller that is cancelled must not cancel it.
            await asyncio.shield(look_up.started)
            if on_start is not None:
                on_start()
            outcome = await asyncio.shield(look_up.outcome)
        finally:
            look_up.callers -= 1
            if not look_up.callers and self._queue.pop(name, None) is not None:
                del self._lookups[name]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._queue and self._threads < self._max_threads:
            self._threads += 1
            name = next(iter(self._queue))
            self._queue.pop(name).started.set_result(None)
            thread = threading.Thread(target=self._run, args=(loop, name), name=f"look-up {name[0]}", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                self._finish(loop, name, OSError(errno.ENOMEM, "no thread can be started"))

    def _run(self, loop: asyncio.AbstractEventLoop, name: tuple[str, int]) -> None:
        outcome: list[str] | Exception
        try:
            outcome = self._look_up(*name)
        except (OSError, ValueError) as error:
            outcome = error
        with contextlib.suppress(RuntimeError):  # the loop is closed, and no caller waits any more
            loop.call_soon_threadsafe(self._finish, loop, name, outcome)

    def _finish(self, loop: asyncio.AbstractEventLoop, name: tuple[str, int], outcome: list[str] | Exception) -> None:
        self._threads -= 1
        self._lookups.pop(name).outcome.set_result(outcome)
        self._start(loop)


class _PendingLookUp:
    """A look-up that runs or waits for a thread."""

    __slots__ = ("callers", "outcome", "started")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.started: asyncio.Future[None] = loop.create_future()
        self.outcome: asyncio.Future[list[str] | Exception] = loop.create_future()
        self.callers = 0


class Url(NamedTuple):
    """The parts of a URL. ``target`` is the path and the query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def full(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def display(self) -> str:
        """The URL without its query, which may contain a seat code."""
        return self.full.partition("?")[0]


def read_url(url: str) -> Url:
    """Parse an HTTP URL. Raises Unreachable for a URL that is not valid or is never called."""
    # For error texts: neither a password nor the query may be logged.
    display = repr(url.partition("?")[0].rpartition("@")[2][:200])
    if any(char <= " " or char == "\x7f" for char in url):
        raise Unreachable(f"{display} is not a URL: it has spaces or control characters in it")
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("ascii" if url.isascii() else "idna").decode("ascii")
        port = parts.port
    except ValueError as error:
        raise Unreachable(f"{display} is not a URL: {error}") from error
    if parts.scheme not in PORTS:
        raise Unreachable(f"{display} is not called: only http and https are")
    if parts.netloc.rpartition("]")[2][:1] not in ("", ":") and "[" in parts.netloc:
        raise Unreachable(f"{display} is not a URL: there is text between its address and its port")
    if "@" in parts.netloc:
        raise Unreachable(f"{display} is not called with a user name or password in the URL")
    if port == 0 or not host or not (is_ip_address(host) or all(char.isalnum() or char in "-._" for char in host)):
        raise Unreachable(f"{display} is not a URL: its host or port is missing or not valid")
    if _is_unusual_ipv4(host):
        raise Unreachable(f"{display} is not called: an IPv4 address is four decimal numbers with dots between them")
    if "%" in host:
        raise Unreachable(f"{display} is not called: an address with a zone means nothing elsewhere")
    query = f"?{quote(parts.query, safe=_SAFE_IN_PATH + '?')}" if parts.query else ""
    return Url(parts.scheme, host, port or PORTS[parts.scheme], quote(parts.path or "/", safe=_SAFE_IN_PATH) + query)


def _is_unusual_ipv4(host: str) -> bool:
    """Whether some systems would read a host as an IPv4 address in an unusual form, such as 127.1 or 0x7f000001."""
    last = host.rstrip(".").rpartition(".")[2]
    return (last.isdigit() or last.startswith("0x")) and not is_ip_address(host)


async def addresses_of(url: str, resolver: Resolver) -> frozenset[str]:
    """The addresses of the host of a URL, or empty if it cannot be resolved."""
    try:
        _, host, port, _ = read_url(url)
        found = [host] if is_loopback(host) else await resolver.resolve(host, port)
        return frozenset(map(canonical_address, found))
    except (Unreachable, OSError, ValueError):
        return frozenset()


def canonical_address(host: str) -> str:
    """A form of an address that is equal for equal machines: all loopback addresses are the same."""
    if is_loopback(host):
        return "127.0.0.1"
    return str(effective_address(ip_address(host))) if is_ip_address(host) else host
