"""The start of a match: the announcement of the round, the assignment, the invitations, the calls for a choice."""

from __future__ import annotations

from datetime import timedelta

from leaguekit.games.base import SIDES, Side, other
from leaguekit.kit.answer_checks import came_in_time
from leaguekit.kit.checks import Area, Evidence, Failed, NotRun, fail_if
from leaguekit.kit.documented_game import GAME, OTHER, ChoiceCall
from leaguekit.kit.exchanges import Json
from leaguekit.kit.field_checks import (
    ANYTHING,
    Field,
    ReceivedMessage,
    add_answer_checks,
    add_request_checks,
    envelope,
    has,
    named,
    recommended,
)
from leaguekit.kit.referee.harness import REAL_LIMITS, RECORD, REFEREE_ID, AssignedMatch, RefereeHarness
from leaguekit.kit.referee.kit_players import chooses, joins, plan
from leaguekit.kit.referee.registration import ping
from leaguekit.protocol import messages as m
from leaguekit.protocol import times

ROUND: Area[RefereeHarness] = Area("round", "Round and assignment")
INVITATION: Area[RefereeHarness] = Area("invitation", "Invitations")
CALL: Area[RefereeHarness] = Area("call", "Calls for a choice")

# In the first match B joins later than A, so that the kit notices a call before both have joined.
JOIN_DELAY_SECONDS = 0.3
# B also chooses later, so that the kit notices an end before both have chosen.
CHOICE_DELAY_SECONDS = 0.2
# How far a deadline may differ: timestamps have whole seconds.
ROUNDING_SECONDS = 2.0
# The match that most checks look at.
FIRST = "first"


def match_values(match: AssignedMatch) -> Json:
    """Return the values that every message of a match must have."""
    return {"match_id": match.match_id, "game_type": GAME.name}


def keep_first_messages(harness: RefereeHarness, name: str, kind: type[m.Message], more: dict[Side, Json]) -> Evidence:
    """Check that both players received a message of a kind, and keep the first of each for other checks.

    ``more`` has the values that the message to each side must have, besides those of all messages.
    """
    match = harness.matches[FIRST]
    wanted = {"sender": harness.sender} | match_values(match)
    found = {side: got[0] for side in SIDES if (got := match.received(side, kind))}
    expected = f"{m.message_type(kind)} to {match.players['A'].player_id} and {match.players['B'].player_id}"
    if len(found) < len(SIDES):
        names = ", ".join(match.players[side].player_id for side in found) or "nobody"
        raise Failed(Evidence(came=f"it came to {names}", expected=expected))
    harness.messages[name] = [ReceivedMessage(found[side], wanted | more[side]) for side in SIDES]
    return found["A"].evidence(expected)


# Round and assignment


def referee_id_field(answer: type[m.Message]) -> Field:
    """Return the field of an answer with the id of the referee. A referee that did not register may have any id."""
    return Field(
        "referee_id",
        f"{m.message_type(answer)} carries the referee's id.",
        instead=("decision 22",),
        value=lambda harness: REFEREE_ID if harness.expects_registration else ANYTHING,
    )


@ROUND.required("001-L0905", "003-L0161a", "decision 22", needs=[ping])
async def begins(harness: RefereeHarness) -> Evidence:
    """The referee begins a match that it was given, by start_match or by ROUND_ANNOUNCEMENT: it invites."""
    match = await harness.play(
        FIRST,
        plan(),
        plan(join=joins(after=JOIN_DELAY_SECONDS), choose=chooses(OTHER, after=CHOICE_DELAY_SECONDS)),
    )
    invited = [one for side in SIDES for one in match.received(side, m.GameInvitation)]
    expected = "GAME_INVITATION to a player of the match"
    if not invited:
        sent = harness.answers.get(f"assignment of {match.match_id}") or harness.answers["announcement"]
        raise sent.failed(expected, "no invitation")
    return invited[0].evidence(expected)


@ROUND.required("000-L1578", "decision 24", needs=[ping, begins])
async def announcement(harness: RefereeHarness) -> Evidence:
    """The referee answers ROUND_ANNOUNCEMENT, in whatever words."""
    return came_in_time(harness.answers["announcement"])


add_answer_checks(
    ROUND,
    "announcement",
    m.RoundAnnouncementAck,
    recommended(
        Field(
            "message_type",
            "The answer to ROUND_ANNOUNCEMENT is ROUND_ANNOUNCEMENT_ACK.",
            instead=("001-L0445",),
        ),
        Field(
            "round_id",
            "ROUND_ANNOUNCEMENT_ACK repeats the round_id.",
            value=lambda harness: harness.matches[FIRST].assignment.round_id,
        ),
        referee_id_field(m.RoundAnnouncementAck),
    ),
    needs=[announcement],
)


@ROUND.recommended("decision 22", needs=[begins])
async def accepted(harness: RefereeHarness) -> Evidence:
    """The referee answers start_match with MATCH_ASSIGNMENT_ACK, ACCEPTED, for that match and attempt."""
    match = harness.matches[FIRST]
    return accepts_assignment(harness, match, f"assignment of {match.match_id}")


