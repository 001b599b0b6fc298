"""Queries in the middle of the league, when the first round is over and its table is known."""

from __future__ import annotations

from typing import Any

from leaguekit.kit.answer_checks import is_result
from leaguekit.kit.checks import Area, Evidence
from leaguekit.kit.exchanges import Exchange, Json
from leaguekit.kit.incoming import has, value
from leaguekit.kit.manager.harness import Fixture, ManagerScene, rows_of
from leaguekit.kit.manager.kit_agents import Member
from leaguekit.kit.manager.registration import referee
from leaguekit.kit.manager.reports import completed, standings_right

QUERY: Area[ManagerScene] = Area("query", "Queries")


async def _asked(scene: ManagerScene, query_type: str, member: Member | None = None, **params: Any) -> Exchange:
    exchange = await scene.say(query_type, scene.query(query_type, member, **params))
    is_result(exchange)
    for name, wanted in (("message_type", "LEAGUE_QUERY_RESPONSE"), ("query_type", query_type)):
        if exchange.result.get(name) != wanted:
            raise exchange.failed(f"{name}: {wanted}")
    return exchange


NEEDS = [completed, standings_right]


@QUERY.required(
    "standings", "GET_STANDINGS gives everybody's points.", "000-L1087", "000-L1138", "001-L1728", needs=NEEDS
)
async def standings(scene: ManagerScene) -> Evidence:
    exchange = await _asked(scene, "GET_STANDINGS")
    path = "standings" if "standings" in exchange.result else "data.standings"
    found = {row.get("player_id"): row.get("points") for row in rows_of(exchange.result, path)}
    wanted = {row.player_id: row.points for row in scene.table.rows.values()}
    if found != wanted:
        raise exchange.failed(f"the points {wanted}")
    return exchange.evidence(f"the points {wanted}")


@QUERY.recommended(
    "success",
    "An answer says success: true, and has its data.",
    "000-L1163",
    "000-L1166b",
    needs=[*NEEDS, standings],
)
async def success(scene: ManagerScene) -> Evidence:
    exchange = scene.seen["GET_STANDINGS"]
    if exchange.result.get("success") is not True or not isinstance(exchange.result.get("data"), dict):
        raise exchange.failed("success: true, and data")
    return exchange.evidence("success: true, and data")


@QUERY.recommended(
    "current_round",
    "GET_STANDINGS also has document 001's standings and current_round.",
    "001-L1729",
    needs=[*NEEDS, standings],
)
async def current_round(scene: ManagerScene) -> Evidence:
    exchange = scene.seen["GET_STANDINGS"]
    if type(exchange.result.get("current_round")) is not int or not rows_of(exchange.result, "standings"):
        raise exchange.failed("standings and current_round in the answer itself")
    return exchange.evidence("standings and current_round in the answer itself")


@QUERY.required("schedule", "GET_SCHEDULE gives the matches of a round.", "000-L1088", "000-L1065", needs=NEEDS)
async def schedule(scene: ManagerScene) -> Evidence:
    exchange = await _asked(scene, "GET_SCHEDULE", round_id=1)
    data = value(exchange.result, "data")
    wanted = {one.match_id for one in scene.rounds[1]}
    named = {*_texts(data)} & {fixture.match_id for many in scene.rounds.values() for fixture in many}
    if not wanted <= named:
        raise exchange.failed(f"the matches {', '.join(sorted(wanted))}")
    return exchange.evidence(f"the matches {', '.join(sorted(wanted))}")


@QUERY.required(
    "next_match", "GET_NEXT_MATCH gives a player's next match and opponent.", "000-L1089", "000-L1121", needs=NEEDS
)
async def next_match(scene: ManagerScene) -> Evidence:
    asker = scene.players[0]
    exchange = await _asked(scene, "GET_NEXT_MATCH", player_id=asker.id)
    fixture = next((one for one in scene.rounds.get(2, []) if asker.id in (one.a, one.b)), None)
    found = value(exchange.result, "data.next_match")
    expected = _next(fixture, asker.id)
    if expected is None:
        return exchange.evidence("whatever comes: it rests in the next round")
    if not has(found, expected):
        raise exchange.failed(f"next_match with {expected}")
    return exchange.evidence(f"next_match with {expected}")


@QUERY.recommended("player_stats", "GET_PLAYER_STATS gives one player's record.", "000-L1090", "000-L1178", needs=NEEDS)
async def player_stats(scene: ManagerScene) -> Evidence:
    asker = scene.players[0]
    exchange = await _asked(scene, "GET_PLAYER_STATS", player_id=asker.id)
    row = scene.table.rows[asker.id]
    wanted = {"player_id": row.player_id, "wins": row.wins, "points": row.points}
    found = value(exchange.result, "data.player_stats")
    if not has(found, wanted):
        raise exchange.failed(f"player_stats with {wanted}")
    return exchange.evidence(f"player_stats with {wanted}")


@QUERY.recommended("status", "GET_STATUS says where the league stands.", "001-L1693", "001-L1919", needs=NEEDS)
async def status(scene: ManagerScene) -> Evidence:
    exchange = await _asked(scene, "GET_STATUS")
    if value(exchange.result, "data.status.state") != "RUNNING_LEAGUE":
        raise exchange.failed("data.status.state: RUNNING_LEAGUE")
    return exchange.evidence("data.status.state: RUNNING_LEAGUE")


@QUERY.recommended("referee", "A referee may ask as well.", "000-L1029", "000-L1107", needs=[*NEEDS, *referee])
async def by_referee(scene: ManagerScene) -> Evidence:
    exchange = await scene.say("a referee's query", scene.query("GET_STANDINGS", scene.referees[0]))
    return is_result(exchange)


def _next(fixture: Fixture | None, player_id: str) -> Json | None:
    if fixture is None:
        return None
    opponent = fixture.b if fixture.a == player_id else fixture.a
    return {"match_id": fixture.match_id, "round_id": fixture.round_id, "opponent_id": opponent}


def _texts(data: Any) -> list[str]:
    """Every text in a value, however it is built: documents do not say how a schedule is."""
    if isinstance(data, str):
        return [data]
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else []
    return [text for one in inner for text in _texts(one)]
