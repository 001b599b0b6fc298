"""Which addresses may be called, and what a URL leads to.

A name is looked up once; what it leads to is checked here, and only a checked address is connected to.
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
# A blocking look-up: host and port → addresses, in the order in which they are to be tried.
LookUp = Callable[[str, int], list[str]]

MAX_THREADS = 16
# For endpoints that are not registered: anybody can name a host whose look-up takes long.
MAX_THREADS_FOR_APPLICANTS = 4
PORTS = {"http": 80, "https": 443}
_IN_A_PATH = "/%:@!$&'()*+,;=~-._"

_NAT64 = IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
LOOPBACK: Final[tuple[Network, ...]] = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
LOCALHOST = "localhost"
LOCALHOST_ADDRESSES = ("127.0.0.1", "::1")
# Whatever the operator allows, no agent lives here; some are where clouds hand out credentials.
NEVER_ALLOWED: Final[tuple[Network, ...]] = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8",  # "this host": a call to it reaches loopback
        "169.254.0.0/16",  # link-local, and the metadata service of most clouds
        "100.100.100.200/32",  # metadata, Alibaba
        "127.255.255.255/32",  # broadcast
        "168.63.129.16/32",  # metadata, Azure
        "192.0.0.192/32",  # metadata, Oracle
        "192.88.99.0/24",  # a relay to IPv6, given up
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        "::/128",
        "fe80::/10",  # link-local
        "fec0::/10",  # site-local, given up long ago
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
    """The networks that may be called, whether all public addresses may, and which places the operator named."""

    def __init__(
        self, networks: Iterable[Network] = (), *, everywhere: bool = False, places: Iterable[tuple[str, int]] = ()
    ) -> None:
        self._networks = tuple(networks)
        self._everywhere = everywhere
        self._places = frozenset(places)
        # Where nothing else is allowed there is nobody on another machine who could want a name to lead here.
        self._names_reach_loopback = all(network.is_loopback for network in self._networks) and not everywhere

    @classmethod
    def local(cls) -> AddressPolicy:
        """Loopback only."""
        return cls(LOOPBACK)

    @classmethod
    def lan(cls, cidrs: Iterable[str]) -> AddressPolicy:
        """Exactly these networks (``192.168.1.0/24``): loopback too only if one of them is on it."""
        return cls(ip_network(cidr, strict=False) for cidr in cidrs)

    @classmethod
    def public(cls) -> AddressPolicy:
        """Every public address, and none that only means something inside a network."""
        return cls(everywhere=True)

    @classmethod
    def only(cls, url: str) -> AddressPolicy:
        """Nothing but the server of this URL."""
        return cls().trusting(url)

    def trusting(self, *urls: str) -> AddressPolicy:
        """The same, and the servers of these URLs: the operator named them, and not an agent.

        What is no URL adds nothing; calling it says why.
        """
        places = set(self._places)
        for url in urls:
            with contextlib.suppress(Unreachable):
                places.add(read_url(url)[1:3])
        return AddressPolicy(self._networks, everywhere=self._everywhere, places=places)

    def allows(self, ip: str | Address, host: str | None = None, port: int = 0) -> bool:
        """Whether an address may be connected to, as the host and port of a URL led to it."""
        try:
            found = ip_address(ip)
        except ValueError:
            return False
        address = effective_address(found)
        if any(address in network for network in NEVER_ALLOWED) or _is_compatible(address):
            return False
        if (host, port) in self._places:
            return True
        if found in _NAT64:
            # What a gateway makes of any other than a public address is its own affair.
            return self._everywhere and address.is_global
        if is_loopback(address):
            # Only as itself: a name may lead elsewhere when it is registered, and here when it is called.
            by_name = host is not None and host != LOCALHOST and not is_ip_address(host)
            is_listed = any(address in network for network in self._networks if network.is_loopback)
            return is_listed and (self._names_reach_loopback or not by_name)
        return any(address in network for network in self._networks) or (self._everywhere and _is_public(address))

    def forbids(self, url: str) -> bool:
        """Whether a URL names an address that may not be called; where a name leads is seen only when it is called.

        Raises Unreachable for what is no URL that we call.
        """
        _, host, port, _ = read_url(url)
        named = LOCALHOST_ADDRESSES if host == LOCALHOST else (host,)
        return (host == LOCALHOST or is_ip_address(host)) and not any(self.allows(ip, host, port) for ip in named)


def effective_address(address: Address) -> Address:
    """The address that packets go to: IPv6 can wrap IPv4."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _is_compatible(address: Address) -> bool:
    """Whether it is ``::a.b.c.d``, another way to write IPv4 that was given up: nobody knows where it leads."""
    return isinstance(address, IPv6Address) and 1 < int(address) < 1 << 32


