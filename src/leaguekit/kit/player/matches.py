"""A round as it should go: the announcement, the invitation, the choice, the result, and the standings after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from leaguekit.kit.answer_checks import Field, came_in_time, field_is, is_result, judged, nothing_else_wrong
from leaguekit.kit.checks import Area, Check, Evidence, NotRun
from leaguekit.kit.exchanges import Exchange
from leaguekit.kit.player.harness import PLAYER_ID, PlayerScene
from leaguekit.kit.player.match import Bout
from leaguekit.kit.player.registration import ping
from leaguekit.protocol import messages as m
from leaguekit.protocol.ids import sender_of
from leaguekit.protocol.methods import BY_REQUEST

Send = Callable[[PlayerScene], Awaitable[Exchange]]
OWN = "its own id"


def given_id(scene: PlayerScene) -> str:
    """The id that the player was given. Raises NotRun for one that never registered, and so was given none."""
    if not scene.registers:
        raise NotRun("the player was given no id: it does not register")
    return PLAYER_ID


def _answered(area: Area[PlayerScene], asked: type[m.Message], send: Send, *requirements: str) -> Check[PlayerScene]:
    limit = BY_REQUEST[asked].seconds
    sentence = f"The player answers {m.message_type(asked)} within {limit:g} seconds."

    @area.required("answered", sentence, *requirements, needs=[ping])
    async def look(scene: PlayerScene) -> Evidence:
        return came_in_time(await send(scene))

    return look


class Told(NamedTuple):
    """The first two checks of a message that only informs."""

    answered: Check[PlayerScene]
    acknowledged: Check[PlayerScene]


def notice(
    area: Area[PlayerScene],
    asked: type[m.Message],
    send: Send,
    *,
    limit: tuple[str, ...],
    acknowledged: tuple[str, ...],
    ids: tuple[str, ...],
) -> Told:
    """The checks of a message that only informs: any answer is delivery, a good one is its acknowledgement."""
    method = BY_REQUEST[asked]
    answer = m.message_type(method.answer)
    known_by = [name for name in ("match_id", "round_id") if name in method.answer.__struct_fields__]
    answered = _answered(area, asked, send, *limit)
    name = area.name

    @area.recommended(
        "acknowledged",
        f"The player acknowledges {m.message_type(asked)} with a valid {answer}.",
        *acknowledged,
        needs=[answered],
    )
    async def valid(scene: PlayerScene) -> Evidence:
        is_result(scene.seen[name])
        field_is(scene.seen[name], method.answer, "message_type", answer)
        return nothing_else_wrong(scene.seen[name], method.answer)

    @area.recommended(
        "about",
        f"{answer} names the player by {OWN}{''.join(f' and repeats the {one}' for one in known_by)}.",
        *ids,
        needs=[valid],
    )
    async def about(scene: PlayerScene) -> Evidence:
        wanted: dict[str, Any] = {"player_id": PLAYER_ID} if scene.registers else {}
        exchange = scene.seen[name]
        wanted |= {one: asked_of(exchange)[one] for one in known_by}
        for path, value in wanted.items():
            field_is(exchange, method.answer, path, value)
        return exchange.evidence(f"{wanted}")

    return Told(answered, valid)


def asked_of(exchange: Exchange) -> dict[str, Any]:
    """The message that was sent in an exchange."""
    params: dict[str, Any] = msgspec.json.decode(exchange.sent)["params"]
    return params


ROUND: Area[PlayerScene] = Area("round", "Announcement of a round")


async def _announce(scene: PlayerScene) -> Exchange:
    return await scene.say("round", scene.announcement())


round_told = notice(
    ROUND,
    m.RoundAnnouncement,
    _announce,
    limit=("001-L0373", "000-L1578"),
    acknowledged=("001-L0438", "001-L0439"),
    ids=("001-L0440", "001-L0441"),
)

JOIN: Area[PlayerScene] = Area("join", "Invitation to a match")
CHOICE: Area[PlayerScene] = Area("choice", "Choice")


async def _invite(scene: PlayerScene) -> Exchange:
    scene.match = scene.bout()
    return await scene.say("join", scene.match.invitation())


async def _ask(scene: PlayerScene) -> Exchange:
    """The first call; a game of several turns is then played to its end, and every move kept."""
    bout = scene.match
    exchange = await scene.say("choice", bout.call())
    scene.moves = [(bout.fault(chosen(exchange)), exchange)]
    bout.play(chosen(exchange))
    while not bout.is_over and exchange.answer is not None:
        exchange = await scene.say("choice again", bout.call())
        scene.moves.append((bout.fault(chosen(exchange)), exchange))
        bout.play(chosen(exchange))
    return scene.seen["choice"]


def chosen(exchange: Exchange) -> Any:
    """What the player chose, in whichever of the two fields its game has for it."""
    result = exchange.result
    if not isinstance(result, dict):
        return None
    return result.get("parity_choice", result.get("move_data"))


def choice_kind(scene: PlayerScene) -> type[m.Message]:
    return m.ChooseParityResponse if scene.game.asks_for_parity else m.GameMoveResponse


def _common(what: str, match: str, player: str, sender: str) -> Sequence[Field[PlayerScene]]:
    """The fields that both answers to a referee have; the requirements differ."""
    return (
        Field("protocol", f"{what} names the protocol league.v2.", ("000-L0062", "001-L0065")),
        Field("timestamp", f"{what} has a timestamp in UTC.", ("000-L0065", "000-L1406")),
        Field("match_id", f"{what} repeats the match_id.", (match, "000-L1439"), lambda scene: scene.match.match_id),
        Field("player_id", f"{what} names the player by the id that it was given.", (player, "000-L0312"), given_id),
        Field(
            "sender",
            f"{what}, where it has a sender, is from player: and the id that it was given.",
            (sender, "003-L0127"),
            lambda scene: sender_of("player", given_id(scene)),
            may_be_absent=True,
        ),
        Field(
            "conversation_id",
            f"{what} repeats the conversation_id.",
            ("000-L0066", "000-L1374"),
            lambda scene: scene.match.invitation().conversation_id,
            is_required=False,
        ),
    )


def _result_of(area: Area[PlayerScene], what: str, answered: Check[PlayerScene]) -> Check[PlayerScene]:
    @area.required(
        "result",
        f"{what} is the result of the call, in a JSON-RPC 2.0 answer with the call's id.",
        "001-L0043",
        "001-L0044",
        "001-L0045",
        needs=[answered],
    )
    async def look(scene: PlayerScene) -> Evidence:
        return is_result(scene.seen[area.name])

    return look


def _token(area: Area[PlayerScene], what: str, requirement: str, needs: list[Check[PlayerScene]]) -> None:
    @area.required(
        "token", f"{what}, where it has a token, has the player's own.", requirement, "decision 19", needs=needs
    )
    async def right(scene: PlayerScene) -> Evidence:
        given_id(scene)
        exchange = scene.seen[area.name]
        token = exchange.result.get("auth_token")
        expected = "auth_token: the one from the registration, or the one derived from it for this match"
        if token is not None and token not in scene.tokens_of(scene.match.match_id):
            raise exchange.failed(expected, f"auth_token: {token}")
        return exchange.evidence(expected)

    @area.recommended("shows_token", f"{what} shows a token.", requirement, "000-L1377b", needs=needs)
    async def there(scene: PlayerScene) -> Evidence:
        given_id(scene)
        exchange = scene.seen[area.name]
        if exchange.result.get("auth_token") is None:
            raise exchange.failed("auth_token")
        return exchange.evidence("auth_token")


joined = _answered(JOIN, m.GameInvitation, _invite, "000-L0524", "000-L1463", "001-L0906")
join_result = _result_of(JOIN, "GAME_JOIN_ACK", joined)
_is_join = judged(
    JOIN,
    "join",
    lambda _scene: m.GameJoinAck,
    [Field("message_type", "The answer is GAME_JOIN_ACK.", ("000-L0523", "000-L0577"), lambda _: "GAME_JOIN_ACK")],
    [join_result],
)
_join_fields = judged(
    JOIN,
    "join",
    lambda _scene: m.GameJoinAck,
    [
        *_common("GAME_JOIN_ACK", "000-L0608", "000-L0609", "001-L0960"),
        Field("arrival_timestamp", "GAME_JOIN_ACK gives the arrival_timestamp in UTC.", ("000-L0610", "000-L1465")),
        Field("accept", "The player accepts with the boolean true.", ("000-L0614", "000-L1464"), lambda _: True),
    ],
    _is_join,
)
_token(JOIN, "GAME_JOIN_ACK", "001-L0962", _is_join)
# On these rests whatever else is asked of invitations: an answer that lacks them is no answer.
CAN_JOIN = [one for one in _join_fields if one.id in ("join.match_id", "join.accept")]

asked = _answered(CHOICE, m.ChooseParityCall, _ask, "000-L0752", "000-L1475", "001-L1047")
choice_result = _result_of(CHOICE, "The choice", asked)
_is_choice = judged(
    CHOICE,
    "choice",
    choice_kind,
    [
        Field(
            "message_type",
            "The answer is CHOOSE_PARITY_RESPONSE (in other games than even_odd, GAME_MOVE_RESPONSE).",
            ("000-L0751", "000-L0812"),
            lambda scene: m.message_type(choice_kind(scene)),
        )
    ],
    [choice_result],
)
_choice_fields = judged(
    CHOICE, "choice", choice_kind, _common("The choice", "000-L0830", "000-L0831", "001-L1119"), _is_choice
)


@CHOICE.required(
    "legal",
    "The choice is legal: exactly even or odd in parity_choice (in other games, one of valid_options in move_data).",
    "000-L0832",
    "000-L1473",
    "000-L1474",
    "000-L1518",
    needs=_is_choice,
)
async def legal(scene: PlayerScene) -> Evidence:
    name = "parity_choice" if scene.game.asks_for_parity else "move_data"
    for fault, exchange in scene.moves:
        if fault is not None or name not in (exchange.result or {}):
            raise exchange.failed(f"{name}: a legal choice", fault or f"no {name}")
    return scene.moves[-1][1].evidence(f"{name}: a legal choice, {len(scene.moves)} times")


_token(CHOICE, "The choice", "001-L1121", _is_choice)
CAN_CHOOSE = [legal, *(one for one in _choice_fields if one.id == "choice.match_id")]

OVER: Area[PlayerScene] = Area("over", "Result of a match")
STANDINGS: Area[PlayerScene] = Area("standings", "Standings")
ROUND_OVER: Area[PlayerScene] = Area("round_over", "End of a round")


async def _tell_result(scene: PlayerScene) -> Exchange:
    return await scene.say("over", scene.match.over())


async def _tell_standings(scene: PlayerScene) -> Exchange:
    return await scene.say("standings", scene.standings_update())


async def _tell_round_over(scene: PlayerScene) -> Exchange:
    return await scene.say("round_over", scene.round_completed())


over_told = notice(
    OVER,
    m.GameOver,
    _tell_result,
    limit=("000-L1575", "001-L1205"),
    acknowledged=("001-L1271", "001-L1272"),
    ids=("001-L1273", "001-L1274"),
)
standings_told = notice(
    STANDINGS,
    m.LeagueStandingsUpdate,
    _tell_standings,
    limit=("001-L0508", "000-L1578"),
    acknowledged=("001-L0602", "001-L0603"),
    ids=("001-L0604", "001-L0605"),
)
notice(
    ROUND_OVER,
    m.RoundCompleted,
    _tell_round_over,
    limit=("001-L0654", "000-L1578"),
    acknowledged=("001-L0699", "001-L0700"),
    ids=("001-L0701", "001-L0702"),
)


def plays_on(exchange: Exchange, bout: Bout) -> Evidence:
    """That an invitation was accepted: what another check of invitations needs of the answer, and no more."""
    expected = f"GAME_JOIN_ACK with match_id {bout.match_id} and accept true"
    result = exchange.result if isinstance(exchange.result, dict) else {}
    if result.get("accept") is not True or result.get("match_id") != bout.match_id:
        raise exchange.failed(expected)
    return exchange.evidence(expected)


def chooses(exchange: Exchange, bout: Bout) -> Evidence:
    """The same for a choice."""
    fault = bout.fault(chosen(exchange))
    expected = f"a legal choice for {bout.match_id}"
    if fault is not None:
        raise exchange.failed(expected, fault)
    if exchange.result.get("match_id") != bout.match_id:
        raise exchange.failed(expected, "another match_id, or none,")
    return exchange.evidence(expected)
