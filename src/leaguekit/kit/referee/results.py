"""How a match ends: what both players are told, what the manager is told, and a match that is drawn."""

from __future__ import annotations

from typing import Any

from leaguekit.games import game
from leaguekit.games.base import SIDES, Side, settled
from leaguekit.games.even_odd import HIGHEST, number_parity
from leaguekit.kit.checks import Area, Evidence, Failed, NotRun
from leaguekit.kit.exchanges import Arrived, Json
from leaguekit.kit.incoming import Came, Part, envelope, evidence, judged, value
from leaguekit.kit.referee.harness import AFTER_SECONDS, GAME, Bout, RefereeScene
from leaguekit.kit.referee.kit_players import plan
from leaguekit.kit.referee.matches import FIRST, begins, both_called, both_invited, came, of_match
from leaguekit.match.draw import opens
from leaguekit.protocol import messages as m

OVER: Area[RefereeScene] = Area("over", "The end of a match")
REPORT: Area[RefereeScene] = Area("report", "Reports")
DRAW: Area[RefereeScene] = Area("draw", "A drawn match")

# What is chosen in the first match.
CHOICES: dict[Side, str] = {"A": "even", "B": "odd"}
POINTS = {True: 3, False: 0}
# Messages on two connections may overtake each other by so much.
JITTER_SECONDS = 0.05


@OVER.required("both", "Both players are told the end by GAME_OVER.", "000-L0630", "001-L1202", needs=[both_called])
async def both_told(scene: RefereeScene) -> Evidence:
    bout = scene.bouts[FIRST]
    choices = {bout.seats[side].player_id: CHOICES[side] for side in SIDES}
    wanted = {"game_result.status": "WIN", "game_result.choices": choices}
    return came(scene, "over", m.GameOver, dict.fromkeys(SIDES, wanted))


judged(
    OVER,
    "over",
    m.GameOver,
    [
        *envelope(
            m.GameOver,
            "referee: and its id",
            ("001-L1212", "001-L1211", "001-L1213", "001-L1214", "001-L1215"),
            "001-L1216",
        ),
        Part("match_id", "GAME_OVER names the match.", ("000-L0699",)),
        Part("game_type", "GAME_OVER names the game.", ("000-L0700",)),
        Part("game_result.status", "The status is WIN when one player alone was right.", ("000-L0703", "000-L0741")),
        Part("game_result.choices", "GAME_OVER shows what both players chose.", ("000-L0718", "000-L0739")),
        Part("game_result.reason", "GAME_OVER gives a reason in words.", ("000-L0723", "000-L0740")),
    ],
    needs=[both_told],
    methods=("001-L1203",),
)


def _number(message: Json, path: str) -> int | None:
    drawn = value(message, path)
    return drawn if type(drawn) is int and 1 <= drawn <= HIGHEST else None


def drawn_in(scene: RefereeScene) -> int:
    """The number that GAME_OVER gives. Raises NotRun if it gives none."""
    number = _number(scene.told["over"][0].arrived.message, "game_result.drawn_number")
    if number is None:
        raise NotRun("GAME_OVER gives no number from 1 to 10")
    return number


def _check(arrived: Arrived, path: str, wanted: Any) -> Evidence:
    found = value(arrived.message, path)
    if found != wanted or type(found) is not type(wanted):
        raise Failed(evidence(arrived, f"{path}: {wanted}", f"{path}: {found}"))
    return evidence(arrived, f"{path}: {wanted}")


def _check_both(scene: RefereeScene, path: str, wanted: Any) -> Evidence:
    _, two = (_check(arrived, path, wanted) for arrived, _ in scene.told["over"])
    return two


def winner_of(bout: Bout, number: int) -> str | None:
    """Who wins by the rules of the game."""
    outcome = settled(game(GAME), number, {side: CHOICES[side] for side in SIDES})
    return None if outcome is None or outcome.winner is None else bout.seats[outcome.winner].player_id


@OVER.required(
    "drawn_number", "GAME_OVER gives the number drawn, from 1 to 10.", "000-L0710", "000-L0712", needs=[both_told]
)
async def drawn_number(scene: RefereeScene) -> Evidence:
    for arrived, _ in scene.told["over"]:
        if _number(arrived.message, "game_result.drawn_number") is None:
            raise Failed(evidence(arrived, "game_result.drawn_number: a whole number from 1 to 10"))
    return evidence(arrived, "game_result.drawn_number: a whole number from 1 to 10")


@OVER.required("number_parity", "number_parity is that of the number.", "000-L0714", needs=[both_told, drawn_number])
async def right_parity(scene: RefereeScene) -> Evidence:
    parity = number_parity(drawn_in(scene))
    return _check_both(scene, "game_result.number_parity", parity)


@OVER.required(
    "winner",
    "The winner is who alone chose the number's parity.",
    "000-L0706",
    "001-L1189",
    needs=[both_told, drawn_number],
)
async def right_winner(scene: RefereeScene) -> Evidence:
    winner = winner_of(scene.bouts[FIRST], drawn_in(scene))
    return _check_both(scene, "game_result.winner_player_id", winner)


