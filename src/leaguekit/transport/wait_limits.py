"""Requests that wait at the same time: how many, in all and for each name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager


class WaitLimitReached(Exception):
    """As many requests wait as may."""


class WaitLimits:
    """Counts the requests that wait: at most ``most`` in all, and ``max_each`` under one name."""

    def __init__(self, most: int, max_each: int) -> None:
        self._most = most
        self._max_each = max_each
        self._counts: Counter[Hashable] = Counter()
        self._total = 0

    def __getitem__(self, name: Hashable) -> int:
        """How many wait under a name."""
        return self._counts[name]

    @contextmanager
    def one(self, name: Hashable) -> Iterator[None]:
        """Count one for as long as this lasts. Raises TooManyWait."""
        if self._total >= self._most or self._counts[name] >= self._max_each:
            raise WaitLimitReached
        self._total += 1
        self._counts[name] += 1
        try:
            yield
        finally:
            self._total -= 1
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name]
