"""Players with faults: the errors that the referee sends them, their second chance, and technical losses."""

from __future__ import annotations

from typing import Any

from leaguekit.games.base import SIDES, Side, other
from leaguekit.kit.checks import Area, Evidence, Failed
from leaguekit.kit.documented_game import CHOICE, ONE, OTHER, WRONG_CHOICES, ChoiceCall
from leaguekit.kit.exchanges import is_a
from leaguekit.kit.field_checks import (
    Field,
    ReceivedMessage,
    add_request_checks,
    envelope,
    has,
    have_value,
    named,
    recommended,
    value,
)
from leaguekit.kit.referee.harness import FORGED_AUTH, REAL_LIMITS, AssignedMatch, RefereeHarness
from leaguekit.kit.referee.kit_players import answers_with, chooses, in_turn, joins, plan
from leaguekit.kit.referee.results import CAN_PLAY
from leaguekit.match.machine import MAX_REPEATS
from leaguekit.match.move_messages import number_fields
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import CATALOGUE

ERROR: Area[RefereeHarness] = Area("error", "Errors that players get")
WRONG: Area[RefereeHarness] = Area("wrong", "Wrong answers")
LOSS: Area[RefereeHarness] = Area("loss", "Technical losses")
RUBBISH: Area[RefereeHarness] = Area("rubbish", "Players that answer nonsense")

# How long a referee may take to send an error, and to call again. After that the player posts its choice.
ERROR_SECONDS = 5.0
SECOND_CALL_SECONDS = 0.3
# Why checks with wrong tokens are not made of some referees.
NO_TOKENS = "the referee was not given the tokens of its players"
# Much more time than four answers take.
SLOW_LIMITS = m.TimeLimits(join_seconds=2, choice_seconds=2, game_over_seconds=1, max_retries=3, retry_seconds=0.4)


async def _choose_wrongly(harness: RefereeHarness, name: str, choice: Any) -> AssignedMatch:
    """Play a match in which A first makes a wrong choice, then a right one.

    If the referee does not call again, A posts the right choice.
    """
    match = await harness.new_match(name, plan(choose=chooses(choice, ONE)), plan(OTHER))
    player = match.players["A"]
    await harness.start(match)
    await player.inbox.wait_for(is_a(m.GameError), ERROR_SECONDS)
    again = await player.inbox.wait_for(lambda _one: len(player.received(ChoiceCall)) > 1, SECOND_CALL_SECONDS)
    if again is None:
        await harness.call(player.choice(ONE))
    await harness.wait_for_end(match)
    return match


@ERROR.required("000-L0855", "001-L1564", name="told", needs=CAN_PLAY)
async def error_sent(harness: RefereeHarness) -> Evidence:
    """A player that chooses wrongly gets GAME_ERROR."""
    match = await _choose_wrongly(harness, "wrong choice", WRONG_CHOICES[0])
    errors = match.received("A", m.GameError)
    if not errors:
        raise Failed(Evidence(f'"{CHOICE}": "{WRONG_CHOICES[0]}"', "no GAME_ERROR", "GAME_ERROR with E004"))
    own = match.players["A"].player_id
    wanted = {
        "sender": harness.sender,
        "match_id": match.match_id,
        "error_code": "E004",
        "error_description": CATALOGUE["E004"].name,
        "affected_player": own,
        "player_id": own,
        "error_name": CATALOGUE["E004"].name,
        "retryable": True,
    }
    harness.messages["error"] = [ReceivedMessage(errors[0], wanted)]
    return errors[0].evidence("GAME_ERROR with E004")


add_request_checks(
    ERROR,
    "error",
    m.GameError,
    [
        *envelope(m.GameError, "referee: and its id", "001-L1571", has_token=True),
        *named("GAME_ERROR", "match_id"),
        Field("error_code", "A wrong choice is E004.", instead=("000-L1314", "000-L1532")),
        Field("error_description", f"The description is the error's name, {CATALOGUE['E004'].name}."),
        Field("affected_player", "GAME_ERROR names the player that is meant."),
        Field("action_required", "GAME_ERROR says what the player has to do."),
        Field("consequence", "GAME_ERROR says what follows."),
        *recommended(
            Field("error_name", "GAME_ERROR has the error's name in a field of its own."),
            Field("player_id", "GAME_ERROR names the player by its id."),
            Field("retryable", "A wrong choice can be tried again.", instead=("000-L0866b", "003-L0239")),
            Field("retry_info.retry_count", "retry_info counts the retries."),
            Field("retry_info.max_retries", "retry_info says how many there are."),
            Field("retry_count", "The retries are also counted where 001 looks."),
            Field("max_retries", "So is how many there are."),
            Field("game_state", "GAME_ERROR says in which state the match is."),
            Field("context", "GAME_ERROR has a context that helps.", also=("000-L1333",)),
        ),
    ],
    needs=[error_sent],
    methods=("001-L1563",),
)


