"""Follows a manager's stream of events (``GET /events``), and reconnects when it ends."""

from __future__ import annotations

import asyncio
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

CONNECT_SECONDS = 10.0
# A stream that works sends something at least this often.
IDLE_SECONDS = 60.0
RECONNECT_SECONDS = 1.0
MAX_BYTES = 16_000_000
_CHUNK_BYTES = 65_536


class StreamError(Exception):
    """The stream cannot be read, or has ended. The text says why."""


class StreamEvent(NamedTuple):
    """An event of the stream: ``snapshot`` or ``change``, and its JSON."""

    kind: str
    data: str


def events_url(manager: str) -> str:
    """The URL of the stream of a manager, by the manager's URL."""
    parts = urlsplit(manager)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"a manager's URL begins with http:// or https://, got {manager!r}")
    return parts._replace(path=f"{parts.path.rstrip('/').removesuffix('/mcp')}/events", query="", fragment="").geturl()


def apply_event(live: Live | None, event: StreamEvent) -> Live | None:
    """The state after an event. Raises StreamError if the event cannot be decoded."""
    try:
        if event.kind == "snapshot":
            return msgspec.json.decode(event.data, type=Live)
        if event.kind != "change" or live is None:
            return live
        change = msgspec.json.decode(event.data, type=Change)
    except msgspec.DecodeError as error:
        raise StreamError(f"what it streams cannot be read: {error}") from None
    live.seq, live.now = change.seq, change.now
    live.league = change.set.league or live.league
    for name in ("standings", "playing", "results", "agents", "news"):
        items = getattr(live, name)
        for key in () if change.drop is UNSET else getattr(change.drop, name):
            items.pop(key, None)
        items.update(getattr(change.set, name))
    return live


async def read_stream(url: str, after: int | None = None) -> AsyncIterator[StreamEvent]:
    """The events of a stream, starting after a number if the manager still has them. Raises StreamError."""
    parts = urlsplit(url)
    tls = ssl.create_default_context() if parts.scheme == "https" else None
    port = parts.port or (443 if tls else 80)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=tls)
    except TimeoutError:
        raise StreamError(f"no server answers there within {CONNECT_SECONDS:.0f} s") from None
    except OSError as error:
        raise StreamError(f"no server answers there ({error})") from None
    answer = _Answer()
    parser = HttpResponseParser(answer)
    last = "" if after is None else f"Last-Event-ID: {after}\r\n"
    head = f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: text/event-stream\r\n{last}\r\n"
    try:
        writer.write(head.encode("ascii"))
        while not answer.is_complete:
            async with asyncio.timeout(IDLE_SECONDS):
                chunk = await reader.read(_CHUNK_BYTES)
            if not chunk:
                break
            parser.feed_data(chunk)
            if answer.has_headers and (status := parser.get_status_code()) != 200:
                raise StreamError(f"it has no stream (HTTP {status})")
            for event in answer.events():
                yield event
    except TimeoutError:
        raise StreamError("nothing comes from it any more") from None
    except (OSError, HttpParserError, UnicodeDecodeError) as error:
        raise StreamError(f"its stream broke off ({error})") from None
    finally:
        # Nothing is left to send. A proxy with TLS might not answer an orderly end while its own stream goes on.
        writer.transport.abort()
    raise StreamError("its stream ended")


class _Answer:
    """The callbacks of the HTTP parser. It splits the body into events."""

    def __init__(self) -> None:
        self.has_headers = self.is_complete = False
        self._body = bytearray()

    def on_headers_complete(self) -> None:
        self.has_headers = True

    def on_body(self, chunk: bytes) -> None:
        self._body += chunk

    def on_message_complete(self) -> None:
        self.is_complete = True

    def events(self) -> list[StreamEvent]:
        """The events that are complete."""
        if len(self._body) > MAX_BYTES:
            raise StreamError("it sends too much at once")
        *complete, rest = bytes(self._body).replace(b"\r\n", b"\n").split(b"\n\n")
        self._body[:] = rest
        return [_event(block.decode()) for block in complete]


def _event(block: str) -> StreamEvent:
    fields: dict[str, list[str]] = {}
    for line in block.split("\n"):
        name, _, value = line.partition(":")
        fields.setdefault(name, []).append(value.removeprefix(" "))
    return StreamEvent((fields.get("event") or [""])[-1], "\n".join(fields.get("data") or []))


class Follower:
    """Keeps the state of a league as its manager streams it. ``changed`` is set at every change."""

    def __init__(self, manager: str) -> None:
        self._url = events_url(manager)
        self.live: Live | None = None
        self.changed = asyncio.Event()
        # Why the stream cannot be read, if it cannot.
        self.error: str | None = None
        self._received_at = 0.0

    @property
    def is_over(self) -> bool:
        """Whether the league is over."""
        return self.live is not None and self.live.league.state == "LEAGUE_COMPLETED"

    def now(self) -> datetime:
        """The time of the manager's clock, as far as it is known."""
        if self.live is None:
            return datetime.now(UTC)
        return times.parse_timestamp(self.live.now) + timedelta(seconds=time.monotonic() - self._received_at)

    async def run(self) -> None:
        """Follow the stream, and reconnect when it ends. This never returns."""
        while True:
            try:
                async for event in read_stream(self._url, None if self.live is None else self.live.seq):
                    self.live = apply_event(self.live, event)
                    self.error, self._received_at = None, time.monotonic()
                    if self.live is not None:
                        self.changed.set()
            except StreamError as error:
                self.error = str(error)
                self.changed.set()
            await asyncio.sleep(RECONNECT_SECONDS)
