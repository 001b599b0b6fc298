"""Reads a PostgreSQL store, also while it is written. A connection that was dropped is opened again."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any

import asyncpg

from leaguekit.store import postgres_schema
from leaguekit.store.base import Stored, StoreError, check_numbers, check_readable, redact_address

# Events are read as bytes, without a conversion to ``str``. In PostgreSQL a limit of NULL means no limit.
READ = "SELECT number, convert_to(event, 'UTF8') FROM leaguekit_events WHERE number > $1 ORDER BY number LIMIT $2"
KEPT = "SELECT content FROM leaguekit_kept WHERE name = $1"
NAMES = "SELECT name FROM leaguekit_kept WHERE starts_with(name, $1) ORDER BY name"


class PostgresReader:
    """A LogReader on a PostgreSQL database. Use ``open`` to create it. It belongs to the event loop that opened it."""

    def __init__(
        self,
        address: str,
        connection: asyncpg.Connection,
        connect: postgres_schema.Connect = postgres_schema.connect,
    ) -> None:
        self._display_name = redact_address(address)
        self._address = address
        self._connection = connection
        self._connect = connect
        # A connection runs one statement at a time.
        self._connection_lock = asyncio.Lock()
        self._is_closed = False

    @classmethod
    async def open(cls, address: str) -> PostgresReader:
        """Open an existing store. Raises StoreError if it cannot be reached, or has another version."""
        name = redact_address(address)
        with postgres_schema.raising_store_errors(f"{name} cannot be read as a store"), ExitStack() as opened:
            connection = await postgres_schema.connect(address)
            opened.callback(connection.terminate)
            check_readable(name, await postgres_schema.version_of(connection), postgres_schema.MIGRATIONS)
            opened.pop_all()
        return PostgresReader(address, connection)

    async def read(self, after: int = 0, limit: int | None = None) -> list[Stored]:
        after = max(after, 0)
        events = [Stored(number, event) for number, event in await self._fetch(READ, after, limit)]
        check_numbers(self._display_name, after, events)
        return events

    async def read_document(self, name: str) -> bytes | None:
        rows = await self._fetch(KEPT, name)
        return rows[0][0] if rows else None

    async def document_names(self, prefix: str = "") -> list[str]:
        return [name for (name,) in await self._fetch(NAMES, prefix)]

    async def close(self) -> None:
        self._is_closed = True
        async with self._connection_lock:
            await postgres_schema.disconnect(self._connection)

    def _closed_error(self) -> StoreError:
        return StoreError(f"The store {self._display_name} is closed.")

    async def _fetch(self, query: str, *arguments: str | int | None) -> Any:
        if self._is_closed:
            raise self._closed_error()
        async with self._connection_lock:
            with postgres_schema.raising_store_errors(f"{self._display_name} cannot be read"):
                try:
                    return await self._connection.fetch(query, *arguments)
                except Exception as error:
                    if not postgres_schema.is_dropped(error):
                        raise
                # A read can be repeated.
                self._connection.terminate()
                self._connection = await self._connect(self._address)
                return await self._connection.fetch(query, *arguments)
