"""JSON-RPC to the letter, wrong tokens, and whether the player survives what nobody should send."""

from __future__ import annotations

import json

import msgspec

from leaguekit.kit.answer_checks import came_in_time, is_refusal, is_result
from leaguekit.kit.checks import Area, Evidence, Failed, NotRun
from leaguekit.kit.exchanges import Arrived, Exchange, encode, request, text_of
from leaguekit.kit.player.harness import PlayerScene
from leaguekit.kit.player.matches import (
    CAN_JOIN,
    given_id,
    join_result,
    joined,
    plays_on,
    round_told,
    standings_told,
)
from leaguekit.kit.player.registration import ping
from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import violations
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.rpc import MAX_BYTES_FROM_ABOVE

SECONDS = 10.0
NOTIFY_ROUND = BY_REQUEST[m.RoundAnnouncement].name
STRING_ID = "check-7f3a"

RPC: Area[PlayerScene] = Area("rpc", "JSON-RPC 2.0")
TOKENS: Area[PlayerScene] = Area("tokens", "Tokens")


async def _post(scene: PlayerScene, body: bytes, call_id: int | str | None = None) -> Exchange:
    return await scene.line.post(scene.url, body, SECONDS, call_id)


@RPC.recommended(
    "string_id",
    "The player repeats an id that is text.",
    "001-L0045",
    "decision 2",
    needs=[join_result, round_told.answered],
)
async def string_id(scene: PlayerScene) -> Evidence:
    body = request(NOTIFY_ROUND, scene.announcement(), STRING_ID)
    return is_result(await _post(scene, body, STRING_ID))


@RPC.recommended(
    "type_as_method",
    "The player also takes the message type as the method, as document 002 has it.",
    "002-L0064",
    "decision 1",
    needs=CAN_JOIN,
)
async def type_as_method(scene: PlayerScene) -> Evidence:
    bout = await scene.fresh()
    exchange = await scene.say("invitation by its type", bout.invitation(), method="GAME_INVITATION")
    return plays_on(exchange, bout)


@RPC.recommended(
    "unknown_method", "The player refuses a method that it does not have with -32601.", "001-L0051", needs=[ping]
)
async def unknown_method(scene: PlayerScene) -> Evidence:
    return is_refusal(await scene.line.call(scene.url, "no_such_method", {}, SECONDS), -32601)


@RPC.recommended(
    "invalid_params",
    "The player refuses an invitation without a match_id with -32602.",
    "001-L0997",
    "000-L1430",
    needs=CAN_JOIN,
)
async def invalid_params(scene: PlayerScene) -> Evidence:
    message = msgspec.to_builtins(scene.bout(number=3).invitation())
    del message["match_id"]
    return is_refusal(await scene.line.call(scene.url, BY_REQUEST[m.GameInvitation].name, message, SECONDS), -32602)


@RPC.recommended("no_json", "The player refuses a body that is no JSON with -32700.", "001-L0009", needs=[ping])
async def no_json(scene: PlayerScene) -> Evidence:
    return is_refusal(await _post(scene, b'{"jsonrpc": "2.0", "method": '), -32700)


@RPC.recommended("no_request", "The player refuses JSON that is no request with -32600.", "001-L0009", needs=[ping])
async def no_request(scene: PlayerScene) -> Evidence:
    return is_refusal(await _post(scene, b'"league.v2"'), -32600)


@RPC.recommended(
    "batch",
    "The player answers a batch with a list of answers, each with its id.",
    "001-L0009",
    "decision 2",
    needs=[join_result, round_told.answered],
)
async def batch(scene: PlayerScene) -> Evidence:
    calls = [json.loads(request(NOTIFY_ROUND, scene.announcement(), number)) for number in (901, 902)]
    exchange = await _post(scene, encode(calls))
    value = exchange.value
    ids = [one.get("id") for one in value if isinstance(one, dict)] if isinstance(value, list) else []
    expected = "a list of two answers, with the ids 901 and 902"
    if sorted(map(str, ids)) != ["901", "902"]:
        raise exchange.failed(expected)
    return exchange.evidence(expected)


@RPC.recommended(
    "notification",
    "The player takes a notification, a request without an id, and answers it with no JSON-RPC answer.",
    "001-L0038",
    "decision 2",
    needs=[round_told.answered],
)
async def notification(scene: PlayerScene) -> Evidence:
    exchange = await _post(scene, request(NOTIFY_ROUND, scene.announcement(), None))
    expected = "an HTTP answer with an empty body"
    if exchange.answer is None or exchange.answer.body.strip():
        raise exchange.failed(expected)
    return exchange.evidence(expected)


@RPC.recommended(
    "status",
    "The player answers a good request with the HTTP status 200 and as application/json.",
    "001-L0008",
    needs=[joined],
)
async def status(scene: PlayerScene) -> Evidence:
    expected = "HTTP 200 and content-type: application/json"
    for exchange in scene.exchanges:
        answer = exchange.answer
        if answer is None:
            continue
        kind = answer.content_type.partition(";")[0].strip().lower()
        if answer.status != 200 or kind != "application/json":
            raise exchange.failed(expected, f"HTTP {answer.status}, content-type: {answer.content_type or 'none'}")
    return scene.exchanges[-1].evidence(expected)


