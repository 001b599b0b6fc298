"""The success metrics of the specification, counted by the manager and shown beside their goals."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from leaguekit.league.statistics import player_stats
from leaguekit.protocol.messages import RequestCounts
from leaguekit.web.app import Dashboard
from tests.agents.leagues import LEAGUE, Hall, in_virtual_time, url_of
from tests.web.dashboard_clients import Json, clumsy, get


async def metrics(hall: Hall) -> dict[str, Json]:
    page = (await get(Dashboard(hall.manager), "/api/metrics")).json
    return {one["id"]: one for one in page["metrics"]}


def figure(found: dict[str, Json], name: str) -> tuple[Any, Any, Any]:
    return found[name]["value"], found[name]["of"], found[name]["met"]


@in_virtual_time
async def test_before_anything_has_happened_nothing_is_met_or_missed(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        found = await metrics(hall)
        assert len(found) == 11
        assert {(one["value"], one["of"], one["met"]) for one in found.values()} == {(None, 0, None)}


@in_virtual_time
async def test_a_league_without_an_incident_meets_every_goal(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.fill("random", "random", "random", "random")
        await hall.operate("start")
        await hall.end()
        asker = hall.players[0].registrar.identity
        assert asker is not None
        query = {"message_type": "LEAGUE_QUERY", "query_type": "GET_STANDINGS", "league_id": LEAGUE}
        token = {"auth_token": asker.auth_token}
        await hall.post("league_query", hall.envelope("player:P01") | query | token)
        found = await metrics(hall)
        measured = {name for name, one in found.items() if one["of"]}
        assert measured == set(found) - {"000-L1547", "000-L1559"}
        assert all(found[name]["met"] for name in measured)
        assert figure(found, "000-L1557") == (1.0, 4, True)
        assert figure(found, "000-L1558") == (1.0, 6, True)
        assert found["000-L1553"]["of"] == 1
        assert found["000-L1552"]["of"] == 24


@pytest.mark.proves("000-L1557")
@in_virtual_time
async def test_the_share_of_players_that_answer_every_type_of_message_correctly_is_shown_with_its_goal(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path) as hall:
        await hall.fill("random", "random")
        await clumsy(hall, 3, "Even")
        await hall.operate("start")
        await hall.end()
        found = await metrics(hall)
        assert found["000-L1557"]["goal"] == "> 95 %"
        assert figure(found, "000-L1557") == (2 / 3, 3, False)
        # Of its 2 matches: a call and 3 repeats in each, all of them wrong; the others chose well.
        assert figure(found, "000-L1549") == (8 / (8 + 4), 12, False)
        assert figure(found, "000-L1547")[:2] == (0.0, 2)


@pytest.mark.proves("000-L1557", "000-L1559")
@in_virtual_time
async def test_the_time_from_an_error_to_its_repair_is_counted_and_who_has_mended_all_is_among_the_correct(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path, announce_lead=600.0) as hall:
        await hall.fill("random", "random", "random")
        # Wrong all through its first match, and right ten minutes later.
        await clumsy(hall, 4, "Even", "Even", "Even", "Even", "even")
        await hall.operate("start")
        await hall.end()
        found = await metrics(hall)
        assert found["000-L1559"]["goal"] == "< 30 min"
        value, count, met = figure(found, "000-L1559")
        assert (count, met) == (1, True)
        # The first match ended when the time for its choice was over.
        assert value == pytest.approx(600, abs=35)
        assert figure(found, "000-L1557") == (1.0, 4, True)


@pytest.mark.proves("000-L1559")
@in_virtual_time
async def test_a_registration_that_is_refused_and_mended_counts_as_an_error_and_its_repair(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        hall.network.listen(url_of("player", 1), hall.manager.handle)
        refused = await hall.register("player", 1, meta={"game_types": ["chess"]})
        assert refused["result"]["status"] == "REJECTED"
        malformed = await hall.register("player", 1, meta={"version": 1})
        assert "error" in malformed
        await asyncio.sleep(3_600)
        hall.network.close(url_of("player", 1))
        await hall.scripted("player", 1)
        await hall.scripted("player", 2)
        found = await metrics(hall)
        assert figure(found, "000-L1558") == (0.5, 2, False)
        assert figure(found, "000-L1559") == (3_600.0, 1, False)
        assert figure(found, "000-L1544")[0] == pytest.approx(1 / found["000-L1544"]["of"])


@pytest.mark.proves("000-L1090")
@in_virtual_time
async def test_errors_that_a_retry_overcame_are_told_from_those_it_did_not(tmp_path: Path) -> None:
    calls = 0

    async def dawdle(kind: str) -> None:
        nonlocal calls
        calls += kind == "CHOOSE_PARITY_CALL"
        if kind == "CHOOSE_PARITY_CALL" and calls == 1:
            await asyncio.sleep(100)

    async with Hall(tmp_path) as hall:
        await hall.fill("random")
        await hall.player("random", gate=dawdle)
        await hall.operate("start")
        await hall.end()
        found = await metrics(hall)
        assert figure(found, "000-L1547") == (1.0, 1, True)
        assert figure(found, "000-L1548") == (0.2, 5, False)
        page = (await get(Dashboard(hall.manager), "/api/agents/P02")).json
        assert (page["counts"]["timeouts"], page["counts"]["recovered"]) == (1, 1)
        assert page["errors"][0]["code"] == "E001"
        asked = player_stats(hall.league, "P02").requests
        assert asked == RequestCounts(answered=2, timeouts=1, retried=1, recovered=1)
