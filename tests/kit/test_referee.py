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
from tests.kit.mutants import Mutant
from tests.kit.referee_mutants import MUTANTS
from tests.requirements import REQUIREMENTS

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


def failed(outcomes: list[Outcome]) -> set[str]:
    assert not [one for one in outcomes if one.is_our_fault], [one.reason for one in outcomes if one.is_our_fault]
    return {one.check.id for one in outcomes if one.state == "failed"}


def about(check: Check[RefereeScene]) -> list[Check[RefereeScene]]:
    """The check, those of the same area, and all that they rest on."""
    wanted: set[str] = set()

    def add(one: Check[RefereeScene]) -> None:
        if one.id not in wanted:
            wanted.add(one.id)
            for need in one.needs:
                add(need)

    for one in CHECKS:
        if one.area == check.area:
            add(one)
    return [one for one in CHECKS if one.id in wanted]


def test_our_own_referee_passes_every_check(tmp_path: Path) -> None:
    outcomes = loop.run(_checked(tmp_path, Mutant()))
    assert [(one.check.id, one.evidence, one.reason) for one in outcomes if one.state != "passed"] == []


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_each_check_has_a_referee_that_fails_it_and_nothing_else_about_that_matter(
    check: Check[RefereeScene], tmp_path: Path
) -> None:
    assert failed(loop.run(_checked(tmp_path, MUTANTS[check.id](), about(check)))) == {check.id}


@pytest.mark.long
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_each_check_has_a_referee_that_fails_it_and_nothing_else(check: Check[RefereeScene], tmp_path: Path) -> None:
    assert failed(loop.run(_checked(tmp_path, MUTANTS[check.id]()))) == {check.id}


def test_every_mutant_is_of_a_check() -> None:
    assert MUTANTS.keys() == {check.id for check in CHECKS}


def test_checks_have_ids_of_their_own_and_requirements_that_exist() -> None:
    assert len({check.id for check in CHECKS}) == len(CHECKS)
    for check in CHECKS:
        assert check.requirements, check.id
        for requirement in check.requirements:
            assert requirement in REQUIREMENTS or requirement.startswith("decision "), (check.id, requirement)


def test_what_is_required_rests_on_nothing_that_is_only_recommended() -> None:
    for check in CHECKS:
        assert not check.is_required or all(need.is_required for need in check.needs), check.id
