"""A store by its address: which one it names, and what of it may be shown."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from leaguekit.store.base import StoreError, redact_address
from leaguekit.store.opening import open_log, open_reader
from leaguekit.store.sqlite import SqliteLog


@pytest.mark.parametrize("name", ["league.db", "postgresql", "a:b.db", "postgres.db"])
def test_anything_but_an_address_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)

    async def main() -> None:
        for address in (name, Path(name), tmp_path / name):
            log = await open_log(address)
            assert isinstance(log, SqliteLog)
            await log.append([b"{}"])
            await log.close()
        reader = await open_reader(name)
        assert len(await reader.read()) == 3
        await reader.close()

    asyncio.run(main())
    assert (tmp_path / name).exists()


@pytest.mark.parametrize(
    "address", ["mysql://u:s3cret@h/league", "sqlite:///league.db", Path("postgresql://u:s3cret@h/league")]
)
def test_an_address_of_anything_else_is_refused(address: str | Path) -> None:
    for opening in (open_log, open_reader):
        with pytest.raises(
            StoreError, match="is not the address of a store: name a file, or a database as in"
        ) as refused:
            asyncio.run(opening(address))
        assert "s3cret" not in str(refused.value)


def test_a_log_in_memory_is_its_managers_only() -> None:
    async def main() -> None:
        log = await open_log("memory:")
        assert await log.append([b"{}"]) == 1
        await log.close()
        with pytest.raises(StoreError, match=r"memory: can be read by its manager only, .* name a store that is kept"):
            await open_reader("memory:")

    asyncio.run(main())


def test_without_asyncpg_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    for name in ("postgres", "postgres_reader", "postgres_schema"):
        monkeypatch.delitem(sys.modules, f"leaguekit.store.{name}", raising=False)
    for opening in (open_log, open_reader):
        with pytest.raises(StoreError, match=r"h/league cannot be opened: asyncpg is not installed\. .*\[postgres\]"):
            asyncio.run(opening("postgresql://u:s3cret@h/league"))


@pytest.mark.parametrize(
    ("address", "seen"),
    [
        ("SHARED/league.db", "SHARED/league.db"),
        ("postgresql://h/league", "postgresql://h/league"),
        ("postgresql://u@h:5432/league", "postgresql://u@h:5432/league"),
        ("postgresql://u:s3cret@h:5432/league", "postgresql://u:***@h:5432/league"),
        ("postgres://:s3cret@h/league?sslmode=require", "postgres://:***@h/league?sslmode=require"),
        ("postgresql://u:s3/c:r?e#t@x@h/league", "postgresql://u:***@h/league"),
        ("postgresql://h/league?password=s3cret&user=u", "postgresql://h/league?password=***&user=u"),
        ("postgresql://h/league?sslp%61ssword=s3cret", "postgresql://h/league?sslpassword=***"),
        ("postgresql:/u:s3cret@h/league", "postgresql:/u:***@h/league"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, seen: str) -> None:
    assert redact_address(address) == seen
