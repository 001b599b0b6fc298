"""The end of a match: GAME_OVER to both players, the report to the manager, and a draw."""

from __future__ import annotations

from typing import Any

from leaguekit.games.base import SIDES, Side
from leaguekit.kit.checks import Area, Evidence, Failed, NotRun
from leaguekit.kit.documented_game import ONE, OTHER, ChoiceCall, can_be_drawn, draw_number, winning_side
from leaguekit.kit.field_checks import (
    Field,
    ReceivedMessage,
    add_request_checks,
    envelope,
    have_value,
    named,
    recommended,
    value,
)
from leaguekit.kit.referee.harness import AFTER_SECONDS, RefereeHarness
from leaguekit.kit.referee.kit_players import plan
from leaguekit.kit.referee.matches import FIRST, begins, both_called, both_invited, keep_first_messages, match_values
from leaguekit.match.draw import opens
from leaguekit.match.move_messages import number_fields
from leaguekit.protocol import messages as m

OVER: Area[RefereeHarness] = Area("over", "The end of a match")
REPORT: Area[RefereeHarness] = Area("report", "Reports")
DRAW: Area[RefereeHarness] = Area("draw", "A drawn match")

# The choices in the first match.
CHOICES: dict[Side, str] = {"A": ONE, "B": OTHER}
POINTS = {True: 3, False: 0}
# Messages on two connections may arrive in another order. This is the largest difference allowed.
JITTER_SECONDS = 0.05


@OVER.required("000-L0630", "001-L1202", name="both", needs=[both_called])
async def over_sent(harness: RefereeHarness) -> Evidence:
    """Both players get GAME_OVER at the end."""
    match = harness.matches[FIRST]
    choices = {match.players[side].player_id: CHOICES[side] for side in SIDES}
    wanted = {"game_result.status": "WIN", "game_result.choices": choices}
    return keep_first_messages(harness, "over", m.GameOver, dict.fromkeys(SIDES, wanted))


add_request_checks(
    OVER,
    "over",
    m.GameOver,
    [
        *envelope(m.GameOver, "referee: and its id", "001-L1211", has_token=True),
        *named("GAME_OVER", "match_id", "game_type"),
        Field("game_result.status", "The status is WIN when one player alone was right.", also=("000-L0741",)),
        Field("game_result.choices", "GAME_OVER shows what both players chose.", also=("000-L0739",)),
        Field("game_result.reason", "GAME_OVER gives a reason in words.", also=("000-L0740",)),
    ],
    needs=[over_sent],
    methods=("001-L1203",),
)


def _both_have_value(harness: RefereeHarness, path: str, wanted: Any) -> Evidence:
    return have_value(path, wanted, *(request for request, _ in harness.messages["over"]))


def number_in_game_over(harness: RefereeHarness) -> int:
    """Return the number in GAME_OVER. Raises NotRun if there is none."""
    number = value(harness.messages["over"][0].request.message, "game_result.drawn_number")
    if not can_be_drawn(number):
        raise NotRun("GAME_OVER gives no number from 1 to 10")
    return int(number)


def winner_of(harness: RefereeHarness) -> str | None:
    """Return the winner of the first match by the rules of the game, or None."""
    winner = winning_side(number_in_game_over(harness), CHOICES)
    return None if winner is None else harness.matches[FIRST].players[winner].player_id


@OVER.required("000-L0710", "000-L0712", needs=[over_sent])
async def drawn_number(harness: RefereeHarness) -> Evidence:
    """GAME_OVER gives the number drawn, from 1 to 10."""
    for request, _ in harness.messages["over"]:
        is_wrong = not can_be_drawn(value(request.message, "game_result.drawn_number"))
        found = request.fail_if(is_wrong, "game_result.drawn_number: a whole number from 1 to 10")
    return found


@OVER.required("000-L0714", name="number_parity", needs=[over_sent, drawn_number])
async def right_parity(harness: RefereeHarness) -> Evidence:
    """number_parity is that of the number."""
    wanted = number_fields(number_in_game_over(harness))["number_parity"]
    return _both_have_value(harness, "game_result.number_parity", wanted)


@OVER.required("000-L0706", "001-L1189", name="winner", needs=[over_sent, drawn_number])
async def right_winner(harness: RefereeHarness) -> Evidence:
    """The winner is the only player that chose the number's parity."""
    return _both_have_value(harness, "game_result.winner_player_id", winner_of(harness))


