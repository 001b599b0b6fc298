"""The kit against referees: ours passes every check, and for each check there is one that fails it and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from leaguekit.agents.referee import RefereeAgent
from leaguekit.agents.world import World
from leaguekit.kit.checks import Check, Outcome, examine
from leaguekit.kit.referee import CHECKS
from leaguekit.kit.referee.scene import RefereeScene
from leaguekit.sim import loop
from tests.kit.memory_ground import KIT_URL, MemoryGround
from tests.kit.mutants import Mutant, about, check_registry, failed
from tests.kit.referee_mutants import MUTANTS

URL = "http://127.0.0.1:7001/mcp"


async def _checked(root: Path, mutant: Mutant, checks: Sequence[Check[RefereeScene]] = CHECKS) -> list[Outcome]:
    ground = MemoryGround()
    own = ground.world(root, seed=2)
    world = World(mutant.caller(ground.network), root, own.now, own.entropy, inline=True)
    referee = RefereeAgent(world, manager_url=KIT_URL, endpoint=URL, name="Ours")
    ground.network.listen(URL, mutant.handler(referee.handle))

    async def live() -> None:
        await referee.register()
        await referee.finished.wait()
        if not mutant.stays:
            ground.network.close(URL)

    living = asyncio.ensure_future(live())
    scene = RefereeScene(ground.world(), ground, patience=5.0, full=True)
    await scene.open()
    try:
        return await examine(checks, scene, full=True)
    finally:
        living.cancel()
        await asyncio.gather(living, return_exceptions=True)
        await referee.close()


def test_our_own_referee_passes_every_check(tmp_path: Path) -> None:
    outcomes = loop.run(_checked(tmp_path, Mutant()))
    assert [(one.check.id, one.evidence, one.reason) for one in outcomes if one.state != "passed"] == []


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_each_check_has_a_referee_that_fails_it_and_nothing_else_about_that_matter(
    check: Check[RefereeScene], tmp_path: Path
) -> None:
    assert failed(loop.run(_checked(tmp_path, MUTANTS[check.id](), about(check, CHECKS)))) == {check.id}


@pytest.mark.long
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_each_check_has_a_referee_that_fails_it_and_nothing_else(check: Check[RefereeScene], tmp_path: Path) -> None:
    assert failed(loop.run(_checked(tmp_path, MUTANTS[check.id]()))) == {check.id}


def test_every_mutant_is_of_a_check_and_every_check_has_its_sources() -> None:
    check_registry(CHECKS, MUTANTS)
