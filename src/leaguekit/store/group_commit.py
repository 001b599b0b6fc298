"""Group commit: what waits together is written in one transaction, and then told in order."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import NamedTuple

from leaguekit.store.base import StoreError


class Waiting(NamedTuple):
    """An append or a text to keep, on its way to the writer."""

    future: Future[int]
    events: tuple[bytes, ...]
    texts: tuple[tuple[str, bytes], ...] = ()


def events_of(group: Sequence[Waiting]) -> list[bytes]:
    return list(chain.from_iterable(one.events for one in group))


def texts_of(group: Sequence[Waiting]) -> dict[str, bytes]:
    """What is to be kept, the newest of each name."""
    return dict(chain.from_iterable(one.texts for one in group))


def tell_numbers(group: Sequence[Waiting], before: int) -> None:
    """All is durable: tell each the number of its last event; ``before`` is the last number of the group before."""
    counts = (len(one.events) for one in group)
    for one, number in zip(group, list(accumulate(counts, initial=before))[1:], strict=True):
        if not one.future.done():
            one.future.set_result(number)


def tell_failure(group: Sequence[Waiting], reason: str) -> None:
    for one in group:
        if not one.future.done():
            one.future.set_exception(StoreError(reason))
