"""JSON-RPC to the letter, and tokens: who may ask the manager, and what is refused."""

from __future__ import annotations

from typing import Any

import msgspec

from leaguekit.kit.answer_checks import is_refusal
from leaguekit.kit.checks import Area, Evidence
from leaguekit.kit.exchanges import Json, request
from leaguekit.kit.incoming import value
from leaguekit.kit.manager.harness import ManagerScene
from leaguekit.kit.manager.registration import other_players, player
from leaguekit.kit.rpc_checks import SECONDS, has_code, letter
from leaguekit.protocol.rpc import MAX_BYTES

RPC: Area[ManagerScene] = Area("rpc", "JSON-RPC 2.0")
TOKEN: Area[ManagerScene] = Area("token", "Tokens")

STRANGER = "tok-p01-made-by-nobody"

letter(RPC, "The manager", player, is_strict=True)


@RPC.recommended(
    "large",
    "A message of more than 10 KB is refused, by HTTP 413 or an error.",
    "000-L1566",
    "decision 6",
    needs=player,
)
async def large(scene: ManagerScene) -> Evidence:
    message = msgspec.to_builtins(scene.good_call()) | {"from_a_later_version": "x" * MAX_BYTES}
    exchange = await scene.line.post(scene.url, request("league_query", message, 1), SECONDS, 1)
    if exchange.answer is not None and exchange.answer.status == 413:
        return exchange.evidence("HTTP 413, or an error")
    return is_refusal(exchange)


# Tokens


def _queried(scene: ManagerScene, **changes: Any) -> Json:
    whole = msgspec.to_builtins(scene.good_call()) | changes
    return {name: one for name, one in whole.items() if one is not ...}


@TOKEN.required("wrong", "A query with a wrong token is refused.", "000-L1229", "001-L1940", needs=player)
async def wrong(scene: ManagerScene) -> Evidence:
    return is_refusal(await scene.say("wrong token", _queried(scene, auth_token=STRANGER)))


@TOKEN.recommended("wrong_number", "The number for that is 6001.", "001-L1788", needs=[wrong])
async def wrong_number(scene: ManagerScene) -> Evidence:
    return is_refusal(scene.seen["wrong token"], 6001)


@TOKEN.recommended("wrong_code", "The code for that is E012, in the data.", "001-L1941", "001-L1518", needs=[wrong])
async def wrong_code(scene: ManagerScene) -> Evidence:
    return has_code(scene.seen["wrong token"], "E012")


@TOKEN.recommended(
    "error", "The data of a refusal are a whole LEAGUE_ERROR.", "001-L1518", "000-L1527", "decision 10", needs=[wrong]
)
async def error(scene: ManagerScene) -> Evidence:
    exchange = scene.seen["wrong token"]
    data = exchange.error.get("data")
    wanted = {"protocol", "message_type", "sender", "timestamp", "error_description", "original_message_type"}
    expected = f"data with {', '.join(sorted(wanted))}"
    if not isinstance(data, dict) or not wanted <= data.keys() or data["message_type"] != "LEAGUE_ERROR":
        raise exchange.failed(expected)
    return exchange.evidence(expected)


@TOKEN.required("missing", "A query without a token is refused.", "000-L1228", "000-L1098", needs=player)
async def missing(scene: ManagerScene) -> Evidence:
    return is_refusal(await scene.say("no token", _queried(scene, auth_token=...)))


@TOKEN.recommended("missing_code", "The code for that is E011, in the data.", "000-L1228", needs=[missing])
async def missing_code(scene: ManagerScene) -> Evidence:
    return has_code(scene.seen["no token"], "E011")


@TOKEN.required(
    "other",
    "Nobody speaks as another: a query with one player's token and another's name is refused.",
    "003-L0130c",
    "decision 10",
    needs=[other_players],
)
async def other(scene: ManagerScene) -> Evidence:
    return is_refusal(await scene.say("other's name", _queried(scene, sender=scene.players[1].sender)))


@TOKEN.recommended("league", "A query about another league is refused with 6003.", "001-L1790", needs=player)
async def league(scene: ManagerScene) -> Evidence:
    return is_refusal(await scene.say("other league", _queried(scene, league_id="league_of_others")), 6003)


@TOKEN.recommended("type", "A query of an unknown type is refused with 6002.", "001-L1789", needs=player)
async def wrong_type(scene: ManagerScene) -> Evidence:
    return is_refusal(await scene.say("other type", _queried(scene, query_type="GET_RICH")), 6002)


def _fails(name: str, sentence: str, code: str, *lines: str, **params: Any) -> None:
    @TOKEN.recommended(name, sentence, *lines, "decision 29", needs=player)
    async def unsuccessful(scene: ManagerScene) -> Evidence:
        exchange = await scene.say(name, scene.query("GET_PLAYER_STATS", **params))
        expected = f"success: false, with the error {code}"
        result = exchange.result if isinstance(exchange.result, dict) else {}
        if result.get("success") is not False or value(result, "error.error_code") != code:
            raise exchange.failed(expected)
        return exchange.evidence(expected)


_fails(
    "unknown_player",
    "A query about nobody has no success, and E005.",
    "E005",
    "000-L1227",
    "000-L1170b",
    player_id="P999999",
)
_fails(
    "no_parameter",
    "A query without a parameter that it needs has no success, and E003.",
    "E003",
    "000-L1100",
    "000-L1170b",
)
