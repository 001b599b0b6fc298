"""Players that the operator adds to a Swiss after its start, with real agents and the real manager."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from leaguekit.agents.registration import RegistrationRefused
from leaguekit.league.audit.log_audit import Audit
from leaguekit.manager.rounds.pairing_engine import Py4Swiss
from tests.agents.leagues import ADMIN, Hall, HeldLog, in_virtual_time, url_of

SWISS = "swiss(rounds=3)"
FOUR = ("random", "always_even", "always_odd", "frequency")


def findings(hall: Hall) -> list[str]:
    audit = Audit(Py4Swiss())
    for number, line in enumerate(hall.log.content.events, start=1):
        audit.take(number, line)
    return [str(finding) for finding in audit.close() if not finding.is_warning]


async def until_round(hall: Hall, number: int) -> None:
    await hall.until(lambda: hall.league.current_round == number, 5, step=0.001)


@pytest.mark.proves("000-L0303", "000-L1231")
@in_virtual_time
async def test_a_player_that_is_refused_after_the_start_plays_when_the_operator_has_added_and_readmitted_it(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path, format=SWISS) as hall:
        await hall.fill(*FOUR)
        await hall.operate("start")
        await until_round(hall, 1)
        with pytest.raises(RegistrationRefused, match="league already started"):
            await hall.player("random")
        (late,) = hall.players[4:]
        added = await hall.operate("add_player", endpoint=url_of("player", 5), display_name="Player 5")
        assert added["done"] == "P05 is registered: Player 5. Its agent may register after `league readmit P05`."
        # Its endpoint and name are those of a player now, but it has no token.
        with pytest.raises(RegistrationRefused):
            await late.register()
        await hall.operate("readmit", player_id="player 5")
        await late.register()
        await hall.end()
        assert hall.league.seeding[-1] == "P05"
        played = [match for match in hall.league.matches.values() if "P05" in match.players]
        byes = [round_.id for round_ in hall.league.rounds if "P05" in round_.byes]
        assert sorted([*(match.round_id for match in played), *byes]) == [2, 3]
        assert {match.outcome.status for match in played if match.outcome} <= {"WIN", "DRAW"}
        await asyncio.wait_for(late.finished.wait(), 10)
        assert findings(hall) == []
        assert hall.faults() == []


@pytest.mark.parametrize("text", ["knockout", "gauntlet", "round_robin"])
@in_virtual_time
async def test_in_other_formats_the_operator_is_told_that_nobody_comes_in_late(tmp_path: Path, text: str) -> None:
    async with Hall(tmp_path, format=text) as hall:
        await hall.fill(*FOUR)
        await hall.operate("start")
        call = {"command": "add_player", "admin_token": ADMIN, "endpoint": url_of("player", 5)}
        error = (await hall.post("operator", call))["error"]
        assert f"the format {text} takes nobody after the start" in str(error)
        await hall.end()
        assert len(hall.league.players) == 4


@in_virtual_time
async def test_a_player_that_is_added_while_a_round_is_announced_need_not_answer(
    tmp_path: Path,
) -> None:
    log = HeldLog()
    async with Hall(tmp_path, log=log, format=SWISS) as hall:
        await hall.fill(*FOUR)
        log.hold()
        commands = [asyncio.create_task(hall.operate("start"))]
        await until_round(hall, 1)
        adding = hall.operate("add_player", endpoint=url_of("player", 5), display_name="Late")
        commands.append(asyncio.create_task(adding))
        await hall.until(lambda: "P05" in hall.league.players, 5)
        log.release()
        await asyncio.gather(*commands)
        await hall.end()
        assert hall.league.table.rows["P05"].unplayed >= 1
        assert findings(hall) == []
