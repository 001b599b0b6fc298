"""The kit on a network in memory, in virtual time."""

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from leaguekit.agents.world import World
from leaguekit.kit.exchanges import Desk
from leaguekit.transport.memory import MemoryCaller, MemoryNetwork

BEGAN = datetime(2026, 3, 14, 9, tzinfo=UTC)
ANOTHER_HOST = "127.0.0.2"
KIT_URL = "http://127.0.0.1:8000/mcp"


class MemoryGround:
    """Where the kit's desks stand in memory: the first at port 8000, where it is expected."""

    def __init__(self) -> None:
        self.network = MemoryNetwork()
        self.caller = MemoryCaller(self.network)
        self._ports = itertools.count(8000)

    def another_caller(self) -> MemoryCaller:
        """One that calls from elsewhere, so that it can be told from the first."""
        return MemoryCaller(self.network, ANOTHER_HOST)

    async def open(self, desk: Desk, port: int = 0) -> str:
        url = f"http://127.0.0.1:{port or next(self._ports)}/mcp"
        self.network.listen(url, desk.handle)
        return url

    async def close(self) -> None:
        """Nothing is held open."""

    def world(self, data_root: Path = Path("SHARED"), seed: int = 1) -> World:
        """A world in this memory, with a chance of its own."""
        return World(self.caller, data_root, virtual_now, Random(seed).randbytes, inline=True)


def virtual_now() -> datetime:
    return BEGAN + timedelta(seconds=asyncio.get_running_loop().time())
