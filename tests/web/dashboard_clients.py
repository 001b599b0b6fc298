"""Clients of a dashboard without a network: one that requests pages, and subscribers of the stream."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from leaguekit.transport.server.connection_base import CONNECTION_EXTENSION
from leaguekit.web.app import Dashboard
from tests.agents.leagues import Hall, Scripted

Json = dict[str, Any]
KEYED = ("standings", "playing", "results", "agents", "news")


class Got(NamedTuple):
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        text = gzip.decompress(self.body) if self.headers.get("content-encoding") == "gzip" else self.body
        return dict(json.loads(text))


async def get(dashboard: Dashboard, path: str, method: str = "GET", **headers: str) -> Got:
    """What a dashboard answers to a request."""
    target, _, query = path.partition("?")
    scope = {
        "type": "http",
        "method": method,
        "path": target,
        "query_string": query.encode(),
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 0),
    }
    sent: list[Any] = []

    async def receive() -> Any:
        # The request has no body, and its client waits for the answer.
        return await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        sent.append(message)

    await dashboard(scope, receive, send)
    head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Got(sent[0]["status"], head, b"".join(part.get("body", b"") for part in sent[1:]))


async def clumsy(hall: Hall, number: int, *choices: str) -> Scripted:
    """A player that joins every match and makes these choices, and then the last of them again and again."""
    left = list(choices)

    async def join(agent: Scripted, call: Json) -> Json:
        return _from(agent, call) | {
            "message_type": "GAME_JOIN_ACK",
            "arrival_timestamp": hall.timestamp,
            "accept": True,
        }

    async def choose(agent: Scripted, call: Json) -> Json:
        choice = left.pop(0) if len(left) > 1 else left[0]
        return _from(agent, call) | {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": choice}

    return await hall.scripted("player", number, {"GAME_INVITATION": join, "CHOOSE_PARITY_CALL": choose})


def _from(agent: Scripted, call: Json) -> Json:
    of_match = {"match_id": call["match_id"], "player_id": agent.id, "conversation_id": call["conversation_id"]}
    return agent.hall.envelope(agent.sender) | of_match


def events(text: str) -> Iterator[tuple[str, str, Json]]:
    """The events in a stream: name, id, data."""
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":"))
        if "data" in fields:
            yield fields["event"], fields["id"], json.loads(fields["data"])


def unchunked(data: bytes) -> bytes:
    """The body in chunks of HTTP/1.1."""
    body = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        body += data[: int(size, 16)]
        assert data[int(size, 16) :][:2] == b"\r\n"
        data = data[int(size, 16) + 2 :]
    return body


class Spectator:
    """A connection that receives the stream, unless it is slow, and the state that its page shows."""

    def __init__(self, *, compressed: bool = False) -> None:
        self.compressed = compressed
        self.written: list[bytes] = []
        self.waiting = 0
        self.has_ended = False
        self.is_stream = False
        self.slow = False

    def write(self, data: bytes) -> None:
        self.written.append(data)
        if self.slow:
            self.waiting += len(data)

    def unsent(self) -> int:
        return self.waiting

    def end(self) -> None:
        self.has_ended = True

    def become_stream(self) -> None:
        self.is_stream = True

    def take(self) -> None:
        """Take what waits."""
        self.slow, self.waiting = False, 0

    @property
    def text(self) -> str:
        body = b"".join(map(unchunked, self.written))
        # A stream that was cut off is not a complete gzip file.
        return (zlib.decompressobj(wbits=31).decompress(body) if self.compressed else body).decode()

    @property
    def events(self) -> list[tuple[str, str, Json]]:
        return list(events(self.text))

    @property
    def shows(self) -> Json:
        return shown(self.events)

    def scope(self) -> Json:
        """The scope of a request for the stream, for a direct call of the application."""
        return {
            "type": "http",
            "method": "GET",
            "path": "/events",
            "query_string": b"",
            "headers": [(b"accept-encoding", b"gzip")] if self.compressed else [],
            "client": ("127.0.0.1", 0),
            "extensions": {CONNECTION_EXTENSION: {CONNECTION_EXTENSION: self}},
        }


def shown(told: Iterable[tuple[str, str, Json]]) -> Json:
    """The state of a page that follows these events as data.js does, without the time."""
    state: Json = {}
    for name, _, data in told:
        if name == "snapshot":
            state = data
            continue
        state |= {"seq": data["seq"]}
        for part, items in data["set"].items():
            if part == "league":
                state[part] = items
            else:
                state[part] |= items
        for part, keys in data.get("drop", {}).items():
            for key in keys:
                # An item that came and went while the page was slow was never set.
                state[part].pop(key, None)
    return {name: value for name, value in state.items() if name not in ("now", "seq")}