@WRONG.required("000-L0856", "000-L0877", "000-L1334", needs=[error_sent])
async def again(harness: RefereeHarness) -> Evidence:
    """After a wrong choice, a right one in time counts."""
    match = harness.matches["wrong choice"]
    own = match.players["A"].player_id
    is_right = value(match.result, f"details.choices.{own}") == ONE and not is_technical(match)
    return match.report.fail_if(not is_right, f'a match that was played, and {own}: "{ONE}" among its choices')


@ERROR.recommended("000-L1297", "001-L1562", needs=[error_sent])
async def alone(harness: RefereeHarness) -> Evidence:
    """Only the player that chose wrongly gets GAME_ERROR."""
    others = harness.matches["wrong choice"].received("B", m.GameError)
    if others:
        raise others[0].failed("no GAME_ERROR to the other player")
    return Evidence(came="no GAME_ERROR to the other player", expected="none")


@WRONG.required("000-L0834", "000-L0844", "000-L0849", "000-L1388", needs=[error_sent])
async def every(harness: RefereeHarness) -> Evidence:
    """Every wrong choice is E004: another case, an abbreviation, another word, 0, false, null, and the empty text."""
    for choice in WRONG_CHOICES[1:]:
        match = await _choose_wrongly(harness, f"wrong choice {choice!r}", choice)
        sent = f"{CHOICE}: {choice!r}"
        errors = match.received("A", m.GameError)
        if not errors:
            raise Failed(Evidence(sent, "no GAME_ERROR", "GAME_ERROR with E004"))
        if errors[0].message.get("error_code") != "E004":
            raise Failed(errors[0].evidence("error_code: E004")._replace(sent=sent))
    return errors[0].evidence("GAME_ERROR with E004")


@WRONG.recommended("000-L1316", "000-L1440", needs=[error_sent])
async def other_match(harness: RefereeHarness) -> Evidence:
    """An answer with another match's id is E015."""
    join = in_turn(joins(match_id="R99M9"), joins())
    return error_was_sent(await harness.play("other match", plan(join=join), plan(OTHER)), "E015")


@WRONG.recommended("000-L1326", "decision 19", name="token", needs=[error_sent])
async def wrong_token(harness: RefereeHarness) -> Evidence:
    """An answer with a wrong token is E012."""
    harness.require_assignments(NO_TOKENS)
    join = in_turn(joins(auth_token=FORGED_AUTH), joins())
    return error_was_sent(await harness.play("wrong token", plan(join=join), plan(OTHER)), "E012")


def error_was_sent(match: AssignedMatch, code: str) -> Evidence:
    """Check that A received GAME_ERROR with a code."""
    errors = match.received("A", m.GameError)
    codes = [str(one.message.get("error_code")) for one in errors]
    if code not in codes:
        raise Failed(Evidence(came=", ".join(codes) or "no GAME_ERROR", expected=f"GAME_ERROR with {code}"))
    return errors[codes.index(code)].evidence(f"GAME_ERROR with {code}")


# Technical losses


def is_technical(match: AssignedMatch) -> bool:
    """Return whether a report is of a technical loss. A report without a status is, if it has no number."""
    status, number = value(match.result, "details.status"), value(match.result, "details.drawn_number")
    return status == "TECHNICAL_LOSS" or (status is None and number is None)


def lost_by(match: AssignedMatch, loser: Side) -> Evidence:
    """Check that a match was reported as a technical loss of a side, 3–0 for the other."""
    winner = match.players[other(loser)].player_id
    expected = f"a technical loss of {match.players[loser].player_id}: {winner} wins 3–0"
    report = match.require_report(expected)
    score = {player.player_id: 3 if player.player_id == winner else 0 for player in match.players.values()}
    is_right = match.result.get("winner") == winner and match.result.get("score") == score
    return report.fail_if(not is_right or not is_technical(match), expected)


@LOSS.required("000-L0616", needs=CAN_PLAY)
async def declined(harness: RefereeHarness) -> Evidence:
    """A player that declines the invitation has a technical loss."""
    return lost_by(await harness.play("declined", plan(join=joins(accept=False)), plan(OTHER)), "A")


