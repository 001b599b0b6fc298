"""Players that do wrong: what the referee tells them, whether they may try again, and how it rules."""

from __future__ import annotations

from typing import Any

from leaguekit.games.base import SIDES, Side, other
from leaguekit.kit.checks import Area, Evidence, Failed, NotRun
from leaguekit.kit.exchanges import Arrived
from leaguekit.kit.incoming import Came, Part, envelope, evidence, is_a, judged, value
from leaguekit.kit.referee.harness import REAL, STRANGER, Bout, RefereeScene
from leaguekit.kit.referee.kit_players import Seat, chooses, in_turn, joins, plan, says
from leaguekit.kit.referee.results import CAN_PLAY
from leaguekit.match.machine import MAX_REPEATS
from leaguekit.protocol import messages as m
from leaguekit.protocol.methods import BY_REQUEST

ERROR: Area[RefereeScene] = Area("error", "Errors that players are told of")
WRONG: Area[RefereeScene] = Area("wrong", "Wrong answers")
LOSS: Area[RefereeScene] = Area("loss", "Technical losses")
RUBBISH: Area[RefereeScene] = Area("rubbish", "Players that answer nonsense")

# A choice is wrong by its case, as an abbreviation, by its type, or because it is none.
WRONG_CHOICES: tuple[Any, ...] = ("EVEN", "e", "maybe", 0, False, None, "")
# How long a referee may take to tell of an error, and to call again before the player posts its choice by itself.
TELLING_SECONDS = 5.0
AGAIN_SECONDS = 0.3
# Far longer than four answers take.
UNHURRIED = m.TimeLimits(join_seconds=2, choice_seconds=2, game_over_seconds=1, max_retries=3, retry_seconds=0.4)


async def _choose_wrongly(scene: RefereeScene, name: str, choice: Any) -> Bout:
    """A match in which A first chooses wrongly, then well, when it is called again or else by itself."""
    bout = await scene.bout(name, plan(choose=chooses(choice, "even")), plan("odd"))
    seat = bout.seats["A"]
    await scene.begin(bout)
    await seat.desk.until(is_a(m.GameError), TELLING_SECONDS)
    again = await seat.desk.until(lambda _one: len(seat.got(m.ChooseParityCall)) > 1, AGAIN_SECONDS)
    if again is None:
        method = BY_REQUEST[m.ChooseParityResponse]
        await scene.line.call(scene.url, method.name, seat.choice("even"), method.seconds)
    await scene.ended(bout)
    return bout


def _errors(bout: Bout, side: Side, code: str) -> list[Arrived]:
    return [one for one in bout.got(side, m.GameError) if one.message.get("error_code") == code]


@ERROR.required(
    "told", "A player that chooses wrongly is told so by GAME_ERROR.", "000-L0855", "001-L1564", needs=CAN_PLAY
)
async def told(scene: RefereeScene) -> Evidence:
    bout = await _choose_wrongly(scene, "wrong choice", "EVEN")
    errors = bout.got("A", m.GameError)
    if not errors:
        raise Failed(Evidence(sent='"parity_choice": "EVEN"', came="no GAME_ERROR", expected="GAME_ERROR with E004"))
    own = bout.seats["A"].player_id
    wanted = {
        "message_type": "GAME_ERROR",
        "sender": scene.sender,
        "match_id": bout.match_id,
        "error_code": "E004",
        "error_description": "INVALID_PARITY_CHOICE",
        "affected_player": own,
        "player_id": own,
        "error_name": "INVALID_PARITY_CHOICE",
        "retryable": True,
    }
    scene.told["error"] = [Came(errors[0], wanted)]
    return evidence(errors[0], "GAME_ERROR with E004")