@RPC.recommended(
    "no_error",
    "A good answer has a result and no error beside it, not even null.",
    "001-L0043",
    "001-L0051",
    needs=[join_result],
)
async def no_error(scene: PlayerScene) -> Evidence:
    for exchange in scene.exchanges:
        value = exchange.value
        if isinstance(value, dict) and "result" in value and "error" in value:
            raise exchange.failed("either result or error")
    return scene.exchanges[-1].evidence("either result or error")


@RPC.recommended(
    "megabyte",
    "The player takes a message of 1 MB from its manager.",
    "000-L1566",
    "decision 6",
    needs=[standings_told.acknowledged],
)
async def megabyte(scene: PlayerScene) -> Evidence:
    message = msgspec.to_builtins(scene.standings_update()) | {"from_a_later_version": ""}
    room = MAX_BYTES_FROM_ABOVE - len(request("update_standings", message, 1_000_000))
    message["from_a_later_version"] = "x" * room
    exchange = await scene.line.call(scene.url, "update_standings", message, SECONDS)
    if exchange.error is not None:
        raise exchange.failed("no error")
    return came_in_time(exchange)


@TOKENS.recommended(
    "manager",
    "Where tokens are derived, the player refuses a manager's message with a wrong token (E012).",
    "001-L0471",
    "003-L0130c",
    "decision 19",
    needs=[round_told.acknowledged],
)
async def stranger_as_manager(scene: PlayerScene) -> Evidence:
    message = msgspec.to_builtins(scene.announcement()) | {"auth_token": "drv-made-by-nobody"}
    return _refused(scene, await scene.line.call(scene.url, NOTIFY_ROUND, message, SECONDS))


@TOKENS.recommended(
    "referee",
    "Where tokens are derived, the player refuses a referee's invitation with a wrong token (E012).",
    "001-L0998",
    "003-L0130c",
    "decision 19",
    needs=CAN_JOIN,
)
async def stranger_as_referee(scene: PlayerScene) -> Evidence:
    # A player that takes it waits for its end.
    bout = scene.opened(scene.bout(number=4))
    message = msgspec.to_builtins(bout.invitation()) | {"auth_token": "drv-made-by-nobody"}
    method = BY_REQUEST[m.GameInvitation].name
    return _refused(scene, await scene.line.call(scene.url, method, message, SECONDS))


def _refused(scene: PlayerScene, exchange: Exchange) -> Evidence:
    if not scene.registers:
        raise NotRun("the player was not told how tokens are made: it does not register")
    return is_refusal(exchange)


OWN: Area[PlayerScene] = Area("own", "What the player sends by itself")


@OWN.required("valid", "What the player sends by itself is valid league.v2.", "000-L1542", needs=[ping])
async def valid(scene: PlayerScene) -> Evidence:
    for arrived in _sent(scene):
        if found := violations(arrived.message):
            raise Failed(
                Evidence(came=f"{'; '.join(map(str, found))} in {text_of(arrived.body)}", expected="nothing wrong")
            )
    return Evidence(came=f"{len(_sent(scene))} messages", expected="nothing wrong")


@OWN.required("token", "What the player sends by itself carries its token.", "000-L1377b", "003-L0130b", needs=[ping])
async def token(scene: PlayerScene) -> Evidence:
    given_id(scene)
    expected = "auth_token: the player's own"
    for arrived in _sent(scene):
        if arrived.message.get("auth_token") not in scene.tokens_of(str(arrived.message.get("match_id"))):
            raise Failed(Evidence(came=text_of(arrived.body), expected=expected))
    return Evidence(came=f"{len(_sent(scene))} messages", expected=expected)


def _sent(scene: PlayerScene) -> list[Arrived]:
    if not (sent := scene.own_messages()):
        raise NotRun("the player sent nothing by itself but its registration")
    return sent


ALIVE: Area[PlayerScene] = Area("alive", "After all that")


@ALIVE.required(
    "invitation",
    "After everything that nobody should send, the player still accepts an invitation.",
    "000-L0571",
    "003-L0039",
    needs=CAN_JOIN,
)
async def alive(scene: PlayerScene) -> Evidence:
    # Unheard-of bodies, of which no answer is expected but that the player lives.
    for body in RUBBISH:
        await _post(scene, body)
    bout = await scene.fresh()
    return plays_on(await scene.say("invitation after rubbish", bout.invitation()), bout)


def _deep(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


RUBBISH: tuple[bytes, ...] = (
    b"",
    b"\xff\xfe\x00league",
    b"[]",
    b"null",
    _deep(5_000),
    b'{"jsonrpc":"2.0","method":null,"params":7,"id":{}}',
    b'{"jsonrpc":"2.0","method":"handle_game_invitation","params":[],"id":1}',
    b'{"jsonrpc":"2.0","method":"handle_game_invitation","params":{"match_id":{}},"id":1}',
)
