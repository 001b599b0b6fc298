"""The first round: reports that count and reports that do not, the standings that follow, and the end of the round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leaguekit.kit.answer_checks import Field, has_data, is_refusal, is_result
from leaguekit.kit.answer_checks import judged as judged_answer
from leaguekit.kit.checks import Area, Check, Evidence, Failed
from leaguekit.kit.exchanges import Arrived, Exchange, Json
from leaguekit.kit.incoming import Came, Part, envelope, evidence, is_a, judged, value
from leaguekit.kit.manager.harness import BROADCAST_SECONDS, ROUND_SECONDS, SECONDS, Fixture, ManagerScene, rows_of
from leaguekit.kit.manager.kit_agents import SENDER, Member
from leaguekit.kit.manager.rounds import announced, comes, endpoints, numbers, pairs, told_to_all, whole
from leaguekit.kit.manager.rpc_and_tokens import STRANGER
from leaguekit.kit.manager.standings import check_counts, check_order, check_rows
from leaguekit.kit.rpc_checks import has_code
from leaguekit.protocol import messages as m

REPORT: Area[ManagerScene] = Area("report", "Reports")
STANDINGS: Area[ManagerScene] = Area("standings", "Standings")
COMPLETED: Area[ManagerScene] = Area("completed", "End of a round")

# What the announcement must be for its matches to be reported.
_CAN_REPORT = [announced, numbers, pairs, whole, endpoints]
COUNTS = ("played", "wins", "draws", "losses", "points")


def first(scene: ManagerScene) -> Fixture:
    """The first match of the first round."""
    return scene.rounds[1][0]


# Reports that do not count


def _refused(name: str, sentence: str, *lines: str, is_required: bool = True, **changes: Any) -> Check[ManagerScene]:
    """Add a check that the report of the first match is refused with some fields changed."""
    add = REPORT.required if is_required else REPORT.recommended

    @add(name, sentence, *lines, needs=_CAN_REPORT)
    async def refused(scene: ManagerScene) -> Evidence:
        # Only now is it known whether somebody assigns it, and the draw with it.
        await scene.given_out(1)
        fixture = first(scene)
        return is_refusal(await scene.say(name, scene.report(fixture, scene.outcome(fixture), **changes)))

    return refused


wrong_token = _refused(
    "wrong_token", "A report with a wrong token is refused.", "001-L1439", "000-L1229", auth_token=STRANGER
)
no_token = _refused("no_token", "A report without a token is refused.", "000-L1228", auth_token=...)
unknown = _refused("unknown", "A report of a match that there is not is refused.", "001-L1440", match_id="R99M99")
_refused(
    "other_league",
    "A report for another league is refused.",
    "001-L1940",
    "decision 10",
    is_required=False,
    league_id="league_of_others",
)
no_result = _refused("no_result", "A report without a result is refused.", "001-L1438", "000-L0924", result=...)


def _number(check: Check[ManagerScene], name: str, number: int, *lines: str) -> None:
    @REPORT.recommended(f"{name}_number", f"The number for that is {number}.", *lines, needs=[check])
    async def numbered(scene: ManagerScene) -> Evidence:
        return is_refusal(scene.seen[name], number)


_number(wrong_token, "wrong_token", 5001, "001-L1439")
_number(unknown, "unknown", 5002, "001-L1440")
_number(no_result, "no_result", -32602, "001-L1438")


@REPORT.recommended("no_token_code", "The code for a missing token is E011.", "000-L1228", needs=[no_token])
async def no_token_code(scene: ManagerScene) -> Evidence:
    return has_code(scene.seen["no_token"], "E011")


@REPORT.required(
    "player",
    "A player cannot report a result, not even with its own token.",
    "000-L0886",
    "003-L0130c",
    needs=_CAN_REPORT,
)
async def by_player(scene: ManagerScene) -> Evidence:
    fixture = first(scene)
    player = scene.members[fixture.a]
    return is_refusal(await scene.say("by a player", scene.report(fixture, scene.outcome(fixture), player)))


@REPORT.recommended(
    "other_referee", "A referee cannot report another referee's match.", "001-L1440", needs=[*_CAN_REPORT, comes]
)
async def by_other_referee(scene: ManagerScene) -> Evidence:
    fixture = first(scene)
    other = next(one for one in scene.referees if one is not scene.referee_of(fixture))
    return is_refusal(await scene.say("by another", scene.report(fixture, scene.outcome(fixture), other)))


def _contradiction(scene: ManagerScene) -> Json:
    fixture = first(scene)
    report = scene.report(fixture, scene.outcome(fixture))
    return report | {"result": report["result"] | {"score": {fixture.a: 3, fixture.b: 3}}}


@REPORT.recommended(
    "contradiction", "A result that contradicts itself (3–3) is refused.", "000-L0932", "000-L0943", needs=_CAN_REPORT
)
async def contradiction(scene: ManagerScene) -> Evidence:
    return is_refusal(await scene.say("contradiction", _contradiction(scene)))


# Reports that count


@REPORT.required(
    "accepted",
    "The report of a match by its referee is answered with a result.",
    "001-L1406",
    "000-L0889",
    needs=_CAN_REPORT,
)
async def accepted(scene: ManagerScene) -> Evidence:
    await scene.given_out(1)
    scene.seen["first report"] = await scene.reported(first(scene))
    return is_result(scene.seen["first report"])


judged_answer(
    REPORT,
    "first report",
    lambda _scene: m.MatchResultAck,
    [
        Field("status", "The report is ACCEPTED.", ("001-L1407",), lambda _scene: "ACCEPTED"),
        Field(
            "message_type",
            "The answer is a MATCH_RESULT_ACK.",
            ("001-L1413",),
            lambda _scene: "MATCH_RESULT_ACK",
            is_required=False,
        ),
        Field(
            "match_id",
            "MATCH_RESULT_ACK names the match.",
            ("001-L1408",),
            lambda scene: first(scene).match_id,
            is_required=False,
        ),
        Field("round_id", "MATCH_RESULT_ACK names the round.", ("001-L1409",), lambda _scene: 1, is_required=False),
    ],
    needs=[accepted],
)


@REPORT.required("duplicate", "A second report of a match is refused.", "001-L1441", needs=[accepted])
async def duplicate(scene: ManagerScene) -> Evidence:
    fixture = first(scene)
    return is_refusal(await scene.say("duplicate", scene.report(fixture, scene.outcome(fixture))))


_number(duplicate, "duplicate", 5003, "001-L1441")


@REPORT.recommended(
    "duplicate_data",
    "It is told of which match, and when the first report came.",
    "001-L1452",
    "001-L1453",
    needs=[duplicate],
)
async def duplicate_data(scene: ManagerScene) -> Evidence:
    return has_data(scene.seen["duplicate"], "match_id", "previous_report_time")


# Standings


@STANDINGS.recommended(
    "soon",
    f"Within {BROADCAST_SECONDS:g} seconds of a result all players are sent the standings.",
    "000-L0945",
    "000-L1016",
    "decision 25",
    needs=[accepted],
)
async def soon(scene: ManagerScene) -> Evidence:
    return await told_to_all(scene, m.LeagueStandingsUpdate, scene.players)


@STANDINGS.required("rest", "The other matches of the round are taken as well.", "001-L1406", needs=[accepted])
async def rest(scene: ManagerScene) -> Evidence:
    scene.heard_before = {player.id: len(player.got(m.LeagueStandingsUpdate)) for player in scene.players}
    answers: list[Exchange] = [await scene.reported(fixture) for fixture in scene.rounds[1][1:]]
    for answer in answers:
        is_result(answer)
    return Evidence(came=f"{len(answers)} more", expected="all are taken")


@STANDINGS.required(
    "players", "After the round all players are sent the standings.", "001-L0507", "003-L0164b", needs=[rest]
)
async def standings_sent(scene: ManagerScene) -> Evidence:
    expected = "LEAGUE_STANDINGS_UPDATE after the last report"
    for player in scene.players:
        await player.desk.until(_counted(scene, player), SECONDS)
        if len(player.got(m.LeagueStandingsUpdate)) <= scene.heard_before[player.id]:
            raise Failed(Evidence(came=f"nothing came to {player.id}", expected=expected))
    wanted = {"message_type": "LEAGUE_STANDINGS_UPDATE", "sender": SENDER, "league_id": scene.league_id, "round_id": 1}
    scene.told["standings"] = [Came(player.got(m.LeagueStandingsUpdate)[-1], wanted) for player in scene.players]
    return evidence(scene.told["standings"][0].arrived, expected)


def _counted(scene: ManagerScene, player: Member) -> Callable[[Arrived], bool]:
    return lambda _one: _is_counted(scene, player.got(m.LeagueStandingsUpdate))


def _is_counted(scene: ManagerScene, updates: list[Arrived]) -> bool:
    """Whether the last standings may be those after the last report."""
    played = [row.get("played") for row in rows_of(updates[-1].message, "standings")] if updates else []
    return sum(one for one in played if type(one) is int) >= 2 * len(scene.results)


_fields = judged(
    STANDINGS,
    "standings",
    m.LeagueStandingsUpdate,
    [
        *envelope(
            m.LeagueStandingsUpdate,
            "league_manager",
            ("001-L0515", "001-L0514", "001-L0516", "001-L0517", "001-L0518"),
        ),
        Part("league_id", "The standings name the league.", ("000-L0990",)),
        Part("round_id", "The standings name the round.", ("000-L0991",)),
        Part("standings[].rank", "Each row has its rank.", ("000-L0998",)),
        Part("standings[].player_id", "Each row names its player.", ("000-L0999",)),
        Part("standings[].display_name", "Each row has the player's name.", ("000-L1000",)),
        *(
            Part(f"standings[].{name}", f"Each row counts {what}.", (line,))
            for name, what, line in (
                ("played", "the matches played", "000-L1001"),
                ("wins", "the wins", "000-L1002"),
                ("draws", "the draws", "000-L1003"),
                ("losses", "the losses", "000-L1004"),
                ("points", "the points", "000-L1005"),
            )
        ),
    ],
    needs=[standings_sent],
    methods=("001-L0506",),
)
_row_fields = [one for one in _fields if "[]" in one.id]


def _latest(scene: ManagerScene) -> Arrived:
    return scene.told["standings"][0].arrived


@STANDINGS.required(
    "rows", "The standings have a row for every player.", "000-L0995", needs=[standings_sent, *_row_fields]
)
async def standings_rows(scene: ManagerScene) -> Evidence:
    return check_rows(_latest(scene), "standings", scene)


@STANDINGS.required(
    "right",
    "The standings are right: three points a win, one a draw, and played is their sum.",
    "000-L1006",
    "000-L1018",
    "000-L1019",
    "001-L1465",
    needs=[standings_sent, *_row_fields],
)
async def standings_right(scene: ManagerScene) -> Evidence:
    return check_counts(_latest(scene), "standings", scene, COUNTS)


@STANDINGS.required(
    "order",
    "The standings are in the order of points, and of ranks from 1.",
    "000-L0994",
    "001-L0522b",
    needs=[standings_sent, *_row_fields, standings_right],
)
async def standings_order(scene: ManagerScene) -> Evidence:
    return check_order(_latest(scene), "standings")


# The end of the round


@COMPLETED.required(
    "players",
    "When all matches of a round are reported, every player is told of its end.",
    "000-L0447",
    "001-L0651",
    needs=[rest],
)
async def completed(scene: ManagerScene) -> Evidence:
    found = await told_to_all(scene, m.RoundCompleted, scene.players)
    fixtures = scene.rounds[1]
    statuses = [scene.outcome(one).details.status for one in fixtures]
    wanted = {
        "message_type": "ROUND_COMPLETED",
        "sender": SENDER,
        "league_id": scene.league_id,
        "round_id": 1,
        "next_round_id": 2,
        "summary.total_matches": len(fixtures),
        "summary.wins": statuses.count("WIN"),
        "summary.draws": statuses.count("DRAW"),
        "summary.technical_losses": statuses.count("TECHNICAL_LOSS"),
    }
    scene.told["completed"] = [Came(player.got(m.RoundCompleted)[0], wanted) for player in scene.players]
    # For the queries that follow; with it, the next round is known.
    await scene.announced(2, ROUND_SECONDS)
    return found


@COMPLETED.recommended("referees", "So is every referee.", "000-L0404", "000-L0447", needs=[completed])
async def completed_to_referees(scene: ManagerScene) -> Evidence:
    return await told_to_all(scene, m.RoundCompleted, scene.referees)


judged(
    COMPLETED,
    "completed",
    m.RoundCompleted,
    [
        *envelope(
            m.RoundCompleted,
            "league_manager",
            ("001-L0661", "001-L0660", "001-L0662", "001-L0663", "001-L0664"),
        ),
        Part("league_id", "The end of a round names the league.", ("000-L0429",)),
        Part("round_id", "The end of a round names the round.", ("000-L0430",)),
        Part("next_round_id", "The end of a round names the next one.", ("000-L0432",)),
        *(
            Part(f"summary.{name}", f"The summary counts {what}.", (line,), is_required=False)
            for name, what, line in (
                ("total_matches", "the matches", "000-L0437"),
                ("wins", "the wins", "000-L0438"),
                ("draws", "the draws", "000-L0439"),
                ("technical_losses", "the technical losses", "000-L0440"),
            )
        ),
    ],
    needs=[completed],
    methods=("001-L0652",),
)


@COMPLETED.required(
    "count",
    "The end of a round counts its matches, in matches_completed or matches_played.",
    "000-L0431",
    "001-L0668",
    "decision 26",
    needs=[completed],
)
async def completed_count(scene: ManagerScene) -> Evidence:
    arrived = scene.told["completed"][0].arrived
    found = [value(arrived.message, name) for name in ("matches_completed", "matches_played")]
    expected = f"matches_completed or matches_played: {len(scene.rounds[1])}"
    if len(scene.rounds[1]) not in found or {*found} - {None, len(scene.rounds[1])}:
        raise Failed(evidence(arrived, expected))
    return evidence(arrived, expected)


@COMPLETED.recommended(
    "after_standings",
    "The standings of the round come before its end.",
    "001-L1468",
    "001-L0653",
    needs=[completed, standings_sent, standings_rows, *_row_fields],
)
async def after_standings(scene: ManagerScene) -> Evidence:
    for player in scene.players:
        kinds = [
            one for one in player.desk.arrived if is_a(m.RoundCompleted)(one) or is_a(m.LeagueStandingsUpdate)(one)
        ]
        before = kinds[: next(number for number, one in enumerate(kinds) if is_a(m.RoundCompleted)(one))]
        if not _is_counted(scene, before):
            raise Failed(Evidence(came=f"the end came first to {player.id}", expected="the standings, then the end"))
    return Evidence(came="the standings, then the end", expected="the standings, then the end")