judged(
    ERROR,
    "error",
    m.GameError,
    [
        *envelope(
            m.GameError,
            "referee: and its id",
            ("001-L1572", "001-L1571", "001-L1573", "001-L1574", "001-L1575"),
            "001-L1576",
        ),
        Part("match_id", "GAME_ERROR names the match.", ("000-L1293",)),
        Part("error_code", "A wrong choice is E004.", ("000-L1314", "000-L1532")),
        Part("error_description", "The description is the error's name, INVALID_PARITY_CHOICE.", ("000-L1295",)),
        Part("affected_player", "GAME_ERROR names the player that is meant.", ("000-L1297",)),
        Part("action_required", "GAME_ERROR says what the player has to do.", ("000-L1298",)),
        Part("consequence", "GAME_ERROR says what follows.", ("000-L1308",)),
        Part("error_name", "GAME_ERROR has the error's name in a field of its own.", ("003-L0236",), is_required=False),
        Part("player_id", "GAME_ERROR names the player by its id.", ("003-L0234",), is_required=False),
        Part("retryable", "A wrong choice can be tried again.", ("000-L0866b", "003-L0239"), is_required=False),
        Part("retry_info.retry_count", "retry_info counts the retries.", ("000-L1302",), is_required=False),
        Part("retry_info.max_retries", "retry_info says how many there are.", ("000-L1303",), is_required=False),
        Part("retry_count", "The retries are also counted where 001 looks.", ("001-L1583",), is_required=False),
        Part("max_retries", "So is how many there are.", ("001-L1584",), is_required=False),
        Part("game_state", "GAME_ERROR says in which state the match is.", ("003-L0238",), is_required=False),
        Part("context", "GAME_ERROR has a context that helps.", ("000-L1307", "000-L1333"), is_required=False),
    ],
    needs=[told],
    methods=("001-L1563",),
)


@WRONG.required(
    "again", "After a wrong choice, a right one in time counts.", "000-L0856", "000-L0877", "000-L1334", needs=[told]
)
async def again(scene: RefereeScene) -> Evidence:
    bout = scene.bouts["wrong choice"]
    own = bout.seats["A"].player_id
    chosen = value(bout.result, "details.choices")
    expected = f'a match that was played, and {own}: "even" among its choices'
    if not isinstance(chosen, dict) or chosen.get(own) != "even" or is_technical(bout):
        raise Failed(evidence(bout.report, expected))
    return evidence(bout.report, expected)


@ERROR.recommended("alone", "Only the player that chose wrongly is told of it.", "000-L1297", "001-L1562", needs=[told])
async def alone(scene: RefereeScene) -> Evidence:
    others = scene.bouts["wrong choice"].got("B", m.GameError)
    if others:
        raise Failed(evidence(others[0], "no GAME_ERROR to the other player"))
    return Evidence(came="no GAME_ERROR to the other player", expected="none")


@WRONG.required(
    "every",
    "Every wrong choice is E004: another case, an abbreviation, another word, 0, false, null, and the empty text.",
    "000-L0834",
    "000-L0844",
    "000-L0849",
    "000-L1388",
    needs=[told],
)
async def every(scene: RefereeScene) -> Evidence:
    for choice in WRONG_CHOICES[1:]:
        bout = await _choose_wrongly(scene, f"wrong choice {choice!r}", choice)
        sent = f"parity_choice: {choice!r}"
        errors = bout.got("A", m.GameError)
        if not errors:
            raise Failed(Evidence(sent, "no GAME_ERROR", "GAME_ERROR with E004"))
        if errors[0].message.get("error_code") != "E004":
            raise Failed(evidence(errors[0], "error_code: E004")._replace(sent=sent))
    return evidence(errors[0], "GAME_ERROR with E004")


@WRONG.recommended("other_match", "An answer with another match's id is E015.", "000-L1316", "000-L1440", needs=[told])
async def other_match(scene: RefereeScene) -> Evidence:
    async def for_another(seat: Seat, _arrived: Arrived) -> Any:
        return seat.join(match_id="R99M9")

    bout = await scene.play("other match", plan("even", join=in_turn(for_another, joins())), plan("odd"))
    return told_of(bout, "E015")


