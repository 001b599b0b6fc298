"""How many requests a second: one bucket for each name, in bounded memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

MAX_NAMES = 10_000
_ROUNDING = 1e-9


class TokenBuckets:
    """So many a second for each name, after a while of rest so many at once.

    Of each name only one figure is kept: when its bucket will be full again. A full one need not be remembered at
    all; and if more names come than are remembered, those that came first are forgotten.
    """

    def __init__(
        self, a_second: float, at_once: float, *, most: int = MAX_NAMES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._each = 1 / a_second
        self._patience = at_once / a_second
        self._most = most
        self._clock = clock
        self._full_at: dict[Hashable, float] = {}

    def take(self, name: Hashable, amount: float = 1.0) -> float:
        """Take so many, and give 0; or, if there are not enough, take none and give the seconds until there are."""
        now = self._clock()
        full_at = self._full_at.get(name)
        begins = now if full_at is None or full_at < now else full_at
        full = begins + amount * self._each
        waits = full - now - self._patience
        if waits > _ROUNDING:
            return waits
        if full_at is None:
            self._note(name, full, now)
        else:
            self._full_at[name] = full
        return 0.0

    def owe(self, name: Hashable, amount: float) -> None:
        """Take so many in any case; if there are not enough, the next has to wait until they are paid for."""
        now = self._clock()
        self._note(name, max(self._full_at.get(name, now), now) + amount * self._each, now)

    def _note(self, name: Hashable, full_at: float, now: float) -> None:
        if len(self._full_at) >= self._most and name not in self._full_at:
            self._forget(now)
        self._full_at[name] = full_at

    def _forget(self, now: float) -> None:
        self._full_at = {name: full_at for name, full_at in self._full_at.items() if full_at > now}
        # At least half, or the next stranger would have us look through all of them again.
        excess = len(self._full_at) - self._most // 2
        for name in list(self._full_at)[: max(0, excess)]:
            del self._full_at[name]
