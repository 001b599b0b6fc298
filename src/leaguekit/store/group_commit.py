"""Group commit: pending writes share one transaction, and their futures are resolved in order."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import NamedTuple

from leaguekit.store.base import StoreError


class PendingWrite(NamedTuple):
    """An append, or texts to keep, with the future of the caller."""

    future: Future[int]
    events: tuple[bytes, ...]
    texts: tuple[tuple[str, bytes], ...] = ()


def events_of(group: Sequence[PendingWrite]) -> list[bytes]:
    return list(chain.from_iterable(one.events for one in group))


def texts_of(group: Sequence[PendingWrite]) -> dict[str, bytes]:
    """The texts to keep, the newest of each name."""
    return dict(chain.from_iterable(one.texts for one in group))


def resolve_group(group: Sequence[PendingWrite], before: int) -> None:
    """Resolve each future with the number of its last event. ``before`` is the last number before the group."""
    counts = (len(one.events) for one in group)
    for one, number in zip(group, list(accumulate(counts, initial=before))[1:], strict=True):
        if not one.future.done():
            one.future.set_result(number)


def reject_group(group: Sequence[PendingWrite], reason: str) -> None:
    for one in group:
        if not one.future.done():
            one.future.set_exception(StoreError(reason))
