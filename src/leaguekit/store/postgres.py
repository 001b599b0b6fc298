"""The event log on PostgreSQL: one writer by its epoch, and one statement for all appends that wait together.

Who opens the log as its writer takes the next epoch. Each append names the epoch in the statement that writes it, so an
older writer, even one that was only asleep, writes nothing more. A writer whose connection was dropped takes the next
epoch too. By then nothing that it sent earlier can still arrive, and the last number tells what did.
"""

from __future__ import annotations

import asyncio
from asyncio import Future, Task
from collections.abc import Sequence
from contextlib import ExitStack
from uuid import uuid4

import asyncpg

from leaguekit.store import postgres_schema
from leaguekit.store.addresses import shown
from leaguekit.store.base import StoreError
from leaguekit.store.group_commit import Waiting, events_of, tell_failure, tell_numbers, texts_of
from leaguekit.store.postgres_reader import PostgresReader

# How long a writer tries to come back to a server that is gone, and how often it sends the same group.
PATIENCE_SECONDS = 30.0
PAUSE_SECONDS = 0.2
MAX_TRIES = 3

# One statement is one transaction and one round trip. Whoever takes an epoch waits for the share lock, and the lock for
# whoever takes an epoch; the condition is then looked at again.
_APPEND = """
WITH mine AS MATERIALIZED (SELECT epoch FROM leaguekit WHERE epoch = $1 FOR SHARE),
appended AS (
    INSERT INTO leaguekit_events (number, event)
    SELECT given.number, given.event FROM mine, unnest($2::bigint[], $3::text[]) AS given (number, event)
),
put AS (
    INSERT INTO leaguekit_kept (name, content)
    SELECT given.name, given.content FROM mine, unnest($4::text[], $5::bytea[]) AS given (name, content)
    ON CONFLICT (name) DO UPDATE SET content = excluded.content
)
SELECT count(*) FROM mine
"""
_TAKE_OVER = "UPDATE leaguekit SET epoch = epoch + 1, writer = $1 RETURNING epoch"
_COME_BACK = "UPDATE leaguekit SET epoch = epoch + 1 WHERE writer = $1 RETURNING epoch"
# Of one moment: while the epoch is still this one, nobody else has written.
_LAST = "SELECT (SELECT coalesce(max(number), 0) FROM leaguekit_events) FROM leaguekit WHERE epoch = $1"


class PostgresLog(PostgresReader):
    """An EventLog in a PostgreSQL database. Made by ``open``; belongs to the event loop that opened it."""

    def __init__(self, address: str, reader: asyncpg.Connection, writer: asyncpg.Connection) -> None:
        super().__init__(address, reader)
        self._writer = writer
        # Tells this writer's epochs from another's, also when it never heard whether it got one.
        self._me = uuid4()
        self._epoch = 0
        self._last = 0
        self._loop = asyncio.get_running_loop()
        self._waiting: list[Waiting] = []
        self._writing: Task[None] | None = None
        self._failure: str | None = None

    @classmethod
    async def open(cls, address: str) -> PostgresLog:
        """Open a store and take it over from whoever has it, or make one."""
        with postgres_schema.told_as(f"{shown(address)} cannot be opened as a store"), ExitStack() as opened:
            writer = await postgres_schema.connect(address, to_write=True)
            opened.callback(writer.terminate)
            reader = await postgres_schema.connect(address)
            opened.callback(reader.terminate)
            log = PostgresLog(address, reader, writer)
            async with writer.transaction():
                await postgres_schema.migrate(writer, log.shown)
                log._epoch = await writer.fetchval(_TAKE_OVER, log._me)
                log._last = await writer.fetchval(_LAST, log._epoch)
            opened.pop_all()
        return log

    def append(self, events: Sequence[bytes]) -> Future[int]:
        return self._enqueue(Waiting(self._loop.create_future(), tuple(events)))

    async def keep(self, name: str, content: bytes) -> None:
        await self._enqueue(Waiting(self._loop.create_future(), (), ((name, content),)))

    def checkpoint(self) -> None:
        """There are no files: the database copies all of a log or nothing."""

    def _enqueue(self, waiting: Waiting) -> Future[int]:
        if self._is_closed:
            waiting.future.set_exception(self._closed_error())
            return waiting.future
        self._waiting.append(waiting)
        if self._writing is None:
            self._writing = self._loop.create_task(self._write())
        return waiting.future

    async def close(self) -> None:
        self._is_closed = True
        if self._writing is not None:
            await asyncio.shield(self._writing)
        await super().close()
        await postgres_schema.disconnect(self._writer)

    async def _write(self) -> None:
        """Write until nothing waits."""
        while self._waiting:
            group, self._waiting = self._waiting, []
            before = self._last
            if self._failure is None:
                try:
                    await self._commit(group)
                except Exception as error:  # noqa: BLE001  whatever it was, those who wait must hear of it
                    self._failure = str(postgres_schema.store_error(f"{self.shown} could not be written", error))
            if self._failure is None:
                tell_numbers(group, before)
            else:
                tell_failure(group, self._failure)
        self._writing = None

    async def _commit(self, group: Sequence[Waiting]) -> None:
        events = [event.decode() for event in events_of(group)]
        texts = texts_of(group)
        after = self._last + len(events)
        numbers = range(self._last + 1, after + 1)
        for tries_left in reversed(range(MAX_TRIES)):
            try:
                is_mine = await self._writer.fetchval(
                    _APPEND, self._epoch, numbers, events, list(texts), list(texts.values())
                )
            except Exception as error:
                if not tries_left or not postgres_schema.is_dropped(error):
                    raise
            else:
                if not is_mine:
                    raise _taken_over()
                break
            found = await self._come_back()
            if events and found == after:
                break
            if found != self._last:
                raise StoreError(
                    f"its last event is number {found} and should be {self._last}: the server has lost what it had "
                    "acknowledged, or somebody has changed it. Restore a copy"
                )
        self._last = after

    async def _come_back(self) -> int:
        """Connect again and take the next epoch; the number of the last event."""
        deadline = self._loop.time() + PATIENCE_SECONDS
        while True:
            self._writer.terminate()
            try:
                self._writer = await postgres_schema.connect(self._address, to_write=True)
                epoch = await self._writer.fetchval(_COME_BACK, self._me)
                last = await self._writer.fetchval(_LAST, epoch)
            except Exception as error:
                if not postgres_schema.is_dropped(error) or self._loop.time() > deadline:
                    raise
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            if last is None:
                raise _taken_over()
            self._epoch = epoch
            return int(last)


def _taken_over() -> StoreError:
    return StoreError(
        "another manager has taken this league over, so this one may write no more. Let only one run at a time"
    )
