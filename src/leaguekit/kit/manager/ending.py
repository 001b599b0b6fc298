"""The rest of the league to its end: all rounds, the final table, and what the manager does afterwards."""

from __future__ import annotations

import asyncio
from collections import Counter

from leaguekit.kit.answer_checks import is_refusal, is_result
from leaguekit.kit.checks import Area, Evidence, Failed
from leaguekit.kit.exchanges import Arrived
from leaguekit.kit.incoming import Came, Part, envelope, evidence, is_a, judged, value
from leaguekit.kit.manager.harness import ROUND_SECONDS, ManagerScene
from leaguekit.kit.manager.kit_agents import SENDER
from leaguekit.kit.manager.reports import accepted, completed, first, rest
from leaguekit.kit.manager.rounds import round_number, told_to_all
from leaguekit.kit.manager.standings import check_counts, check_order, check_rows, check_ties
from leaguekit.protocol import messages as m

LEAGUE: Area[ManagerScene] = Area("league", "The whole league")
END: Area[ManagerScene] = Area("end", "End of the league")

# How long nothing may follow the end of the league.
QUIET_SECONDS = 2.0


@LEAGUE.required(
    "rounds",
    "Round follows round, each announced under the next number.",
    "000-L0360",
    "003-L0158a",
    needs=[accepted, rest, completed, round_number],
)
async def rounds(scene: ManagerScene) -> Evidence:
    total = len(scene.players) - 1 + len(scene.players) % 2
    expected = f"the rounds 1 to {total}"
    for number in range(2, total + 1):
        fixtures = await scene.announced(number, ROUND_SECONDS)
        if fixtures is None:
            raise Failed(Evidence(came=f"round {number} was not announced", expected=expected))
        await scene.given_out(number)
        for fixture in fixtures:
            is_result(await scene.reported(fixture))
    announced = [one.message.get("round_id") for one in scene.players[0].got(m.RoundAnnouncement)]
    if announced != [*range(1, total + 1)]:
        raise Failed(Evidence(came=f"the rounds {announced}", expected=expected))
    return Evidence(came=expected, expected=expected)


@LEAGUE.required("pairs", "Everybody meets everybody, once.", "003-L0155b", needs=[rounds])
async def pairs(scene: ManagerScene) -> Evidence:
    met = Counter(frozenset((one.a, one.b)) for many in scene.rounds.values() for one in many)
    players = [*scene.table.rows]
    wanted = {frozenset((one, other)) for one in players for other in players if one < other}
    expected = f"each of {len(wanted)} pairs once"
    if set(met) != wanted or max(met.values()) > 1:
        raise Failed(Evidence(came=f"{len(met)} pairs in {met.total()} matches", expected=expected))
    return Evidence(came=expected, expected=expected)


@LEAGUE.required(
    "last_round",
    "After the last round there is no next one: next_round_id is null.",
    "000-L0433",
    "000-L0446",
    needs=[rounds],
)
async def last_round(scene: ManagerScene) -> Evidence:
    await told_to_all(scene, m.RoundCompleted, scene.players, len(scene.rounds))
    last = scene.players[0].got(m.RoundCompleted)[-1]
    if last.message.get("next_round_id", ...) is not None:
        raise Failed(evidence(last, "next_round_id: null"))
    return evidence(last, "next_round_id: null")


@END.required(
    "players", "When all rounds are over, every player is told of the end.", "000-L0453", "001-L0748", needs=[rounds]
)
async def to_players(scene: ManagerScene) -> Evidence:
    found = await told_to_all(scene, m.LeagueCompleted, scene.players)
    wanted = {
        "message_type": "LEAGUE_COMPLETED",
        "sender": SENDER,
        "league_id": scene.league_id,
        "total_rounds": len(scene.rounds),
        "total_matches": len(scene.results),
    }
    scene.told["end"] = [Came(player.got(m.LeagueCompleted)[0], wanted) for player in scene.players]
    return found


@END.recommended("referees", "So is every referee.", "000-L0453", "000-L0513", needs=[to_players])
async def to_referees(scene: ManagerScene) -> Evidence:
    return await told_to_all(scene, m.LeagueCompleted, scene.referees)


