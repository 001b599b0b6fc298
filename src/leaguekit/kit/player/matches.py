"""A normal round: the announcement, the invitation, the choice, the result, and the standings after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from leaguekit.kit.answer_checks import came_in_time, is_result
from leaguekit.kit.checks import Area, Check, Evidence, NotRun
from leaguekit.kit.documented_game import ChoiceAnswer, ChoiceCall, chosen
from leaguekit.kit.exchanges import Exchange, Json, with_changes
from leaguekit.kit.field_checks import Field, add_answer_checks, field_is, has, is_valid
from leaguekit.kit.player.harness import PLAYER_ID, PlayerHarness
from leaguekit.kit.player.match import RefereedMatch
from leaguekit.kit.player.registration import ping
from leaguekit.match.move_messages import messages_of
from leaguekit.protocol import messages as m
from leaguekit.protocol.ids import sender_of
from leaguekit.protocol.methods import BY_REQUEST

Send = Callable[[PlayerHarness], Awaitable[Exchange]]


def given_id(harness: PlayerHarness) -> str:
    """Return the id that the kit gave the player. Raises NotRun for a player that does not register."""
    if not harness.expects_registration:
        raise NotRun("the player was given no id: it does not register")
    return PLAYER_ID


def _add_answered_check(
    area: Area[PlayerHarness], asked: type[m.Message], send: Send, *requirements: str
) -> Check[PlayerHarness]:
    @area.required(*requirements, needs=[ping], asked=m.message_type(asked), limit=BY_REQUEST[asked].seconds)
    async def answered(harness: PlayerHarness) -> Evidence:
        """The player answers {asked} within {limit:g} seconds."""
        return came_in_time(await send(harness))

    return answered


class NoticeChecks(NamedTuple):
    """The checks of a notification that other checks need."""

    answered: Check[PlayerHarness]
    acknowledged: Check[PlayerHarness]


async def _nothing(_harness: PlayerHarness) -> None:
    """Most notices need no preparation."""


def add_notice_checks(
    area: Area[PlayerHarness],
    make: Callable[[PlayerHarness], m.Request],
    asked: type[m.Message],
    answer_line: int,
    *limit: str,
    prepare: Callable[[PlayerHarness], Awaitable[None]] = _nothing,
) -> NoticeChecks:
    """Add the checks of a message that only informs the player.

    Any HTTP answer is required. A valid acknowledgement is recommended. Document 001 prints the type of the answer in
    ``answer_line``, and its status and its ids in the lines below it. ``limit`` are the requirements of the time limit.
    """
    name, kind, lines = area.name, BY_REQUEST[asked].answer, [f"001-L{answer_line + more:04d}" for more in range(4)]
    answer = m.message_type(kind)
    known_by = [name for name in ("match_id", "round_id") if name in kind.__struct_fields__]

    async def send(harness: PlayerHarness) -> Exchange:
        await prepare(harness)
        return await harness.send(name, make(harness))

    answered = _add_answered_check(area, asked, send, *limit)

    @area.recommended(*lines[:2], needs=[answered], asked=m.message_type(asked), answer=answer)
    async def acknowledged(harness: PlayerHarness) -> Evidence:
        """The player acknowledges {asked} with a valid {answer}."""
        is_result(harness.answers[name])
        field_is(harness.answers[name], kind, "message_type", answer)
        return is_valid(harness.answers[name], kind)

    repeated = "".join(f" and repeats the {one}" for one in known_by)

    @area.recommended(*lines[2 : 3 + len(known_by)], needs=[acknowledged], answer=answer, repeated=repeated)
    async def about(harness: PlayerHarness) -> Evidence:
        """{answer} names the player by its own id{repeated}."""
        exchange = harness.answers[name]
        wanted: Json = {"player_id": PLAYER_ID} if harness.expects_registration else {}
        wanted |= {one: msgspec.json.decode(exchange.sent)["params"][one] for one in known_by}
        for path, value in wanted.items():
            field_is(exchange, kind, path, value)
        return exchange.evidence(f"{wanted}")

    return NoticeChecks(answered, acknowledged)


ROUND: Area[PlayerHarness] = Area("round", "Announcement of a round")

round_notice = add_notice_checks(ROUND, PlayerHarness.announcement, m.RoundAnnouncement, 438, "001-L0373", "000-L1578")

JOIN: Area[PlayerHarness] = Area("join", "Invitation to a match")
CHOICE: Area[PlayerHarness] = Area("choice", "Choice")


async def _invite(harness: PlayerHarness) -> Exchange:
    harness.first_match = harness.new_match()
    return await harness.send("join", harness.first_match.invitation())


async def _play_first_match(harness: PlayerHarness) -> Exchange:
    """Call for the first choice. Play a game of several turns to its end, and keep every move."""
    match = harness.first_match
    harness.moves.clear()
    while not harness.moves or (not match.is_over and harness.moves[-1][1].answer is not None):
        exchange = await harness.send("choice again" if harness.moves else "choice", match.call())
        harness.moves.append((match.move_error(chosen(exchange.message)), exchange))
        match.play(chosen(exchange.message))
    return harness.answers["choice"]


def _choice_kind(harness: PlayerHarness) -> type[m.Message]:
    return messages_of(harness.game).response


def _common_fields(what: str, sender: str) -> list[Field]:
    """Return the fields that both answers to a referee have. ``sender`` is the requirement of that field."""
    return [
        Field("protocol", f"{what} names the protocol league.v2.", instead=("000-L0062", "001-L0065")),
        Field("timestamp", f"{what} has a timestamp in UTC.", instead=("000-L0065", "000-L1406")),
        Field(
            "match_id",
            f"{what} repeats the match_id.",
            also=("000-L1439",),
            value=lambda harness: harness.first_match.match_id,
        ),
        Field(
            "player_id",
            f"{what} names the player by the id that it was given.",
            also=("000-L0312",),
            value=given_id,
        ),
        Field(
            "sender",
            f"{what}, where it has a sender, is from player: and the id that it was given.",
            instead=(sender, "003-L0127"),
            value=lambda harness: sender_of("player", given_id(harness)),
            may_be_absent=True,
        ),
        Field(
            "conversation_id",
            f"{what} repeats the conversation_id.",
            instead=("000-L0066", "000-L1374"),
            value=lambda harness: harness.first_match.invitation().conversation_id,
            is_required=False,
        ),
    ]


def _add_result_check(area: Area[PlayerHarness], what: str, answered: Check[PlayerHarness]) -> Check[PlayerHarness]:
    @area.required("001-L0043", "001-L0044", "001-L0045", needs=[answered], what=what)
    async def result(harness: PlayerHarness) -> Evidence:
        """{what} is the result of the call, in a JSON-RPC 2.0 answer with the call's id."""
        return is_result(harness.answers[area.name])

    return result


