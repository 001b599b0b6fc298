"""The event log in memory, for tests and simulations. It has no threads, so the order of commits is deterministic."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Sequence

from leaguekit.store.base import Stored, StoreError

_CLOSED = "The log in memory is closed."


class MemoryLogContent:
    """The committed content of a log. It outlives the log, as the file of a store does."""

    def __init__(self) -> None:
        self.events: list[bytes] = []
        self.documents: dict[str, bytes] = {}


class MemoryLog:
    """An EventLog in memory. Appends of one iteration of the event loop are committed together in the next."""

    def __init__(self, content: MemoryLogContent | None = None) -> None:
        self.content = content or MemoryLogContent()
        self._waiting: list[tuple[Future[int], tuple[bytes, ...]]] = []
        self._closed = False

    def append(self, events: Sequence[bytes]) -> Future[int]:
        loop = asyncio.get_running_loop()
        future: Future[int] = loop.create_future()
        if self._closed:
            future.set_exception(StoreError(_CLOSED))
            return future
        if not self._waiting:
            loop.call_soon(self._commit)
        self._waiting.append((future, tuple(events)))
        return future

    def _commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future, events in waiting:
            self.content.events += events
            if not future.done():
                future.set_result(len(self.content.events))

    async def read(self, after: int = 0, limit: int | None = None) -> list[Stored]:
        self._check_open()
        after = max(after, 0)
        events = self.content.events[after : None if limit is None else after + limit]
        return [Stored(number, event) for number, event in enumerate(events, after + 1)]

    async def write_document(self, name: str, content: bytes) -> None:
        self._check_open()
        self.content.documents[name] = content

    async def read_document(self, name: str) -> bytes | None:
        self._check_open()
        return self.content.documents.get(name)

    async def document_names(self, prefix: str = "") -> list[str]:
        self._check_open()
        return sorted(name for name in self.content.documents if name.startswith(prefix))

    def checkpoint(self) -> None:
        """Does nothing: there are no files."""

    async def close(self) -> None:
        self._commit()
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(_CLOSED)