def _is_public(address: Address) -> bool:
    return address.is_global and (isinstance(address, IPv4Address) or address in _GLOBAL_UNICAST)


def is_loopback(host: str | Address) -> bool:
    """Whether a host is this machine, to itself: a loopback address, or its name."""
    return host == LOCALHOST or is_in_networks(host, LOOPBACK)


def is_behind_proxy(url: str, addresses: Iterable[tuple[str, int]]) -> bool:
    """Whether a server that listens at these addresses is reached at a URL only through a proxy."""
    try:
        to = read_url(url)
    except Unreachable:
        return False
    listening = [host for host, port in addresses if port == to.port]
    return to.scheme == "https" or not listening or (all(map(is_loopback, listening)) and not is_loopback(to.host))


def is_in_networks(host: str | Address, networks: Iterable[Network]) -> bool:
    """Whether a host is an address in one of these networks."""
    try:
        address = effective_address(ip_address(host))
    except ValueError:
        return False
    return any(address in network for network in networks)


def suggest_url(url: str, peer: str) -> str | None:
    """What a peer on another machine has to give instead of a URL that leads everybody to themselves."""
    try:
        to = read_url(url)
        address = effective_address(ip_address(peer))
    except (Unreachable, ValueError):
        return None
    if not is_loopback(to.host) or is_loopback(address):
        return None
    return to._replace(host=str(address)).whole


def is_ip_address(host: str) -> bool:
    """Whether a host is an address already, so that there is nothing to look up."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def system_look_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Resolver:
    """Looks names up in at most ``most`` threads of its own, so that a slow name keeps only its own callers waiting.

    The threads are daemons: a look-up that hangs must not hold up the end of the program.
    """

    def __init__(self, look_up: LookUp = system_look_up, most: int = MAX_THREADS) -> None:
        self._look_up = look_up
        self._most = most
        self._under_way: dict[tuple[str, int], _LookUp] = {}
        # Those that have no thread yet, the oldest first.
        self._queue: dict[tuple[str, int], _LookUp] = {}
        self._threads = 0

    async def resolve(self, host: str, port: int, begun: Callable[[], None] | None = None) -> list[str]:
        """The addresses of a host, unchecked. Raises what the look-up raises: OSError or ValueError.

        ``begun`` is called when the look-up has a thread. Literal addresses and localhost need none.
        """
        if host == LOCALHOST or is_ip_address(host):
            if begun is not None:
                begun()
            return list(LOCALHOST_ADDRESSES) if host == LOCALHOST else [host]
        name, loop = (host, port), asyncio.get_running_loop()
        look_up = self._under_way.get(name)
        if look_up is None:
            look_up = self._under_way[name] = self._queue[name] = _LookUp(loop)
            self._start(loop)
        look_up.callers += 1
        try:
            # Shared by everybody who asks for this name: one who gives up must not end it for the others.
            await asyncio.shield(look_up.begun)
            if begun is not None:
                begun()
            outcome = await asyncio.shield(look_up.outcome)
        finally:
            look_up.callers -= 1
            if not look_up.callers and self._queue.pop(name, None) is not None:
                del self._under_way[name]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._queue and self._threads < self._most:
            self._threads += 1
            name = next(iter(self._queue))
            self._queue.pop(name).begun.set_result(None)
            thread = threading.Thread(target=self._run, args=(loop, name), name=f"look-up {name[0]}", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                self._done(loop, name, OSError(errno.ENOMEM, "no thread can be started"))

    def _run(self, loop: asyncio.AbstractEventLoop, name: tuple[str, int]) -> None:
        outcome: list[str] | Exception
        try:
            outcome = self._look_up(*name)
        except (OSError, ValueError) as error:
            outcome = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(self._done, loop, name, outcome)

    def _done(self, loop: asyncio.AbstractEventLoop, name: tuple[str, int], outcome: list[str] | Exception) -> None:
        self._threads -= 1
        self._under_way.pop(name).outcome.set_result(outcome)
        self._start(loop)


class _LookUp:
    """A name that is looked up, or waits for a thread."""

    __slots__ = ("begun", "callers", "outcome")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.begun: asyncio.Future[None] = loop.create_future()
        self.outcome: asyncio.Future[list[str] | Exception] = loop.create_future()
        self.callers = 0


class Url(NamedTuple):
    """A URL, taken apart; ``target`` is what a request asks for."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def whole(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def shown(self) -> str:
        """For people's eyes: what stands behind the ? may be a seat code."""
        return self.whole.partition("?")[0]


