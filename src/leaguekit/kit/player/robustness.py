"""JSON-RPC in detail, wrong tokens, and whether the player goes on working after invalid requests."""

from __future__ import annotations

import msgspec

from leaguekit.kit.answer_checks import came_in_time, is_refusal, is_result
from leaguekit.kit.checks import Area, Evidence, Failed, NotRun, fail_if
from leaguekit.kit.exchanges import IncomingRequest, encode_request, text_of, with_changes
from leaguekit.kit.player.harness import PlayerHarness
from leaguekit.kit.player.matches import (
    CAN_CHOOSE,
    CAN_JOIN,
    accepts_invitation,
    given_id,
    join_result,
    joined,
    round_notice,
    standings_notice,
)
from leaguekit.kit.player.registration import ping
from leaguekit.kit.rpc_checks import (
    STRING_ID,
    answers_batch,
    answers_notification,
    knows_usual_names,
    refuses_unknown_method,
)
from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import violations
from leaguekit.protocol.rpc import MAX_TRUSTED_BYTES

FORGED_AUTH = "drv-made-by-nobody"

RPC: Area[PlayerHarness] = Area("rpc", "JSON-RPC 2.0")
TOKENS: Area[PlayerHarness] = Area("tokens", "Tokens")


@RPC.recommended("001-L0045", "decision 2", needs=[join_result, round_notice.answered])
async def string_id(harness: PlayerHarness) -> Evidence:
    """The player repeats an id that is text."""
    return is_result(await harness.call(harness.good_call(), call_id=STRING_ID))


@RPC.recommended("002-L0064", "decision 1", needs=CAN_JOIN)
async def type_as_method(harness: PlayerHarness) -> Evidence:
    """The player also takes the message type as the method, as document 002 has it."""
    match = await harness.match_in_new_round()
    return await accepts_invitation(harness, "invitation by its type", match, method="GAME_INVITATION")


@RPC.required("001-L0036", needs=[join_result])
async def method_names(harness: PlayerHarness) -> Evidence:
    """The player knows every method that the kit has called by its first name in document 001."""
    return knows_usual_names(harness, harness.answers["join"])


@RPC.recommended("001-L0051", needs=[ping])
async def unknown_method(harness: PlayerHarness) -> Evidence:
    """The player refuses a method that it does not have with -32601."""
    return await refuses_unknown_method(harness)


@RPC.recommended("001-L0997", "000-L1430", needs=CAN_JOIN)
async def invalid_params(harness: PlayerHarness) -> Evidence:
    """The player refuses an invitation without a match_id with -32602."""
    invitation = harness.new_match(number=3).invitation()
    return is_refusal(await harness.call(with_changes(invitation, {"match_id": ...})), -32602)


@RPC.recommended("001-L0009", needs=[ping])
async def no_json(harness: PlayerHarness) -> Evidence:
    """The player refuses a body that is no JSON with -32700."""
    return is_refusal(await harness.post(b'{"jsonrpc": "2.0", "method": '), -32700)


@RPC.recommended("001-L0009", needs=[ping])
async def no_request(harness: PlayerHarness) -> Evidence:
    """The player refuses JSON that is not a request with -32600."""
    return is_refusal(await harness.post(b'"league.v2"'), -32600)


@RPC.recommended("001-L0009", "decision 2", needs=[join_result, round_notice.answered])
async def batch(harness: PlayerHarness) -> Evidence:
    """The player answers a batch with a list of answers, each with its id."""
    return await answers_batch(harness)


@RPC.recommended("001-L0038", "decision 2", needs=[round_notice.answered])
async def notification(harness: PlayerHarness) -> Evidence:
    """The player takes a notification, a request without an id, and answers it with no JSON-RPC answer."""
    return await answers_notification(harness)


@RPC.recommended("001-L0008", needs=[joined])
async def status(harness: PlayerHarness) -> Evidence:
    """The player answers a good request with the HTTP status 200 and as application/json."""
    expected = "HTTP 200 and content-type: application/json"
    for exchange in harness.exchanges:
        answer = exchange.answer
        if answer is None:
            continue
        kind = answer.content_type.partition(";")[0].strip().lower()
        if answer.status != 200 or kind != "application/json":
            raise exchange.failed(expected, f"HTTP {answer.status}, content-type: {answer.content_type or 'none'}")
    return harness.exchanges[-1].evidence(expected)


@RPC.recommended("001-L0043", "001-L0051", needs=[join_result])
async def no_error(harness: PlayerHarness) -> Evidence:
    """A good answer has a result and no error beside it, not even null."""
    for exchange in harness.exchanges:
        value = exchange.value
        if isinstance(value, dict) and "result" in value and "error" in value:
            raise exchange.failed("either result or error")
    return harness.exchanges[-1].evidence("either result or error")


