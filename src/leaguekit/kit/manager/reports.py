"""The first round: reports that are refused or accepted, the standings after them, and the end of the round."""

from __future__ import annotations

from functools import partial

from leaguekit.kit.answer_checks import has_data, is_refusal, is_result
from leaguekit.kit.checks import Area, Check, Evidence, Failed
from leaguekit.kit.exchanges import Exchange, IncomingRequest, Json, is_a
from leaguekit.kit.field_checks import (
    Field,
    add_answer_checks,
    add_request_checks,
    envelope,
    named,
    recommended,
    value,
)
from leaguekit.kit.harness import SECONDS
from leaguekit.kit.manager.harness import (
    BROADCAST_SECONDS,
    ROUND_SECONDS,
    Fixture,
    ManagerHarness,
    check_counts,
    check_order,
    check_rows,
    rows_of,
)
from leaguekit.kit.manager.kit_agents import LeagueAgent
from leaguekit.kit.manager.rounds import (
    announced,
    check_sent_to_all,
    endpoints,
    matches_assigned,
    numbers,
    pairs,
    whole,
)
from leaguekit.kit.manager.rpc_and_tokens import FORGED_AUTH
from leaguekit.kit.rpc_checks import has_error_code
from leaguekit.protocol import messages as m

REPORT: Area[ManagerHarness] = Area("report", "Reports")
STANDINGS: Area[ManagerHarness] = Area("standings", "Standings")
COMPLETED: Area[ManagerHarness] = Area("completed", "End of a round")

# The checks of the announcement that must pass before its matches can be reported.
_CAN_REPORT = [announced, numbers, pairs, whole, endpoints]
COUNTS = ("played", "wins", "draws", "losses", "points")


def first_fixture(harness: ManagerHarness) -> Fixture:
    """Return the first match of the first round."""
    return harness.rounds[1][0]


# Reports that are refused


# The name of the check, which report is refused, its changes, and the requirements.
_REFUSED: tuple[tuple[str, str, Json, tuple[str, ...]], ...] = (
    ("wrong_token", "with a wrong token", {"auth_token": FORGED_AUTH}, ("001-L1439", "000-L1229")),
    ("no_token", "without a token", {"auth_token": ...}, ("000-L1228",)),
    ("unknown", "of a match that there is not", {"match_id": "R99M99"}, ("001-L1440",)),
    ("other_league", "for another league", {"league_id": "league_of_others"}, ("001-L1940", "decision 10")),
    ("no_result", "without a result", {"result": ...}, ("001-L1438", "000-L0924")),
)


def _add_refusal_check(name: str, which: str, changes: Json, requirements: tuple[str, ...]) -> Check[ManagerHarness]:
    @REPORT.check(*requirements, name=name, is_required=name != "other_league", needs=_CAN_REPORT, which=which)
    async def refused(harness: ManagerHarness) -> Evidence:
        """A report {which} is refused."""
        # The result depends on the assignment, which has the seed of the draw.
        await harness.wait_for_assignments(1)
        return is_refusal(await harness.send(name, harness.report(first_fixture(harness), **changes)))

    return refused


wrong_token, no_token, unknown, _, no_result = [_add_refusal_check(*row) for row in _REFUSED]


def _add_number_check(check: Check[ManagerHarness], name: str, number: int, *requirements: str) -> None:
    @REPORT.recommended(*requirements, name=f"{name}_number", needs=[check], number=number)
    async def numbered(harness: ManagerHarness) -> Evidence:
        """The number for that is {number}."""
        return is_refusal(harness.answers[name], number)


_add_number_check(wrong_token, "wrong_token", 5001, "001-L1439")
_add_number_check(unknown, "unknown", 5002, "001-L1440")
_add_number_check(no_result, "no_result", -32602, "001-L1438")


@REPORT.recommended("000-L1228", needs=[no_token])
async def no_token_code(harness: ManagerHarness) -> Evidence:
    """The code for a missing token is E011."""
    return has_error_code(harness.answers["no_token"], "E011")


@REPORT.required("000-L0886", "003-L0130c", name="player", needs=_CAN_REPORT)
async def by_player(harness: ManagerHarness) -> Evidence:
    """A player cannot report a result, not even with its own token."""
    fixture = first_fixture(harness)
    return is_refusal(await harness.send("by a player", harness.report(fixture, harness.agents[fixture.a])))


@REPORT.recommended("001-L1440", name="other_referee", needs=[*_CAN_REPORT, matches_assigned])
async def by_other_referee(harness: ManagerHarness) -> Evidence:
    """A referee cannot report another referee's match."""
    fixture = first_fixture(harness)
    other = next(one for one in harness.referees if one is not harness.referee_of(fixture))
    return is_refusal(await harness.send("by another", harness.report(fixture, other)))


