"""A manager's stream of events (``GET /events``), followed for as long as it lasts and again when it breaks off."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec
from httptools import HttpParserError, HttpResponseParser
from msgspec import UNSET

from leaguekit.protocol import times
from leaguekit.web.api_types import Change, Live

PATIENCE = 10.0
# A stream that is alive says something more often than this.
SILENCE = 60.0
AGAIN_SECONDS = 1.0
MAX_BYTES = 16_000_000
_PIECE = 65_536


class Broken(Exception):
    """There is no stream, or no more; the text says why."""


class StreamEvent(NamedTuple):
    """An event of the stream: ``snapshot`` or ``change``, and its JSON."""

    kind: str
    data: str


def events_url(manager: str) -> str:
    """Where the stream of the manager is whose messages go to this URL."""
    parts = urlsplit(manager)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"a manager's URL begins with http:// or https://, got {manager!r}")
    return parts._replace(path=f"{parts.path.rstrip('/').removesuffix('/mcp')}/events", query="", fragment="").geturl()


def applied(live: Live | None, event: StreamEvent) -> Live | None:
    """The state after an event. Raises Broken if there is no sense in it."""
    try:
        if event.kind == "snapshot":
            return msgspec.json.decode(event.data, type=Live)
        if event.kind != "change" or live is None:
            return live
        change = msgspec.json.decode(event.data, type=Change)
    except msgspec.DecodeError as error:
        raise Broken(f"what it streams cannot be read: {error}") from None
    live.seq, live.now = change.seq, change.now
    live.league = change.set.league or live.league
    for name in ("standings", "playing", "results", "agents", "news"):
        items = getattr(live, name)
        for key in () if change.drop is UNSET else getattr(change.drop, name):
            items.pop(key, None)
        items.update(getattr(change.set, name))
    return live


async def streamed(url: str, after: int | None = None) -> AsyncIterator[StreamEvent]:
    """The events of a stream as they come, from after a number if the manager still knows them. Raises Broken."""
    parts = urlsplit(url)
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    port = parts.port or (443 if tls else 80)
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=tls)
    except TimeoutError:
        raise Broken(f"nobody answers there within {PATIENCE:.0f} s") from None
    except OSError as error:
        raise Broken(f"nobody answers there ({error})") from None
    answer = _Answer()
    parser = HttpResponseParser(answer)
    last = "" if after is None else f"Last-Event-ID: {after}\r\n"
    head = f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: text/event-stream\r\n{last}\r\n"
    try:
        writer.write(head.encode("ascii"))
        while not answer.is_over:
            async with asyncio.timeout(SILENCE):
                piece = await reader.read(_PIECE)
            if not piece:
                break
            parser.feed_data(piece)
            if answer.begun and (status := parser.get_status_code()) != 200:
                raise Broken(f"it has no stream (HTTP {status})")
            for event in answer.events():
                yield event
    except TimeoutError:
        raise Broken("nothing comes from it any more") from None
    except (OSError, HttpParserError, UnicodeDecodeError) as error:
        raise Broken(f"its stream broke off ({error})") from None
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    raise Broken("its stream ended")


class _Answer:
    """Takes what the parser finds, and cuts it into events."""

    def __init__(self) -> None:
        self.begun = self.is_over = False
        self._body = bytearray()

    def on_headers_complete(self) -> None:
        self.begun = True

    def on_body(self, piece: bytes) -> None:
        self._body += piece

    def on_message_complete(self) -> None:
        self.is_over = True

    def events(self) -> list[StreamEvent]:
        """The events that are complete."""
        if len(self._body) > MAX_BYTES:
            raise Broken("it sends too much at once")
        *whole, rest = bytes(self._body).replace(b"\r\n", b"\n").split(b"\n\n")
        self._body[:] = rest
        return [_event(block.decode()) for block in whole]


def _event(block: str) -> StreamEvent:
    fields: dict[str, list[str]] = {}
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        fields.setdefault(name, []).append(value.removeprefix(" "))
    return StreamEvent((fields.get("event") or [""])[-1], "\n".join(fields.get("data") or []))


class Follower:
    """Keeps the state of a league as its manager streams it; ``changed`` is set whenever there is something new."""

    def __init__(self, manager: str) -> None:
        self._url = events_url(manager)
        self.live: Live | None = None
        self.changed = asyncio.Event()
        # Why there is nothing new, if that is because of the connection.
        self.trouble: str | None = None
        self._came = 0.0

    def now(self) -> datetime:
        """The time by the manager's clock, as far as it is known."""
        if self.live is None:
            return datetime.now(UTC)
        return times.read(self.live.now) + timedelta(seconds=time.monotonic() - self._came)

    async def run(self) -> None:
        """Follow the stream, and connect again when it breaks off; until it is cancelled."""
        while True:
            try:
                async for event in streamed(self._url, None if self.live is None else self.live.seq):
                    self.live = applied(self.live, event)
                    self.trouble, self._came = None, time.monotonic()
                    self.changed.set()
            except Broken as error:
                self.trouble = str(error)
                self.changed.set()
            await asyncio.sleep(AGAIN_SECONDS)
