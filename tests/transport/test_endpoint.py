"""The way in beside /mcp: which URLs lead there, and what is answered."""

from __future__ import annotations

import asyncio
import http.client

import pytest

from leaguekit.transport.base import Handler, Peer, Refusal, TooOften
from leaguekit.transport.endpoint import Beside
from leaguekit.transport.server import Server, listen


def noted(name: str) -> Handler:
    async def handle(body: bytes, _peer: Peer) -> bytes:
        if body == b"wrong":
            raise Refusal(b"400 Bad Request", b"no")
        if body == b"often":
            raise TooOften(b"later", 2.5)
        if body == b"slow":
            await asyncio.sleep(0.01)
        return b"%b:%d" % (name.encode(), len(body))

    return handle


async def other(_body: bytes, _peer: Peer) -> bytes:
    return b"mcp"


BESIDE = Beside(b"/notes/", noted, 100_000, b"too much")


@pytest.mark.parametrize(
    ("url", "leads_there"),
    [
        (b"/notes/one", True),
        (b"/notes/one?more=1", True),
        (b"/notes/%6Fne", True),
        (b"/notes/", False),
        (b"/notes/?one", False),
        (b"/notes/one/two", False),
        (b"/notes", False),
        (b"/other/notes/one", False),
        (b"/mcp", False),
    ],
)
def test_only_names_in_the_folder_lead_beside(url: bytes, leads_there: bool) -> None:
    assert (BESIDE.handler_at(url) is not None) == leads_there


def test_what_is_posted_beside_is_answered_on_the_same_connection_and_has_its_own_limit() -> None:
    def ask() -> list[tuple[int, str | None, bytes]]:
        line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        found = []
        asked = [("/notes/one", b"x" * size) for size in (0, 3, 99_999)]
        asked += [("/notes/%6Fne?a=b", word) for word in (b"wrong", b"often", b"slow")]
        asked += [
            ("/mcp", b"{}"),
            ("/notes/two", b""),
            ("/mcp", b"{}"),
            ("/elsewhere", b""),
            ("/notes/one", b"x" * 100_001),
        ]
        for path, body in asked:
            line.request("POST", path, body)
            answer = line.getresponse()
            found.append((answer.status, answer.getheader("retry-after"), answer.read()))
        line.close()
        return found

    async def main() -> list[tuple[int, str | None, bytes]]:
        await server.start()
        try:
            return await asyncio.to_thread(ask)
        finally:
            await server.stop()

    server = Server(other, sockets=[listen("127.0.0.1", 0)], most_bytes=10, too_large=b"too much here", beside=BESIDE)
    *came, elsewhere, large = asyncio.run(main())
    assert came == [
        (200, None, b"one:0"),
        (200, None, b"one:3"),
        (200, None, b"one:99999"),
        (400, None, b"no"),
        (429, "3", b"later"),
        (200, None, b"one:4"),
        (200, None, b"mcp"),
        (200, None, b"two:0"),
        (200, None, b"mcp"),
    ]
    assert elsewhere[0] == 404
    assert (large[0], large[2]) == (413, b"too much")