@RPC.recommended("000-L1566", "decision 6", needs=[standings_notice.acknowledged])
async def megabyte(harness: PlayerHarness) -> Evidence:
    """The player takes a message of 1 MB from its manager."""
    message = msgspec.to_builtins(harness.standings_update()) | {"from_a_later_version": ""}
    room = MAX_TRUSTED_BYTES - len(encode_request("update_standings", message, 1_000_000))
    message["from_a_later_version"] = "x" * room
    exchange = await harness.call(message)
    if exchange.error is not None:
        raise exchange.failed("no error")
    return came_in_time(exchange)


@TOKENS.recommended("001-L0471", "003-L0130c", "decision 19", name="manager", needs=[round_notice.acknowledged])
async def stranger_as_manager(harness: PlayerHarness) -> Evidence:
    """Where tokens are derived, the player refuses a manager's message with a wrong token (E012)."""
    return await _refuses_stranger(harness, harness.announcement())


@TOKENS.recommended("001-L0998", "003-L0130c", "decision 19", name="referee", needs=CAN_JOIN)
async def stranger_as_referee(harness: PlayerHarness) -> Evidence:
    """Where tokens are derived, the player refuses a referee's invitation with a wrong token (E012)."""
    # A player that accepts it waits for the end of the match.
    match = harness.keep_open(harness.new_match(number=4))
    return await _refuses_stranger(harness, match.invitation())


async def _refuses_stranger(harness: PlayerHarness, message: m.Request) -> Evidence:
    exchange = await harness.call(with_changes(message, {"auth_token": FORGED_AUTH}))
    if not harness.expects_registration:
        raise NotRun("the player was not given a token scheme: it does not register")
    return is_refusal(exchange)


OWN: Area[PlayerHarness] = Area("own", "What the player sends by itself, and whose moves it makes")


@OWN.required("000-L1542", needs=[ping])
async def valid(harness: PlayerHarness) -> Evidence:
    """What the player sends by itself is valid league.v2."""
    for request in _sent(harness):
        if found := violations(request.message):
            raise Failed(
                Evidence(came=f"{'; '.join(map(str, found))} in {text_of(request.body)}", expected="nothing wrong")
            )
    return Evidence(came=f"{len(_sent(harness))} messages", expected="nothing wrong")


@OWN.required("000-L1377b", "003-L0130b", needs=[ping])
async def token(harness: PlayerHarness) -> Evidence:
    """What the player sends by itself carries its token."""
    given_id(harness)
    expected = "auth_token: the player's own"
    for request in _sent(harness):
        if request.message.get("auth_token") not in harness.tokens_of(str(request.message.get("match_id"))):
            raise Failed(Evidence(came=text_of(request.body), expected=expected))
    return Evidence(came=f"{len(_sent(harness))} messages", expected=expected)


@OWN.recommended("decision 22", needs=CAN_CHOOSE)
async def moves(harness: PlayerHarness) -> Evidence:
    """The player's choices are its strategy's: by its own statement (move_info), none was replaced."""
    origins = harness.move_origins()
    return fail_if(origins.replaced > 0, Evidence(came=harness.remark() or str(origins), expected="no replaced move"))


def _sent(harness: PlayerHarness) -> list[IncomingRequest]:
    if not (sent := harness.own_messages()):
        raise NotRun("the player sent nothing by itself but its registration")
    return sent


ALIVE: Area[PlayerHarness] = Area("alive", "After all that")


@ALIVE.required("000-L0571", "003-L0039", name="invitation", needs=CAN_JOIN)
async def alive(harness: PlayerHarness) -> Evidence:
    """After everything that nobody should send, the player still accepts an invitation."""
    # The player may answer these as it likes, but it must go on working.
    for body in HOSTILE_BODIES:
        await harness.post(body)
    return await accepts_invitation(harness, "invitation after rubbish", await harness.match_in_new_round())


HOSTILE_BODIES: tuple[bytes, ...] = (
    b"",
    b"\xff\xfe\x00league",
    b"[]",
    b"null",
    b"[" * 5_000 + b"]" * 5_000,
    b'{"jsonrpc":"2.0","method":null,"params":7,"id":{}}',
    b'{"jsonrpc":"2.0","method":"handle_game_invitation","params":[],"id":1}',
    b'{"jsonrpc":"2.0","method":"handle_game_invitation","params":{"match_id":{}},"id":1}',
)
