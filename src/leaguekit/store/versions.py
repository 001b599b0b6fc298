"""Versions of a store's tables: the writer brings an older one up to date, nobody touches a newer one."""

from __future__ import annotations

from leaguekit.store.base import StoreError


def check_version(store: str, version: int, known: int) -> None:
    """Refuse what a newer program wrote, before anything in it is changed."""
    if version > known:
        raise StoreError(
            f"{store} was written by a newer leaguekit: its version is {version}, and this program knows {known}. "
            "Upgrade leaguekit, or name another store."
        )


def check_readable(store: str, version: int, known: int) -> None:
    """Refuse what a reader, which changes nothing, cannot read."""
    check_version(store, version, known)
    if version == 0:
        raise StoreError(f"{store} holds no league yet: a manager that is started with this store makes one.")
    if version < known:
        raise StoreError(
            f"{store} was written by an older leaguekit: its version is {version}, and this program reads {known}. "
            "Start a manager on it once, which brings it up to date."
        )
