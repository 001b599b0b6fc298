"""The stores that the tests run on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.stores import DurableStore, MemoryStore, OpenableStore, PostgresStore, SqliteStore


@pytest.fixture(params=["sqlite", "postgres"])
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> DurableStore:
    """A store that outlives the process."""
    if request.param == "sqlite":
        return SqliteStore(tmp_path / "league.db")
    return PostgresStore(request.getfixturevalue("postgres_url"))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> OpenableStore:
    """Any store."""
    if request.param == "memory":
        return MemoryStore()
    if request.param == "sqlite":
        return SqliteStore(tmp_path / "league.db")
    return PostgresStore(request.getfixturevalue("postgres_url"))
