"""The kinds of stores, for tests that run on each of them. They differ in how a test accesses them from outside."""

from __future__ import annotations

import asyncio
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import asyncpg

from leaguekit.store import postgres_schema, sqlite_schema
from leaguekit.store.base import EventLog, LogReader
from leaguekit.store.memory import MemoryLog, MemoryLogContent
from leaguekit.store.opening import open_log, open_reader
from tests.postgres import execute


class OpenableStore(Protocol):
    async def open(self) -> EventLog:
        """Open the store. Each call opens the same one."""


class MemoryStore:
    def __init__(self) -> None:
        self._content = MemoryLogContent()

    async def open(self) -> EventLog:
        return MemoryLog(self._content)


class DurableStore(ABC):
    """A store that outlives the process, known by its address."""

    # The module with its migrations, and the name of its table of events.
    schema: ModuleType
    events: str
    # The statements of version 1, which never change again.
    version_1: Sequence[str]
    # Statements that make the store reject an event that contains the word poison.
    poison: Sequence[str]

    def __init__(self, address: str | Path) -> None:
        self.address = address

    async def open(self) -> EventLog:
        return await open_log(self.address)

    async def reader(self) -> LogReader:
        return await open_reader(self.address)

    @abstractmethod
    def execute(self, *statements: str) -> None:
        """Execute statements, as another program would."""

    @abstractmethod
    def held(self) -> AbstractAsyncContextManager[None]:
        """While it lasts, no write comes to its end."""

    @abstractmethod
    def commits(self, log: Any) -> list[str]:
        """A list to which each commit of a log is added."""


class SqliteStore(DurableStore):
    schema = sqlite_schema
    events = "events"
    version_1 = (
        "CREATE TABLE leaguekit (version INTEGER NOT NULL)",
        "INSERT INTO leaguekit VALUES (1)",
        "CREATE TABLE events (number INTEGER PRIMARY KEY, event TEXT NOT NULL)",
        "CREATE TABLE kept (name TEXT PRIMARY KEY, content BLOB NOT NULL)",
        "INSERT INTO events VALUES (1, '{}')",
        "INSERT INTO kept VALUES ('snapshot', CAST('old' AS BLOB))",
    )
    poison = (
        "CREATE TRIGGER poison BEFORE INSERT ON events WHEN NEW.event LIKE '%poison%' "
        "BEGIN SELECT RAISE(ABORT, 'poisoned'); END",
    )

    def execute(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.address, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        with closing(sqlite3.connect(self.address, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("COMMIT")

    def commits(self, log: Any) -> list[str]:
        statements: list[str] = []
        log._writer.set_trace_callback(lambda text: statements.append(text) if text == "COMMIT" else None)
        return statements


class PostgresStore(DurableStore):
    schema = postgres_schema
    events = "leaguekit_events"
    version_1 = (
        "CREATE TABLE leaguekit (version integer NOT NULL, epoch bigint NOT NULL, writer uuid)",
        "INSERT INTO leaguekit VALUES (1, 7, NULL)",
        "CREATE TABLE leaguekit_events (number bigint PRIMARY KEY, event text NOT NULL)",
        'CREATE TABLE leaguekit_kept (name text COLLATE "C" PRIMARY KEY, content bytea NOT NULL)',
        "INSERT INTO leaguekit_events VALUES (1, '{}')",
        "INSERT INTO leaguekit_kept VALUES ('snapshot', 'old')",
    )
    poison = (
        "CREATE FUNCTION poison() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'poisoned'; END $$ LANGUAGE plpgsql",
        "CREATE TRIGGER poison BEFORE INSERT ON leaguekit_events FOR EACH ROW WHEN (NEW.event LIKE '%poison%') "
        "EXECUTE FUNCTION poison()",
    )

    def execute(self, *statements: str) -> None:
        for statement in statements:
            asyncio.run(execute(str(self.address), statement))

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        connection = await asyncpg.connect(str(self.address))
        async with connection.transaction():
            await connection.execute("LOCK TABLE leaguekit_events IN SHARE MODE")
            yield
        await connection.close()

    def commits(self, log: Any) -> list[str]:
        # Each is one statement; asyncpg asks things of its own in between.
        statements: list[str] = []
        log._writer.add_query_logger(lambda done: statements.append(done.query) if "INSERT" in done.query else None)
        return statements