@OVER.required("001-L1204", name="after_both", needs=[over_sent])
async def over_after_both(harness: RefereeHarness) -> Evidence:
    """GAME_OVER comes only when both players have chosen."""
    match = harness.matches[FIRST]
    chosen = max(match.players[side].answer_times.get(ChoiceCall, float("inf")) for side in SIDES)
    first = min(match.game_overs().values(), key=lambda one: one.loop_time)
    return first.fail_if(first.loop_time < chosen, "no GAME_OVER before both had chosen")


@OVER.required("000-L0737", name="same", needs=[over_sent])
async def same_end(harness: RefereeHarness) -> Evidence:
    """Both players get the same result."""
    one, two = (request for request, _ in harness.messages["over"])
    first = one.message.get("game_result")
    if two.message.get("game_result") != first:
        raise two.failed(f"the same game_result as the other player's: {first}")
    return two.evidence("the same game_result to both")


@OVER.recommended("000-L0737", name="once", needs=[over_sent])
async def sent_once(harness: RefereeHarness) -> Evidence:
    """Each player gets GAME_OVER once."""
    counts = [len(harness.matches[FIRST].received(side, m.GameOver)) for side in SIDES]
    if counts != [1, 1]:
        raise Failed(Evidence(came=f"{counts[0]} and {counts[1]} GAME_OVER", expected="one to each"))
    return Evidence(came="one to each", expected="one to each")


@OVER.recommended("decision 22", name="opens", needs=[both_called, over_sent])
async def opens_commitment(harness: RefereeHarness) -> Evidence:
    """What GAME_OVER reveals opens the commitment of the call."""
    number = number_in_game_over(harness)
    for (call, _), (over, _) in zip(harness.messages["call"], harness.messages["over"], strict=True):
        promised = value(call.message, "context.draw_commitment")
        if not isinstance(promised, str):
            raise NotRun("the referee committed itself to no number")
        nonce = value(over.message, "game_result.draw_nonce")
        if not isinstance(nonce, str) or not opens(promised, nonce, number):
            expected = f"a draw_nonce for which SHA-256 of <nonce>:{number} is {promised}"
            raise over.failed(expected, f"draw_nonce: {nonce}")
    return over.evidence("the nonce that opens the commitment")


@OVER.recommended("decision 22", name="seed", needs=[over_sent])
async def from_seed(harness: RefereeHarness) -> Evidence:
    """The number is the one that the assignment's seed gives."""
    harness.require_assignments("the referee was given no seed: it starts its matches by the announcement")
    number_in_game_over(harness)
    drawn = draw_number(harness.matches[FIRST].assignment.match_seed)
    return have_value("game_result.drawn_number", drawn, harness.messages["over"][0].request)


@OVER.required("000-L0557", name="conversation", needs=[both_invited, both_called, over_sent])
async def one_conversation(harness: RefereeHarness) -> Evidence:
    """All messages of a match carry the conversation_id of its invitation."""
    for number, _ in enumerate(SIDES):
        messages = [harness.messages[name][number].request for name in ("invitation", "call", "over")]
        ids = [one.message.get("conversation_id") for one in messages]
        if any(one != ids[0] for one in ids if isinstance(one, str)) and isinstance(ids[0], str):
            raise messages[-1].failed(f"conversation_id: {ids[0]}", " and ".join(map(str, ids)))
    return messages[-1].evidence(f"conversation_id: {ids[0]}")


@OVER.recommended("003-L0130c", "decision 19", name="token", needs=[both_invited])
async def token_kept(harness: RefereeHarness) -> Evidence:
    """The referee does not show its own token to players, but what the assignment gave it for them."""
    match = harness.matches[FIRST]
    sent = [one for player in match.players.values() for one in player.inbox.requests]
    if not harness.expects_registration:
        raise NotRun("the referee has no token of ours")
    for request in sent:
        if harness.token in request.body.decode(errors="replace"):
            raise request.failed("the shown_token of the assignment, and not the referee's own")
    return sent[0].evidence("the shown_token of the assignment")


# The report