@REPORT.recommended("000-L0932", "000-L0943", needs=_CAN_REPORT)
async def contradiction(harness: ManagerHarness) -> Evidence:
    """A result that contradicts itself (3–3) is refused."""
    fixture = first_fixture(harness)
    report = harness.report(fixture)
    report["result"]["score"] = {fixture.a: 3, fixture.b: 3}
    return is_refusal(await harness.send("contradiction", report))


# Reports that are accepted


@REPORT.required("001-L1406", "000-L0889", name="accepted", needs=_CAN_REPORT)
async def report_accepted(harness: ManagerHarness) -> Evidence:
    """The report of a match by its referee is answered with a result."""
    await harness.wait_for_assignments(1)
    harness.answers["first report"] = await harness.report_result(first_fixture(harness))
    return is_result(harness.answers["first report"])


add_answer_checks(
    REPORT,
    "first report",
    m.MatchResultAck,
    [
        Field("status", "The report is ACCEPTED.", value="ACCEPTED"),
        *recommended(
            Field("message_type", "The answer is a MATCH_RESULT_ACK.", instead=("001-L1413",)),
            Field(
                "match_id",
                "MATCH_RESULT_ACK names the match.",
                value=lambda harness: first_fixture(harness).match_id,
            ),
            Field("round_id", "MATCH_RESULT_ACK names the round.", value=1),
        ),
    ],
    needs=[report_accepted],
)


@REPORT.required("001-L1441", needs=[report_accepted])
async def duplicate(harness: ManagerHarness) -> Evidence:
    """A second report of a match is refused."""
    return is_refusal(await harness.send("duplicate", harness.report(first_fixture(harness))))


_add_number_check(duplicate, "duplicate", 5003, "001-L1441")


@REPORT.recommended("001-L1452", "001-L1453", needs=[duplicate])
async def duplicate_data(harness: ManagerHarness) -> Evidence:
    """The answer names the match, and the time of the first report."""
    return has_data(harness.answers["duplicate"], "match_id", "previous_report_time")


# Standings


@STANDINGS.recommended("000-L0945", "000-L1016", "decision 25", needs=[report_accepted], seconds=BROADCAST_SECONDS)
async def soon(harness: ManagerHarness) -> Evidence:
    """Within {seconds:g} seconds of a result all players are sent the standings."""
    return await check_sent_to_all(harness, m.LeagueStandingsUpdate, harness.players)


@STANDINGS.required("001-L1406", name="rest", needs=[report_accepted])
async def others_accepted(harness: ManagerHarness) -> Evidence:
    """The other matches of the round are taken as well."""
    harness.updates_before = {player.id: len(player.received(m.LeagueStandingsUpdate)) for player in harness.players}
    answers: list[Exchange] = [await harness.report_result(fixture) for fixture in harness.rounds[1][1:]]
    for answer in answers:
        is_result(answer)
    harness.count_byes(1)
    return Evidence(came=f"{len(answers)} more", expected="all are taken")


@STANDINGS.required("001-L0507", "003-L0164b", name="players", needs=[others_accepted])
async def standings_sent(harness: ManagerHarness) -> Evidence:
    """After the round all players are sent the standings."""
    expected = "LEAGUE_STANDINGS_UPDATE after the last report"
    for player in harness.players:
        await player.inbox.wait_for(partial(_has_all_results, harness, player), SECONDS)
        if len(player.received(m.LeagueStandingsUpdate)) <= harness.updates_before[player.id]:
            raise Failed(Evidence(came=f"nothing came to {player.id}", expected=expected))
    last = [player.received(m.LeagueStandingsUpdate)[-1] for player in harness.players]
    harness.keep("standings", last, {"round_id": 1})
    return last[0].evidence(expected)


def _has_all_results(harness: ManagerHarness, player: LeagueAgent, _request: IncomingRequest) -> bool:
    return _counts_all_results(harness, player.received(m.LeagueStandingsUpdate))


def _counts_all_results(harness: ManagerHarness, updates: list[IncomingRequest]) -> bool:
    """Return whether the last standings include all results that were reported."""
    played = [row.get("played") for row in rows_of(updates[-1].message, "standings")] if updates else []
    return sum(one for one in played if type(one) is int) >= 2 * len(harness.results)


