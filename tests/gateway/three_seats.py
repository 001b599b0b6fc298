"""A chat application, a person in a browser and a language model play a league of three over HTTP, watched by a
spectator. What each of them receives is kept to the byte, with its time.

Each round of such a league is one match. So what is received before the end of a round is received before the end of
its match.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp import Client

from leaguekit.player.context import Context
from leaguekit.player.llm import from_options
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.web.app import Dashboard
from tests.gateway.served_gateway import page_at, play_by_mcp, play_in_page, served_gateway
from tests.llm_stand_in import StandIn, forget_settings
from tests.transport.mcp.served_league import ServedLeague

CHAT, PERSON, MACHINE = "Chat", "Person", "Machine"
SECONDS = 60.0


class Received:
    """What somebody has received, and when."""

    def __init__(self) -> None:
        self._parts: list[tuple[float, bytes]] = []

    def add(self, data: bytes) -> None:
        self._parts.append((time.monotonic(), data))

    def between(self, since: float, until: float) -> str:
        return b"".join(data for at, data in self._parts if since <= at < until).decode(errors="replace")


class Match(NamedTuple):
    """A match that is over: its players by side, its record, when the round before it and it itself were over."""

    id: str
    players: dict[str, str]
    record: list[dict[str, Any]]
    since: float
    until: float


class Seen(NamedTuple):
    """What was received: by name of the player, from the stream, from the page of each match, and by the manager."""

    matches: list[Match]
    seats: dict[str, Received]
    prompts: list[tuple[int, str]]
    stream: Received
    pages: dict[str, Received]
    progress: Received
    technical_losses: int

    def by(self, name: str, match: Match) -> str:
        """What a player received before the end of a match, after that of the match before."""
        if name == MACHINE:
            return "".join(prompt for number, prompt in self.prompts if match.id.startswith(f"R{number}M"))
        return self.seats[name].between(match.since, match.until)

    def public(self, match: Match) -> str:
        """What everybody could see before the end of a match, and what its referee sent the manager."""
        sources = (self.stream, self.pages[match.id], self.progress)
        return "".join(source.between(match.since, match.until) for source in sources)


def play(root: Path, monkeypatch: pytest.MonkeyPatch, game: str) -> Seen:
    """Play a league to its end. The chat application and the model wait until the spectator sees their match."""
    forget_settings(monkeypatch)
    with StandIn() as stand_in:
        return asyncio.run(asyncio.wait_for(_played(root, monkeypatch, game, stand_in), SECONDS))


async def _played(root: Path, monkeypatch: pytest.MonkeyPatch, game: str, stand_in: StandIn) -> Seen:
    over, reports, progress = _tap_calls(monkeypatch)
    async with (
        ServedLeague(root, players=3, game_type=game, web=Dashboard) as house,
        served_gateway(house.url, root) as place,
        _tap(place.base) as (chat_url, by_chat),
        _tap(place.base) as (page_url, by_page),
        Client(f"{chat_url}/mcp") as client,
        page_at(f"{page_url}/") as page,
    ):
        stream, pages = Received(), {f"R{number}M1": Received() for number in (1, 2, 3)}
        watched = {match_id: threading.Event() for match_id in pages}
        watching = asyncio.create_task(_watch(house.port, stream, pages, watched))
        await house.referee()
        model = from_options({"model": "right", "base_url": stand_in.url})

        async def choose(ctx: Context) -> Any:
            # A strategy has an event loop of its own.
            await asyncio.to_thread(watched[ctx.match_id].wait, SECONDS)
            return await model(ctx)

        async def wait_for_spectator(asked: dict[str, Any]) -> None:
            await asyncio.to_thread(watched[asked["match_id"]].wait, SECONDS)

        await house.player(MACHINE, choose)
        await asyncio.gather(play_by_mcp(client, CHAT, before=wait_for_spectator), play_in_page(page, PERSON))
        await house.over
        watching.cancel()
        league = house.league
        names = {player_id: player.meta.display_name for player_id, player in league.players.items()}
        ends = [0.0, *(over[name] for name in pages)]
        matches = [
            Match(
                match_id,
                {"A": names[league.matches[match_id].a], "B": names[league.matches[match_id].b]},
                reports[match_id]["result"]["details"].get("record", []),
                since,
                until,
            )
            for match_id, since, until in zip(pages, ends, ends[1:], strict=False)
        ]
        losses = sum(row.technical_losses for row in league.table.rows.values())
    prompts = [(asked.data["round"], asked.prompt) for asked in stand_in.asked]
    return Seen(matches, {CHAT: by_chat, PERSON: by_page}, prompts, stream, pages, progress, losses)


def _tap_calls(monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, float], dict[str, Any], Received]:
    """When each match was over for the first player, the reports, and what referees sent about matches in play."""
    over: dict[str, float] = {}
    reports: dict[str, Any] = {}
    progress = Received()
    post = HttpCaller.post

    async def noted(self: HttpCaller, url: str, body: bytes, *rest: Any, **more: Any) -> Any:
        match json.loads(body).get("params") or {}:
            case {"message_type": "GAME_OVER", "match_id": match_id}:
                over.setdefault(match_id, time.monotonic())
            case {"message_type": "MATCH_RESULT_REPORT", "match_id": match_id} as report:
                reports[match_id] = report
            case {"message_type": "MATCH_PROGRESS"}:
                progress.add(body)
        return await post(self, url, body, *rest, **more)

    monkeypatch.setattr(HttpCaller, "post", noted)
    return over, reports, progress


@asynccontextmanager
async def _tap(base: str) -> AsyncIterator[tuple[str, Received]]:
    """A proxy before a server, at another port, and what passes it on the way back, which is not compressed."""
    port = int(base.rpartition(":")[2])
    received = Received()
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        there, back = await asyncio.open_connection("127.0.0.1", port)

        async def forward() -> None:
            while data := await reader.read(65_536):
                back.write(re.sub(b"(?i)accept-encoding", b"X-Not-Compressed", data))
            back.write_eof()

        forwarding = asyncio.create_task(forward())
        with contextlib.suppress(asyncio.CancelledError, ConnectionError):
            while data := await there.read(65_536):
                received.add(data)
                writer.write(data)
        forwarding.cancel()
        await asyncio.gather(forwarding, return_exceptions=True)
        back.close()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", received
    finally:
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


async def _watch(port: int, stream: Received, pages: dict[str, Received], watched: dict[str, threading.Event]) -> None:
    """Follow the stream, and look at the page of each match in play whenever the stream has a new position of it.

    Then the event of the match is set.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(_get(port, "/events", "keep-alive"))
        rest = b""
        while data := await reader.read(65_536):
            stream.add(data)
            *events, rest = (rest + data).split(b"\n\n")
            for part in b"".join(events).split(b'"match_id":"')[1:]:
                if b'"picture":{' in part:
                    match_id = part.partition(b'"')[0].decode()
                    asked, asking = await asyncio.open_connection("127.0.0.1", port)
                    asking.write(_get(port, f"/api/matches/{match_id}", "close"))
                    pages[match_id].add(await asked.read())
                    asking.close()
                    watched[match_id].set()
    finally:
        writer.close()


def _get(port: int, path: str, connection: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: {connection}\r\n\r\n".encode()
