"""The other rounds, the end of the league with its final table, and requests after it."""

from __future__ import annotations

import asyncio
from collections import Counter

from leaguekit.formats.round_robin import RoundRobin
from leaguekit.kit.answer_checks import is_refusal, is_result
from leaguekit.kit.checks import Area, Evidence, Failed, NotRun
from leaguekit.kit.exchanges import is_a
from leaguekit.kit.field_checks import Field, add_request_checks, envelope, named, value
from leaguekit.kit.manager.harness import (
    ROUND_SECONDS,
    ManagerHarness,
    check_counts,
    check_order,
    check_rows,
    check_ties,
    rows_of,
)
from leaguekit.kit.manager.reports import completed, first_fixture, others_accepted, report_accepted
from leaguekit.kit.manager.rounds import check_sent_to_all, round_number
from leaguekit.protocol import messages as m

LEAGUE: Area[ManagerHarness] = Area("league", "The whole league")
END: Area[ManagerHarness] = Area("end", "End of the league")

# How long the kit waits for messages that must not follow the end of the league.
QUIET_SECONDS = 2.0


@LEAGUE.required("000-L0360", "003-L0158a", needs=[report_accepted, others_accepted, completed, round_number])
async def rounds(harness: ManagerHarness) -> Evidence:
    """Round follows round, each announced under the next number."""
    number = 1
    while not await _is_last(harness, number):
        number += 1
        expected = f"the rounds 1 to {harness.total_rounds or number}"
        fixtures = await harness.wait_for_round(number, ROUND_SECONDS)
        if fixtures is None:
            raise Failed(Evidence(came=f"round {number} was not announced", expected=expected))
        await harness.wait_for_assignments(number)
        for fixture in fixtures:
            is_result(await harness.report_result(fixture))
        harness.count_byes(number)
    announced = [one.message.get("round_id") for one in harness.players[0].received(m.RoundAnnouncement)]
    expected = f"the rounds 1 to {number}"
    if announced != [*range(1, number + 1)]:
        raise Failed(Evidence(came=f"the rounds {announced}", expected=expected))
    return Evidence(came=expected, expected=expected)


async def _is_last(harness: ManagerHarness, number: int) -> bool:
    """Return whether no round follows. If the number of rounds is not known, the end of the round says so."""
    if harness.total_rounds is not None:
        return number >= harness.total_rounds
    await check_sent_to_all(harness, m.RoundCompleted, harness.players[:1], number)
    return harness.players[0].received(m.RoundCompleted)[number - 1].message.get("next_round_id") is None


@LEAGUE.required("003-L0155b", needs=[rounds])
async def pairs(harness: ManagerHarness) -> Evidence:
    """Everybody meets everybody, once, or as often as the format has legs."""
    if not isinstance(harness.format, RoundRobin):
        raise NotRun(f"the format is {harness.format_text}, in which not everybody meets everybody")
    legs = harness.format.legs
    met = Counter(frozenset((one.a, one.b)) for many in harness.rounds.values() for one in many)
    players = [*harness.table.rows]
    wanted = {frozenset((one, other)): legs for one in players for other in players if one < other}
    expected = f"each of {len(wanted)} pairs {'once' if legs == 1 else 'twice'}"
    if met != wanted:
        raise Failed(Evidence(came=f"{len(met)} pairs in {met.total()} matches", expected=expected))
    return Evidence(came=expected, expected=expected)


@LEAGUE.required("000-L0433", "000-L0446", needs=[rounds])
async def last_round(harness: ManagerHarness) -> Evidence:
    """After the last round there is no next one: next_round_id is null."""
    await check_sent_to_all(harness, m.RoundCompleted, harness.players, len(harness.rounds))
    last = harness.players[0].received(m.RoundCompleted)[-1]
    return last.fail_if(last.message.get("next_round_id", ...) is not None, "next_round_id: null")


@END.required("000-L0453", "001-L0748", name="players", needs=[rounds])
async def to_players(harness: ManagerHarness) -> Evidence:
    """When all rounds are over, every player gets LEAGUE_COMPLETED."""
    found = await check_sent_to_all(harness, m.LeagueCompleted, harness.players)
    wanted = {"total_rounds": len(harness.rounds), "total_matches": len(harness.results)}
    harness.keep("end", [player.received(m.LeagueCompleted)[0] for player in harness.players], wanted)
    return found


