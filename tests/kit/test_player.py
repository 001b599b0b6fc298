"""The kit against players. Ours pass; for each check there is a player that fails only that."""

from __future__ import annotations

import asyncio
import gc
import itertools
from pathlib import Path
from typing import Any

import pytest

from leaguekit.games import GAMES, game, plugins
from leaguekit.games.tic_tac_toe import TicTacToe
from leaguekit.kit.checks import Check, CheckSettings
from leaguekit.kit.player import CHECKS, check_player
from leaguekit.kit.player.harness import PlayerHarness
from leaguekit.kit.report import Report, summary
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.sentences import CHECK, CHECK_OVER
from leaguekit.player.strategies import STRATEGIES
from leaguekit.sim import loop
from tests.kit.memory_network import KIT_URL, MemoryKitNetwork
from tests.kit.player_mutants import MUTANTS
from tests.kit.scripted_player import URL, Json, Mutation, ScriptedPlayer
from tests.requirements import REQUIREMENTS


async def _run_checks(mutation: Mutation, *, full: bool = False, name: str = "even_odd") -> Report:
    network = MemoryKitNetwork()
    player = ScriptedPlayer(network, mutation)
    running = asyncio.ensure_future(player.run())
    try:
        return await check_player(
            network.world(), network, game(name), settings=CheckSettings(full=full, timeout_seconds=30.0)
        )
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _states(report: Report, state: str) -> set[str]:
    return {one.check.id for one in report.outcomes if one.state == state}


@pytest.mark.parametrize("name", GAMES)
def test_a_player_that_does_everything_right_passes_every_check(name: str) -> None:
    report = loop.run(_run_checks(Mutation(), full=True, name=name))
    assert _states(report, "passed") == {check.id for check in CHECKS}, [
        (one.check.id, one.evidence, one.reason) for one in report.outcomes if one.state != "passed"
    ]
    assert report.exit_code == 0


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_each_check_has_a_player_that_fails_it_and_nothing_else(check: Check[PlayerHarness]) -> None:
    report = loop.run(_run_checks(MUTANTS[check.id], full=check.full))
    assert _states(report, "failed") == {check.id}
    for one in report.outcomes:
        if one.state == "not run" and not (one.check.full and not check.full):
            assert one.blocked_by == check.id, (one.check.id, one.reason)
    # If no player comes, there is nothing to check.
    assert report.exit_code == (2 if check.id == "register.comes" else 1 if check.is_required else 0)


def test_the_conclusion_says_that_moves_were_replaced_and_why() -> None:
    report = loop.run(_run_checks(MUTANTS["own.moves"]))
    made = next(one for one in report.outcomes if one.check.id == "own.moves").evidence.came
    assert made.endswith("were replaced by other legal moves, the first because no idea")
    assert [*summary(report)][-1] == (
        f"OK by the protocol: nothing that is required of {report.subject} failed. But {made}."
    )


def test_a_player_that_ends_between_matches_fails_checks_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    calls = itertools.count(1)

    async def ending(player: ScriptedPlayer, request: Json, answer: Any) -> Any:
        if request.get("method") == "parity_choose" and next(calls) == 4:
            player.network.memory.close(URL)
            return None
        return answer

    report = loop.run(_run_checks(Mutation(ending)))
    gc.collect()
    assert caplog.records == []
    came = {one.check.id: one.evidence.came for one in report.outcomes if one.state == "failed"}
    assert came["time.at_once"].startswith("no answer")
    assert came["repeat.call"].startswith("no answer")


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


class GameOfAFile(TicTacToe):
    name = "of_a_file"


@pytest.mark.parametrize("name", [*GAMES, GameOfAFile.name])
def test_our_own_player_passes_every_check(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plugins._added, GameOfAFile.name, GameOfAFile)

    async def main() -> Report:
        network = MemoryKitNetwork()
        player = Player("Ours", STRATEGIES["random"])
        agent = PlayerAgent(player, network.world(tmp_path, seed=2), KIT_URL, URL, notify=told.append)
        network.memory.listen(URL, agent.handle)
        checking = asyncio.ensure_future(
            check_player(network.world(), network, game(name), settings=CheckSettings(full=True))
        )
        await agent.register()
        await agent.finished.wait()
        network.memory.close(URL)
        report = await checking
        await agent.close()
        return report

    told: list[str] = []
    report = loop.run(main())
    # Its author first reads that what follows is provoked.
    assert told[0] == CHECK
    assert CHECK_OVER in told[1:]
    assert not any(" is number " in text for text in told)
    assert _states(report, "failed") == set()
    # It sends its manager no queries.
    assert _states(report, "not run") == {"own.valid", "own.token"}
