"""The stream of GET /events: a snapshot, and then what has changed, at most four times a second.

What is sent is made and encoded once for all who watch, after the events in it are written down, and put into each
connection by one write of the same bytes. Nobody is waited for, and nothing piles up: who has not taken what it was
sent misses changes, and gets a new snapshot when it has. So does whoever comes back, whatever it has seen before.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from time import perf_counter
from typing import Any, Protocol

import msgspec

from leaguekit.agents.ledger import Ledger
from leaguekit.agents.world import World
from leaguekit.protocol.messages import MatchProgress
from leaguekit.store.base import StoreError
from leaguekit.web.projection import Projection, change
from leaguekit.web.shapes import Live

PAUSE = 0.25
# What is spent on all who watch is at most this part of the time: with very many the changes come less often.
SHARE = 0.04
HEARTBEAT = 15.0
# How soon a page comes back that has lost its stream, in milliseconds.
COMES_BACK = 1_000
MOST_WATCHERS = 1_000
HEAD = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    # A proxy would hold back what is so short.
    (b"x-accel-buffering", b"no"),
]


class Line(Protocol):
    """A connection to one who watches."""

    def write(self, data: bytes) -> None: ...

    def unsent(self) -> int: ...

    def end(self) -> None: ...


def encoded(event: str, seq: int, data: Any) -> bytes:
    """An event as it goes out, as one chunk of an HTTP/1.1 body."""
    return _chunk(b"event: %b\nid: %d\ndata: %b\n\n" % (event.encode(), seq, msgspec.json.encode(data)))


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


_HEARTBEAT = _chunk(b":\n\n")
_RETRY = _chunk(b"retry: %d\n\n" % COMES_BACK)


class Watchers:
    """All who watch one league."""

    def __init__(self, world: World, ledger: Ledger, shown: Projection, progress: Mapping[str, MatchProgress]) -> None:
        self._world = world
        self._ledger = ledger
        self._shown = shown
        self._progress = progress
        # What was published last, what it was made of, and that as a snapshot once somebody needs one.
        self._live: Live | None = None
        self._made_of: tuple[int, dict[str, MatchProgress]] | None = None
        self._snapshot: bytes | None = None
        self._lines: dict[Line, str] = {}
        self._behind: set[Line] = set()
        self._held: Counter[str] = Counter()
        self._publishing: asyncio.Task[None] | None = None
        self._in_turn = asyncio.Lock()
        self._sent_at = 0.0
        self.sent_bytes = 0

    def __len__(self) -> int:
        return len(self._lines)

    def has_room(self, address: str) -> bool:
        """Whether one more may watch; if need be, of those from the address with the most the oldest must go."""
        if len(self._lines) < MOST_WATCHERS:
            return True
        largest, count = self._held.most_common(1)[0]
        if count <= self._held[address] + 1:
            return False
        oldest = next(line for line, where in self._lines.items() if where == largest)
        self.leave(oldest)
        oldest.end()
        return True

    async def join(self, line: Line, address: str) -> None:
        """Send the league as it stands, and from now on what changes. Raises StoreError if nothing can be sent."""
        if self._publishing is None:
            await self._publish()
        line.write(_RETRY + self._whole())
        self._lines[line] = address
        self._held[address] += 1
        if self._publishing is None:
            self._sent_at = asyncio.get_running_loop().time()
            self._publishing = asyncio.create_task(self._publish_on())

    def leave(self, line: Line) -> None:
        if (address := self._lines.pop(line, None)) is not None:
            self._behind.discard(line)
            self._held[address] -= 1
            if not self._held[address]:
                del self._held[address]

    def _whole(self) -> bytes:
        if self._snapshot is None:
            if self._live is None:
                raise RuntimeError("nothing has been published")
            self._snapshot = encoded("snapshot", self._live.seq, self._live)
        return self._snapshot

    async def _publish_on(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._lines:
                await asyncio.sleep(max(PAUSE, await self._publish() / SHARE))
                if loop.time() - self._sent_at >= HEARTBEAT:
                    self._send(_HEARTBEAT)
        except StoreError:
            # The manager is about to end: what it has not written down is not so.
            for line in list(self._lines):
                self.leave(line)
                line.end()
        finally:
            self._publishing = None

    async def _publish(self) -> float:
        """Send what has changed; how many seconds that took, but for the waiting."""
        # One after the other, or what was made first might be published last.
        async with self._in_turn:
            return await self._publish_next()

    async def _publish_next(self) -> float:
        began = perf_counter()
        # Reports of how matches stand are no events.
        made_of = (self._ledger.number, dict(self._progress))
        if made_of == self._made_of:
            self._catch_up()
            return perf_counter() - began
        live = self._shown.live(self._world.now())
        upto, making = self._ledger.latest, perf_counter() - began
        await self._ledger.settled(upto)
        began = perf_counter()
        before, self._live, self._made_of = self._live, live, made_of
        changed = None if before is None else change(before, live)
        if changed is not None or before is None:
            self._snapshot = None
        if changed is not None:
            self._send(encoded("change", live.seq, changed))
        self._catch_up()
        return making + perf_counter() - began

    def _send(self, data: bytes) -> None:
        self._sent_at = asyncio.get_running_loop().time()
        for line in self._lines:
            if line in self._behind:
                continue
            if line.unsent():
                self._behind.add(line)
            else:
                line.write(data)
                self.sent_bytes += len(data)

    def _catch_up(self) -> None:
        """Those that had not taken what they were sent, and have now, get the whole anew."""
        for line in [one for one in self._behind if not one.unsent()]:
            self._behind.discard(line)
            line.write(self._whole())
            self.sent_bytes += len(self._whole())