def _add_token_checks(
    area: Area[PlayerHarness], what: str, requirement: str, needs: list[Check[PlayerHarness]]
) -> None:
    @area.required(requirement, "decision 19", needs=needs, what=what)
    async def token(harness: PlayerHarness) -> Evidence:
        """{what}, where it has a token, has the player's own."""
        given_id(harness)
        exchange = harness.answers[area.name]
        shown = exchange.result.get("auth_token")
        is_wrong = shown not in (None, *harness.tokens_of(harness.first_match.match_id))
        expected = "auth_token: the one from the registration, or the one derived from it for this match"
        return exchange.fail_if(is_wrong, expected, f"auth_token: {shown}")

    @area.recommended(requirement, "000-L1377b", needs=needs, what=what)
    async def shows_token(harness: PlayerHarness) -> Evidence:
        """{what} shows a token."""
        given_id(harness)
        exchange = harness.answers[area.name]
        return exchange.fail_if(exchange.result.get("auth_token") is None, "auth_token")


joined = _add_answered_check(JOIN, m.GameInvitation, _invite, "000-L0524", "000-L1463", "001-L0906")
join_result = _add_result_check(JOIN, "GAME_JOIN_ACK", joined)
_is_join = add_answer_checks(
    JOIN,
    "join",
    m.GameJoinAck,
    [Field("message_type", "The answer is GAME_JOIN_ACK.", instead=("000-L0523", "000-L0577"))],
    [join_result],
)
_join_fields = add_answer_checks(
    JOIN,
    "join",
    m.GameJoinAck,
    [
        *_common_fields("GAME_JOIN_ACK", "001-L0960"),
        Field("arrival_timestamp", "GAME_JOIN_ACK gives the arrival_timestamp in UTC.", also=("000-L1465",)),
        Field("accept", "The player accepts with the boolean true.", also=("000-L1464",), value=True),
    ],
    _is_join,
)
_add_token_checks(JOIN, "GAME_JOIN_ACK", "001-L0962", _is_join)
# Checks that all other checks of invitations need: without these fields an answer does not count.
CAN_JOIN = [one for one in _join_fields if one.id in ("join.match_id", "join.accept")]

