"""Host, Origin and proxies: which requests a server takes up at all."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from leaguekit.transport.addresses import LOOPBACK, is_behind_proxy
from leaguekit.transport.base import Peer
from leaguekit.transport.server.origin_headers import PAGE_POLICY, UNKNOWN_HOST, address_block, read_origin_headers
from leaguekit.transport.server.server import Server, listen
from tests.transport.running import MAX_BYTES, TOO_LARGE, Run, Running, of_requests, post, serving


def request(*headers: bytes, target: bytes = b"/mcp", version: bytes = b"1.1") -> bytes:
    lines = [b"POST %b HTTP/%b" % (target, version), b"content-length: 1", *headers]
    return b"\r\n".join(lines) + b"\r\n\r\nx"


async def answered(*headers: bytes, target: bytes = b"/mcp", version: bytes = b"1.1", **settings: Any) -> Any:
    async with serving(**settings) as running:
        client = await running.say(request(*headers, target=target, version=version))
        status, _, body = await client.answer()
        if status >= 400 and status != 404:
            assert await client.ends()
        return status, body


@pytest.mark.parametrize(
    "host",
    [
        b"127.0.0.1:8000", b"127.0.0.1", b"localhost", b"LOCALHOST:1", b"localhost.", b"[::1]:8000", b"[::1]",
        b"[::1]:", b"192.168.1.5:8000", b"8.8.8.8", b"league.example", b"League.Example:443", b"league.example.:8000",
    ],
)  # fmt: skip
def test_a_server_is_called_by_any_address_and_by_the_names_it_is_known_under(run: Run, host: bytes) -> None:
    assert run(answered(b"Host: " + host, names=["League.example."])) == (200, b"x")


@pytest.mark.parametrize("target", [b"/mcp", b"/mcp?seat=1", b"/health", b"/"])
@pytest.mark.parametrize(
    "host",
    [
        b"evil.example:8000", b"evil.example", b"127.0.0.1.evil.example", b"localhost.evil.example", b"2130706433",
        b"0x7f.0.0.1", b"127.1", b"", b"localhost:8000:1", b"localhost@evil.example", b"user@localhost", b"[::1",
        b"[evil]", b"[::1]evil", b"127.0.0.1 evil", b"localhost,evil", b"xn--lcalhost-5b8d", b"\xe2\x91\xa0",
    ],
)  # fmt: skip
def test_any_other_name_is_misdirected_whatever_is_asked_for(host: bytes, target: bytes) -> None:
    status, body = asyncio.run(answered(b"host: " + host, target=target))
    assert status == 421
    assert "not known as" in json.loads(body)["error"]


def test_two_hosts_are_a_bad_request_even_if_both_are_ours(run: Run) -> None:
    async def main() -> None:
        async with serving() as running:
            for first in (b"localhost", b"127.0.0.1"):
                known = await running.say(request(b"host: localhost"))
                assert (await known.answer())[0] == 200
                client = await running.say(request(b"host: " + first, b"Host: localhost"))
                assert (await client.answer())[0] == 400

    run(main())


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_without_a_host_it_is_no_browser(run: Run, version: bytes) -> None:
    assert run(answered(version=version)) == (200, b"x")


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        (b"127.0.0.1:8000", b"http://127.0.0.1:8000", 200),
        (b"localhost:8000", b"http://LOCALHOST:8000", 200),
        (b"league.example", b"https://league.example", 200),
        (b"127.0.0.1:8000", b"http://127.0.0.1:8001", 403),
        (b"127.0.0.1:8000", b"http://localhost:8000", 403),
        (b"127.0.0.1:8000", b"http://evil.example", 403),
        (b"127.0.0.1:8000", b"http://127.0.0.1:8000.evil.example", 403),
        (b"127.0.0.1:8000", b"chrome-extension://127.0.0.1:8000", 403),
        (b"127.0.0.1:8000", b"null", 403),
        (b"127.0.0.1:8000", b"", 403),
        (b"127.0.0.1:8000", b"127.0.0.1:8000", 403),
        (None, b"http://127.0.0.1", 403),
        (None, b"http://", 403),
    ],
)
@pytest.mark.parametrize("target", [b"/mcp", b"/other"])
def test_a_page_may_speak_to_the_server_that_it_came_from_only(
    host: bytes | None, origin: bytes, status: int, target: bytes
) -> None:
    headers = [b"origin: " + origin] + ([] if host is None else [b"host: " + host])
    expected = 404 if status == 200 and target == b"/other" else status
    assert asyncio.run(answered(*headers, target=target, names=["league.example"]))[0] == expected


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        (b"league.example", b"https://league.example:8443", 200),
        (b"league.example:8443", b"https://league.example:8443", 200),
        (b"league.example", b"https://league.example:9000", 403),
        (b"league.example", b"http://league.example:8443", 403),
        (b"localhost", b"https://league.example:8443", 403),
        (b"localhost:8443", b"https://localhost:9000", 403),
    ],
)
def test_a_page_at_the_endpoint_may_speak_through_a_proxy_that_drops_the_port(
    host: bytes, origin: bytes, status: int
) -> None:
    headers, endpoint = [b"origin: " + origin, b"host: " + host], "https://league.example:8443/mcp"
    assert asyncio.run(answered(*headers, names=["league.example"], endpoint=endpoint))[0] == status


def test_a_page_behind_a_proxy_that_drops_the_port_is_told_the_remedy() -> None:
    headers = [b"origin: https://league.example:8443", b"host: league.example"]
    status, body = asyncio.run(answered(*headers, names=["league.example"]))
    assert status == 403
    assert "proxy_set_header Host $http_host" in json.loads(body)["error"]
    assert "--endpoint" in json.loads(body)["error"]


@pytest.mark.parametrize("target", [b"/mcp", b"/other"])
@pytest.mark.parametrize(
    ("site", "mode", "is_refused"),
    [
        (b"cross-site", b"no-cors", True),
        (b"cross-site", b"cors", True),
        # A link leads here.
        (b"cross-site", b"navigate", False),
        (b"same-origin", b"cors", False),
        (b"none", b"navigate", False),
    ],
)
def test_what_a_browser_says_that_a_page_of_another_site_loads_is_refused(
    run: Run, site: bytes, mode: bytes, is_refused: bool, target: bytes
) -> None:
    headers = [b"host: localhost", b"Sec-Fetch-Site: " + site, b"Sec-Fetch-Mode: " + mode]
    status, _ = run(answered(*headers, target=target))
    assert (status == 403) == is_refused


def test_what_an_application_answers_is_fenced_in(run: Run) -> None:
    async def main() -> None:
        async with serving() as running:
            client = await running.say(b"GET /page HTTP/1.1\r\nhost: localhost\r\n\r\n")
            _, headers, _ = await client.answer()
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["content-security-policy"] == PAGE_POLICY
            assert headers["referrer-policy"] == "no-referrer"

    run(main())
    assert "unsafe" not in PAGE_POLICY
    assert "default-src 'none'" in PAGE_POLICY


def test_refusals_do_not_hold_up_what_came_before_them(run: Run) -> None:
    async def main() -> None:
        async with serving() as running:
            client = await running.say(post(b"1") + post(b"2") + request(b"host: evil.example") + post(b"3"))
            assert [(await client.answer())[0] for _ in range(3)] == [200, 200, 421]
            assert await client.ends()

    run(main())


# Proxies


async def peer_of(*headers: bytes, source: str = "127.0.0.1", **settings: Any) -> str:
    peers: list[Peer] = []

    async def note(body: bytes, peer: Peer) -> bytes:
        peers.append(peer)
        return body

    async with serving(note, **settings) as running:
        client = await running.say(request(*headers), source)
        assert (await client.answer())[0] == 200
        # The same connection may carry somebody else's request next.
        await client.send(request())
        assert (await client.answer())[0] == 200
    assert peers[1].host == source
    return peers[0].host


@pytest.mark.parametrize(
    ("headers", "host"),
    [
        ([], "127.0.0.1"),
        ([b"X-Forwarded-For: 203.0.113.7"], "203.0.113.7"),
        ([b"x-forwarded-for: 127.0.0.1, 203.0.113.7"], "203.0.113.7"),
        ([b"x-forwarded-for: 127.0.0.1", b"x-forwarded-for: 203.0.113.7"], "203.0.113.7"),
        ([b"x-forwarded-for: ::ffff:203.0.113.7"], "203.0.113.7"),
        ([b"x-forwarded-for: 2001:db8::7"], "2001:db8::7"),
        ([b"x-forwarded-for: 203.0.113.7:567"], "203.0.113.7"),
        ([b"x-forwarded-for: [2001:DB8::7]:443"], "2001:db8::7"),
        ([b"x-forwarded-for: [2001:db8::7]"], "2001:db8::7"),
        ([b"x-forwarded-for: unknown"], UNKNOWN_HOST),
        ([b"x-forwarded-for: fe80::1%eth0"], "fe80::1"),
        ([b"x-forwarded-for: fe80::1%\x9b31mred"], "fe80::1"),
        ([b"x-forwarded-for: unknown:443"], UNKNOWN_HOST),
        ([b"x-forwarded-for: 203.0.113.7:port"], UNKNOWN_HOST),
        ([b"x-forwarded-for: 127.0.0.1,"], UNKNOWN_HOST),
        ([b"x-forwarded-for: other"], UNKNOWN_HOST),
    ],
)
def test_a_proxy_on_this_machine_is_believed_whom_it_speaks_for(run: Run, headers: list[bytes], host: str) -> None:
    assert run(peer_of(*headers, proxies=LOOPBACK)) == host
    assert run(peer_of(*headers, endpoint="https://league.example/mcp")) == host


@pytest.mark.parametrize("endpoint", ["", "http://localhost/mcp"])
def test_a_program_on_this_machine_that_is_not_known_as_a_proxy_is_not_believed(
    run: Run, endpoint: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        sock = listen("127.0.0.1", 0)
        own = endpoint and f"http://localhost:{sock.getsockname()[1]}/mcp"
        peers: list[str] = []

        async def note(body: bytes, peer: Peer) -> bytes:
            peers.append(peer.host)
            return body

        server = Server(of_requests(note), sockets=[sock], max_bytes=MAX_BYTES, too_large=TOO_LARGE, endpoint=own)
        await server.start()
        try:
            client = await Running(server).connect()
            for address in (b"203.0.113.7", b"203.0.113.8", b"127.0.0.1"):
                await client.send(request(b"x-forwarded-for: " + address))
                assert (await client.answer())[0] == 200
            assert peers == [UNKNOWN_HOST] * 3
            assert server._endpoint.slots._count_by_address == {UNKNOWN_HOST: 1}
            client.writer.close()
        finally:
            await server.stop()
        (said,) = [record.getMessage() for record in caplog.records if "X-Forwarded-For" in record.getMessage()]
        assert said.endswith("start with --proxy 127.0.0.1")

    run(main())


@pytest.mark.parametrize(("url", "addresses", "is_so"), [
    ("http://127.0.0.1:8000/mcp", [("127.0.0.1", 8000)], False),
    ("http://localhost:8000/mcp", [("127.0.0.1", 8000), ("::1", 8000)], False),
    ("http://192.168.1.10:8000/mcp", [("0.0.0.0", 8000)], False),
    ("http://league.example:8000/mcp", [("0.0.0.0", 8000)], False),
    ("http://league.example:8000/mcp", [("127.0.0.1", 8000)], True),
    ("http://127.0.0.1:9000/mcp", [("127.0.0.1", 8000)], True),
    ("http://league.example/mcp", [("0.0.0.0", 8000)], True),
    ("https://league.example:8000/mcp", [("0.0.0.0", 8000)], True),
    ("", [("127.0.0.1", 8000)], False),
])  # fmt: skip
def test_a_server_is_behind_a_proxy_if_its_endpoint_is_not_where_it_listens(
    url: str, addresses: list[tuple[str, int]], is_so: bool
) -> None:
    assert is_behind_proxy(url, addresses) == is_so


@pytest.mark.parametrize(("host", "counts_as"), [
    ("192.168.1.5", "192.168.1.5"),
    ("::ffff:192.168.1.5", "192.168.1.5"),
    ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
    ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
    ("", ""),
])  # fmt: skip
def test_ipv6_is_counted_by_networks(host: str, counts_as: str) -> None:
    assert address_block(host) == counts_as


def test_marks_are_found_in_any_case() -> None:
    found = read_origin_headers([(b"HOST", b"a"), (b"Origin", b"b"), (b"X-FORWARDED-FOR", b"1, 2"), (b"Most", b"x")])
    assert found == (b"a", b"b", "2", False, False, False)


@pytest.mark.parametrize(("header", "is_mcp"), [
    ((b"Mcp-Protocol-Version", b"2026-07-28"), True),
    ((b"mcp-session-id", b"1"), True),
    ((b"MCP-Method", b"tools/list"), True),
    ((b"Accept", b"application/json, text/event-stream"), True),
    ((b"accept", b"application/json"), False),
    ((b"x-mcp", b"1"), False),
])  # fmt: skip
def test_headers_that_only_mcp_has_are_marks_of_it(header: tuple[bytes, bytes], is_mcp: bool) -> None:
    assert read_origin_headers([(b"host", b"a"), header, (b"content-length", b"2")]).is_mcp == is_mcp
