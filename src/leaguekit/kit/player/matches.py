"""A normal round: the announcement, the invitation, the choice, the result, and the standings after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from leaguekit.kit.answer_checks import came_in_time, is_result
from leaguekit.kit.checks import Area, Check, Evidence, NotRun
from leaguekit.kit.exchanges import Exchange
from leaguekit.kit.field_checks import Field, add_answer_checks, field_is, is_valid
from leaguekit.kit.player.harness import PLAYER_ID, PlayerHarness
from leaguekit.kit.player.match import RefereedMatch
from leaguekit.kit.player.registration import ping
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
    limit = BY_REQUEST[asked].seconds
    sentence = f"The player answers {m.message_type(asked)} within {limit:g} seconds."

    @area.required(*requirements, name="answered", sentence=sentence, needs=[ping])
    async def check(harness: PlayerHarness) -> Evidence:
        return came_in_time(await send(harness))

    return check


class NoticeChecks(NamedTuple):
    """The checks of a notification that other checks need."""

    answered: Check[PlayerHarness]
    acknowledged: Check[PlayerHarness]


def add_notice_checks(
    area: Area[PlayerHarness],
    asked: type[m.Message],
    send: Send,
    *,
    limit: tuple[str, ...],
    acknowledged: tuple[str, ...],
    ids: tuple[str, ...],
) -> NoticeChecks:
    """Add the checks of a message that only informs the player.

    Any HTTP answer is required. A valid acknowledgement is recommended. The arguments are requirements: of the time
    limit, of the acknowledgement, and of the ids in it.
    """
    method = BY_REQUEST[asked]
    answer = m.message_type(method.answer)
    known_by = [name for name in ("match_id", "round_id") if name in method.answer.__struct_fields__]
    answered = _add_answered_check(area, asked, send, *limit)
    name = area.name

    @area.recommended(
        *acknowledged,
        name="acknowledged",
        sentence=f"The player acknowledges {m.message_type(asked)} with a valid {answer}.",
        needs=[answered],
    )
    async def valid(harness: PlayerHarness) -> Evidence:
        is_result(harness.answers[name])
        field_is(harness.answers[name], method.answer, "message_type", answer)
        return is_valid(harness.answers[name], method.answer)

    @area.recommended(
        *ids,
        sentence=f"{answer} names the player by its own id{''.join(f' and repeats the {one}' for one in known_by)}.",
        needs=[valid],
    )
    async def about(harness: PlayerHarness) -> Evidence:
        wanted: dict[str, Any] = {"player_id": PLAYER_ID} if harness.expects_registration else {}
        exchange = harness.answers[name]
        wanted |= {one: message_sent(exchange)[one] for one in known_by}
        for path, value in wanted.items():
            field_is(exchange, method.answer, path, value)
        return exchange.evidence(f"{wanted}")

    return NoticeChecks(answered, valid)


def message_sent(exchange: Exchange) -> dict[str, Any]:
    """Return the message that the kit sent in an exchange."""
    params: dict[str, Any] = msgspec.json.decode(exchange.sent)["params"]
    return params


ROUND: Area[PlayerHarness] = Area("round", "Announcement of a round")

round_notice = add_notice_checks(
    ROUND,
    m.RoundAnnouncement,
    lambda harness: harness.send("round", harness.announcement()),
    limit=("001-L0373", "000-L1578"),
    acknowledged=("001-L0438", "001-L0439"),
    ids=("001-L0440", "001-L0441"),
)

JOIN: Area[PlayerHarness] = Area("join", "Invitation to a match")
CHOICE: Area[PlayerHarness] = Area("choice", "Choice")


async def _invite(harness: PlayerHarness) -> Exchange:
    harness.first_match = harness.new_match()
    return await harness.send("join", harness.first_match.invitation())


async def _play_first_match(harness: PlayerHarness) -> Exchange:
    """Call for the first choice. Play a game of several turns to its end, and keep every move."""
    match = harness.first_match
    exchange = await harness.send("choice", match.call())
    harness.moves = [(match.fault(chosen(exchange)), exchange)]
    match.play(chosen(exchange))
    while not match.is_over and exchange.answer is not None:
        exchange = await harness.send("choice again", match.call())
        harness.moves.append((match.fault(chosen(exchange)), exchange))
        match.play(chosen(exchange))
    return harness.answers["choice"]


def chosen(exchange: Exchange) -> Any:
    """Return the choice of the player, from the field that its game has for it."""
    return exchange.message.get("parity_choice", exchange.message.get("move_data"))


def choice_kind(harness: PlayerHarness) -> type[m.Message]:
    return m.ChooseParityResponse if harness.game.asks_for_parity else m.GameMoveResponse


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
    @area.required("001-L0043", "001-L0044", "001-L0045", name="result", needs=[answered], what=what)
    async def check(harness: PlayerHarness) -> Evidence:
        """{what} is the result of the call, in a JSON-RPC 2.0 answer with the call's id."""
        return is_result(harness.answers[area.name])

    return check