def read_url(url: str) -> Url:
    """Take a URL apart. Raises Unreachable for what we do not call."""
    # Neither a password nor what stands behind the ? is for the log.
    shown = repr(url.partition("?")[0].rpartition("@")[2][:200])
    if any(char <= " " or char == "\x7f" for char in url):
        raise Unreachable(f"{shown} is no URL: it has spaces or control characters in it")
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("ascii" if url.isascii() else "idna").decode("ascii")
        port = parts.port
    except ValueError as error:
        raise Unreachable(f"{shown} is no URL: {error}") from error
    if parts.scheme not in PORTS:
        raise Unreachable(f"{shown} is not called: only http and https are")
    if parts.netloc.rpartition("]")[2][:1] not in ("", ":") and "[" in parts.netloc:
        raise Unreachable(f"{shown} is no URL: something stands between its address and its port")
    if "@" in parts.netloc:
        raise Unreachable(f"{shown} is not called with a user name or password in the URL")
    if port == 0 or not host or not (is_ip_address(host) or all(char.isalnum() or char in "-._" for char in host)):
        raise Unreachable(f"{shown} is no URL: its host or port is missing or not valid")
    if _is_odd_number(host):
        raise Unreachable(f"{shown} is not called: an IPv4 address is four decimal numbers with dots between them")
    if "%" in host:
        raise Unreachable(f"{shown} is not called: an address with a zone means nothing elsewhere")
    query = f"?{quote(parts.query, safe=_IN_A_PATH + '?')}" if parts.query else ""
    return Url(parts.scheme, host, port or PORTS[parts.scheme], quote(parts.path or "/", safe=_IN_A_PATH) + query)


def _is_odd_number(host: str) -> bool:
    """Whether systems would take a host for an IPv4 address that is written in an odd way: 127.1, 0x7f000001, 017…"""
    last = host.rstrip(".").rpartition(".")[2]
    return (last.isdigit() or last.startswith("0x")) and not is_ip_address(host)


async def addresses_of(url: str, resolver: Resolver) -> frozenset[str]:
    """The addresses that the host of a URL leads to; empty if it leads nowhere."""
    try:
        _, host, port, _ = read_url(url)
        found = [host] if is_loopback(host) else await resolver.resolve(host, port)
        return frozenset(map(canonical_address, found))
    except (Unreachable, OSError, ValueError):
        return frozenset()


def canonical_address(host: str) -> str:
    """An address in the form in which two of one machine are equal: every loopback address is the same one."""
    if is_loopback(host):
        return "127.0.0.1"
    return str(effective_address(ip_address(host))) if is_ip_address(host) else host
