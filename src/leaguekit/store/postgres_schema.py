"""The tables of a store on PostgreSQL: connecting to a database, its version, and how it is brought up to date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import asyncpg

from leaguekit.store.addresses import shown
from leaguekit.store.base import StoreError
from leaguekit.store.integrity import check_version

CONNECT_SECONDS = 10.0
DISCONNECT_SECONDS = 2.0
# How long a statement of a writer may take: more than any commit needs, and a server that is gone is noticed.
STATEMENT_SECONDS = 30.0

# The statements that lead from one version to the next, from no tables to version 1 first. Only ever added to.
# The one row of ``leaguekit`` says who may write: ``epoch`` grows with each writer, and with each connection of one.
MIGRATIONS: list[Sequence[str]] = [
    (
        "CREATE TABLE leaguekit (version integer NOT NULL, epoch bigint NOT NULL, writer uuid)",
        "INSERT INTO leaguekit VALUES (0, 0, NULL)",
        "CREATE TABLE leaguekit_events (number bigint PRIMARY KEY, event text NOT NULL)",
        'CREATE TABLE leaguekit_kept (name text COLLATE "C" PRIMARY KEY, content bytea NOT NULL)',
    ),
    # Version 2 has settings that older releases cannot read (tie_breaks with a lot). The tables are the same.
    (),
]

_SETTINGS = {
    "application_name": "leaguekit",
    "default_transaction_isolation": "read committed",
    "statement_timeout": "0",
    # A writer whose machine has vanished must not hold up the next one for hours.
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
_WRITING = {"synchronous_commit": "on"}
_READING = {"default_transaction_read_only": "on"}

_FOREIGN = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
_OF_THE_CONNECTION = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
_WHAT_TO_DO: list[tuple[type[Exception] | tuple[type[Exception], ...], str]] = [
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


async def connect(address: str, *, to_write: bool = False) -> asyncpg.Connection:
    _check_address(address)
    settings = _SETTINGS | (_WRITING if to_write else _READING)
    try:
        connection = await asyncpg.connect(
            address,
            timeout=CONNECT_SECONDS,
            command_timeout=STATEMENT_SECONDS if to_write else None,
            server_settings=settings,
        )
    except ValueError:
        # What it says may show a part of the password.
        raise _bad_address(address) from None
    encoding = connection.get_settings().server_encoding
    if encoding != "UTF8":
        await connection.close()
        raise StoreError(f"{shown(address)} has the encoding {encoding}: make a database with the encoding UTF8.")
    return connection


async def disconnect(connection: asyncpg.Connection) -> None:
    # Nothing is under way: how the connection ends matters to nobody.
    with suppress(*_FOREIGN):
        await connection.close(timeout=DISCONNECT_SECONDS)


def _check_address(address: str) -> None:
    user, at, _ = address.partition("://")[2].rpartition("@")
    if at and set(user) & set("/?#@"):
        raise _bad_address(address)


def _bad_address(address: str) -> StoreError:
    return StoreError(
        f"{shown(address)} cannot be read as an address: it must be like postgresql://user:password@host/database, "
        "with each of / ? # @ : % in user and password percent-encoded (@ is %40)."
    )


async def version_of(connection: asyncpg.Connection) -> int:
    """The version of the tables, 0 if there are none."""
    if await connection.fetchval("SELECT to_regclass('leaguekit')") is None:
        return 0
    return int(await connection.fetchval("SELECT version FROM leaguekit"))


async def migrate(connection: asyncpg.Connection, store: str) -> None:
    """Bring the tables up to date, within a transaction of the caller's."""
    # Two that make the tables at the same time would both find none. The number is only ours.
    await connection.execute("SELECT pg_advisory_xact_lock(7237968335219716455)")
    version = await version_of(connection)
    check_version(store, version, len(MIGRATIONS))
    for number, statements in enumerate(MIGRATIONS[version:], version + 1):
        for statement in statements:
            await connection.execute(statement)
        await connection.execute("UPDATE leaguekit SET version = $1", number)


def is_dropped(error: Exception) -> bool:
    """Whether the connection is at fault, or the server is stopping or starting: another try may succeed."""
    # asyncpg puts it in several ways, by the moment at which it notices; but a ValueError is about an argument.
    return isinstance(error, _OF_THE_CONNECTION) and not isinstance(error, ValueError)


@contextmanager
def told_as(what: str) -> Iterator[None]:
    """Errors of the connection and of the server become StoreErrors."""
    try:
        yield
    except _FOREIGN as error:
        raise store_error(what, error) from error


def store_error(what: str, error: Exception) -> StoreError:
    advice = next((text for kind, text in _WHAT_TO_DO if isinstance(error, kind)), "")
    reason = "no answer in time" if isinstance(error, TimeoutError) else str(error).rstrip(".")
    return StoreError(f"{what}: {reason or type(error).__name__}. {advice}".rstrip())