@REPORT.required("000-L0886", "003-L0161c", name="comes", needs=[begins, both_called])
async def reported(harness: RefereeHarness) -> Evidence:
    """The referee reports the result to the manager."""
    match = harness.matches[FIRST]
    expected = f"MATCH_RESULT_REPORT of {match.match_id}"
    match.require_report(expected)
    chosen = {match.players[side].player_id: CHOICES[side] for side in SIDES}
    known = {"auth_token": harness.token} if harness.expects_registration else {}
    wanted = (
        match_values(match)
        | known
        | {
            "sender": harness.sender,
            "league_id": harness.league_id,
            "round_id": match.assignment.round_id,
            "result.details.choices": chosen,
            "result.details.status": "WIN",
            "attempt": 1,
        }
    )
    harness.messages["report"] = [ReceivedMessage(match.report, wanted)]
    return match.report.evidence(expected)


add_request_checks(
    REPORT,
    "report",
    m.MatchResultReport,
    [
        *envelope(m.MatchResultReport, "referee: and its id", "001-L1333"),
        Field("auth_token", "The report carries the referee's own token.", instead=("001-L1338", "000-L1377b")),
        *named("The report", "league_id", "round_id", "match_id", "game_type"),
        Field("result.details.choices", "The report says what each player chose."),
        *recommended(
            Field("result.details.status", "The report says how the match ended: WIN."),
            Field("attempt", "The report says which attempt it is of.", instead=("decision 22",)),
        ),
    ],
    needs=[reported],
    methods=("001-L1325",),
)


@REPORT.required("000-L0936", name="drawn_number", needs=[reported, drawn_number])
async def reported_number(harness: RefereeHarness) -> Evidence:
    """The report has the number that the players got."""
    return have_value("result.details.drawn_number", number_in_game_over(harness), harness.matches[FIRST].report)


@REPORT.required("000-L0925", "000-L0927", name="winner", needs=[reported, drawn_number])
async def reported_winner(harness: RefereeHarness) -> Evidence:
    """The report's winner is the winner by the game's rules."""
    return have_value("result.winner", winner_of(harness), harness.matches[FIRST].report)


@REPORT.required("000-L0932", "000-L0929", name="score", needs=[reported, drawn_number])
async def reported_score(harness: RefereeHarness) -> Evidence:
    """The report gives the winner 3 points and the loser 0."""
    match, winner = harness.matches[FIRST], winner_of(harness)
    points = {player.player_id: POINTS[player.player_id == winner] for player in match.players.values()}
    return have_value("result.score", points, match.report)


@REPORT.required("001-L1326", "decision 34", name="after_over", needs=[reported, over_sent])
async def report_after_over(harness: RefereeHarness) -> Evidence:
    """GAME_OVER has gone to both players before the report."""
    match = harness.matches[FIRST]
    last = max(over.loop_time for over in match.game_overs().values())
    late = last - match.report.loop_time
    return match.report.fail_if(
        late > JITTER_SECONDS, "GAME_OVER to both, then the report", f"a report {late:.2f} s too early"
    )


@REPORT.required("001-L1471", "001-L1441", name="once", needs=[reported])
async def reported_once(harness: RefereeHarness) -> Evidence:
    """A report that was accepted is not sent again."""
    match = harness.matches[FIRST]
    await harness.inbox.wait_for(lambda _one: len(match.reports) > 1, AFTER_SECONDS)
    if len(match.reports) > 1:
        raise match.reports[1].failed("one report", f"{len(match.reports)} reports")
    return match.report.evidence("one report")


# Checks that must pass before other matches can be played: the referee plays one match and reports it.
CAN_PLAY = [begins, both_invited, both_called, reported]


@DRAW.required("000-L0707", "000-L0703", name="over", needs=[*CAN_PLAY, over_sent])
async def draw_in_game_over(harness: RefereeHarness) -> Evidence:
    """When both chose the same, GAME_OVER says DRAW, and no winner."""
    match = await harness.play("draw", plan(OTHER), plan(OTHER))
    game_overs = match.game_overs()
    if not game_overs:
        raise Failed(Evidence(came="no GAME_OVER", expected="GAME_OVER with status DRAW"))
    for request in game_overs.values():
        have_value("game_result.status", "DRAW", request)
        found = have_value("game_result.winner_player_id", None, request)
    return found


@DRAW.required("000-L0926", "000-L0933", name="report", needs=CAN_PLAY)
async def draw_reported(harness: RefereeHarness) -> Evidence:
    """A draw is reported with a point for each."""
    match = harness.matches["draw"]
    match.require_report(f"MATCH_RESULT_REPORT of {match.match_id}")
    have_value("result.winner", None, match.report)
    return have_value("result.score", {player.player_id: 1 for player in match.players.values()}, match.report)
