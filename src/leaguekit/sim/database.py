"""A simulated PostgreSQL server with one store, for the real code of the store: the log, its lock, and standbys.

It knows exactly the statements of that code. Each takes effect at one moment, or not at all. A statement that needs the
row of the writer waits for a transaction that has changed it. The network to the server may be down, and then data
arrives later. Sessions end as they do in PostgreSQL: when the server ends them or restarts, when it hears that the
client is gone, and after a time if it cannot hear that.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from random import Random
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from leaguekit.sim.processes import NO_OWNER, Process
from leaguekit.store import postgres, postgres_lock, postgres_reader, postgres_schema
from leaguekit.store.memory import MemoryLogContent

ADDRESS = "postgresql://simulated/league"
# After this time the server finds by TCP's own messages that a client is gone (``tcp_keepalives_…``).
KEEPALIVE_SECONDS = 25.0
_COMMIT, _ROLLBACK = "COMMIT", "ROLLBACK"
_NEED_ROW = (postgres.APPEND, postgres.TAKE_OVER, postgres.RECONNECT)


class DatabaseFaults(Protocol):
    """Decides what happens between the machines and the server."""

    def is_connected(self, machine: str) -> bool:
        """Whether data arrives now."""

    def statement_seconds(self) -> float:
        """How long the next statement takes."""


class _Statement(NamedTuple):
    """A statement that a client has sent, and the future of its answer."""

    query: str
    arguments: Sequence[Any]
    answer: asyncio.Future[Any]


class _Session:
    """A connection as the server sees it."""

    def __init__(self, machine: str, now: float) -> None:
        self.machine = machine
        self.is_over = False
        # Whether the client is gone. The session ends after its statement.
        self.is_abandoned = False
        self.running: _Statement | None = None
        self.idle_since = now
        # The epoch and the writer that its transaction has written.
        self.uncommitted: tuple[int, UUID] | None = None


class Database:
    """The server. ``connect_for`` gives a process its way to connect."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, content: MemoryLogContent, faults: DatabaseFaults, rng: Random
    ) -> None:
        self.content = content
        self.is_up = True
        # Called with the machine of a writer that has taken the next epoch.
        self.on_takeover: Callable[[str], None] = lambda _machine: None
        self._loop = loop
        self._faults = faults
        self._rng = rng
        self._epoch = 0
        self._writer: UUID | None = None
        self._sessions: list[_Session] = []
        self._lock: _Session | None = None
        # The session whose transaction has changed the row of the writer, and those that wait for it.
        self._row: _Session | None = None
        self._waiting: list[_Session] = []
        self._connections: list[tuple[Process, _Connection]] = []
        # What was sent while the network was down, and the machine that sends or receives it.
        self._undelivered: list[tuple[str, Callable[[], None]]] = []

    def connect_for(self, process: Process) -> postgres_schema.Connect:
        """The function by which a process connects."""

        async def connect(_address: str, *, to_write: bool = False, seconds: float | None = None) -> _Connection:
            accepted: asyncio.Future[_Session] = self._loop.create_future()
            self._send(process.name, partial(self._accept, process.name, accepted))
            async with asyncio.timeout(postgres_schema.CONNECT_SECONDS):
                session = await accepted
            limit = postgres_schema.STATEMENT_SECONDS if to_write else seconds
            connection = _Connection(self, session, limit)
            self._connections.append((process, connection))
            return connection

        return connect

    def crash(self, process: Process, *, silently: bool) -> None:
        """Crash a process. Its machine closes its connections, unless it crashes too."""
        for owner, connection in self._connections:
            if owner is process:
                self.disconnect(connection.session, silently=silently)

    def restart(self, seconds: float) -> None:
        """End all sessions, and be back after some seconds. What is committed is kept."""
        self.is_up = False
        for session in [*self._sessions]:
            self._end(session)
        self._loop.call_later(seconds, setattr, self, "is_up", True, context=NO_OWNER)

    def deliver(self) -> None:
        """Called when the network is up again: deliver what was sent in the meantime."""
        waiting, self._undelivered = self._undelivered, []
        for machine, action in waiting:
            self._send(machine, action)

    # What clients send

    def execute(self, session: _Session, query: str, arguments: Sequence[Any]) -> asyncio.Future[Any]:
        """Send a statement."""
        statement = _Statement(query, arguments, self._loop.create_future())
        self._send(session.machine, partial(self._begin, session, statement))
        return statement.answer

    def disconnect(self, session: _Session, *, silently: bool = False) -> None:
        """Close a connection. If the server cannot hear that, the session ends later."""
        if silently or not self._faults.is_connected(session.machine):
            self._loop.call_later(KEEPALIVE_SECONDS, self._end, session, context=NO_OWNER)
        else:
            self._send(session.machine, partial(self._note_abandoned, session))

    def _send(self, machine: str, action: Callable[[], None]) -> None:
        """Do something when data has crossed the network, in either direction."""
        if self._faults.is_connected(machine):
            self._loop.call_later(self._rng.uniform(0.0002, 0.002), action, context=NO_OWNER)
        else:
            self._undelivered.append((machine, action))

    # What the server does

    def _accept(self, machine: str, accepted: asyncio.Future[_Session]) -> None:
        if not self.is_up:
            self._send(machine, partial(_fail, accepted, ConnectionRefusedError("the server is not running")))
            return
        session = _Session(machine, self._loop.time())
        self._sessions.append(session)
        self._send(machine, partial(_answer, accepted, session))

    def _begin(self, session: _Session, statement: _Statement) -> None:
        if session.is_over:
            self._send(session.machine, partial(_fail, statement.answer, ConnectionResetError("the session is over")))
            return
        session.running = statement
        self._loop.call_later(self._faults.statement_seconds(), self._run, session, context=NO_OWNER)

    def _run(self, session: _Session) -> None:
        """Let the statement of a session take effect, and answer."""
        if (statement := session.running) is None:
            return
        if statement.query in _NEED_ROW and self._row not in (None, session):
            self._waiting.append(session)
            return
        answer = self._take_effect(session, statement.query, statement.arguments)
        session.running, session.idle_since = None, self._loop.time()
        if session.uncommitted is not None:
            idle = postgres_schema.IDLE_TRANSACTION_SECONDS
            self._loop.call_later(idle, self._end_if_idle, session, session.idle_since, context=NO_OWNER)
        self._send(session.machine, partial(_answer, statement.answer, answer))
        if session.is_abandoned:
            self._end(session)

    def _note_abandoned(self, session: _Session) -> None:
        session.is_abandoned = True
        if session.running is None:
            self._end(session)

    def _end_if_idle(self, session: _Session, since: float) -> None:
        """End a session whose transaction has executed no statement since a moment."""
        if session.uncommitted is not None and session.running is None and session.idle_since == since:
            self._end(session)

    def _end(self, session: _Session) -> None:
        """End a session. Its transaction is rolled back, and its lock is released."""
        if session.is_over:
            return
        session.is_over = True
        self._sessions.remove(session)
        if (statement := session.running) is not None:
            session.running = None
            self._send(
                session.machine, partial(_fail, statement.answer, ConnectionResetError("the server ended the session"))
            )
        if self._lock is session:
            self._lock = None
        self._end_transaction(session)

    def _end_transaction(self, session: _Session) -> None:
        session.uncommitted = None
        if self._row is session:
            self._row = None
            waiting, self._waiting = self._waiting, []
            for one in waiting:
                self._run(one)

    def _take_effect(self, session: _Session, query: str, arguments: Sequence[Any]) -> Any:
        """Do what a statement does. Returns its result as the code gets it."""
        if query in (postgres.APPEND, postgres.TAKE_OVER, postgres.RECONNECT, postgres.LAST, postgres.IS_WRITER):
            return self._write(session, query, arguments)
        if query in (postgres_reader.READ, postgres_reader.KEPT, postgres_reader.NAMES):
            return self._read(query, arguments)
        if query in (postgres_lock.TRY_LOCK, postgres_lock.HOLDER, postgres_lock.END_SILENT, postgres_lock.END_ANY):
            return self._use_lock(session, query, arguments)
        if query in (_COMMIT, _ROLLBACK):
            if query == _COMMIT and session.uncommitted is not None:
                self._epoch, self._writer = session.uncommitted
                self.on_takeover(session.machine)
            self._end_transaction(session)
            return None
        return {
            postgres_lock.EPOCH: self._epoch,
            postgres_lock.KEEP_ALIVE: 1,
            postgres_schema.LOCK_TABLES: None,
            postgres_schema.TABLES: "leaguekit",
            postgres_schema.VERSION: len(postgres_schema.MIGRATIONS),
        }[query]

    def _use_lock(self, session: _Session, query: str, arguments: Sequence[Any]) -> Any:
        if query == postgres_lock.TRY_LOCK:
            self._lock = self._lock or session
            return self._lock is session
        holder = self._lock
        if holder is None:
            return None
        silent = 0.0 if holder.running is not None else self._loop.time() - holder.idle_since
        if query == postgres_lock.HOLDER:
            return {"usename": "me", "address": holder.machine, "silent": silent}
        if query == postgres_lock.END_ANY or silent > arguments[0]:
            self._end(holder)
            return True
        return None

    def _write(self, session: _Session, query: str, arguments: Sequence[Any]) -> Any:
        epoch = self._epoch if session.uncommitted is None else session.uncommitted[0]
        last = len(self.content.events)
        if query == postgres.TAKE_OVER:
            self._row = session
            session.uncommitted = epoch + 1, arguments[0]
            return epoch + 1
        if query == postgres.RECONNECT:
            if self._writer != arguments[0]:
                return None
            self._epoch += 1
            return self._epoch
        if query == postgres.LAST:
            return last if epoch == arguments[0] else None
        if query == postgres.APPEND and epoch == arguments[0]:
            _, numbers, events, names, contents = arguments
            if [*numbers] != [*range(last + 1, last + 1 + len(events))]:
                raise ValueError(f"the event {last} is followed by the events {numbers}")
            self.content.events += [event.encode() for event in events]
            self.content.documents |= dict(zip(names, contents, strict=True))
        return int(epoch == arguments[0])

    def _read(self, query: str, arguments: Sequence[Any]) -> list[tuple[Any, ...]]:
        if query == postgres_reader.READ:
            after, limit = arguments
            events = self.content.events[after : None if limit is None else after + limit]
            return [*enumerate(events, after + 1)]
        if query == postgres_reader.KEPT:
            return [(self.content.documents[name],) for name in arguments if name in self.content.documents]
        return [(name,) for name in sorted(self.content.documents) if name.startswith(arguments[0])]


class _Connection:
    """What the code of the store uses of an ``asyncpg.Connection``. ``seconds`` is the time limit of a statement."""

    def __init__(self, database: Database, session: _Session, seconds: float | None) -> None:
        self.session = session
        self._database = database
        self._seconds = seconds
        self._is_closed = False

    async def execute(self, query: str, *arguments: Any) -> Any:
        if self._is_closed:
            raise ConnectionResetError("the connection is closed")
        async with asyncio.timeout(self._seconds):
            return await self._database.execute(self.session, query, arguments)

    fetch = fetchrow = fetchval = execute

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        try:
            yield
        except BaseException:
            if not self._is_closed:
                await self.execute(_ROLLBACK)
            raise
        await self.execute(_COMMIT)

    def terminate(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._database.disconnect(self.session)

    async def close(self, timeout: float) -> None:  # noqa: ARG002, ASYNC109 - as asyncpg has it
        self.terminate()


def _answer(future: asyncio.Future[Any], answer: Any) -> None:
    if not future.done():
        future.set_result(answer)


def _fail(future: asyncio.Future[Any], error: OSError) -> None:
    if not future.done():
        future.set_exception(error)
