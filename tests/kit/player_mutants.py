"""For each check of a player, a player that fails it and nothing else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from leaguekit.protocol import times
from leaguekit.transport.base import HttpAnswer
from tests.kit.memory_network import virtual_now
from tests.kit.scripted_player import Json, Mutation, ScriptedPlayer

CALLS = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
# (player, message that it received) → whether a change is made.
When = Callable[[ScriptedPlayer, Json], bool]


def _call(request: Json) -> Json:
    params = request.get("params")
    return params if isinstance(params, dict) else {}


def _kind(*kinds: str) -> When:
    return lambda _player, call: call.get("message_type") in kinds


def _changing(when: When, change: Callable[[ScriptedPlayer, Json, Json], Any]) -> Mutation:
    """Change valid answers.

    ``change`` gets the player, the message that it received and the result. It may be a coroutine function.
    """

    async def changed(player: ScriptedPlayer, request: Json, answer: Any) -> Any:
        if not isinstance(answer, dict) or "result" not in answer or not when(player, _call(request)):
            return answer
        result = change(player, _call(request), answer["result"])
        return answer | {"result": await result if asyncio.iscoroutine(result) else result}

    return Mutation(changed)


def _with(when: When, **fields: Any) -> Mutation:
    return _changing(when, lambda _player, _call, result: result | fields)


def _without(when: When, name: str) -> Mutation:
    return _changing(when, lambda _player, _call, result: {key: result[key] for key in result if key != name})


async def _for_ever(_player: ScriptedPlayer, _call: Json, _result: Json) -> None:
    await asyncio.Event().wait()


def _silent(when: When) -> Mutation:
    return _changing(when, _for_ever)


def _refusing(when: When) -> Mutation:
    """Decline invitations, and answer calls with choices that are not legal."""
    return _changing(when, lambda _player, _call, result: result | {"accept": False, "parity_choice": "neither"})


def _answering(method: str, answer: Any) -> Mutation:
    async def changed(_player: ScriptedPlayer, request: Json, proper: Any) -> Any:
        return answer if request.get("method") == method else proper

    return Mutation(changed)


def _not_knowing(method: str) -> Mutation:
    """Refuse a method as unknown. Its message is understood by the message type as the method."""

    async def changed(_player: ScriptedPlayer, request: Json, proper: Any) -> Any:
        error = {"code": -32601, "message": "no such method"}
        return (
            {"jsonrpc": "2.0", "error": error, "id": request.get("id")} if request.get("method") == method else proper
        )

    return Mutation(changed)


def _to_body(wanted: Callable[[Json, Any], bool], answer: Any) -> Mutation:
    """Change the answer to certain bodies."""

    async def changed(_player: ScriptedPlayer, request: Json, proper: Any) -> Any:
        return answer if wanted(request, proper) else proper

    return Mutation(changed)


def _registering(change: Callable[[Json], Json]) -> Mutation:
    return Mutation(registration=change)


def _saying(**fields: Any) -> Mutation:
    return _registering(lambda request: request | {"params": request["params"] | fields})


def _being(**fields: Any) -> Mutation:
    return _registering(
        lambda request: (
            request | {"params": request["params"] | {"player_meta": request["params"]["player_meta"] | fields}}
        )
    )


def _declaring_nothing(request: Json) -> Json:
    del request["params"]["player_meta"]["protocol_version"]
    return request


def _nth(kind: str, number: int) -> When:
    """Return a predicate: whether this is the nth message of a type."""

    def is_it(player: ScriptedPlayer, call: Json) -> bool:
        same = [one for one in player.received if one["message_type"] == kind]
        return call.get("message_type") == kind and len(same) == number

    return is_it


def _after_error(code: str, *kinds: str) -> When:
    """Return a predicate: whether an error was sent in the match of a message."""

    def is_it(player: ScriptedPlayer, call: Json) -> bool:
        errors = player.received_in_match(str(call.get("match_id")), "GAME_ERROR")
        return call.get("message_type") in kinds and any(error["error_code"] == code for error in errors)

    return is_it


def _second(*kinds: str) -> When:
    """Return a predicate: whether a message is a repeat, in a match without an error."""

    def is_it(player: ScriptedPlayer, call: Json) -> bool:
        match, kind = str(call.get("match_id")), str(call.get("message_type"))
        return (
            kind in kinds
            and len(player.received_in_match(match, kind)) > 1
            and not player.received_in_match(match, "GAME_ERROR")
        )

    return is_it


def _technical(*, won: bool) -> When:
    """Return a predicate: whether a result is a technical loss of the player, or of its opponent."""

    def is_it(player: ScriptedPlayer, call: Json) -> bool:
        result = call.get("game_result", {})
        is_winner = result.get("winner_player_id") == player.player_id
        first = len([one for one in player.received if _lost(one, player)]) == 1
        return result.get("status") == "TECHNICAL_LOSS" and is_winner is won and (won or first)

    return is_it


def _lost(call: Json, player: ScriptedPlayer) -> bool:
    result = call.get("game_result", {})
    return result.get("status") == "TECHNICAL_LOSS" and result.get("winner_player_id") != player.player_id


def _just_lost(player: ScriptedPlayer, call: Json) -> bool:
    """Return whether an invitation follows a technical loss of the player."""
    results = [one for one in player.received if one["message_type"] == "GAME_OVER"]
    return call.get("message_type") == "GAME_INVITATION" and bool(results) and _lost(results[-1], player)


def _unannounced(player: ScriptedPlayer, call: Json) -> bool:
    rounds = [one["round_id"] for one in player.received if one["message_type"] == "ROUND_ANNOUNCEMENT"]
    return call.get("message_type") == "GAME_INVITATION" and call["round_id"] not in rounds


def _unknown_field(_player: ScriptedPlayer, call: Json) -> bool:
    return call.get("message_type") == "GAME_INVITATION" and "from_a_later_version" in call


def _large(_player: ScriptedPlayer, call: Json) -> bool:
    return len(call.get("standings", ())) > 50


def _after_silence(player: ScriptedPlayer, call: Json) -> bool:
    return call.get("message_type") == "GAME_INVITATION" and player.received_at[-1] - player.received_at[-2] > 50


def _with_the_last_match(player: ScriptedPlayer, _call: Json, result: Json) -> Json:
    """Answer with the id of the last match that it was invited to."""
    invited = [one["match_id"] for one in player.received if one["message_type"] == "GAME_INVITATION"]
    return result | {"match_id": invited[-1]}


def _rubbish_kills() -> Mutation:
    """Decline one invitation after a certain body."""
    seen: list[Json] = []

    async def changed(_player: ScriptedPlayer, request: Json, answer: Any) -> Any:
        if b"\xff\xfe" in request["body"]:
            seen.append(request)
        if seen and _call(request).get("message_type") == "GAME_INVITATION" and isinstance(answer, dict):
            seen.clear()
            return answer | {"result": answer.get("result", {}) | {"accept": False}}
        return answer

    return Mutation(changed)


async def _with_another_status(_player: ScriptedPlayer, request: Json, answer: Any) -> Any:
    is_batch = request["body"].startswith(b"[")
    return answer if answer is None or is_batch else HttpAnswer(500, json.dumps(answer).encode())


async def _with_null_error(_player: ScriptedPlayer, _request: Json, answer: Any) -> Any:
    return answer | {"error": None} if isinstance(answer, dict) and "result" in answer else answer


def _in_the_past() -> str:
    return times.format_timestamp(virtual_now() - timedelta(days=1))


async def _deaf_to_pings(player: ScriptedPlayer, request: Json, answer: Any) -> Any:
    if request.get("method") == "ping" and player.token:
        await asyncio.Event().wait()
    return answer


def _without_id(answer_to: str) -> Mutation:
    """Answer with another id."""

    async def changed(_player: ScriptedPlayer, request: Json, answer: Any) -> Any:
        wrong = isinstance(answer, dict) and _call(request).get("message_type") == answer_to
        return answer | {"id": 99_999} if wrong else answer

    return Mutation(changed)


def _notices() -> dict[str, Mutation]:
    """Return the mutants of all notifications: no answer, no acknowledgement, and one with wrong ids."""
    kinds = {
        "round": "ROUND_ANNOUNCEMENT",
        "over": "GAME_OVER",
        "standings": "LEAGUE_STANDINGS_UPDATE",
        "round_over": "ROUND_COMPLETED",
        "error": "GAME_ERROR",
        "end": "LEAGUE_COMPLETED",
    }
    mutants = {}
    for area, kind in kinds.items():
        mutants[f"{area}.answered"] = _silent(_kind(kind))
        mutants[f"{area}.acknowledged"] = _changing(_kind(kind), lambda _player, _call, _result: {"status": "ok"})
        mutants[f"{area}.about"] = _with(_kind(kind), player_id="P01")
    return mutants


def _answers(area: str, *kinds: str) -> dict[str, Mutation]:
    """Return the mutants of the answers to invitations and calls: each field wrong."""
    of = _kind(*kinds)
    return {
        f"{area}.answered": _silent(of),
        f"{area}.message_type": _with(of, message_type="ACK"),
        f"{area}.protocol": _with(of, protocol="league.v1"),
        f"{area}.timestamp": _with(of, timestamp="2026-03-14T11:00:00+02:00"),
        f"{area}.match_id": _with(of, match_id="R9M9"),
        f"{area}.player_id": _with(of, player_id="P01"),
        f"{area}.sender": _with(of, sender="player:P01"),
        f"{area}.conversation_id": _with(of, conversation_id="conv-of-mine"),
        f"{area}.token": _with(of, auth_token="tok-p01-somebody-elses"),
        f"{area}.shows_token": _without(of, "auth_token"),
    }


MUTANTS: dict[str, Mutation] = {
    "register.comes": Mutation(registers=False),
    "register.request": _registering(lambda request: {key: request[key] for key in request if key != "jsonrpc"}),
    "register.method": _registering(lambda request: request | {"method": "league_register"}),
    "register.envelope": _saying(protocol="league.v1"),
    "register.sender": _saying(sender="By hand"),
    "register.timestamp": _saying(timestamp="2026-03-14 09:00:00"),
    "register.clock": _registering(
        lambda request: request | {"params": request["params"] | {"timestamp": _in_the_past()}}
    ),
    "register.name": _being(version="one"),
    "register.games": _being(game_types=["chess"]),
    "register.endpoint": _being(contact_endpoint="127.0.0.1:8101"),
    "register.version": _being(protocol_version="1.0.0"),
    "register.declares": _registering(_declaring_nothing),
    "register.size": _saying(story="x" * 10_240),
    "register.waits": Mutation(timeout_seconds=5.0),
    "reach.early": Mutation(listens_early=False),
    "reach.ping": Mutation(_deaf_to_pings),
    **_notices(),
    **_answers("join", "GAME_INVITATION"),
    "join.result": _without_id("GAME_INVITATION"),
    "join.arrival_timestamp": _without(_kind("GAME_INVITATION"), "arrival_timestamp"),
    "join.accept": _with(_kind("GAME_INVITATION"), accept="true"),
    **_answers("choice", *CALLS),
    "choice.result": _without_id("CHOOSE_PARITY_CALL"),
    "choice.legal": _with(_kind(*CALLS), parity_choice="Even"),
    "error.choice_again": _refusing(_after_error("E004", *CALLS)),
    "error.invitation_again": _refusing(_after_error("E001", "GAME_INVITATION")),
    "error.timeout_again": _refusing(_after_error("E001", *CALLS)),
    "repeat.invitation": _refusing(_second("GAME_INVITATION")),
    "repeat.call": _refusing(_second(*CALLS)),
    "repeat.result": _silent(_second("GAME_OVER")),
    "loss.told": _silent(_technical(won=False)),
    "loss.win": _silent(_technical(won=True)),
    "loss.plays_on": _refusing(_just_lost),
    "tolerance.unannounced": _refusing(_unannounced),
    "tolerance.unknown_fields": _refusing(_unknown_field),
    "tolerance.large_table": _silent(_large),
    "rpc.string_id": _to_body(
        lambda request, _answer: isinstance(request.get("id"), str), {"jsonrpc": "2.0", "result": {}, "id": 1}
    ),
    "rpc.type_as_method": _answering(
        "GAME_INVITATION", {"jsonrpc": "2.0", "error": {"code": -32601, "message": "no such method"}, "id": None}
    ),
    "rpc.method_names": _not_knowing("update_standings"),
    "rpc.unknown_method": _answering("no_such_method", {"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 1}),
    "rpc.invalid_params": _to_body(
        lambda request, _answer: _call(request).get("role_in_match") is not None and "match_id" not in _call(request),
        {"jsonrpc": "2.0", "error": {"code": -32603, "message": "KeyError"}, "id": 1},
    ),
    "rpc.no_json": _to_body(lambda request, _answer: request["body"].endswith(b'"method": '), b"Bad Request"),
    "rpc.no_request": _to_body(lambda request, _answer: request["body"] == b'"league.v2"', b"Bad Request"),
    "rpc.batch": _to_body(lambda request, _answer: request["body"].startswith(b'[{"json'), b'"a batch?"'),
    "rpc.notification": _to_body(
        lambda request, answer: answer is None, {"jsonrpc": "2.0", "result": {"status": "ok"}, "id": None}
    ),
    "rpc.status": Mutation(_with_another_status),
    "rpc.no_error": Mutation(_with_null_error),
    "rpc.megabyte": _to_body(
        lambda request, _answer: len(request["body"]) > 100_000,
        {"jsonrpc": "2.0", "error": {"code": -32600, "message": "too large"}, "id": None},
    ),
    "tokens.manager": Mutation(checks_tokens=("referee",)),
    "tokens.referee": Mutation(checks_tokens=("manager",)),
    "alive.invitation": _rubbish_kills(),
    "time.quick": Mutation(seconds=0.6),
    "time.at_once": _changing(_kind(*CALLS), _with_the_last_match),
    "time.second_caller": Mutation(one_caller=True),
    "time.invitations": _silent(_nth("GAME_INVITATION", 30)),
    "time.choices": _silent(_nth("CHOOSE_PARITY_CALL", 20)),
    "time.silence": _refusing(_after_silence),
    "end.ends": Mutation(ends=False),
    "own.valid": Mutation(query=lambda request: request | {"params": request["params"] | {"timestamp": "now"}}),
    "own.token": Mutation(query=lambda request: request | {"params": request["params"] | {"auth_token": "tok-mine"}}),
    "own.moves": _with(_kind(*CALLS), move_info={"origin": "replaced", "reason": "no idea"}),
}
