"""The kit's checks of a referee: ours passes them all, and for each of them there is a referee that fails just that."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

from leaguekit.agents.referee import RefereeAgent
from leaguekit.agents.world import World
from leaguekit.kit.referee import check_referee
from leaguekit.kit.report import Report, text
from leaguekit.sim import loop
from leaguekit.transport.memory import MemoryNetwork
from tests.kit.mutants import MemoryGround, Mutant, clock

PORT = 8_000
URL = "http://127.0.0.1:8001/mcp"


async def _checked(root: Path, mutant: Mutant, *, full: bool = True) -> Report:
    network = MemoryNetwork()
    ground, random = MemoryGround(network), Random(1)
    ours = World(ground.caller, root / "kit", now=clock, entropy=random.randbytes, inline=True)
    world = World(mutant.caller(network), root, now=clock, entropy=random.randbytes, inline=True)
    referee = RefereeAgent(world, manager_url=f"http://127.0.0.1:{PORT}/mcp", endpoint=URL, name="Mutant")
    network.listen(URL, mutant.handler(referee.handle))

    async def serve() -> None:
        await referee.register()
        await referee.finished.wait()
        network.close(URL)

    serving = asyncio.create_task(serve())
    try:
        return await check_referee(ours, ground, port=PORT, patience=5.0, full=full)
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await referee.close()


def checked(root: Path, mutant: Mutant, *, full: bool = True) -> Report:
    return loop.run(_checked(root, mutant, full=full))


def test_our_referee_passes_every_check(tmp_path: Path) -> None:
    report = checked(tmp_path, Mutant())
    assert [one.check.id for one in report.outcomes if one.state != "passed"] == [], text(report)