@OVER.required("after_both", "GAME_OVER comes only when both players have chosen.", "001-L1204", needs=[both_told])
async def over_after_both(scene: RefereeScene) -> Evidence:
    bout = scene.bouts[FIRST]
    chosen = max(bout.seats[side].answered.get(m.ChooseParityCall, float("inf")) for side in SIDES)
    first = min(bout.overs().values(), key=lambda one: one.at)
    if first.at < chosen:
        raise Failed(evidence(first, "no GAME_OVER before both had chosen"))
    return evidence(first, "no GAME_OVER before both had chosen")


@OVER.required("same", "Both players are told the same end.", "000-L0737", needs=[both_told])
async def same_end(scene: RefereeScene) -> Evidence:
    one, two = (arrived.message.get("game_result") for arrived, _ in scene.told["over"])
    found = scene.told["over"][1].arrived
    if one != two:
        raise Failed(evidence(found, f"the same game_result as the other player's: {one}"))
    return evidence(found, "the same game_result to both")


@OVER.recommended("once", "Each player is told the end once.", "000-L0737", needs=[both_told])
async def told_once(scene: RefereeScene) -> Evidence:
    counts = [len(scene.bouts[FIRST].got(side, m.GameOver)) for side in SIDES]
    if counts != [1, 1]:
        raise Failed(Evidence(came=f"{counts[0]} and {counts[1]} GAME_OVER", expected="one to each"))
    return Evidence(came="one to each", expected="one to each")


@OVER.recommended(
    "opens", "What GAME_OVER reveals opens the commitment of the call.", "decision 22", needs=[both_called, both_told]
)
async def opens_commitment(scene: RefereeScene) -> Evidence:
    number = drawn_in(scene)
    for (call, _), (over, _) in zip(scene.told["call"], scene.told["over"], strict=True):
        promised = value(call.message, "context.draw_commitment")
        if not isinstance(promised, str):
            raise NotRun("the referee committed itself to no number")
        nonce = value(over.message, "game_result.draw_nonce")
        if not isinstance(nonce, str) or not opens(promised, nonce, number):
            expected = f"a draw_nonce for which SHA-256 of <nonce>:{number} is {promised}"
            raise Failed(evidence(over, expected, f"draw_nonce: {nonce}"))
    return evidence(over, "the nonce that opens the commitment")


@OVER.recommended("seed", "The number is the one that the assignment's seed gives.", "decision 22", needs=[both_told])
async def from_seed(scene: RefereeScene) -> Evidence:
    if scene.manner != "assignment":
        raise NotRun("the referee was given no seed: it begins its matches by the announcement")
    drawn_in(scene)
    drawn = game(GAME).draw(bytes.fromhex(scene.bouts[FIRST].assignment.match_seed))
    return _check(scene.told["over"][0].arrived, "game_result.drawn_number", drawn)


@OVER.required(
    "conversation",
    "All messages of a match carry the conversation_id of its invitation.",
    "000-L0557",
    needs=[both_invited, both_called, both_told],
)
async def one_conversation(scene: RefereeScene) -> Evidence:
    for number, _ in enumerate(SIDES):
        messages = [scene.told[name][number].arrived for name in ("invitation", "call", "over")]
        ids = [one.message.get("conversation_id") for one in messages]
        if any(one != ids[0] for one in ids if isinstance(one, str)) and isinstance(ids[0], str):
            raise Failed(evidence(messages[-1], f"conversation_id: {ids[0]}", " and ".join(map(str, ids))))
    return evidence(messages[-1], f"conversation_id: {ids[0]}")


@OVER.recommended(
    "token",
    "The referee does not show its own token to players, but what the assignment gave it for them.",
    "003-L0130c",
    "decision 19",
    needs=[both_invited],
)
async def token_kept(scene: RefereeScene) -> Evidence:
    bout = scene.bouts[FIRST]
    sent = [one for seat in bout.seats.values() for one in seat.desk.arrived]
    if not scene.registers:
        raise NotRun("the referee has no token of ours")
    for arrived in sent:
        if scene.token in arrived.body.decode(errors="replace"):
            raise Failed(evidence(arrived, "the shown_token of the assignment, and not the referee's own"))
    return evidence(sent[0], "the shown_token of the assignment")


# The report


@REPORT.required(
    "comes", "The referee reports the result to the manager.", "000-L0886", "003-L0161c", needs=[begins, both_called]
)
async def reported(scene: RefereeScene) -> Evidence:
    bout = scene.bouts[FIRST]
    expected = f"MATCH_RESULT_REPORT of {bout.match_id}"
    if not bout.reports:
        raise Failed(Evidence(came="no report", expected=expected))
    chosen = {bout.seats[side].player_id: CHOICES[side] for side in SIDES}
    known = {"auth_token": scene.token} if scene.registers else {}
    wanted = (
        of_match(bout)
        | known
        | {
            "message_type": "MATCH_RESULT_REPORT",
            "sender": scene.sender,
            "league_id": scene.league_id,
            "round_id": bout.assignment.round_id,
            "result.details.choices": chosen,
            "result.details.status": "WIN",
            "attempt": 1,
        }
    )
    scene.told["report"] = [Came(bout.report, wanted)]
    return evidence(bout.report, expected)


