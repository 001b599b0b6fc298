"""No URL makes the caller connect to what the operator has not allowed: asserted where connections are made.

Every connection that the caller asks its loop for is recorded and judged here by rules written once more, and those to
loopback are really made, to listeners that count.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from typing import Any, Self

import pytest

from leaguekit.transport.addresses import AddressPolicy, read_url, suggest_url
from leaguekit.transport.base import CallFailed, HttpAnswer, Unreachable
from leaguekit.transport.client.caller import HttpCaller
from tests.transport.hostile_urls import DEPENDS, NAMES, NEVER, NOT_URLS

ALL = [*NOT_URLS, *NEVER, *DEPENDS]
LOOPBACK = [ip_network("127.0.0.0/8"), ip_network("::1/128")]
# What may be connected to, written without the code under test; all else is forbidden.
REACHED: dict[str, set[str]] = {
    "local": {"127.0.0.1", "127.255.255.254", "::1"},
    "lan": {"192.168.7.7"},
    "lan with loopback": {"127.0.0.1", "127.255.255.254", "::1", "192.168.7.7"},
    "public": {"8.8.8.8", "2600::1", "93.184.215.14"},
    "only": set(),
}
POLICIES = {
    "local": AddressPolicy.local(),
    "lan": AddressPolicy.lan(["192.168.7.0/24"]),
    "lan with loopback": AddressPolicy.lan(["192.168.7.0/24", "127.0.0.0/8", "::1/128"]),
    "public": AddressPolicy.public(),
    "only": AddressPolicy.only("http://elsewhere.test:9/mcp"),
}


def plain(host: str) -> str:
    """An address in its one form. Raises ValueError for a name."""
    address = ip_address(host)
    return str(getattr(address, "ipv4_mapped", None) or address)


class Watched(asyncio.SelectorEventLoop):
    """A loop that records every address that is to be connected to, and connects to loopback only."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.connected: list[str] = []

    async def create_connection(self, factory: Any, host: Any = None, port: Any = None, **more: Any) -> Any:
        # A name here would be a second look-up.
        self.asked.append(plain(host))
        return await super().create_connection(factory, host, port, **more)

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        self.connected.append(plain(address[0]))
        if not any(ip_address(self.connected[-1]) in network for network in LOOPBACK):
            raise ConnectionRefusedError(111, "a test connects to loopback only")
        await super().sock_connect(sock, address)


class Listeners:
    """On every interface of loopback, at one port; they answer, and count the connections."""

    def __init__(self, redirect: str = "") -> None:
        self.accepted: Counter[str] = Counter()
        self._redirect = redirect

    async def __aenter__(self) -> Self:
        self._servers = [await asyncio.start_server(self._answer, "127.0.0.1", 0)]
        self.port = self._servers[0].sockets[0].getsockname()[1]
        for host in ("127.255.255.254", "::1"):
            with contextlib.suppress(OSError):
                self._servers.append(await asyncio.start_server(self._answer, host, self.port))
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted[writer.get_extra_info("sockname")[0]] += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            where = b"location: %b\r\n" % self._redirect.encode() if self._redirect else b""
            status = b"307 Temporary Redirect" if self._redirect else b"200 OK"
            writer.write(b"HTTP/1.1 %b\r\n%bcontent-length: 2\r\nconnection: close\r\n\r\n{}" % (status, where))
        writer.close()


def names() -> Any:
    """A look-up in which names lead elsewhere each time."""
    answers: dict[str, Iterator[list[str]]] = {}

    def look_up(host: str, port: int) -> list[str]:
        host = host.rstrip(".")
        if host not in NAMES:
            return [str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        times = NAMES[host]
        following = answers.setdefault(host, iter(times))
        return next(following, times[-1])

    return look_up


def test_there_are_at_least_sixty_and_no_two_alike() -> None:
    assert len(set(ALL)) == len(ALL) > 120


@pytest.mark.parametrize("policy", POLICIES)
def test_no_hostile_url_leads_to_a_forbidden_connection(policy: str) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Watched)
        async with Listeners() as listeners:
            caller = HttpCaller(POLICIES[policy], look_up=names())
            reached: dict[str, list[str]] = {}
            # The second and third time a name may lead elsewhere.
            for url in [url.replace("{port}", str(listeners.port)) for url in ALL for _ in range(3)]:
                before = len(loop.asked)
                with contextlib.suppress(CallFailed):
                    await caller.post(url, b"{}", 5)
                reached.setdefault(url.replace(str(listeners.port), "{port}"), []).extend(loop.asked[before:])
            await caller.close()
            forbidden = {address for address in loop.asked + loop.connected if address not in REACHED[policy]}
            assert forbidden == set()
            assert not [url for url in NOT_URLS + NEVER if reached[url]]
            # Each address that may be reached was: a caller that called nobody would prove nothing.
            assert set(loop.asked) == REACHED[policy]
            if "loopback" not in policy and policy != "local":
                assert not listeners.accepted
            else:
                assert listeners.accepted["127.0.0.1"] >= 3
            if policy == "lan with loopback":
                # Loopback itself may be called, but no name may lead there.
                named = [url for url in DEPENDS if ".test" in url.lower()]
                assert not {address for url in named for address in reached[url]} - {"192.168.7.7"}

    with asyncio.Runner(loop_factory=Watched) as runner:
        runner.run(main())