@LOSS.required("001-L1667", "000-L0703", name="told", needs=[declined])
async def loss_sent(harness: RefereeHarness) -> Evidence:
    """After a technical loss both players get GAME_OVER with the status TECHNICAL_LOSS."""
    match = harness.matches["declined"]
    expected = "GAME_OVER with TECHNICAL_LOSS to both"
    game_overs = match.game_overs()
    if len(game_overs) < len(SIDES):
        raise Failed(Evidence(came=f"GAME_OVER to {len(game_overs)} of them", expected=expected))
    return have_value("game_result.status", "TECHNICAL_LOSS", *game_overs.values())


@LOSS.required("000-L0708", name="winner", needs=[declined, loss_sent])
async def loss_winner(harness: RefereeHarness) -> Evidence:
    """GAME_OVER names the other player as the winner."""
    match = harness.matches["declined"]
    winner = match.players["B"].player_id
    return have_value("game_result.winner_player_id", winner, *match.game_overs().values())


@LOSS.recommended("000-L0711", "000-L0716", "decision 33", name="number", needs=[declined, loss_sent])
async def loss_number(harness: RefereeHarness) -> Evidence:
    """No number is shown after a technical loss: number and parity are null."""
    for over in harness.matches["declined"].game_overs().values():
        is_right = has(value(over.message, "game_result"), number_fields(None))
        found = over.fail_if(not is_right, f"{' and '.join(number_fields(None))}: null")
    return found


@LOSS.recommended("001-L1357", "001-L1038", name="status", needs=[declined])
async def loss_status(harness: RefereeHarness) -> Evidence:
    """The report says TECHNICAL_LOSS."""
    return have_value("result.details.status", "TECHNICAL_LOSS", harness.matches["declined"].report)


@LOSS.required("001-L1958", "000-L1315", needs=CAN_PLAY)
async def unreachable(harness: RefereeHarness) -> Evidence:
    """A player that cannot be reached has a technical loss."""
    return lost_by(await harness.play("unreachable", plan(), plan(OTHER), absent="A", slow=True), "A")


@LOSS.required("000-L0857", "000-L0878", name="wrong_choices", needs=CAN_PLAY)
async def no_valid_choice(harness: RefereeHarness) -> Evidence:
    """A player that makes no valid choice has a technical loss."""
    match = await harness.play("hopeless", plan(), plan(choose=chooses("maybe")), slow=True, limits=SLOW_LIMITS)
    return lost_by(match, "B")


@LOSS.recommended("decision 31", name="fourth_wrong", needs=[no_valid_choice])
async def lost_at_once(harness: RefereeHarness) -> Evidence:
    """Four wrong choices lose the match at once: the referee does not wait until the deadline."""
    match = harness.matches["hopeless"]
    calls = match.received("B", ChoiceCall)
    limits = SLOW_LIMITS if harness.start_mode == "assignment" else REAL_LIMITS
    expected = f"at most 4 calls, and the report less than {limits.choice_seconds:g} s after the first"
    waited = match.report.loop_time - calls[0].loop_time
    if len(calls) > 1 + MAX_REPEATS or waited >= limits.choice_seconds:
        raise Failed(Evidence(came=f"{len(calls)} calls, and the report after {waited:.1f} s", expected=expected))
    return match.report.evidence(expected)


@LOSS.recommended("decision 33", name="both", needs=CAN_PLAY)
async def both_lost(harness: RefereeHarness) -> Evidence:
    """When neither player comes, nobody wins: 0–0."""
    match = await harness.play("nobody", plan(join=joins(accept=False)), plan(join=joins(accept=False)))
    expected = "no winner, and a score of 0–0"
    report, score = match.require_report(expected), match.result.get("score") or {}
    return report.fail_if(match.result.get("winner") is not None or [*dict(score).values()] != [0, 0], expected)


# Invalid answers


@RUBBISH.required("001-L1196", "001-L1668", name="report", needs=CAN_PLAY)
async def nonsense(harness: RefereeHarness) -> Evidence:
    """A match with a player that answers nonsense still ends, and is reported."""
    a = plan(
        join=in_turn(answers_with(b"<html>504</html>"), answers_with(b"[" * 5_000), joins()),
        choose=in_turn(
            answers_with(b'{"jsonrpc": "2.0", "result": 7, "id": 1}'), answers_with(b"\xff\xfe"), chooses(ONE)
        ),
    )
    match = await harness.play("nonsense", a, plan(OTHER), slow=True)
    if not match.reports:
        raise Failed(Evidence(sent="no JSON", came="no report", expected=f"a report of {match.match_id}"))
    return match.report.evidence("a report")


@RUBBISH.recommended("000-L1334", "decision 31", name="again", needs=[nonsense])
async def nonsense_again(harness: RefereeHarness) -> Evidence:
    """A player whose first answers were nonsense may answer again while there is time."""
    match = harness.matches["nonsense"]
    return match.report.fail_if(is_technical(match), "a match that was played")
