"""The kit against managers. Ours passes every check; for each check there is a manager that fails only that."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from leaguekit.agents.world import World
from leaguekit.formats import FORMATS, Format
from leaguekit.formats.base import Ended, NextRound, PairingEngine, Tournament
from leaguekit.kit.checks import Check, CheckSettings, Failed, Outcome, run_checks
from leaguekit.kit.exchanges import IncomingRequest
from leaguekit.kit.manager import CHECKS, check_manager
from leaguekit.kit.manager.harness import ManagerHarness, check_ties
from leaguekit.kit.report import Report
from leaguekit.league.records import Match
from leaguekit.league.settings import Settings
from leaguekit.manager.manager import Manager
from leaguekit.sim import loop
from leaguekit.store.memory import MemoryLog
from leaguekit.transport.base import Peer
from tests.kit.manager_mutants import MUTANTS, ack_of
from tests.kit.memory_network import MemoryKitNetwork
from tests.kit.mutants import Faked, Json, Mutant, check_registry, checks_of_area, failed, is_a, without_table_checks
from tests.league.play import drawn, won

URL = "http://127.0.0.1:7000/mcp"
ADMIN = "adm-the-operators-own"


async def _run_checks(
    root: Path, mutant: Mutant, checks: Sequence[Check[ManagerHarness]] = CHECKS, **more: Any
) -> list[Outcome]:
    network = MemoryKitNetwork()
    own = network.world(root, seed=2)
    world = World(mutant.caller(network.memory), root, own.now, own.entropy, inline=True)
    settings = Settings(league_id="league_under_test", seed_hex="5e" * 32, announce_lead=mutant.announce_lead, **more)
    manager = Manager(world, MemoryLog(), settings, URL, ADMIN)
    await manager.open()
    network.memory.listen(URL, mutant.handler(manager.handle))
    running = asyncio.ensure_future(manager.run())
    check_settings = CheckSettings(timeout_seconds=30.0, full=True)
    harness = ManagerHarness(network.world(), network, URL, admin_token=ADMIN, settings=check_settings)
    try:
        return await run_checks(checks, harness, check_settings)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await manager.close()


def test_our_own_manager_passes_every_check(tmp_path: Path) -> None:
    outcomes = loop.run(_run_checks(tmp_path, Mutant()))
    assert [(one.check.id, one.evidence, one.reason) for one in outcomes if one.state != "passed"] == []


# What does not apply to a format, and is not judged.
NOT_EVERYBODY = ["league.pairs"]
OWN_RANKING = ["league.pairs", "end.ties"]


@pytest.mark.parametrize(
    ("more", "not_run"),
    [
        ({"format": "swiss"}, NOT_EVERYBODY),
        ({"format": "swiss(rounds=3)"}, NOT_EVERYBODY),
        ({"format": "knockout"}, OWN_RANKING),
        ({"format": "knockout(best_of=3, third_place=true)"}, OWN_RANKING),
        ({"format": "gauntlet(challengers=2)"}, ["round.whole", "league.pairs"]),
        ({"rounds": "double"}, []),
    ],
    ids=str,
)
def test_our_own_manager_passes_every_check_in_every_format(
    more: dict[str, Any], not_run: list[str], tmp_path: Path
) -> None:
    outcomes = loop.run(_run_checks(tmp_path, Mutant(), **more))
    assert failed(outcomes) == set()
    assert [one.check.id for one in outcomes if one.state != "passed"] == not_run


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("swiss(rounds=1)", "its league, swiss(rounds=1), has one round only; check a league with more rounds"),
        ("gauntlet", "the kit needs two matches in a round, and the format is gauntlet; check another one"),
    ],
)
def test_a_league_that_is_too_small_for_the_checks_is_not_said_to_be_wrong(
    text: str, reason: str, tmp_path: Path
) -> None:
    outcomes = loop.run(_run_checks(tmp_path, Mutant(), format=text))
    assert [one.check.id for one in outcomes if one.state == "failed"] == []
    assert [one.reason for one in outcomes if one.is_our_fault] == [reason]


class AnAuthorsFormat(Format):
    """Two rounds. In the second one, two players meet, and the others have a bye."""

    name = "an_authors_format"
    advancement = "The table decides."

    def ended(self, tournament: Tournament) -> Ended | None:
        return Ended("Both rounds have been played.", []) if len(tournament.rounds) == 2 else None

    def pair_next_round(self, tournament: Tournament, engine: PairingEngine | None = None) -> NextRound:
        a, b, c, d = tournament.entrants
        return NextRound([(a, b)], [c, d], "", []) if tournament.rounds else NextRound([(a, b), (c, d)], [], "", [])


def test_byes_count_as_the_manager_announces_them_in_a_format_that_the_kit_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FORMATS, AnAuthorsFormat.name, AnAuthorsFormat)
    monkeypatch.setattr("leaguekit.kit.manager.harness.find_format", lambda _text: None)
    outcomes = loop.run(_run_checks(tmp_path, Mutant(), format=AnAuthorsFormat.name))
    assert failed(outcomes) == set()
    assert [one.check.id for one in outcomes if one.state != "passed"] == ["round.whole", *OWN_RANKING]


def test_a_manager_whose_league_has_started_is_not_said_to_be_wrong(tmp_path: Path) -> None:
    async def main() -> Report:
        network = MemoryKitNetwork()
        settings = Settings(league_id="league_under_test", seed_hex="5e" * 32)
        manager = Manager(network.world(tmp_path, seed=2), MemoryLog(), settings, URL, ADMIN)
        await manager.open()
        network.memory.listen(URL, manager.handle)
        harness = ManagerHarness(network.world(), network, URL)
        for role, count in (("player", 2), ("referee", 1)):
            for number in range(count):
                await harness.register(f"{role} {number}", role, f"{role} {number}")  # type: ignore[arg-type]
        await harness.client.call(URL, "operator", {"command": "start", "admin_token": ADMIN}, 10.0)
        try:
            return await check_manager(network.world(seed=3), network, URL)
        finally:
            await manager.close()

    report = loop.run(main())
    assert report.exit_code == 2
    assert report.obstacle == "its league has started; check a manager whose league is new and has nobody in it"
    assert [one.check.id for one in report.outcomes if one.state == "failed"] == []


@pytest.mark.parametrize("order", [("P01", "P02", "P03", "P04"), ("P01", "P03", "P02", "P04")])
def test_players_who_are_equal_in_everything_may_be_in_any_order(order: Sequence[str]) -> None:
    network = MemoryKitNetwork()
    harness = ManagerHarness(network.world(), network, URL)
    for name in ("P01", "P02", "P03", "P04"):
        harness.table.add_player(name, name)
    harness.table.count(won(Match(id="R1M1", round_id=1, a="P01", b="P04"), "P01"))
    harness.table.count(drawn(Match(id="R1M2", round_id=1, a="P02", b="P03")))
    rows = [{"rank": rank, "player_id": name} for rank, name in enumerate(order, start=1)]
    check_ties(_request(rows), "standings", harness)
    rows[1]["rank"] = 3
    with pytest.raises(Failed):
        check_ties(_request(rows), "standings", harness)
    rows[1]["rank"], rows[0], rows[1] = 2, {"rank": 1, "player_id": order[1]}, {"rank": 2, "player_id": "P01"}
    with pytest.raises(Failed):
        check_ties(_request(rows), "standings", harness)


def _request(rows: list[Json]) -> IncomingRequest:
    value = {"params": {"standings": rows}}
    return IncomingRequest(json.dumps(value).encode(), Peer("127.0.0.1"), datetime.now(UTC), 0.0, value)


@pytest.mark.parametrize("check", without_table_checks(CHECKS, MUTANTS), ids=lambda check: check.id)
def test_each_check_has_a_manager_that_fails_it_and_nothing_else_about_that_matter(
    check: Check[ManagerHarness], tmp_path: Path
) -> None:
    assert failed(loop.run(_run_checks(tmp_path, MUTANTS[check.id](), checks_of_area(check, CHECKS)))) == {check.id}


@pytest.mark.longest
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_each_check_has_a_manager_that_fails_it_and_nothing_else(check: Check[ManagerHarness], tmp_path: Path) -> None:
    assert failed(loop.run(_run_checks(tmp_path, MUTANTS[check.id]()))) == {check.id}


def test_every_mutant_is_of_a_check_and_every_check_has_its_sources() -> None:
    check_registry(CHECKS, MUTANTS)


def _without_assignments() -> Mutant:
    """Return a manager that does not use start_match."""
    is_one = is_a("MATCH_ASSIGNMENT")
    return Mutant(
        change_request=lambda request, _url: Faked(None, ack_of(request)) if is_one(request) else request,
        announce_lead=0.0,
    )


def test_a_manager_that_assigns_otherwise_is_not_asked_about_assignments(tmp_path: Path) -> None:
    outcomes = loop.run(_run_checks(tmp_path, _without_assignments()))
    assert failed(outcomes) == set()
    not_run = {one.check.id: one.reason for one in outcomes if one.state == "not run"}
    about_assignments = {check.id for check in CHECKS if check.id.startswith("assign.")} - {"assign.tokens"}
    assert not_run.keys() == about_assignments
    assert "no start_match came" in not_run["assign.comes"]


def test_somebody_is_told_to_start_the_league_when_all_are_there(tmp_path: Path) -> None:
    said: list[str] = []

    async def main() -> list[Outcome]:
        network = MemoryKitNetwork()
        settings = Settings(league_id="league_under_test", announce_lead=0.0)
        manager = Manager(network.world(tmp_path, seed=2), MemoryLog(), settings, URL, ADMIN)
        await manager.open()
        network.memory.listen(URL, manager.handle)
        running = asyncio.ensure_future(manager.run())

        def on_progress(text: str) -> None:
            said.append(text)
            # As the person at the terminal does.
            manager.runner.start_when = (4, 2)
            manager.runner.wake()

        report = await check_manager(
            network.world(), network, URL, settings=CheckSettings(timeout_seconds=30.0, on_progress=on_progress)
        )
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await manager.close()
        return [*report.outcomes]

    assert failed(loop.run(main())) == set()
    assert said == ["Start your league now: it has 4 players and 2 referees. (Waiting for 30 s.)"]


RUBBISH: tuple[Any, ...] = (None, [], [7], {}, "", "\ud800", 1e308, True, -1)


@pytest.mark.parametrize(
    "rubbish", [{"status": []}, *(pytest.param(one, marks=pytest.mark.longest) for one in RUBBISH)], ids=repr
)
def test_the_kit_survives_whatever_a_manager_answers_and_sends(rubbish: Any, tmp_path: Path) -> None:
    def answer(request: Any, _answer: Any) -> Any:
        return {"jsonrpc": "2.0", "result": rubbish, "id": request.get("id") if isinstance(request, dict) else None}

    def fault(request: Any, _answer: Any) -> Any:
        return {"jsonrpc": "2.0", "error": rubbish, "id": request.get("id") if isinstance(request, dict) else None}

    def message(request: Json, _url: str) -> Json:
        return request | {"params": dict.fromkeys(request["params"], rubbish)}

    def within(request: Json, _url: str) -> Json:
        inner = {
            name: [dict.fromkeys(one, rubbish) if isinstance(one, dict) else rubbish for one in value]
            if isinstance(value, list)
            else value
            for name, value in request["params"].items()
        }
        return request | {"params": inner}

    for mutant in (
        Mutant(change_answer=answer),
        Mutant(change_answer=fault),
        Mutant(change_request=message),
        Mutant(change_request=within),
    ):
        failed(loop.run(_run_checks(tmp_path / str(id(mutant)), mutant)))
