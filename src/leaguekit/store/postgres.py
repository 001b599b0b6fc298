"""The event log on PostgreSQL: one writer, identified by an epoch, and one statement for all pending appends.

A program that opens the log as its writer takes the next epoch. Each append checks the epoch in the same statement. So
an older writer cannot write any more, even if it was only suspended. A writer whose connection was dropped takes the
next epoch too. After that, no earlier statement of it can still take effect, and the number of the last event shows
which of them did. It tries until the server is back: only another writer, or an error that would come again, ends it.
"""

from __future__ import annotations

import asyncio
from asyncio import Future, Task
from collections.abc import Sequence
from contextlib import ExitStack
from uuid import uuid4

import asyncpg

from leaguekit.store import postgres_lock, postgres_schema
from leaguekit.store.base import StoreError, TakeoverLog, redact_address
from leaguekit.store.group_commit import PendingWrite, events_of, reject_group, resolve_group, texts_of
from leaguekit.store.postgres_reader import PostgresReader

# The pause between two attempts to connect again, and how long a log that is closed waits for its writes.
PAUSE_SECONDS = 0.2
CLOSE_SECONDS = 5.0

# The simulator knows these statements (sim/database.py), as those of the other modules on PostgreSQL.
# One statement is one transaction and one round trip. The share lock and the update of the epoch wait for each other.
# After the wait, PostgreSQL evaluates the condition again.
APPEND = """
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
TAKE_OVER = "UPDATE leaguekit SET epoch = epoch + 1, writer = $1 RETURNING epoch"
RECONNECT = "UPDATE leaguekit SET epoch = epoch + 1 WHERE writer = $1 RETURNING epoch"
IS_WRITER = "SELECT count(*) FROM leaguekit WHERE epoch = $1"
# One statement reads both: if the epoch is unchanged, no other writer has written.
LAST = "SELECT (SELECT coalesce(max(number), 0) FROM leaguekit_events) FROM leaguekit WHERE epoch = $1"


class PostgresLog(PostgresReader, TakeoverLog):
    """An EventLog in a PostgreSQL database. Use ``open`` to create it. It belongs to the event loop that opened it."""

    def __init__(
        self, address: str, reader: asyncpg.Connection, writer: asyncpg.Connection, connect: postgres_schema.Connect
    ) -> None:
        super().__init__(address, reader, connect)
        self._writer = writer
        # Identifies the epochs of this writer, also if the answer to an update of the epoch was lost.
        self._writer_id = uuid4()
        self._epoch = 0
        self._last = 0
        self._loop = asyncio.get_running_loop()
        self.confirmed_at = self._loop.time()
        self._waiting: list[PendingWrite] = []
        self._writing: Task[None] | None = None
        self._failure: str | None = None

    @classmethod
    async def open(cls, address: str, connect: postgres_schema.Connect = postgres_schema.connect) -> PostgresLog:
        """Open a store and take it over from its present writer, or create one."""
        with (
            postgres_schema.raising_store_errors(f"{redact_address(address)} cannot be opened as a store"),
            ExitStack() as opened,
        ):
            writer = await connect(address, to_write=True)
            opened.callback(writer.terminate)
            reader = await connect(address, seconds=postgres_schema.STATEMENT_SECONDS)
            opened.callback(reader.terminate)
            log = PostgresLog(address, reader, writer, connect)
            async with writer.transaction():
                await postgres_schema.migrate(writer, log._display_name)
                log._epoch = await writer.fetchval(TAKE_OVER, log._writer_id)
                log._last = await writer.fetchval(LAST, log._epoch)
            # An older writer writes no more now, so its session may be ended.
            await postgres_lock.seize(writer, log._epoch)
            log.confirmed_at = log._loop.time()
            opened.pop_all()
        return log

    def append(self, events: Sequence[bytes]) -> Future[int]:
        return self._enqueue(PendingWrite(self._loop.create_future(), tuple(events)))

    async def write_document(self, name: str, content: bytes) -> None:
        await self._enqueue(PendingWrite(self._loop.create_future(), (), ((name, content),)))

    async def confirm(self) -> None:
        await self._enqueue(PendingWrite(self._loop.create_future(), ()))

    def checkpoint(self) -> None:
        """Does nothing: there are no files, and a copy of a database is always complete."""

    def _enqueue(self, waiting: PendingWrite) -> Future[int]:
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
            # While the server is away, the writes would wait for it.
            _, late = await asyncio.wait([self._writing], timeout=CLOSE_SECONDS)
            if late:
                self._writer.terminate()
                self._writing.cancel()
                await asyncio.wait(late)
        await super().close()
        await postgres_schema.disconnect(self._writer)

    async def _write(self) -> None:
        """Write until nothing is pending."""
        while self._waiting:
            group, self._waiting = self._waiting, []
            before = self._last
            if self._failure is None:
                try:
                    await self._commit(group)
                except asyncio.CancelledError:
                    why = self.problem or "the server did not answer in time"
                    reject_group(group + self._waiting, f"{self._display_name} could not be written: {why}.")
                    raise
                except Exception as error:  # noqa: BLE001  whatever the error is, the futures must be rejected
                    self._failure = str(
                        postgres_schema.store_error(f"{self._display_name} could not be written", error)
                    )
            if self._failure is None:
                resolve_group(group, before)
            else:
                reject_group(group, self._failure)
        self._writing = None

    async def _commit(self, group: Sequence[PendingWrite]) -> None:
        events = [event.decode() for event in events_of(group)]
        texts = texts_of(group)
        after = self._last + len(events)
        numbers = range(self._last + 1, after + 1)
        while True:
            began = self._loop.time()
            try:
                if events or texts:
                    is_writer = await self._writer.fetchval(
                        APPEND, self._epoch, numbers, events, list(texts), list(texts.values())
                    )
                else:
                    is_writer = await self._writer.fetchval(IS_WRITER, self._epoch)
            except Exception as error:
                if not postgres_schema.is_dropped(error):
                    raise
            else:
                if not is_writer:
                    raise _taken_over()
                self.confirmed_at = began
                break
            found = await self._reconnect()
            if events and found == after:
                break
            if found != self._last:
                raise StoreError(
                    f"its last event is number {found} and should be {self._last}: the server has lost what it had "
                    "acknowledged, or somebody has changed it. Restore a copy"
                )
        self._last = after

    async def _reconnect(self) -> int:
        """Connect again, as soon as that is possible, and take the next epoch. Return the number of the last event."""
        while True:
            self._writer.terminate()
            began = self._loop.time()
            try:
                self._writer = await self._connect(self._address, to_write=True)
                epoch = await self._writer.fetchval(RECONNECT, self._writer_id)
                if epoch is not None:
                    await postgres_lock.seize(self._writer, epoch)
                last = await self._writer.fetchval(LAST, epoch)
            except Exception as error:
                if not postgres_schema.is_dropped(error):
                    raise
                self.problem = str(error) or type(error).__name__
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            if last is None:
                raise _taken_over()
            self._epoch, self.confirmed_at, self.problem = epoch, began, None
            return int(last)


def _taken_over() -> StoreError:
    return StoreError(
        "another manager has taken this league over, so this one writes no more. With --standby it waits for that one"
    )
