"""What an agent needs of the world around it: a network, a clock, chance, and a place for its files.

Everything comes in here, so that the simulator can put a world of its own in its place.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Any, TypeVar

from leaguekit.protocol import times
from leaguekit.store.disk import DISK, Files
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import Caller

T = TypeVar("T")


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class World:
    """The world of one agent. ``inline`` means that blocking work is done at once, without threads (simulation)."""

    caller: Caller
    data_root: Path = Path("SHARED")
    now: Callable[[], datetime] = _utc_now
    entropy: Callable[[int], bytes] = secrets.token_bytes
    files: Files = DISK
    inline: bool = False
    # Whom the operator lets it call, for who must say so before it calls.
    policy: AddressPolicy | None = None
    # Calls endpoints that are not registered, so that they hold up no call of others.
    applicants_caller: Caller | None = None

    def timestamp(self) -> str:
        """The time as messages carry it."""
        return times.format_second(int(time())) if self.now is _utc_now else times.format_timestamp(self.now())

    async def close(self) -> None:
        """Close every connection."""
        await self.caller.close()
        if self.applicants_caller is not None:
            await self.applicants_caller.close()

    async def blocking(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do blocking work without holding up the loop."""
        return work(*arguments) if self.inline else await asyncio.to_thread(work, *arguments)