@pytest.mark.parametrize(
    "where",
    ["http://169.254.169.254/", "http://127.0.0.1:{port}/other", "//127.0.0.1:{port}/", "/other", "file:///etc/passwd"],
)
def test_a_redirect_leads_nowhere_at_all(where: str) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Watched)
        async with Listeners() as others, Listeners(where.replace("{port}", str(others.port))) as listeners:
            caller = HttpCaller(AddressPolicy.local())
            answer = await caller.post(f"http://127.0.0.1:{listeners.port}/mcp", b"{}", 5)
            await caller.close()
            assert isinstance(answer, HttpAnswer)
            assert answer.status == 307
            assert loop.asked == ["127.0.0.1"]
            assert (listeners.accepted.total(), others.accepted.total()) == (1, 0)

    with asyncio.Runner(loop_factory=Watched) as runner:
        runner.run(main())


@pytest.mark.parametrize("url", NOT_URLS)
def test_what_is_no_url_is_refused_before_anything_is_looked_up(url: str) -> None:
    with pytest.raises(Unreachable):
        read_url(url.replace("{port}", "8101"))


# What the operator names


def test_the_server_that_the_operator_named_may_be_called_wherever_it_is_but_never_metadata() -> None:
    trusted = AddressPolicy.lan(["192.168.7.0/24"]).trusting(
        "http://127.0.0.1:8000/mcp?referee=x", "http://manager.test/mcp", "no URL"
    )
    assert trusted.allows("127.0.0.1", "127.0.0.1", 8000)
    assert trusted.allows("10.0.0.1", "manager.test", 80)
    assert trusted.allows("192.168.7.7", "192.168.7.7", 9)
    assert not trusted.allows("127.0.0.1", "127.0.0.1", 8001)
    assert not trusted.allows("127.0.0.1", "other.test", 8000)
    assert not trusted.allows("127.0.0.1", "manager.test", 8000)
    assert not trusted.allows("169.254.169.254", "manager.test", 80)
    assert not AddressPolicy.only("http://169.254.169.254/").allows("169.254.169.254", "169.254.169.254", 80)


def test_a_network_that_only_contains_loopback_does_not_allow_it() -> None:
    assert not AddressPolicy.lan(["0.0.0.0/0", "::/0"]).allows("127.0.0.1")
    assert not AddressPolicy.lan(["0.0.0.0/0", "::/0"]).allows("::1")
    assert AddressPolicy.lan(["0.0.0.0/0", "127.0.0.1/32"]).allows("127.0.0.1")


@pytest.mark.parametrize(
    ("url", "peer", "better"),
    [
        ("http://127.0.0.1:8101/mcp", "192.168.1.23", "http://192.168.1.23:8101/mcp"),
        ("http://localhost:8101/mcp?x=1", "192.168.1.23", "http://192.168.1.23:8101/mcp?x=1"),
        ("https://[::1]/mcp", "2001:db8::7", "https://[2001:db8::7]/mcp"),
        ("http://127.9.9.9:8101/mcp", "::ffff:192.168.1.23", "http://192.168.1.23:8101/mcp"),
        ("http://①②⑦.⓪.⓪.①:8101/mcp", "192.168.1.23", "http://192.168.1.23:8101/mcp"),
        ("http://0.0.0.0:8101/mcp", "192.168.1.23", "http://192.168.1.23:8101/mcp"),
        ("http://[::]:8101/mcp", "127.0.0.1", "http://127.0.0.1:8101/mcp"),
        ("http://127.0.0.1:8101/mcp", "127.0.0.1", None),
        ("http://127.0.0.1:8101/mcp", "::1", None),
        ("http://127.0.0.1:8101/mcp", "", None),
        ("http://192.168.1.24:8101/mcp", "192.168.1.23", None),
        ("nonsense", "192.168.1.23", None),
    ],
)
def test_who_gives_loopback_from_another_machine_is_told_what_to_give(url: str, peer: str, better: str | None) -> None:
    assert suggest_url(url, peer) == better


def test_what_a_policy_forbids_is_seen_before_a_call_where_an_address_is_named() -> None:
    lan = AddressPolicy.lan(["10.0.0.0/24"]).trusting("http://192.168.1.7:8101/mcp")
    forbidden = ("10.0.1.5:8101", "127.0.0.1:8101", "localhost:8101", "192.168.1.7:8102", "[::1]:8101")
    assert all(lan.forbids(f"http://{place}/mcp") for place in forbidden)
    assert not any(lan.forbids(f"http://{place}/mcp") for place in ("10.0.0.5:8101", "192.168.1.7:8101", "a.example"))
    assert not AddressPolicy.local().forbids("http://localhost:8101/mcp")
    with pytest.raises(Unreachable):
        lan.forbids("http://127.1/mcp")