def _add_token_checks(
    area: Area[PlayerHarness], what: str, requirement: str, needs: list[Check[PlayerHarness]]
) -> None:
    @area.required(requirement, "decision 19", name="token", needs=needs, what=what)
    async def right(harness: PlayerHarness) -> Evidence:
        """{what}, where it has a token, has the player's own."""
        given_id(harness)
        exchange = harness.answers[area.name]
        token = exchange.result.get("auth_token")
        expected = "auth_token: the one from the registration, or the one derived from it for this match"
        return exchange.fail_if(
            token is not None and token not in harness.tokens_of(harness.first_match.match_id),
            expected,
            f"auth_token: {token}",
        )

    @area.recommended(requirement, "000-L1377b", name="shows_token", needs=needs, what=what)
    async def there(harness: PlayerHarness) -> Evidence:
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

asked = _add_answered_check(CHOICE, m.ChooseParityCall, _play_first_match, "000-L0752", "000-L1475", "001-L1047")
choice_result = _add_result_check(CHOICE, "The choice", asked)
_is_choice = add_answer_checks(
    CHOICE,
    "choice",
    m.ChooseParityResponse,
    [
        Field(
            "message_type",
            "The answer is CHOOSE_PARITY_RESPONSE (in other games than even_odd, GAME_MOVE_RESPONSE).",
            instead=("000-L0751", "000-L0812"),
        )
    ],
    [choice_result],
    kind_in=choice_kind,
)
_choice_fields = add_answer_checks(
    CHOICE,
    "choice",
    m.ChooseParityResponse,
    _common_fields("The choice", "001-L1119"),
    _is_choice,
    kind_in=choice_kind,
)


@CHOICE.required("000-L0832", "000-L1473", "000-L1474", "000-L1518", needs=_is_choice)
async def legal(harness: PlayerHarness) -> Evidence:
    """The choice is legal: exactly even or odd in parity_choice (in other games, one of valid_options in move_data)."""
    name = "parity_choice" if harness.game.asks_for_parity else "move_data"
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
    OVER,
    m.GameOver,
    lambda harness: harness.send("over", harness.first_match.game_over()),
    limit=("000-L1575", "001-L1205"),
    acknowledged=("001-L1271", "001-L1272"),
    ids=("001-L1273", "001-L1274"),
)
standings_notice = add_notice_checks(
    STANDINGS,
    m.LeagueStandingsUpdate,
    lambda harness: harness.send("standings", harness.standings_update()),
    limit=("001-L0508", "000-L1578"),
    acknowledged=("001-L0602", "001-L0603"),
    ids=("001-L0604", "001-L0605"),
)
add_notice_checks(
    ROUND_OVER,
    m.RoundCompleted,
    lambda harness: harness.send("round_over", harness.round_completed()),
    limit=("001-L0654", "000-L1578"),
    acknowledged=("001-L0699", "001-L0700"),
    ids=("001-L0701", "001-L0702"),
)


def accepts_invitation(exchange: Exchange, match: RefereedMatch) -> Evidence:
    """Check that an invitation was accepted. Other fields of the answer have their own checks."""
    expected = f"GAME_JOIN_ACK with match_id {match.match_id} and accept true"
    result = exchange.message
    return exchange.fail_if(result.get("accept") is not True or result.get("match_id") != match.match_id, expected)


def makes_legal_choice(exchange: Exchange, match: RefereedMatch) -> Evidence:
    """Check that a call was answered with a legal choice. Other fields have their own checks."""
    fault = match.fault(chosen(exchange))
    expected = f"a legal choice for {match.match_id}"
    if fault is not None:
        raise exchange.failed(expected, fault)
    return exchange.fail_if(exchange.result.get("match_id") != match.match_id, expected, "another match_id, or none,")
