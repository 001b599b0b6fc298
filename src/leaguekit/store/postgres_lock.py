"""The lock of a PostgreSQL store: its writer holds it, and standbys wait for it.

It is an advisory lock of a session, so PostgreSQL releases it when the session ends. The session of a writer that is
stopped or cut off does not end by itself. But a writer executes a statement every second, and PostgreSQL notes the time
of it. A standby ends the session of a writer that has been silent for ``SILENT_SECONDS``. Only the clock of the server
is used.

The lock decides who takes over. It does not protect the log: the epoch does (see ``postgres``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import asyncpg

from leaguekit.store import postgres_schema
from leaguekit.store.base import StoreError, redact_address

SILENT_SECONDS = 5.0
# The pause of a standby between two looks at the lock, and that of a writer between two attempts to take it.
POLL_SECONDS = 0.5
SEIZE_SECONDS = 0.05
# While the server is away, a standby tries less often than a writer, which should find its league again.
RECONNECT_SECONDS = 2.0

# Locks belong to a database, and leagues to its schemas. The first number is arbitrary.
_CLASS, _OBJECT = 1818584163, "hashtext(coalesce(current_schema(), ''))"
TRY_LOCK = f"SELECT pg_try_advisory_lock({_CLASS}, {_OBJECT})"
# A session that executes a statement is not silent, unless it waits for its client. A role does not see what the
# sessions of other roles do: then ``silent`` is null.
HOLDER = f"""
SELECT pid, usename, host(client_addr) AS address, CASE
    WHEN state = 'active' AND wait_event_type IS DISTINCT FROM 'Client' THEN 0.0
    ELSE extract(epoch FROM clock_timestamp() - greatest(state_change, query_start))::float
END AS silent
FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND classid::bigint = {_CLASS} AND objid::bigint = {_OBJECT}::bigint & 4294967295
"""  # noqa: S608 - of constants
END_SILENT = f"SELECT pg_terminate_backend(pid) FROM ({HOLDER}) AS holder WHERE silent > $1"  # noqa: S608
END_ANY = f"SELECT pg_terminate_backend(pid) FROM ({HOLDER}) AS holder"  # noqa: S608
EPOCH = "SELECT epoch FROM leaguekit"
KEEP_ALIVE = "SELECT 1"


async def seize(connection: asyncpg.Connection, epoch: int) -> None:
    """Take the lock for a writer from the session that holds it, unless another writer has taken a later epoch."""
    while not await connection.fetchval(TRY_LOCK) and await connection.fetchval(EPOCH) == epoch:
        await connection.execute(END_ANY)
        await asyncio.sleep(SEIZE_SECONDS)


class HeldLock:
    """The lock, held by a standby that takes over. It lasts until a writer takes it, or ``release`` is called.

    ``was_served`` says whether another manager served the league while the standby waited.

    Its session executes a statement now and then. Otherwise another standby would end it while the store is opened,
    which takes long on a slow server.
    """

    def __init__(self, connection: asyncpg.Connection, *, was_served: bool) -> None:
        self.was_served = was_served
        self._connection = connection
        self._task = asyncio.create_task(self._keep_alive())

    def release(self) -> None:
        self._task.cancel()
        self._connection.terminate()

    async def _keep_alive(self) -> None:
        # The writer that takes the lock ends this session.
        with suppress(*postgres_schema.DATABASE_ERRORS):
            while True:
                await self._connection.execute(KEEP_ALIVE)
                await asyncio.sleep(POLL_SECONDS)


async def stand_by(
    address: str, notify: Callable[[str], None], connect: postgres_schema.Connect = postgres_schema.connect
) -> HeldLock:
    """Wait until the writer of a store has ended or is silent. ``notify`` is called with a sentence about each step.

    The result holds the lock. Raises StoreError if the server cannot be reached at first. Later it is waited for.
    """
    standby = _Standby(address, notify, connect)
    while True:
        try:
            connection = await standby.wait()
            return HeldLock(connection, was_served=standby.was_served)
        except Exception as error:
            if not (standby.was_connected and postgres_schema.is_dropped(error)):
                raise postgres_schema.store_error(f"{redact_address(address)} cannot be watched", error) from error
            standby.notify(f"The database cannot be reached, and is tried again: {error}")
        await asyncio.sleep(RECONNECT_SECONDS)


class _Standby:
    """One wait for the lock of a store."""

    def __init__(self, address: str, notify: Callable[[str], None], connect: postgres_schema.Connect) -> None:
        self.was_connected = False
        self._address = address
        self._connect = connect
        self._notify = notify
        self._latest = ""
        # The writer that was seen last.
        self._writer: str | None = None

    @property
    def was_served(self) -> bool:
        return self._writer is not None

    def notify(self, sentence: str) -> None:
        """Say a sentence, unless it was the last one."""
        if sentence != self._latest:
            self._latest = sentence
            self._notify(sentence)

    async def wait(self) -> asyncpg.Connection:
        connection = await self._connect(self._address, to_write=True)
        self.was_connected = True
        try:
            while not await connection.fetchval(TRY_LOCK):
                if (holder := await connection.fetchrow(HOLDER)) is not None:
                    await self._watch(connection, holder)
                await asyncio.sleep(POLL_SECONDS)
        except BaseException:
            connection.terminate()
            raise
        if self._writer is None:
            self.notify("No manager serves this league: this one does now.")
        else:
            self.notify(f"{self._writer} is gone: this one takes over.")
        return connection

    async def _watch(self, connection: asyncpg.Connection, holder: asyncpg.Record) -> None:
        """Look at the session that holds the lock, and end it if it is silent."""
        if holder["silent"] is None:
            raise StoreError(
                f"the manager that serves this league is connected as {holder['usename']}, and a standby cannot see "
                "whether it is alive. Give both the same user"
            )
        where = "on the machine of the database" if holder["address"] is None else f"at {holder['address']}"
        self._writer = f"The manager {where}"
        self.notify(
            f"{self._writer} serves this league. This one waits, and takes over when that one ends, or has not been "
            f"heard of for {SILENT_SECONDS:.0f} s."
        )
        if await connection.fetchval(END_SILENT, SILENT_SECONDS):
            self.notify(f"{self._writer} has not been heard of for {holder['silent']:.1f} s: its connection is ended.")
