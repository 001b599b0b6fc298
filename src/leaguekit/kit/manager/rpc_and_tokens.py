"""JSON-RPC in detail, and tokens: which queries the manager refuses."""

from __future__ import annotations

from typing import Any

import msgspec

from leaguekit.kit.answer_checks import is_refusal
from leaguekit.kit.checks import Area, Evidence
from leaguekit.kit.exchanges import Json, encode_request, with_changes
from leaguekit.kit.field_checks import value
from leaguekit.kit.manager.harness import ManagerHarness
from leaguekit.kit.manager.registration import other_players, player_accepted
from leaguekit.kit.rpc_checks import add_rpc_checks, has_error_code
from leaguekit.protocol.rpc import MAX_BYTES

RPC: Area[ManagerHarness] = Area("rpc", "JSON-RPC 2.0")
TOKEN: Area[ManagerHarness] = Area("token", "Tokens")

FORGED_AUTH = "tok-p01-made-by-nobody"

add_rpc_checks(RPC, "The manager", player_accepted, is_strict=True)


@RPC.recommended("000-L1566", "decision 6", needs=player_accepted)
async def large(harness: ManagerHarness) -> Evidence:
    """A message of more than 10 KB is refused, by HTTP 413 or an error."""
    message = msgspec.to_builtins(harness.good_call()) | {"from_a_later_version": "x" * MAX_BYTES}
    exchange = await harness.post(encode_request("league_query", message, 1), 1)
    if exchange.answer is not None and exchange.answer.status == 413:
        return exchange.evidence("HTTP 413, or an error")
    return is_refusal(exchange)


# Tokens


def _query(harness: ManagerHarness, **changes: Any) -> Json:
    return with_changes(harness.good_call(), changes)


@TOKEN.required("000-L1229", "001-L1940", needs=player_accepted)
async def wrong(harness: ManagerHarness) -> Evidence:
    """A query with a wrong token is refused."""
    return is_refusal(await harness.send("wrong token", _query(harness, auth_token=FORGED_AUTH)))


@TOKEN.recommended("001-L1788", needs=[wrong])
async def wrong_number(harness: ManagerHarness) -> Evidence:
    """The number for that is 6001."""
    return is_refusal(harness.answers["wrong token"], 6001)


@TOKEN.recommended("001-L1941", "001-L1518", needs=[wrong])
async def wrong_code(harness: ManagerHarness) -> Evidence:
    """The code for that is E012, in the data."""
    return has_error_code(harness.answers["wrong token"], "E012")


@TOKEN.recommended("001-L1518", "000-L1527", "decision 10", needs=[wrong])
async def error(harness: ManagerHarness) -> Evidence:
    """The data of a refusal are a whole LEAGUE_ERROR."""
    exchange = harness.answers["wrong token"]
    data = exchange.error_data
    wanted = {"protocol", "message_type", "sender", "timestamp", "error_description", "original_message_type"}
    is_right = wanted <= data.keys() and data["message_type"] == "LEAGUE_ERROR"
    return exchange.fail_if(not is_right, f"data with {', '.join(sorted(wanted))}")


@TOKEN.required("000-L1228", "000-L1098", needs=player_accepted)
async def missing(harness: ManagerHarness) -> Evidence:
    """A query without a token is refused."""
    return is_refusal(await harness.send("no token", _query(harness, auth_token=...)))


@TOKEN.recommended("000-L1228", needs=[missing])
async def missing_code(harness: ManagerHarness) -> Evidence:
    """The code for that is E011, in the data."""
    return has_error_code(harness.answers["no token"], "E011")


@TOKEN.required("003-L0130c", "decision 10", needs=[other_players])
async def other(harness: ManagerHarness) -> Evidence:
    """Nobody speaks as another: a query with one player's token and another's name is refused."""
    return is_refusal(await harness.send("other's name", _query(harness, sender=harness.players[1].sender)))


@TOKEN.recommended("001-L1790", needs=player_accepted)
async def league(harness: ManagerHarness) -> Evidence:
    """A query about another league is refused with 6003."""
    return is_refusal(await harness.send("other league", _query(harness, league_id="league_of_others")), 6003)


@TOKEN.recommended("001-L1789", name="type", needs=player_accepted)
async def wrong_type(harness: ManagerHarness) -> Evidence:
    """A query of an unknown type is refused with 6002."""
    return is_refusal(await harness.send("other type", _query(harness, query_type="GET_RICH")), 6002)


async def _has_no_success(harness: ManagerHarness, code: str, **params: Any) -> Evidence:
    exchange = await harness.send(f"query with {code}", harness.query("GET_PLAYER_STATS", **params))
    is_right = exchange.message.get("success") is False and value(exchange.message, "error.error_code") == code
    return exchange.fail_if(not is_right, f"success: false, with the error {code}")


@TOKEN.recommended("000-L1227", "000-L1170b", "decision 29", needs=player_accepted)
async def unknown_player(harness: ManagerHarness) -> Evidence:
    """A query about nobody has no success, and E005."""
    return await _has_no_success(harness, "E005", player_id="P999999")


@TOKEN.recommended("000-L1100", "000-L1170b", "decision 29", needs=player_accepted)
async def no_parameter(harness: ManagerHarness) -> Evidence:
    """A query without a parameter that it needs has no success, and E003."""
    return await _has_no_success(harness, "E003")