def accepts_assignment(harness: RefereeHarness, match: AssignedMatch, name: str) -> Evidence:
    """Check that an assignment was accepted."""
    harness.require_assignments()
    exchange = harness.answers[name]
    wanted = {"message_type": "MATCH_ASSIGNMENT_ACK", "status": "ACCEPTED", "match_id": match.match_id, "attempt": 1}
    expected = ", ".join(f"{name}: {one}" for name, one in wanted.items())
    return exchange.fail_if(not has(exchange.result, wanted), expected)


# Invitations


@INVITATION.required("000-L0568", "001-L0903", name="both", needs=[begins])
async def both_invited(harness: RefereeHarness) -> Evidence:
    """Both players are invited."""
    match = harness.matches[FIRST]
    more = {
        side: {
            "league_id": harness.league_id,
            "round_id": match.assignment.round_id,
            "role_in_match": f"PLAYER_{side}",
            "opponent_id": match.players[other(side)].player_id,
            "player_id": match.players[side].player_id,
        }
        for side in SIDES
    }
    return keep_first_messages(harness, "invitation", m.GameInvitation, more)


add_request_checks(
    INVITATION,
    "invitation",
    m.GameInvitation,
    [
        *envelope(m.GameInvitation, "referee: and its id", "001-L0912", has_token=True),
        *named("The invitation", "league_id", "round_id", "match_id", "game_type"),
        Field("role_in_match", "The invitation says which side each player has."),
        Field("opponent_id", "The invitation names the opponent.", also=("000-L0569",)),
        *recommended(Field("player_id", "The invitation names the player invited.")),
    ],
    needs=[both_invited],
    methods=("001-L0904",),
)


# Calls


@CALL.required("001-L1044", "000-L0749", name="both", needs=[both_invited])
async def both_called(harness: RefereeHarness) -> Evidence:
    """Both players are called to choose."""
    match = harness.matches[FIRST]
    record = {name: getattr(RECORD, name) for name in ("wins", "losses", "draws")}
    known = {f"context.your_standings.{name}": count for name, count in record.items()}
    more = {
        side: {
            "player_id": match.players[side].player_id,
            "context.opponent_id": match.players[other(side)].player_id,
            "context.round_id": match.assignment.round_id,
            # The announcement does not have the record.
            **(known if harness.start_mode == "assignment" else {}),
        }
        for side in SIDES
    }
    return keep_first_messages(harness, "call", ChoiceCall, more)


add_request_checks(
    CALL,
    "call",
    ChoiceCall,
    [
        *envelope(ChoiceCall, "referee: and its id", "001-L1053", has_token=True),
        *named("The call", "match_id"),
        Field("player_id", "The call names the player that is asked."),
        *named("The call", "game_type"),
        Field("deadline", "The call says until when it can be answered.", also=("000-L0804",)),
        *recommended(
            Field("context.opponent_id", "The call's context names the opponent."),
            Field("context.round_id", "The call's context names the round."),
            *(
                Field(
                    f"context.your_standings.{name}",
                    f"The call's context gives the player its {name}, as the assignment gave them.",
                    also=("decision 22",),
                )
                for name in ("wins", "losses", "draws")
            ),
            Field(
                "context.draw_commitment",
                "The call's context commits the referee to the number that it has drawn.",
                instead=("decision 22",),
            ),
        ),
    ],
    needs=[both_called],
    methods=("001-L1045",),
)


@CALL.required("000-L0802", "001-L1046", name="after_both", needs=[both_called])
async def called_after_both(harness: RefereeHarness) -> Evidence:
    """Nobody is called before both players have joined."""
    match = harness.matches[FIRST]
    joined = max(match.players[side].answer_times.get(m.GameInvitation, float("inf")) for side in SIDES)
    first = min((match.received(side, ChoiceCall)[0] for side in SIDES), key=lambda one: one.loop_time)
    return first.fail_if(first.loop_time < joined, "no call before both had joined")


@CALL.recommended("000-L0803", needs=[both_called, called_after_both])
async def same_time(harness: RefereeHarness) -> Evidence:
    """Both players are called at the same time."""
    match = harness.matches[FIRST]
    at = [match.received(side, ChoiceCall)[0].loop_time for side in SIDES]
    found = Evidence(came=f"{abs(at[0] - at[1]):.2f} s between the calls", expected="less than 0.2 s")
    return fail_if(abs(at[0] - at[1]) >= 0.2, found)


@CALL.recommended("000-L0792", "001-L1064b", "decision 22", needs=[both_called])
async def deadline_fits(harness: RefereeHarness) -> Evidence:
    """The call's deadline is as far away as the limit: 30 seconds, or what the assignment says."""
    match = harness.matches[FIRST]
    limits = match.assignment.time_limits if harness.start_mode == "assignment" else REAL_LIMITS
    for side in SIDES:
        request = match.received(side, ChoiceCall)[0]
        try:
            deadline = times.parse_timestamp(request.message["deadline"])
        except (KeyError, TypeError, ValueError, AttributeError):
            raise NotRun("there is no deadline that can be read") from None
        away = deadline - request.received_at - timedelta(seconds=limits.choice_seconds)
        if abs(away.total_seconds()) > ROUNDING_SECONDS:
            raise request.failed(f"a deadline {limits.choice_seconds:g} s away")
    return request.evidence(f"a deadline {limits.choice_seconds:g} s away")
