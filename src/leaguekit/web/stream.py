"""The stream of GET /events: a snapshot, and then what has changed, at most four times a second.

What is sent is made and encoded once for all who watch, after the events in it are written down, and put into each
connection by one write of the same bytes. Nobody is waited for, and nothing piles up: who has not taken what it was
sent misses changes, and gets a new snapshot when it has. So does whoever comes back, whatever it has seen before.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import Counter
from collections.abc import Mapping
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import msgspec

from leaguekit.agents.world import World
from leaguekit.manager.ledger import Ledger
from leaguekit.protocol.messages import MatchProgress
from leaguekit.store.base import StoreError
from leaguekit.transport.descriptors import max_descriptors
from leaguekit.web.api_types import Live
from leaguekit.web.projection import Projection, change

PAUSE = 0.25
# What is spent on all who watch is at most this part of the time: with very many the changes come less often.
SHARE = 0.04
HEARTBEAT = 15.0
# How soon a page comes back that has lost its stream, in milliseconds.
COMES_BACK = 1_000
MAX_SPECTATORS = 1_000
# The share of this program's descriptors that they may take: agents must be able to connect, too.
WATCHERS_SHARE = 0.25
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


class _Watcher(NamedTuple):
    address: str
    compressed: bool


class Frame(NamedTuple):
    """Something as it goes out, one chunk of an HTTP/1.1 body each: as it is, and compressed."""

    plain: bytes
    compressed: bytes


def framed(text: bytes) -> Frame:
    # Compressed by itself and up to a whole byte, it can follow anything in anybody's stream.
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    return Frame(_chunk(text), _chunk(deflate.compress(text) + deflate.flush(zlib.Z_FULL_FLUSH)))


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(name: str, seq: int, data: Any) -> Frame:
    return framed(b"event: %b\nid: %d\ndata: %b\n\n" % (name.encode(), seq, msgspec.json.encode(data)))


# How a gzip stream begins: deflated, no name, no time, from nowhere in particular.
_GZIP = _chunk(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")
_HEARTBEAT = framed(b":\n\n")
_RETRY = framed(b"retry: %d\n\n" % COMES_BACK)


class Broadcaster:
    """All who watch one league."""

    def __init__(self, world: World, ledger: Ledger, shown: Projection, progress: Mapping[str, MatchProgress]) -> None:
        self._world = world
        self._ledger = ledger
        self._shown = shown
        self._progress = progress
        # What was published last, what it was made of, and that as a snapshot once somebody needs one.
        self._live: Live | None = None
        self._made_of: tuple[int, dict[str, MatchProgress], list[str]] | None = None
        self._snapshot: Frame | None = None
        self._lines: dict[Line, _Watcher] = {}
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
        if len(self._lines) < min(MAX_SPECTATORS, max_descriptors() * WATCHERS_SHARE):
            return True
        largest, count = self._held.most_common(1)[0]
        if count <= self._held[address] + 1:
            return False
        oldest = next(line for line, one in self._lines.items() if one.address == largest)
        self.leave(oldest)
        oldest.end()
        return True

    async def join(self, line: Line, address: str, *, compressed: bool = False) -> None:
        """Send the league as it stands, and from now on what changes. Raises StoreError if nothing can be sent."""
        if self._publishing is None:
            await self._publish()
        whole = self._whole()
        line.write(_GZIP + _RETRY.compressed + whole.compressed if compressed else _RETRY.plain + whole.plain)
        self._lines[line] = _Watcher(address, compressed)
        self._held[address] += 1
        if self._publishing is None:
            self._sent_at = asyncio.get_running_loop().time()
            self._publishing = asyncio.create_task(self._publish_on())

    def leave(self, line: Line) -> None:
        if (left := self._lines.pop(line, None)) is not None:
            self._behind.discard(line)
            self._held[left.address] -= 1
            if not self._held[left.address]:
                del self._held[left.address]

    def _whole(self) -> Frame:
        if self._snapshot is None:
            if self._live is None:
                raise RuntimeError("nothing has been published")
            self._snapshot = event("snapshot", self._live.seq, self._live)
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
        # Reports of how matches stand are no events, nor are outages and pauses.
        made_of = (self._ledger.number, dict(self._progress), self._shown.halted_by)
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
            self._send(event("change", live.seq, changed))
        self._catch_up()
        return making + perf_counter() - began

    def _send(self, frame: Frame) -> None:
        self._sent_at = asyncio.get_running_loop().time()
        for line, watcher in self._lines.items():
            if line in self._behind:
                continue
            if line.unsent():
                self._behind.add(line)
            else:
                self._write(line, frame, watcher)

    def _write(self, line: Line, frame: Frame, watcher: _Watcher) -> None:
        data = frame.compressed if watcher.compressed else frame.plain
        line.write(data)
        self.sent_bytes += len(data)

    def _catch_up(self) -> None:
        """Those that had not taken what they were sent, and have now, get the whole anew."""
        for line in [one for one in self._behind if not one.unsent()]:
            self._behind.discard(line)
            self._write(line, self._whole(), self._lines[line])