@END.recommended("000-L0453", "000-L0513", name="referees", needs=[to_players])
async def to_referees(harness: ManagerHarness) -> Evidence:
    """So is every referee."""
    return await check_sent_to_all(harness, m.LeagueCompleted, harness.referees)


_fields = add_request_checks(
    END,
    "end",
    m.LeagueCompleted,
    [
        *envelope(m.LeagueCompleted, "league_manager", "001-L0757"),
        *named("The end", "league_id"),
        Field("total_rounds", "The end counts the rounds."),
        Field("total_matches", "The end counts the matches."),
        Field("champion.player_id", "The end names the champion."),
        Field("champion.display_name", "The end has the champion's name."),
        Field("champion.points", "The end has the champion's points."),
        Field("final_standings[].rank", "Each final row has its rank."),
        Field("final_standings[].player_id", "Each final row names its player."),
        Field("final_standings[].points", "Each final row has the points."),
    ],
    needs=[to_players],
    methods=("001-L0749",),
)
_row_fields = [one for one in _fields if "[]" in one.id]
_champion = [one for one in _fields if ".champion." in one.id]


@END.required("000-L0493", needs=[to_players, *_row_fields])
async def rows(harness: ManagerHarness) -> Evidence:
    """The final standings have a row for every player."""
    return check_rows(harness.first("end"), "final_standings", harness)


@END.required("000-L1524", "001-L1465", needs=[to_players, *_row_fields])
async def right(harness: ManagerHarness) -> Evidence:
    """The final standings are right: three points a win, one a draw, also by technical losses."""
    return check_counts(harness.first("end"), "final_standings", harness, ("points",))


@END.required("000-L0492", "000-L0511", needs=[to_players, *_row_fields, right])
async def order(harness: ManagerHarness) -> Evidence:
    """The final standings are in the order of points (in a knockout, of the format), and of ranks from 1."""
    return check_order(harness.first("end"), "final_standings", harness)


@END.recommended("000-L1020", "decision 27", needs=[to_players, *_row_fields, rows, right, order])
async def ties(harness: ManagerHarness) -> Evidence:
    """Equal points: head-to-head, Sonneborn–Berger, wins, fewest technical losses; no two ranks are alike.

    In a Swiss, Buchholz and Sonneborn–Berger come first.
    """
    return check_ties(harness.first("end"), "final_standings", harness)


@END.required("000-L0510", needs=[to_players, *_champion, right])
async def champion(harness: ManagerHarness) -> Evidence:
    """The champion is the player with the most points; in a knockout, the first of the final standings."""
    end = harness.first("end")
    points = {row.player_id: row.points for row in harness.table.rows.values()}
    best, expected = max(points.values()), f"a champion with {max(points.values())} points"
    if not harness.is_ranked_by_points:
        first = str(rows_of(end.message, "final_standings")[0].get("player_id"))
        points = {player: count for player, count in points.items() if player == first}
        best, expected = points.get(first, 0), f"{first}, with as many points as in the final standings"
    winner = str(value(end.message, "champion.player_id"))
    return end.fail_if(points.get(winner) != best or value(end.message, "champion.points") != best, expected)


@END.recommended("000-L0455", needs=[to_players])
async def last(harness: ManagerHarness) -> Evidence:
    """LEAGUE_COMPLETED is the last that a player hears."""
    await asyncio.sleep(QUIET_SECONDS)
    broadcasts = (m.RoundAnnouncement, m.LeagueStandingsUpdate, m.RoundCompleted, m.LeagueCompleted)
    for player in harness.players:
        broadcasts_received = [one for one in player.inbox.requests if any(is_a(kind)(one) for kind in broadcasts)]
        found = broadcasts_received[-1].fail_if(
            not is_a(m.LeagueCompleted)(broadcasts_received[-1]), "nothing after LEAGUE_COMPLETED"
        )
    return found


@END.recommended("001-L1549", "decision 9", name="report", needs=[to_players])
async def late_report(harness: ManagerHarness) -> Evidence:
    """A report after the end is refused."""
    return is_refusal(await harness.send("report after the end", harness.report(first_fixture(harness))))


@END.recommended("000-L1032", "decision 9", name="query", needs=[to_players])
async def late_query(harness: ManagerHarness) -> Evidence:
    """The manager still answers queries after the end."""
    return is_result(await harness.send("query after the end", harness.query("GET_STANDINGS")))
