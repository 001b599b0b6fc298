"""Checks of a store: the version of its tables, and that no event is missing."""

from __future__ import annotations

from collections.abc import Sequence

from leaguekit.store.base import Stored, StoreError


def check_version(store: str, version: int, known: int) -> None:
    """Raise StoreError if a newer program wrote the store, before anything in it is changed."""
    if version > known:
        raise StoreError(
            f"{store} was written by a newer leaguekit: its version is {version}, and this program knows {known}. "
            "Upgrade leaguekit, or name another store."
        )


def check_readable(store: str, version: int, migrations: Sequence[Sequence[str]]) -> None:
    """Raise StoreError if a reader, which cannot migrate a store, cannot read it."""
    known = len(migrations)
    check_version(store, version, known)
    if version == 0:
        raise StoreError(f"{store} holds no league yet: a manager that is started with this store makes one.")
    if any(migrations[version:]):
        raise StoreError(
            f"{store} was written by an older leaguekit: its version is {version}, and this program reads {known}. "
            "Start a manager on it once, which brings it up to date."
        )


def check_numbers(store: str, after: int, events: Sequence[Stored]) -> None:
    """Raise StoreError if events are missing."""
    if events and events[-1].number != after + len(events):
        raise StoreError(
            f"{store} has a gap: {len(events)} events behind number {after}, the last of them numbered "
            f"{events[-1].number}. Somebody has changed the store: restore a copy."
        )