_fields = add_request_checks(
    STANDINGS,
    "standings",
    m.LeagueStandingsUpdate,
    [
        *envelope(m.LeagueStandingsUpdate, "league_manager", "001-L0514"),
        Field("league_id", "The standings name the league."),
        Field("round_id", "The standings name the round."),
        Field("standings[].rank", "Each row has its rank."),
        Field("standings[].player_id", "Each row names its player."),
        Field("standings[].display_name", "Each row has the player's name."),
        Field("standings[].played", "Each row counts the matches played."),
        *(Field(f"standings[].{name}", f"Each row counts the {name}.") for name in COUNTS[1:]),
    ],
    needs=[standings_sent],
    methods=("001-L0506",),
)
_row_fields = [one for one in _fields if "[]" in one.id]


@STANDINGS.required("000-L0995", name="rows", needs=[standings_sent, *_row_fields])
async def standings_rows(harness: ManagerHarness) -> Evidence:
    """The standings have a row for every player."""
    return check_rows(harness.first("standings"), "standings", harness)


@STANDINGS.required(
    "000-L1006", "000-L1018", "000-L1019", "001-L1465", name="right", needs=[standings_sent, *_row_fields]
)
async def standings_right(harness: ManagerHarness) -> Evidence:
    """The standings are right: three points a win, one a draw, and played is their sum."""
    return check_counts(harness.first("standings"), "standings", harness, COUNTS)


@STANDINGS.required("000-L0994", "001-L0522b", name="order", needs=[standings_sent, *_row_fields, standings_right])
async def standings_order(harness: ManagerHarness) -> Evidence:
    """The standings are in the order of points (in a knockout, of the format), and of ranks from 1."""
    return check_order(harness.first("standings"), "standings", harness)


# The end of the round


@COMPLETED.required("000-L0447", "001-L0651", name="players", needs=[others_accepted])
async def completed(harness: ManagerHarness) -> Evidence:
    """When all matches of a round are reported, every player gets ROUND_COMPLETED."""
    found = await check_sent_to_all(harness, m.RoundCompleted, harness.players)
    fixtures = harness.rounds[1]
    statuses = [harness.result_of(one).details.status for one in fixtures]
    wanted = {
        "round_id": 1,
        "next_round_id": 2,
        "summary.total_matches": len(fixtures),
        "summary.wins": statuses.count("WIN"),
        "summary.draws": statuses.count("DRAW"),
        "summary.technical_losses": statuses.count("TECHNICAL_LOSS"),
    }
    harness.keep("completed", [player.received(m.RoundCompleted)[0] for player in harness.players], wanted)
    # The queries that follow need the matches of the next round.
    await harness.wait_for_round(2, ROUND_SECONDS)
    return found


@COMPLETED.recommended("000-L0404", "000-L0447", name="referees", needs=[completed])
async def completed_to_referees(harness: ManagerHarness) -> Evidence:
    """So is every referee."""
    return await check_sent_to_all(harness, m.RoundCompleted, harness.referees)


add_request_checks(
    COMPLETED,
    "completed",
    m.RoundCompleted,
    [
        *envelope(m.RoundCompleted, "league_manager", "001-L0660"),
        *named("The end of a round", "league_id", "round_id"),
        Field("next_round_id", "The end of a round names the next one."),
        *recommended(
            Field("summary.total_matches", "The summary counts the matches."),
            Field("summary.wins", "The summary counts the wins."),
            Field("summary.draws", "The summary counts the draws."),
            Field("summary.technical_losses", "The summary counts the technical losses."),
        ),
    ],
    needs=[completed],
    methods=("001-L0652",),
)


@COMPLETED.required("000-L0431", "001-L0668", "decision 26", name="count", needs=[completed])
async def completed_count(harness: ManagerHarness) -> Evidence:
    """The end of a round counts its matches, in matches_completed or matches_played."""
    request = harness.first("completed")
    found = [value(request.message, name) for name in ("matches_completed", "matches_played")]
    count = len(harness.rounds[1])
    is_wrong = count not in found or not {*found} <= {None, count}
    return request.fail_if(is_wrong, f"matches_completed or matches_played: {count}")


@COMPLETED.recommended("001-L1468", "001-L0653", needs=[completed, standings_sent, standings_rows, *_row_fields])
async def after_standings(harness: ManagerHarness) -> Evidence:
    """The standings of the round come before its end."""
    for player in harness.players:
        kinds = [
            one for one in player.inbox.requests if is_a(m.RoundCompleted)(one) or is_a(m.LeagueStandingsUpdate)(one)
        ]
        before = kinds[: next(number for number, one in enumerate(kinds) if is_a(m.RoundCompleted)(one))]
        if not _counts_all_results(harness, before):
            raise Failed(Evidence(came=f"the end came first to {player.id}", expected="the standings, then the end"))
    return Evidence(came="the standings, then the end", expected="the standings, then the end")
