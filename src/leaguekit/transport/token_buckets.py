"""Token buckets: one rate limit per name, in bounded memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

MAX_NAMES = 10_000
_ROUNDING = 1e-9


class TokenBuckets:
    """A token bucket per name: ``per_second`` requests in the long run, and at most ``burst`` at once after a pause.

    Only one number is kept per name: the time at which its bucket will be full again. A full bucket need not be
    stored. At most ``max_names`` are stored. Beyond that the names that came first are forgotten.
    """

    def __init__(
        self,
        per_second: float,
        burst: float,
        *,
        max_names: int = MAX_NAMES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds_per_token = 1 / per_second
        self._seconds_to_fill = burst / per_second
        self._max_names = max_names
        self._clock = clock
        self._full_at: dict[Hashable, float] = {}

    def take(self, name: Hashable, amount: float = 1.0) -> float:
        """Take an amount of tokens and return 0.

        If there are not enough, take none, and return the number of seconds until there are.
        """
        now = self._clock()
        full_at = self._full_at.get(name)
        start = now if full_at is None or full_at < now else full_at
        new_full_at = start + amount * self._seconds_per_token
        seconds = new_full_at - now - self._seconds_to_fill
        if seconds > _ROUNDING:
            return seconds
        if full_at is None:
            self._store(name, new_full_at, now)
        else:
            self._full_at[name] = new_full_at
        return 0.0

    def charge(self, name: Hashable, amount: float) -> None:
        """Take an amount of tokens even if there are not enough. Later requests wait until they are made up for."""
        now = self._clock()
        self._store(name, max(self._full_at.get(name, now), now) + amount * self._seconds_per_token, now)

    def _store(self, name: Hashable, full_at: float, now: float) -> None:
        if len(self._full_at) >= self._max_names and name not in self._full_at:
            self._forget(now)
        self._full_at[name] = full_at

    def _forget(self, now: float) -> None:
        self._full_at = {name: full_at for name, full_at in self._full_at.items() if full_at > now}
        # Forget at least half. Otherwise the next new name would start another pass over all of them.
        excess = len(self._full_at) - self._max_names // 2
        for name in list(self._full_at)[: max(0, excess)]:
            del self._full_at[name]
