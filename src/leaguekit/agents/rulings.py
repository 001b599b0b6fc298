"""How a referee writes its rulings down: those that come while others are being written share the next sync."""

from __future__ import annotations

import asyncio

from leaguekit.agents.world import World
from leaguekit.store.base import StoreError
from leaguekit.store.journal import Journal


class Rulings:
    """The way to a journal."""

    def __init__(self, world: World, journal: Journal) -> None:
        self.journal = journal
        self._world = world
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, entry: bytes) -> None:
        """Write a ruling; it is durable when this returns. Raises StoreError."""
        durable: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((entry, durable))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        await durable

    async def close(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        self.journal.close()

    async def _write(self) -> None:
        try:
            while self._waiting:
                group, self._waiting = self._waiting, []
                try:
                    await self._world.blocking(self.journal.write, *(entry for entry, _ in group))
                except Exception as error:  # noqa: BLE001 - whatever it was, those who wait must hear of it
                    for _, durable in group:
                        if not durable.done():
                            durable.set_exception(StoreError(str(error)))
                else:
                    for _, durable in group:
                        if not durable.done():
                            durable.set_result(None)
        finally:
            self._writing = None