@WRONG.recommended("token", "An answer with a wrong token is E012.", "000-L1326", "decision 19", needs=[told])
async def wrong_token(scene: RefereeScene) -> Evidence:
    check_knows_tokens(scene)

    async def as_a_stranger(seat: Seat, _arrived: Arrived) -> Any:
        return seat.join(auth_token=STRANGER)

    bout = await scene.play("wrong token", plan("even", join=in_turn(as_a_stranger, joins())), plan("odd"))
    return told_of(bout, "E012")


def check_knows_tokens(scene: RefereeScene) -> None:
    """Raises NotRun for a referee that cannot know its players by their tokens."""
    if scene.manner != "assignment":
        raise NotRun("the referee was not told by which tokens to know the players")


def told_of(bout: Bout, code: str) -> Evidence:
    if not (errors := _errors(bout, "A", code)):
        others = ", ".join(str(one.message.get("error_code")) for one in bout.got("A", m.GameError))
        raise Failed(Evidence(came=others or "no GAME_ERROR", expected=f"GAME_ERROR with {code}"))
    return evidence(errors[0], f"GAME_ERROR with {code}")


# Technical losses


def is_technical(bout: Bout) -> bool:
    """Whether a report says that a match was not played to its end; one that does not say has no number."""
    status, number = value(bout.result, "details.status"), value(bout.result, "details.drawn_number")
    return status == "TECHNICAL_LOSS" or (status is None and number is None)


def lost_by(bout: Bout, loser: Side) -> Evidence:
    """That a match was reported as lost by a side: 3–0 for the other."""
    winner = bout.seats[other(loser)].player_id
    expected = f"a technical loss of {bout.seats[loser].player_id}: {winner} wins 3–0"
    if not bout.reports:
        raise Failed(Evidence(came="no report", expected=expected))
    score = {seat.player_id: 3 if seat.player_id == winner else 0 for seat in bout.seats.values()}
    if bout.result.get("winner") != winner or bout.result.get("score") != score or not is_technical(bout):
        raise Failed(evidence(bout.report, expected))
    return evidence(bout.report, expected)


@LOSS.required("declined", "Who declines the invitation has a technical loss.", "000-L0616", needs=CAN_PLAY)
async def declined(scene: RefereeScene) -> Evidence:
    return lost_by(await scene.play("declined", plan(join=joins(accept=False)), plan("odd")), "A")


@LOSS.required(
    "told",
    "After a technical loss both players get GAME_OVER with the status TECHNICAL_LOSS.",
    "001-L1667",
    "000-L0703",
    needs=[declined],
)
async def loss_told(scene: RefereeScene) -> Evidence:
    bout = scene.bouts["declined"]
    expected = "GAME_OVER with TECHNICAL_LOSS to both"
    overs = bout.overs()
    if len(overs) < len(SIDES):
        raise Failed(Evidence(came=f"GAME_OVER to {len(overs)} of them", expected=expected))
    for over in overs.values():
        if value(over.message, "game_result.status") != "TECHNICAL_LOSS":
            raise Failed(evidence(over, expected))
    return evidence(over, expected)


@LOSS.required("winner", "GAME_OVER names the other player as the winner.", "000-L0708", needs=[declined, loss_told])
async def loss_winner(scene: RefereeScene) -> Evidence:
    bout = scene.bouts["declined"]
    winner = bout.seats["B"].player_id
    for over in bout.overs().values():
        if value(over.message, "game_result.winner_player_id") != winner:
            raise Failed(evidence(over, f"winner_player_id: {winner}"))
    return evidence(over, f"winner_player_id: {winner}")


@LOSS.recommended(
    "number",
    "No number is shown after a technical loss: number and parity are null.",
    "000-L0711",
    "000-L0716",
    "decision 33",
    needs=[declined, loss_told],
)
async def loss_number(scene: RefereeScene) -> Evidence:
    for over in scene.bouts["declined"].overs().values():
        shown = [value(over.message, f"game_result.{name}") for name in ("drawn_number", "number_parity")]
        if shown != [None, None]:
            raise Failed(evidence(over, "drawn_number and number_parity: null"))
    return evidence(over, "drawn_number and number_parity: null")