_fields = judged(
    END,
    "end",
    m.LeagueCompleted,
    [
        *envelope(
            m.LeagueCompleted,
            "league_manager",
            ("001-L0758", "001-L0757", "001-L0759", "001-L0760", "001-L0761"),
        ),
        Part("league_id", "The end names the league.", ("000-L0482",)),
        Part("total_rounds", "The end counts the rounds.", ("000-L0483",)),
        Part("total_matches", "The end counts the matches.", ("000-L0484",)),
        Part("champion.player_id", "The end names the champion.", ("000-L0487",)),
        Part("champion.display_name", "The end has the champion's name.", ("000-L0488",)),
        Part("champion.points", "The end has the champion's points.", ("000-L0489",)),
        Part("final_standings[].rank", "Each final row has its rank.", ("000-L0496",)),
        Part("final_standings[].player_id", "Each final row names its player.", ("000-L0497",)),
        Part("final_standings[].points", "Each final row has the points.", ("000-L0499",)),
    ],
    needs=[to_players],
    methods=("001-L0749",),
)
_row_fields = [one for one in _fields if "[]" in one.id]
_champion = [one for one in _fields if ".champion." in one.id]


def _end(scene: ManagerScene) -> Arrived:
    return scene.told["end"][0].arrived


@END.required("rows", "The final standings have a row for every player.", "000-L0493", needs=[to_players, *_row_fields])
async def rows(scene: ManagerScene) -> Evidence:
    return check_rows(_end(scene), "final_standings", scene)


@END.required(
    "right",
    "The final standings are right: three points a win, one a draw, also by technical losses.",
    "000-L1524",
    "001-L1465",
    needs=[to_players, *_row_fields],
)
async def right(scene: ManagerScene) -> Evidence:
    return check_counts(_end(scene), "final_standings", scene, ("points",))


@END.required(
    "order",
    "The final standings are in the order of points, and of ranks from 1.",
    "000-L0492",
    "000-L0511",
    needs=[to_players, *_row_fields, right],
)
async def order(scene: ManagerScene) -> Evidence:
    return check_order(_end(scene), "final_standings")


@END.recommended(
    "ties",
    "Equal points: head-to-head, Sonneborn–Berger, wins, fewest technical losses; no two ranks are alike.",
    "000-L1020",
    "decision 27",
    needs=[to_players, *_row_fields, rows, right, order],
)
async def ties(scene: ManagerScene) -> Evidence:
    return check_ties(_end(scene), "final_standings", scene)


@END.required(
    "champion", "The champion is who has the most points.", "000-L0510", needs=[to_players, *_champion, right]
)
async def champion(scene: ManagerScene) -> Evidence:
    best = max(row.points for row in scene.table.rows.values())
    who = value(_end(scene).message, "champion.player_id")
    row = scene.table.rows.get(str(who))
    if row is None or row.points != best or value(_end(scene).message, "champion.points") != best:
        raise Failed(evidence(_end(scene), f"a champion with {best} points"))
    return evidence(_end(scene), f"a champion with {best} points")


@END.recommended("last", "LEAGUE_COMPLETED is the last that a player hears.", "000-L0455", needs=[to_players])
async def last(scene: ManagerScene) -> Evidence:
    await asyncio.sleep(QUIET_SECONDS)
    broadcasts = (m.RoundAnnouncement, m.LeagueStandingsUpdate, m.RoundCompleted, m.LeagueCompleted)
    for player in scene.players:
        heard = [one for one in player.desk.arrived if any(is_a(kind)(one) for kind in broadcasts)]
        if not is_a(m.LeagueCompleted)(heard[-1]):
            raise Failed(evidence(heard[-1], "nothing after LEAGUE_COMPLETED"))
    return evidence(heard[-1], "nothing after LEAGUE_COMPLETED")


@END.recommended("report", "A report after the end is refused.", "001-L1549", "decision 9", needs=[to_players])
async def late_report(scene: ManagerScene) -> Evidence:
    fixture = first(scene)
    return is_refusal(await scene.say("report after the end", scene.report(fixture, scene.outcome(fixture))))


@END.recommended(
    "query", "The manager still answers queries after the end.", "000-L1032", "decision 9", needs=[to_players]
)
async def late_query(scene: ManagerScene) -> Evidence:
    return is_result(await scene.say("query after the end", scene.query("GET_STANDINGS")))
