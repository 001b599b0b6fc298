"""The tables of a PostgreSQL store: connections, versions, and migrations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol

import asyncpg

from leaguekit.store.base import StoreError, check_version, redact_address

CONNECT_SECONDS = 10.0
DISCONNECT_SECONDS = 2.0
# The time limit of a writer's statement. It is longer than any commit, and detects a server that is gone.
STATEMENT_SECONDS = 30.0

# The statements of each migration; the first one leads from no tables to version 1. Append only.
# The single row of ``leaguekit`` identifies the writer. Each writer, and each connection of a writer, increments
# ``epoch``.
MIGRATIONS: list[Sequence[str]] = [
    (
        "CREATE TABLE leaguekit (version integer NOT NULL, epoch bigint NOT NULL, writer uuid)",
        "INSERT INTO leaguekit VALUES (0, 0, NULL)",
        "CREATE TABLE leaguekit_events (number bigint PRIMARY KEY, event text NOT NULL)",
        'CREATE TABLE leaguekit_kept (name text COLLATE "C" PRIMARY KEY, content bytea NOT NULL)',
    ),
    # Version 2 has settings that older releases cannot read (tie_breaks with a lot). The tables are the same.
    (),
    # Version 3 has events that older releases do not know: SettingsChanged, PlayerReadmitted, RegistrationRefused. The
    # tables are the same.
    (),
    # Version 4 has events and settings that older releases do not know: RoundDrawn, format, game_args; and results with
    # records and payoffs. The tables are the same.
    (),
]

# It prevents two programs from creating the tables at the same time. The number is arbitrary.
LOCK_TABLES = "SELECT pg_advisory_xact_lock(7237968335219716455)"
TABLES = "SELECT to_regclass('leaguekit')"
VERSION = "SELECT version FROM leaguekit"

_SETTINGS = {
    "application_name": "leaguekit",
    "default_transaction_isolation": "read committed",
    "statement_timeout": "0",
    # A writer whose machine is gone must not block the next one for hours.
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
# A writer whose machine is gone while it opens the store must not keep the row of the writer locked.
IDLE_TRANSACTION_SECONDS = 5.0
_WRITER_SETTINGS = {
    "synchronous_commit": "on",
    "idle_in_transaction_session_timeout": f"{IDLE_TRANSACTION_SECONDS:.0f}s",
}
_READER_SETTINGS = {"default_transaction_read_only": "on"}

DATABASE_ERRORS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
_CONNECTION_ERRORS = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
_ADVICE: list[tuple[type[Exception] | tuple[type[Exception], ...], str]] = [
    (asyncpg.InvalidCatalogNameError, "Make the database first (createdb), or name another."),
    (asyncpg.InvalidSchemaNameError, "Make the schema first that search_path names."),
    (
        (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError),
        "Check the user and the password, which PGPASSWORD or ~/.pgpass may hold too.",
    ),
    (asyncpg.InsufficientPrivilegeError, "Let this user make tables there, or name a database of its own."),
    (asyncpg.DiskFullError, "Make room on the server's disk, then start again: everything acknowledged is kept."),
    (asyncpg.ReadOnlySQLTransactionError, "This server takes no writes: name the one that does."),
    (OSError, "Check that the server runs, and that the address names its host and port."),
]


class Connect(Protocol):
    """Opens a connection, as ``connect`` does. The simulator has a server of its own."""

    async def __call__(
        self, address: str, /, *, to_write: bool = False, seconds: float | None = None
    ) -> asyncpg.Connection: ...


async def connect(address: str, *, to_write: bool = False, seconds: float | None = None) -> asyncpg.Connection:
    """Connect. ``seconds`` is the time limit of a statement; that of a writer is ``STATEMENT_SECONDS``."""
    _check_address(address)
    settings = _SETTINGS | (_WRITER_SETTINGS if to_write else _READER_SETTINGS)
    try:
        connection = await asyncpg.connect(
            address,
            timeout=CONNECT_SECONDS,
            command_timeout=STATEMENT_SECONDS if to_write else seconds,
            server_settings=settings,
        )
    except ValueError:
        # The text of the error may contain a part of the password.
        raise _bad_address(address) from None
    encoding = connection.get_settings().server_encoding
    if encoding != "UTF8":
        await connection.close()
        raise StoreError(
            f"{redact_address(address)} has the encoding {encoding}: make a database with the encoding UTF8."
        )
    return connection


async def disconnect(connection: asyncpg.Connection) -> None:
    # No statement is running, so an error on closing has no consequence.
    with suppress(*DATABASE_ERRORS):
        await connection.close(timeout=DISCONNECT_SECONDS)


def _check_address(address: str) -> None:
    user, at, _ = address.partition("://")[2].rpartition("@")
    if at and set(user) & set("/?#@"):
        raise _bad_address(address)


def _bad_address(address: str) -> StoreError:
    return StoreError(
        f"{redact_address(address)} cannot be read as an address: it must be like "
        "postgresql://user:password@host/database, with each of / ? # @ : % in user and password percent-encoded "
        "(@ is %40)."
    )


async def version_of(connection: asyncpg.Connection) -> int:
    """The version of the tables; 0 if there are none."""
    if await connection.fetchval(TABLES) is None:
        return 0
    return int(await connection.fetchval(VERSION))


async def migrate(connection: asyncpg.Connection, store: str) -> None:
    """Apply the missing migrations, within a transaction of the caller."""
    await connection.execute(LOCK_TABLES)
    version = await version_of(connection)
    check_version(store, version, len(MIGRATIONS))
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        for statement in statements:
            await connection.execute(statement)
        await connection.execute("UPDATE leaguekit SET version = $1", number)


def is_dropped(error: Exception) -> bool:
    """Whether the connection failed, or the server is stopping or starting. Then another try may succeed."""
    # asyncpg raises different errors at different moments. A ValueError is about an argument.
    return isinstance(error, _CONNECTION_ERRORS) and not isinstance(error, ValueError)


@contextmanager
def raising_store_errors(what: str) -> Iterator[None]:
    """Turn errors of the connection and of the server into StoreErrors."""
    try:
        yield
    except DATABASE_ERRORS as error:
        raise store_error(what, error) from error


def store_error(what: str, error: Exception) -> StoreError:
    advice = next((text for kind, text in _ADVICE if isinstance(error, kind)), "")
    reason = "no answer in time" if isinstance(error, TimeoutError) else str(error).rstrip(".")
    return StoreError(f"{what}: {reason or type(error).__name__}. {advice}".rstrip())
