"""Pauses between the attempts of a retry loop."""

from __future__ import annotations

import asyncio

FIRST_SECONDS = 0.25
LONGEST_SECONDS = 5.0


class Backoff:
    """Waits between attempts: each pause is twice as long as the one before, up to a limit."""

    def __init__(self, longest_seconds: float = LONGEST_SECONDS) -> None:
        # The number of failed attempts, which is the number of pauses.
        self.failures = 0
        self._seconds = min(FIRST_SECONDS, longest_seconds)
        self._longest_seconds = longest_seconds

    async def pause(self) -> None:
        """Wait before the next attempt."""
        self.failures += 1
        seconds = self._seconds
        self._seconds = min(2 * seconds, self._longest_seconds)
        await asyncio.sleep(seconds)