@LOSS.recommended("status", "The report says TECHNICAL_LOSS.", "001-L1357", "001-L1038", needs=[declined])
async def loss_status(scene: RefereeScene) -> Evidence:
    bout = scene.bouts["declined"]
    if value(bout.result, "details.status") != "TECHNICAL_LOSS":
        raise Failed(evidence(bout.report, "result.details.status: TECHNICAL_LOSS"))
    return evidence(bout.report, "result.details.status: TECHNICAL_LOSS")


@LOSS.required("unreachable", "Who cannot be reached has a technical loss.", "001-L1958", "000-L1315", needs=CAN_PLAY)
async def unreachable(scene: RefereeScene) -> Evidence:
    return lost_by(await scene.play("unreachable", plan(), plan("odd"), absent="A", slow=True), "A")


@LOSS.required(
    "wrong_choices",
    "Who makes no valid choice has a technical loss.",
    "000-L0857",
    "000-L0878",
    needs=CAN_PLAY,
)
async def hopeless(scene: RefereeScene) -> Evidence:
    bout = await scene.play("hopeless", plan("even"), plan(choose=chooses("maybe")), slow=True, limits=UNHURRIED)
    return lost_by(bout, "B")


@LOSS.recommended(
    "fourth_wrong",
    "Four wrong choices lose the match at once: the referee does not wait until the deadline.",
    "decision 31",
    needs=[hopeless],
)
async def lost_at_once(scene: RefereeScene) -> Evidence:
    bout = scene.bouts["hopeless"]
    calls = bout.got("B", m.ChooseParityCall)
    limits = UNHURRIED if scene.manner == "assignment" else REAL
    expected = f"at most 4 calls, and the report less than {limits.choice_seconds:g} s after the first"
    waited = bout.report.at - calls[0].at
    if len(calls) > 1 + MAX_REPEATS or waited >= limits.choice_seconds:
        raise Failed(Evidence(came=f"{len(calls)} calls, and the report after {waited:.1f} s", expected=expected))
    return evidence(bout.report, expected)


@LOSS.recommended("both", "When neither player comes, nobody wins: 0–0.", "decision 33", needs=CAN_PLAY)
async def both_lost(scene: RefereeScene) -> Evidence:
    bout = await scene.play("nobody", plan(join=joins(accept=False)), plan(join=joins(accept=False)))
    expected = "no winner, and a score of 0–0"
    if not bout.reports:
        raise Failed(Evidence(came="no report", expected=expected))
    if bout.result.get("winner") is not None or [*dict(bout.result.get("score") or {}).values()] != [0, 0]:
        raise Failed(evidence(bout.report, expected))
    return evidence(bout.report, expected)


# Nonsense


@RUBBISH.required(
    "report",
    "A match with a player that answers nonsense still ends, and is reported.",
    "001-L1196",
    "001-L1668",
    needs=CAN_PLAY,
)
async def nonsense(scene: RefereeScene) -> Evidence:
    a = plan(
        "even",
        join=in_turn(says(b"<html>504</html>"), says(b"[" * 5_000), joins()),
        choose=in_turn(says(b'{"jsonrpc": "2.0", "result": 7, "id": 1}'), says(b"\xff\xfe"), chooses("even")),
    )
    bout = await scene.play("nonsense", a, plan("odd"), slow=True)
    if not bout.reports:
        raise Failed(Evidence(sent="no JSON", came="no report", expected=f"a report of {bout.match_id}"))
    return evidence(bout.report, "a report")


@RUBBISH.recommended(
    "again",
    "A player whose first answers were nonsense may answer again while there is time.",
    "000-L1334",
    "decision 31",
    needs=[nonsense],
)
async def nonsense_again(scene: RefereeScene) -> Evidence:
    bout = scene.bouts["nonsense"]
    if is_technical(bout):
        raise Failed(evidence(bout.report, "a match that was played"))
    return evidence(bout.report, "a match that was played")
