"""The stores that the tests run on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.places import Durable, InMemory, OnPostgres, OnSqlite, Place


@pytest.fixture(params=["sqlite", "postgres"])
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> Durable:
    """A store that outlives the process."""
    if request.param == "sqlite":
        return OnSqlite(tmp_path / "league.db")
    return OnPostgres(request.getfixturevalue("postgres_url"))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Any store."""
    if request.param == "memory":
        return InMemory()
    if request.param == "sqlite":
        return OnSqlite(tmp_path / "league.db")
    return OnPostgres(request.getfixturevalue("postgres_url"))
