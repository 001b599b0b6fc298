"""Limits of the number of requests that wait at the same time, in total and per name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager


class WaitLimitReached(Exception):
    """The maximum number of requests waits already."""


class WaitLimits:
    """Counts the requests that wait: at most ``max_total`` in total, and ``max_per_name`` per name."""

    def __init__(self, max_total: int, max_per_name: int) -> None:
        self._max_total = max_total
        self._max_per_name = max_per_name
        self._counts: Counter[Hashable] = Counter()
        self._total = 0

    def __getitem__(self, name: Hashable) -> int:
        """The number of requests that wait under a name."""
        return self._counts[name]

    @contextmanager
    def counted(self, name: Hashable) -> Iterator[None]:
        """Count one request within this context. Raises WaitLimitReached."""
        if self._total >= self._max_total or self._counts[name] >= self._max_per_name:
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
