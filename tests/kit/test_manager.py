"""The kit against managers: ours passes every check, and for each check there is one that fails it and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from leaguekit.agents.manager import Manager
from leaguekit.agents.world import World
from leaguekit.kit.checks import Check, Outcome, examine
from leaguekit.kit.manager import CHECKS
from leaguekit.kit.manager.scene import ManagerScene
from leaguekit.league.settings import Settings
from leaguekit.sim import loop
from leaguekit.store.memory import MemoryLog
from tests.kit.manager_mutants import MUTANTS
from tests.kit.memory_ground import MemoryGround
from tests.kit.mutants import Mutant, about, check_registry, failed

URL = "http://127.0.0.1:7000/mcp"
ADMIN = "adm-the-operators-own"


async def _checked(root: Path, mutant: Mutant, checks: Sequence[Check[ManagerScene]] = CHECKS) -> list[Outcome]:
    ground = MemoryGround()
    own = ground.world(root, seed=2)
    world = World(mutant.caller(ground.network), root, own.now, own.entropy, inline=True)
    settings = Settings(league_id="league_under_test", seed_hex="5e" * 32, announce_lead=mutant.lead)
    manager = Manager(world, MemoryLog(), settings, URL, ADMIN)
    await manager.open()
    ground.network.listen(URL, mutant.handler(manager.handle))
    running = asyncio.ensure_future(manager.run())
    scene = ManagerScene(ground.world(), ground, URL, admin_token=ADMIN, patience=30.0, full=True)
    try:
        return await examine(checks, scene, full=True)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await manager.close()


def test_our_own_manager_passes_every_check(tmp_path: Path) -> None:
    outcomes = loop.run(_checked(tmp_path, Mutant()))
    assert [(one.check.id, one.evidence, one.reason) for one in outcomes if one.state != "passed"] == []


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_each_check_has_a_manager_that_fails_it_and_nothing_else_about_that_matter(
    check: Check[ManagerScene], tmp_path: Path
) -> None:
    assert failed(loop.run(_checked(tmp_path, MUTANTS[check.id](), about(check, CHECKS)))) == {check.id}


@pytest.mark.long
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_each_check_has_a_manager_that_fails_it_and_nothing_else(check: Check[ManagerScene], tmp_path: Path) -> None:
    assert failed(loop.run(_checked(tmp_path, MUTANTS[check.id]()))) == {check.id}


def test_every_mutant_is_of_a_check_and_every_check_has_its_sources() -> None:
    check_registry(CHECKS, MUTANTS)
