"""A network for the kit in memory, in virtual time."""

from __future__ import annotations

import asyncio
import itertools
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from leaguekit.agents.world import World
from leaguekit.kit.exchanges import Inbox
from leaguekit.transport.memory import MemoryCaller, MemoryNetwork

BEGAN = datetime(2026, 3, 14, 9, tzinfo=UTC)
ANOTHER_HOST = "127.0.0.2"
KIT_URL = "http://127.0.0.1:8000/mcp"


class MemoryKitNetwork:
    """A Network in memory. The first inbox listens at port 8000, where agents expect the manager."""

    def __init__(self) -> None:
        self.memory = MemoryNetwork()
        self.caller = MemoryCaller(self.memory)
        self._ports = itertools.count(8000)

    def another_caller(self) -> MemoryCaller:
        """Return a caller with another address, so that agents can distinguish the two."""
        return MemoryCaller(self.memory, ANOTHER_HOST)

    async def open(self, inbox: Inbox, port: int = 0) -> str:
        url = f"http://127.0.0.1:{port or next(self._ports)}/mcp"
        self.memory.listen(url, inbox.handle)
        return url

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    def world(self, data_root: Path = Path("SHARED"), seed: int = 1) -> World:
        """Return a world on this network, with its own random numbers."""
        return World(self.caller, data_root, virtual_now, Random(seed).randbytes, inline=True)


def virtual_now() -> datetime:
    return BEGAN + timedelta(seconds=asyncio.get_running_loop().time())
