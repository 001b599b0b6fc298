"""The registration of the player, and whether it can be reached at its endpoint."""

from __future__ import annotations

from typing import Any

from leaguekit.kit.answer_checks import came_in_time
from leaguekit.kit.checks import Area, Evidence, Failed, fail_if
from leaguekit.kit.exchanges import text_of
from leaguekit.kit.field_checks import MISSING, is_call_id, values, violations_in
from leaguekit.kit.harness import PING_SECONDS
from leaguekit.kit.player.harness import PlayerHarness
from leaguekit.protocol import messages as m
from leaguekit.protocol import times
from leaguekit.protocol.ids import is_supported_version
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.rpc import MAX_BYTES

CLOCK_SECONDS = 60.0
# How long a player may take to listen after its registration.
OPENING_SECONDS = 10.0

REGISTER: Area[PlayerHarness] = Area("register", "Registration")
REACH: Area[PlayerHarness] = Area("reach", "Reaching the player")


@REGISTER.required("000-L0208", "002-L0183", "001-L0008")
async def comes(harness: PlayerHarness) -> Evidence:
    """The player registers: it posts LEAGUE_REGISTER_REQUEST to the manager's /mcp."""
    return await harness.wait_for_registration()


@REGISTER.required("001-L0035", "001-L0037", "001-L0038", "002-L0057", name="request", needs=[comes])
async def is_rpc_request(harness: PlayerHarness) -> Evidence:
    """The registration is a JSON-RPC 2.0 request: jsonrpc, method, params and an id."""
    request = harness.registration
    value = request.value
    expected = '{"jsonrpc": "2.0", "method": …, "params": {…}, "id": a number or text}'
    wrong = [name for name in ("jsonrpc", "method", "params", "id") if name not in value]
    wrong += ["jsonrpc"] if value.get("jsonrpc", "2.0") != "2.0" else []
    wrong += ["params (the message is not directly in it)"] if harness.registered_message is not request.message else []
    wrong += [] if is_call_id(value.get("id", 0)) else ["id"]
    return request.fail_if(bool(wrong), expected, f"{', '.join(wrong)} missing or wrong")


@REGISTER.required("001-L0241", "002-L0064", needs=[comes])
async def method(harness: PlayerHarness) -> Evidence:
    """The registration's method is register_player, or the message type."""
    names, request = BY_REQUEST[m.LeagueRegisterRequest].names, harness.registration
    expected = f"the method {' or '.join(names)}"
    return request.fail_if(request.method not in names, expected, f"the method {request.method!r}")


def _fields_are_valid(harness: PlayerHarness, *paths: str) -> Evidence:
    request, message = harness.registration, harness.registered_message
    found = [one for path in paths for one in violations_in(message, m.LeagueRegisterRequest, path)]
    if "message_type" in paths and message.get("message_type") != "LEAGUE_REGISTER_REQUEST":
        raise request.failed("message_type: LEAGUE_REGISTER_REQUEST", str(message.get("message_type")))
    if found:
        expected = "; ".join(f"{one.path}: {one.expected}" for one in found)
        raise request.failed(expected, "; ".join(f"{one.path}: {one.came}" for one in found))
    return request.evidence(f"{', '.join(paths)} as the schema says")


@REGISTER.required("000-L0058", "000-L0062", "000-L0063", "000-L0066", needs=[comes])
async def envelope(harness: PlayerHarness) -> Evidence:
    """The registration names the protocol league.v2, its type, and a conversation."""
    return _fields_are_valid(harness, "message_type", "protocol", "conversation_id")


@REGISTER.required("000-L0064", "003-L0127", needs=[comes])
async def sender(harness: PlayerHarness) -> Evidence:
    """The registration's sender is player: and a name."""
    found = _fields_are_valid(harness, "sender")
    if not str(harness.registered_message["sender"]).startswith("player:"):
        raise Failed(found._replace(expected="sender: player: and a name"))
    return found


@REGISTER.required("000-L1406", "003-L0099", needs=[comes])
async def timestamp(harness: PlayerHarness) -> Evidence:
    """The registration's timestamp is ISO 8601 in UTC."""
    return _fields_are_valid(harness, "timestamp")


