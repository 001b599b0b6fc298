"""Queries between the first round and the second, when the table is known."""

from __future__ import annotations

from typing import Any

from leaguekit.kit.answer_checks import is_result
from leaguekit.kit.checks import Area, Evidence
from leaguekit.kit.exchanges import Exchange, Json
from leaguekit.kit.field_checks import has, value
from leaguekit.kit.manager.harness import Fixture, ManagerHarness, rows_of
from leaguekit.kit.manager.kit_agents import LeagueAgent
from leaguekit.kit.manager.registration import referee_accepted
from leaguekit.kit.manager.reports import completed, standings_right

QUERY: Area[ManagerHarness] = Area("query", "Queries")


async def _ask(harness: ManagerHarness, query_type: str, agent: LeagueAgent | None = None, **params: Any) -> Exchange:
    exchange = await harness.send(query_type, harness.query(query_type, agent, **params))
    is_result(exchange)
    for name, wanted in (("message_type", "LEAGUE_QUERY_RESPONSE"), ("query_type", query_type)):
        if exchange.result.get(name) != wanted:
            raise exchange.failed(f"{name}: {wanted}")
    return exchange


ROUND_IS_OVER = [completed, standings_right]


@QUERY.required("000-L1087", "000-L1138", "001-L1728", needs=ROUND_IS_OVER)
async def standings(harness: ManagerHarness) -> Evidence:
    """GET_STANDINGS gives everybody's points."""
    exchange = await _ask(harness, "GET_STANDINGS")
    path = "standings" if "standings" in exchange.result else "data.standings"
    found = {row.get("player_id"): row.get("points") for row in rows_of(exchange.result, path)}
    wanted = {row.player_id: row.points for row in harness.table.rows.values()}
    return exchange.fail_if(found != wanted, f"the points {wanted}")


@QUERY.recommended("000-L1163", "000-L1166b", needs=[*ROUND_IS_OVER, standings])
async def success(harness: ManagerHarness) -> Evidence:
    """An answer says success: true, and has its data."""
    exchange = harness.answers["GET_STANDINGS"]
    return exchange.fail_if(
        exchange.result.get("success") is not True or not isinstance(exchange.result.get("data"), dict),
        "success: true, and data",
    )


@QUERY.recommended("001-L1729", needs=[*ROUND_IS_OVER, standings])
async def current_round(harness: ManagerHarness) -> Evidence:
    """GET_STANDINGS also has document 001's standings and current_round."""
    exchange = harness.answers["GET_STANDINGS"]
    return exchange.fail_if(
        type(exchange.result.get("current_round")) is not int or not rows_of(exchange.result, "standings"),
        "standings and current_round in the answer itself",
    )


@QUERY.required("000-L1088", "000-L1065", needs=ROUND_IS_OVER)
async def schedule(harness: ManagerHarness) -> Evidence:
    """GET_SCHEDULE gives the matches of a round."""
    exchange = await _ask(harness, "GET_SCHEDULE", round_id=1)
    data = value(exchange.result, "data")
    wanted = {one.match_id for one in harness.rounds[1]}
    named = {*_texts_in(data)} & {fixture.match_id for many in harness.rounds.values() for fixture in many}
    return exchange.fail_if(not wanted <= named, f"the matches {', '.join(sorted(wanted))}")


@QUERY.required("000-L1089", "000-L1121", needs=ROUND_IS_OVER)
async def next_match(harness: ManagerHarness) -> Evidence:
    """GET_NEXT_MATCH gives a player's next match and opponent."""
    asker = harness.players[0]
    exchange = await _ask(harness, "GET_NEXT_MATCH", player_id=asker.id)
    fixture = next((one for one in harness.rounds.get(2, []) if asker.id in (one.a, one.b)), None)
    found = value(exchange.result, "data.next_match")
    expected = _next_match_of(fixture, asker.id)
    if expected is None:
        return exchange.evidence("any answer: the player does not play in the next round")
    return exchange.fail_if(not has(found, expected), f"next_match with {expected}")


@QUERY.recommended("000-L1090", "000-L1178", needs=ROUND_IS_OVER)
async def player_stats(harness: ManagerHarness) -> Evidence:
    """GET_PLAYER_STATS gives one player's record."""
    asker = harness.players[0]
    exchange = await _ask(harness, "GET_PLAYER_STATS", player_id=asker.id)
    row = harness.table.rows[asker.id]
    wanted = {"player_id": row.player_id, "wins": row.wins, "points": row.points}
    found = value(exchange.result, "data.player_stats")
    return exchange.fail_if(not has(found, wanted), f"player_stats with {wanted}")


@QUERY.recommended("001-L1693", "001-L1919", needs=ROUND_IS_OVER)
async def status(harness: ManagerHarness) -> Evidence:
    """GET_STATUS shows the state of the league."""
    exchange = await _ask(harness, "GET_STATUS")
    return exchange.fail_if(
        value(exchange.result, "data.status.state") != "RUNNING_LEAGUE", "data.status.state: RUNNING_LEAGUE"
    )


@QUERY.recommended("000-L1029", "000-L1107", name="referee", needs=[*ROUND_IS_OVER, *referee_accepted])
async def by_referee(harness: ManagerHarness) -> Evidence:
    """A referee may ask as well."""
    exchange = await harness.send("a referee's query", harness.query("GET_STANDINGS", harness.referees[0]))
    return is_result(exchange)


def _next_match_of(fixture: Fixture | None, player_id: str) -> Json | None:
    if fixture is None:
        return None
    opponent = fixture.b if fixture.a == player_id else fixture.a
    return {"match_id": fixture.match_id, "round_id": fixture.round_id, "opponent_id": opponent}


def _texts_in(data: Any) -> list[str]:
    """Return every text in a value. The documents do not define the structure of a schedule."""
    if isinstance(data, str):
        return [data]
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else []
    return [text for one in inner for text in _texts_in(one)]