asked = _add_answered_check(CHOICE, ChoiceCall, _play_first_match, "000-L0752", "000-L1475", "001-L1047")
choice_result = _add_result_check(CHOICE, "The choice", asked)
_is_choice = add_answer_checks(
    CHOICE,
    "choice",
    ChoiceAnswer,
    [
        Field(
            "message_type",
            "The answer is CHOOSE_PARITY_RESPONSE (in other games than even_odd, GAME_MOVE_RESPONSE).",
            instead=("000-L0751", "000-L0812"),
        )
    ],
    [choice_result],
    kind_in=_choice_kind,
)
_choice_fields = add_answer_checks(
    CHOICE,
    "choice",
    ChoiceAnswer,
    _common_fields("The choice", "001-L1119"),
    _is_choice,
    kind_in=_choice_kind,
)


@CHOICE.required("000-L0832", "000-L1473", "000-L1474", "000-L1518", needs=_is_choice)
async def legal(harness: PlayerHarness) -> Evidence:
    """A legal choice is answered: even or odd in parity_choice (in other games, one of valid_options in move_data)."""
    name = messages_of(harness.game).field
    for fault, exchange in harness.moves:
        if fault is not None or name not in (exchange.result or {}):
            raise exchange.failed(f"{name}: a legal choice", fault or f"no {name}")
    return harness.moves[-1][1].evidence(f"{name}: a legal choice, {len(harness.moves)} times")


_add_token_checks(CHOICE, "The choice", "001-L1121", _is_choice)
CAN_CHOOSE = [legal, *(one for one in _choice_fields if one.id == "choice.match_id")]

OVER: Area[PlayerHarness] = Area("over", "Result of a match")
STANDINGS: Area[PlayerHarness] = Area("standings", "Standings")
ROUND_OVER: Area[PlayerHarness] = Area("round_over", "End of a round")

game_over_notice = add_notice_checks(
    OVER, lambda harness: harness.first_match.game_over(), m.GameOver, 1271, "000-L1575", "001-L1205"
)
standings_notice = add_notice_checks(
    STANDINGS, PlayerHarness.standings_update, m.LeagueStandingsUpdate, 602, "001-L0508", "000-L1578"
)
add_notice_checks(ROUND_OVER, PlayerHarness.round_completed, m.RoundCompleted, 699, "001-L0654", "000-L1578")


async def accepts_invitation(
    harness: PlayerHarness, name: str, match: RefereedMatch, *, method: str = "", **more: Any
) -> Evidence:
    """Check that the player accepts an invitation. Other fields of the answer have their own checks.

    ``method`` and the fields of ``more`` change the invitation.
    """
    exchange = await harness.send(name, with_changes(match.invitation(), more), method=method)
    expected = f"GAME_JOIN_ACK with match_id {match.match_id} and accept true"
    return exchange.fail_if(not has(exchange.message, {"accept": True, "match_id": match.match_id}), expected)


async def makes_legal_choice(harness: PlayerHarness, name: str, match: RefereedMatch) -> Evidence:
    """Check that the player answers a call with a legal choice. Other fields have their own checks."""
    exchange = await harness.send(name, match.call())
    expected = f"a legal choice for {match.match_id}"
    exchange.fail_if(exchange.answer is None, expected)
    if (fault := match.move_error(chosen(exchange.message))) is not None:
        raise exchange.failed(expected, fault)
    return exchange.fail_if(exchange.result.get("match_id") != match.match_id, expected, "another match_id, or none,")
