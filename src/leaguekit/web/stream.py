"""The event stream of GET /events: a snapshot, and then the changes, at most four times per second.

Each change is made and encoded once for all subscribers, after its events are durable. It is written to each connection
as the same bytes. The broadcaster waits for no connection and queues nothing. A subscriber that has not yet received
the last change misses the next ones, and gets a new snapshot when it has caught up. A client that connects again gets a
new snapshot too, whatever it has seen before.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import Counter
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from leaguekit.agents.world import World
from leaguekit.manager.ledger import Ledger
from leaguekit.protocol.messages import MatchProgress
from leaguekit.store.base import StoreError
from leaguekit.transport.descriptors import max_descriptors
from leaguekit.transport.server.connection_base import BaseConnection
from leaguekit.web.api_types import Live
from leaguekit.web.projection import Projection, change, with_milliseconds
from leaguekit.web.shared_work import wait_for_disconnect

INTERVAL_SECONDS = 0.25
# The share of the time that may be spent on all subscribers. With very many of them the changes come less often.
MAX_TIME_SHARE = 0.04
HEARTBEAT_SECONDS = 15.0
# Pages count down by the time in their snapshot. An older one is encoded again for the next subscriber.
SNAPSHOT_AGE = timedelta(seconds=1)
# How soon a browser connects again after it has lost its stream.
RETRY_MILLISECONDS = 1_000
MAX_SPECTATORS = 1_000
# The share of this program's descriptors that they may have: agents must be able to connect, too.
SPECTATORS_DESCRIPTOR_SHARE = 0.25
HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    # Without this, a proxy would hold back such short pieces.
    (b"x-accel-buffering", b"no"),
]


class _Subscriber(NamedTuple):
    address: str
    compressed: bool


class Frame(NamedTuple):
    """A piece of the stream as a chunk of an HTTP/1.1 body: plain, and compressed."""

    plain: bytes
    compressed: bytes


def frame(text: bytes) -> Frame:
    # Z_FULL_FLUSH ends the compressed piece at a whole byte and without a reference to earlier pieces. So the same
    # bytes can follow anything in any subscriber's stream.
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    return Frame(_chunk(text), _chunk(deflate.compress(text) + deflate.flush(zlib.Z_FULL_FLUSH)))


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def event_frame(name: str, seq: int, data: Any) -> Frame:
    return frame(b"event: %b\nid: %d\ndata: %b\n\n" % (name.encode(), seq, msgspec.json.encode(data)))


# The header of a gzip file: method deflate, no flags, no time, unknown operating system.
_GZIP_HEADER = _chunk(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")
_HEARTBEAT = frame(b":\n\n")
_RETRY = frame(b"retry: %d\n\n" % RETRY_MILLISECONDS)


class Broadcaster:
    """Sends a league's changes to all subscribers."""

    def __init__(self, world: World, ledger: Ledger, projection: Projection) -> None:
        self._world = world
        self._ledger = ledger
        self._projection = projection
        # What was published last, and from which version of its sources.
        self._live: Live | None = None
        self._version: tuple[int, dict[str, MatchProgress], list[str]] | None = None
        # The same as a snapshot, once a subscriber needs one.
        self._snapshot: Frame | None = None
        self._encoded_at = datetime.min.replace(tzinfo=UTC)
        self._subscribers: dict[BaseConnection, _Subscriber] = {}
        # Connections that have bytes to send and so miss changes.
        self._behind: set[BaseConnection] = set()
        self._count_by_address: Counter[str] = Counter()
        self._publishing: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._sent_at = 0.0
        self.sent_bytes = 0

    def __len__(self) -> int:
        return len(self._subscribers)

    def has_room_for(self, address: str) -> bool:
        """Whether one more client of an address may subscribe.

        If there are as many subscribers as may be, the address with the most of them loses its oldest one. If that
        would be this address itself, there is no room.
        """
        if len(self._subscribers) < min(MAX_SPECTATORS, max_descriptors() * SPECTATORS_DESCRIPTOR_SHARE):
            return True
        largest, count = self._count_by_address.most_common(1)[0]
        if count <= self._count_by_address[address] + 1:
            return False
        oldest = next(one for one, subscriber in self._subscribers.items() if subscriber.address == largest)
        self.unsubscribe(oldest)
        oldest.end()
        return True

    async def subscribe(self, connection: BaseConnection, address: str, *, compressed: bool = False) -> None:
        """Send the current state, and from now on the changes. Raises StoreError if nothing can be sent."""
        if self._publishing is None:
            await self._ledger.wait_to_answer()
            await self._publish()
        snapshot = self._snapshot_frame()
        if compressed:
            connection.write(_GZIP_HEADER + _RETRY.compressed + snapshot.compressed)
        else:
            connection.write(_RETRY.plain + snapshot.plain)
        self._subscribers[connection] = _Subscriber(address, compressed)
        self._count_by_address[address] += 1
        if self._publishing is None:
            self._sent_at = asyncio.get_running_loop().time()
            self._publishing = asyncio.create_task(self._publish_until_nobody_subscribes())

    def unsubscribe(self, connection: BaseConnection) -> None:
        if (subscriber := self._subscribers.pop(connection, None)) is not None:
            address = subscriber.address
            self._behind.discard(connection)
            self._count_by_address[address] -= 1
            if not self._count_by_address[address]:
                del self._count_by_address[address]

    def _snapshot_frame(self) -> Frame:
        now = self._world.now()
        if self._snapshot is None or now - self._encoded_at >= SNAPSHOT_AGE:
            if self._live is None:
                raise RuntimeError("nothing has been published")
            self._live, self._encoded_at = replace(self._live, now=with_milliseconds(now)), now
            self._snapshot = event_frame("snapshot", self._live.seq, self._live)
        return self._snapshot

    async def _publish_until_nobody_subscribes(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._subscribers:
                await asyncio.sleep(max(INTERVAL_SECONDS, await self._publish() / MAX_TIME_SHARE))
                if loop.time() - self._sent_at >= HEARTBEAT_SECONDS:
                    self._send(_HEARTBEAT)
        except StoreError:
            # Events that could not be stored never happened, and the manager is about to end.
            for connection in list(self._subscribers):
                self.unsubscribe(connection)
                connection.end()
        finally:
            self._publishing = None

    async def _publish(self) -> float:
        """Send what has changed. The seconds that this took, without waiting."""
        # Two at the same time might send the later state first.
        async with self._lock:
            return await self._publish_next()

    async def _publish_next(self) -> float:
        began = perf_counter()
        # Progress reports of matches, outages and pauses are not events.
        runner = self._projection.runner
        version = (self._ledger.number, dict(runner.progress.latest), runner.waits_for)
        if version == self._version:
            self._catch_up()
            return perf_counter() - began
        live = self._projection.live(self._world.now())
        latest, seconds = self._ledger.latest, perf_counter() - began
        if not self._ledger.is_written:
            await self._wait_written(latest)
        began = perf_counter()
        self._version = version
        self._show(live)
        self._catch_up()
        return seconds + perf_counter() - began

    async def _wait_written(self, latest: asyncio.Future[int] | None) -> None:
        """Wait until the events up to ``latest`` are written. Meanwhile, say if the league waits for its store."""
        writing = asyncio.ensure_future(self._ledger.wait_written(latest))
        try:
            while not (await asyncio.wait([writing], timeout=INTERVAL_SECONDS))[0]:
                if self._live is not None and self._ledger.problem is not None:
                    league = replace(self._live.league, waits_for=[f"the store: {self._ledger.problem}"])
                    self._show(replace(self._live, league=league))
            writing.result()
        finally:
            writing.cancel()

    def _show(self, live: Live) -> None:
        """Send the changes to a state."""
        before, self._live = self._live, live
        changed = None if before is None else change(before, live)
        if changed is not None or before is None:
            self._snapshot = None
        if changed is not None:
            self._send(event_frame("change", live.seq, changed))

    def _send(self, data: Frame) -> None:
        self._sent_at = asyncio.get_running_loop().time()
        for connection, subscriber in self._subscribers.items():
            if connection in self._behind:
                continue
            if connection.unsent():
                self._behind.add(connection)
            else:
                self._write(connection, subscriber, data)

    def _write(self, connection: BaseConnection, subscriber: _Subscriber, data: Frame) -> None:
        encoded = data.compressed if subscriber.compressed else data.plain
        connection.write(encoded)
        self.sent_bytes += len(encoded)

    def _catch_up(self) -> None:
        """Send a snapshot to each subscriber that was behind and has now received everything."""
        for connection in [one for one in self._behind if not one.unsent()]:
            self._behind.discard(connection)
            self._write(connection, self._subscribers[connection], self._snapshot_frame())


class EventStreamResponse(Response):
    """Subscribes one client for as long as it is connected. The broadcaster writes to its connection."""

    def __init__(self, broadcaster: Broadcaster, connection: BaseConnection, address: str, *, compressed: bool) -> None:
        self.status_code = 200
        self.raw_headers = [*HEADERS, (b"content-encoding", b"gzip")] if compressed else [*HEADERS]
        self._broadcaster = broadcaster
        self._connection = connection
        self._address = address
        self._compressed = compressed

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        self._connection.become_stream()
        try:
            await self._broadcaster.subscribe(self._connection, self._address, compressed=self._compressed)
            await wait_for_disconnect(receive)
        finally:
            self._broadcaster.unsubscribe(self._connection)