@REGISTER.recommended("000-L0065", needs=[timestamp])
async def clock(harness: PlayerHarness) -> Evidence:
    """The player's clock is right to within {CLOCK_SECONDS:g} seconds."""
    request = harness.registration
    seconds = abs(
        (times.parse_timestamp(harness.registered_message["timestamp"]) - request.received_at).total_seconds()
    )
    found = request.evidence("the time at which it was sent", f"a time {seconds:.0f} s from ours")
    return fail_if(seconds > CLOCK_SECONDS, found)


@REGISTER.required("000-L0230", "000-L0235", "000-L1510", needs=[comes])
async def name(harness: PlayerHarness) -> Evidence:
    """The player gives a display_name of 1 to 50 characters and its own version as three numbers."""
    return _fields_are_valid(harness, "player_meta.display_name", "player_meta.version")


@REGISTER.required("000-L0239", "000-L0240", needs=[comes])
async def games(harness: PlayerHarness) -> Evidence:
    """The player lists the game of this league in its game_types."""
    found = _fields_are_valid(harness, "player_meta.game_types")
    if harness.game.name not in harness.registered_message["player_meta"]["game_types"]:
        raise Failed(found._replace(expected=f"game_types with {harness.game.name} among them (or another --game)"))
    return found


@REGISTER.required("000-L0243", "001-L0259", needs=[comes])
async def endpoint(harness: PlayerHarness) -> Evidence:
    """The player says where it listens: contact_endpoint is a URL."""
    return _fields_are_valid(harness, "player_meta.contact_endpoint")


@REGISTER.required("003-L0288", needs=[comes])
async def version(harness: PlayerHarness) -> Evidence:
    """If the player states a protocol_version, it is 2.0.0 or a later 2.x."""
    request = harness.registration
    stated = _version(harness)
    if stated is not MISSING and not (isinstance(stated, str) and is_supported_version(stated)):
        raise request.failed("protocol_version: 2.0.0 or a later 2.x", f"protocol_version {stated!r}")
    return request.evidence("protocol_version: 2.0.0 or a later 2.x, or none")


@REGISTER.recommended("003-L0279", needs=[version])
async def declares(harness: PlayerHarness) -> Evidence:
    """The player declares its protocol_version."""
    return harness.registration.fail_if(_version(harness) is MISSING, "protocol_version in player_meta")


def _version(harness: PlayerHarness) -> Any:
    return values(harness.registered_message, "player_meta.protocol_version")[0]


@REGISTER.required("000-L1566", needs=[comes])
async def size(harness: PlayerHarness) -> Evidence:
    """The registration has at most {MAX_BYTES:,} bytes."""
    came = len(harness.registration.body)
    found = harness.registration.evidence(f"at most {MAX_BYTES:,} bytes", f"{came:,} bytes")
    return fail_if(came > MAX_BYTES, found)


@REGISTER.required("001-L0243", "000-L0211", needs=[comes], full=True)
async def waits(harness: PlayerHarness) -> Evidence:
    """The player waits for the answer to its registration, and does not ask again before 8 seconds have passed."""
    came = [one for one in harness.inbox.requests if harness.is_registration(one)]
    expected = "one registration, and patience: a manager has 10 s to answer"
    if len(came) > 1:
        after = came[1].loop_time - came[0].loop_time
        raise came[1].failed(expected, f"another registration after {after:.1f} s")
    return came[0].evidence(expected)


@REACH.required("000-L0258", "000-L0245", needs=[endpoint])
async def early(harness: PlayerHarness) -> Evidence:
    """The player listens before it registers: a call during the registration is answered."""
    request = harness.registration
    exchange = harness.answers["early"]
    expected = f"an HTTP answer within {PING_SECONDS:g} s (a league with --profile open calls only later)"
    exchange.fail_if(exchange.answer is None, expected)
    return came_in_time(exchange)._replace(sent=f"{text_of(exchange.sent)} while it registers by {request.method}")


@REACH.required("000-L1454", "000-L0258", needs=[endpoint])
async def ping(harness: PlayerHarness) -> Evidence:
    """The player answers a ping: any HTTP answer will do."""
    # The player may begin to listen only now.
    seconds = min(OPENING_SECONDS, harness.settings.timeout_seconds)
    return came_in_time(await harness.ping_until(seconds, until_there=True))
