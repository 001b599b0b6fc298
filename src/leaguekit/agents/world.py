"""The environment of an agent: network, clock, randomness and files.

An agent gets all of them from here, so that the simulator can replace them.
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
    """The environment of one agent. With ``inline``, blocking work runs in the event loop and not in a thread.

    The simulator uses ``inline``.
    """

    caller: Caller
    data_root: Path = Path("SHARED")
    now: Callable[[], datetime] = _utc_now
    entropy: Callable[[int], bytes] = secrets.token_bytes
    files: Files = DISK
    inline: bool = False
    # The addresses that the operator allows to be called, for agents that check an address before they call it.
    policy: AddressPolicy | None = None
    # Calls endpoints that are not registered. It is separate, so that they cannot delay other calls.
    applicants_caller: Caller | None = None

    def timestamp(self) -> str:
        """The current time in the format of messages."""
        return times.format_second(int(time())) if self.now is _utc_now else times.format_timestamp(self.now())

    async def close(self) -> None:
        """Close every connection."""
        await self.caller.close()
        if self.applicants_caller is not None:
            await self.applicants_caller.close()

    async def blocking(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run a blocking function without blocking the event loop."""
        return work(*arguments) if self.inline else await asyncio.to_thread(work, *arguments)