judged(
    REPORT,
    "report",
    m.MatchResultReport,
    [
        *envelope(
            m.MatchResultReport,
            "referee: and its id",
            ("001-L1334", "001-L1333", "001-L1335", "001-L1336", "001-L1337"),
        ),
        Part("auth_token", "The report carries the referee's own token.", ("001-L1338", "000-L1377b")),
        Part("league_id", "The report names the league.", ("000-L0919",)),
        Part("round_id", "The report names the round.", ("000-L0920",)),
        Part("match_id", "The report names the match.", ("000-L0921",)),
        Part("game_type", "The report names the game.", ("000-L0922",)),
        Part("result.details.choices", "The report tells what each player chose.", ("000-L0937",)),
        Part("result.details.status", "The report says how the match ended: WIN.", ("001-L1357",), is_required=False),
        Part("attempt", "The report says which attempt it is of.", ("decision 22",), is_required=False),
    ],
    needs=[reported],
    methods=("001-L1325",),
)


@REPORT.required(
    "drawn_number",
    "The report gives the number that players were told.",
    "000-L0936",
    needs=[reported, drawn_number],
)
async def reported_number(scene: RefereeScene) -> Evidence:
    return _check(scene.bouts[FIRST].report, "result.details.drawn_number", drawn_in(scene))


def _winner(scene: RefereeScene) -> tuple[Bout, str | None]:
    bout = scene.bouts[FIRST]
    return bout, winner_of(bout, drawn_in(scene))


@REPORT.required(
    "winner",
    "The report's winner is who won by the game's rules.",
    "000-L0925",
    "000-L0927",
    needs=[reported, drawn_number],
)
async def reported_winner(scene: RefereeScene) -> Evidence:
    bout, winner = _winner(scene)
    return _check(bout.report, "result.winner", winner)


@REPORT.required(
    "score",
    "The report gives the winner 3 points and the loser 0.",
    "000-L0932",
    "000-L0929",
    needs=[reported, drawn_number],
)
async def reported_score(scene: RefereeScene) -> Evidence:
    bout, winner = _winner(scene)
    points = {seat.player_id: POINTS[seat.player_id == winner] for seat in bout.seats.values()}
    return _check(bout.report, "result.score", points)


@REPORT.required(
    "after_over",
    "GAME_OVER has gone to both players before the report.",
    "001-L1326",
    "decision 34",
    needs=[reported, both_told],
)
async def report_after_over(scene: RefereeScene) -> Evidence:
    bout = scene.bouts[FIRST]
    last = max(over.at for over in bout.overs().values())
    late = last - bout.report.at
    if late > JITTER_SECONDS:
        raise Failed(evidence(bout.report, "GAME_OVER to both, then the report", f"a report {late:.2f} s too early"))
    return evidence(bout.report, "GAME_OVER to both, then the report")


@REPORT.required("once", "A report that was accepted is not sent again.", "001-L1471", "001-L1441", needs=[reported])
async def reported_once(scene: RefereeScene) -> Evidence:
    bout = scene.bouts[FIRST]
    await scene.desk.until(lambda _one: len(bout.reports) > 1, AFTER_SECONDS)
    if len(bout.reports) > 1:
        raise Failed(evidence(bout.reports[1], "one report", f"{len(bout.reports)} reports"))
    return evidence(bout.report, "one report")


# What every other match needs: a referee that plays one to its report.
CAN_PLAY = [begins, both_invited, both_called, reported]


@DRAW.required(
    "over",
    "When both chose the same, GAME_OVER says DRAW, and no winner.",
    "000-L0707",
    "000-L0703",
    needs=[*CAN_PLAY, both_told],
)
async def drawn_over(scene: RefereeScene) -> Evidence:
    bout = await scene.play("draw", plan("odd"), plan("odd"))
    overs = bout.overs()
    if not overs:
        raise Failed(Evidence(came="no GAME_OVER", expected="GAME_OVER with status DRAW"))
    for arrived in overs.values():
        _check(arrived, "game_result.status", "DRAW")
        found = _check(arrived, "game_result.winner_player_id", None)
    return found


@DRAW.required("report", "A draw is reported with a point for each.", "000-L0926", "000-L0933", needs=CAN_PLAY)
async def drawn_report(scene: RefereeScene) -> Evidence:
    bout = scene.bouts["draw"]
    if not bout.reports:
        raise Failed(Evidence(came="no report", expected=f"MATCH_RESULT_REPORT of {bout.match_id}"))
    _check(bout.report, "result.winner", None)
    return _check(bout.report, "result.score", {seat.player_id: 1 for seat in bout.seats.values()})
