"""Whom the manager takes and whom not, and what it tells them."""

from __future__ import annotations

import json
from typing import Any

from leaguekit.kit.answer_checks import Field, came_in_time, has_data, is_refusal, is_result
from leaguekit.kit.answer_checks import judged as judged_answer
from leaguekit.kit.checks import Area, Check, Evidence, Unfit
from leaguekit.kit.exchanges import Exchange
from leaguekit.kit.manager.harness import ManagerScene
from leaguekit.kit.manager.kit_agents import Role
from leaguekit.protocol import messages as m
from leaguekit.protocol.messages import message_type
from leaguekit.protocol.methods import PING

PING_SECONDS = 10.0
NOWHERE = "http://127.0.0.1:9/mcp"
HAS_STARTED = "E019"

REACH: Area[ManagerScene] = Area("reach", "Reaching the manager")
REFEREE: Area[ManagerScene] = Area("referee", "Registration of referees")
PLAYER: Area[ManagerScene] = Area("player", "Registration of players")
REFUSED: Area[ManagerScene] = Area("refused", "Who is not taken")


@REACH.required("ping", "The manager answers at its URL.", "001-L0008", "001-L1851")
async def ping(scene: ManagerScene) -> Evidence:
    return came_in_time(await scene.line.call(scene.url, PING, {}, PING_SECONDS))


def _registration(
    area: Area[ManagerScene], role: Role, kind: type[m.Message], lines: dict[str, tuple[str, ...]]
) -> list[Check[ManagerScene]]:
    """Add the checks of the answer to the first registration of a role; those that all others rest on."""
    name = message_type(kind)

    @area.required("answer", f"A {role}'s registration is answered with a result.", *lines["answer"], needs=[ping])
    async def answered(scene: ManagerScene) -> Evidence:
        return is_result(await scene.register(role, role, f"Kit {role} 1"))

    @area.required(
        "status",
        f"The first {role} is taken: status ACCEPTED.",
        *lines["status"],
        needs=[answered],
    )
    async def accepted(scene: ManagerScene) -> Evidence:
        exchange = scene.seen[role]
        if code_of(exchange) == HAS_STARTED:
            raise Unfit("its league has started; check a manager whose league is new and has nobody in it")
        if exchange.result.get("status") != "ACCEPTED":
            raise exchange.failed("status: ACCEPTED")
        return exchange.evidence("status: ACCEPTED")

    fields = judged_answer(
        area,
        role,
        lambda _scene: kind,
        [
            Field(f"{role}_id", f"An accepted {role} is given its id.", lines["id"]),
            Field("message_type", f"The answer is a {name}.", lines["type"], lambda _scene: name),
            Field("protocol", f"{name} names the protocol.", ("000-L0062",), lambda _scene: "league.v2"),
            Field("timestamp", f"{name} has a timestamp in UTC.", ("000-L0065",)),
            Field("auth_token", f"An accepted {role} is given its token.", lines["token"]),
            Field("league_id", f"An accepted {role} is told its league.", lines["league"]),
            Field("reason", "The reason is null for who is accepted.", lines["reason"], lambda _scene: None, False),
            Field("sender", f"{name} names the manager as its sender.", ("000-L0058", "decision 4"), is_required=False),
            Field(
                "conversation_id",
                f"{name} repeats the conversation_id of the request.",
                ("000-L0066", "decision 4"),
                lambda scene: json.loads(scene.seen[role].sent)["params"]["conversation_id"],
                is_required=False,
            ),
        ],
        needs=[accepted],
    )
    vital = {f"{area.name}.{name}" for name in (f"{role}_id", "auth_token", "league_id")}
    return [accepted, *(one for one in fields if one.id in vital)]


referee = _registration(
    REFEREE,
    "referee",
    m.RefereeRegisterResponse,
    {
        "answer": ("000-L0089", "000-L0090"),
        "status": ("000-L0182", "001-L0150"),
        "id": ("000-L0186", "001-L0151"),
        "type": ("001-L0158",),
        "token": ("001-L0152", "000-L1512"),
        "league": ("001-L0153",),
        "reason": ("000-L0195",),
    },
)
player = _registration(
    PLAYER,
    "player",
    m.LeagueRegisterResponse,
    {
        "answer": ("000-L0210", "000-L0211"),
        "status": ("000-L0295", "001-L0292"),
        "id": ("000-L0296", "001-L0293"),
        "type": ("001-L0300",),
        "token": ("001-L0294", "000-L1512"),
        "league": ("001-L0295",),
        "reason": ("000-L0279",),
    },
)


def _different(scene: ManagerScene, role: Role, exchanges: list[Exchange]) -> Evidence:
    """That each was taken, with an id and a token of its own."""
    for exchange in exchanges:
        is_result(exchange)
    expected = f"status: ACCEPTED, with a {role}_id and an auth_token of its own"
    for name in ("status", f"{role}_id", "auth_token"):
        found = [scene.seen[role].result.get(name), *(one.result.get(name) for one in exchanges)]
        is_right = (
            all(one == "ACCEPTED" for one in found) if name == "status" else len(set(map(str, found))) == len(found)
        )
        if not is_right:
            raise exchanges[-1].failed(expected)
    return exchanges[-1].evidence(expected)


@REFEREE.required(
    "others",
    "A second referee is taken, with an id and a token of its own.",
    "000-L0187",
    "002-L0040",
    needs=referee,
)
async def other_referees(scene: ManagerScene) -> Evidence:
    return _different(scene, "referee", [await scene.register("second referee", "referee", "Kit referee 2")])


@PLAYER.required(
    "others", "Further players are taken, each with an id and a token of its own.", "000-L0297", needs=player
)
async def other_players(scene: ManagerScene) -> Evidence:
    names = [f"Kit player {number}" for number in (2, 3)]
    return _different(scene, "player", [await scene.register(name, "player", name) for name in names])


@PLAYER.recommended(
    "repeat",
    "The same registration once more, with the same conversation_id and timestamp, gets the same id.",
    "decision 15",
    needs=[other_players],
)
async def repeated(scene: ManagerScene) -> Evidence:
    member = scene.players[-1]
    return _keeps_id(member.id, await scene.ask_in(member, member.asked))


@PLAYER.recommended("return", "A player that registers again with its token keeps its id.", "decision 15", needs=player)
async def returns(scene: ManagerScene) -> Evidence:
    member = scene.players[0]
    return _keeps_id(member.id, await scene.ask_in(member, member.registration()))


def _keeps_id(given: str, again: Exchange) -> Evidence:
    is_result(again)
    expected = f"status: ACCEPTED, player_id: {given}"
    if again.result.get("player_id") != given:
        raise again.failed(expected)
    return again.evidence(expected)


# Refusals


def is_refused(exchange: Exchange) -> Evidence:
    """That a registration was refused: by a result with REJECTED, or by an error."""
    if exchange.error is not None:
        return is_refusal(exchange)
    result = exchange.result if isinstance(exchange.result, dict) else {}
    if result.get("status") != "REJECTED":
        raise exchange.failed("status: REJECTED, or an error")
    return exchange.evidence("status: REJECTED")


def code_of(exchange: Exchange) -> Any:
    """The catalogue's code by which something was refused, wherever it stands."""
    if isinstance(exchange.error, dict):
        data = exchange.error.get("data")
        return data.get("error_code") if isinstance(data, dict) else None
    return exchange.result.get("error_code") if isinstance(exchange.result, dict) else None


def _refused(
    name: str, sentence: str, *lines: str, role: Role = "player", is_required: bool = False, **meta: Any
) -> Check[ManagerScene]:
    add = REFUSED.required if is_required else REFUSED.recommended

    @add(name, sentence, *lines, needs=player if role == "player" else referee)
    async def refused(scene: ManagerScene) -> Evidence:
        return is_refused(await scene.register(name, role, f"Kit {name}", **meta))

    return refused


wrong_game = _refused(
    "game",
    "A player that does not know the league's game is refused.",
    "000-L0304",
    "001-L0332",
    is_required=True,
    game_types=["chess"],
)
_refused(
    "referees_game",
    "A referee that does not know the league's game is refused.",
    "000-L0194",
    "001-L0205",
    role="referee",
    game_types=["chess"],
)
_refused("endpoint", "A player that nobody can reach is refused.", "000-L0305", "decision 20", contact_endpoint=NOWHERE)
_refused(
    "version", "A player of protocol version 1.0.0 is refused.", "000-L0306", "003-L0288", protocol_version="1.0.0"
)
_refused("long_name", "A name of 51 characters is refused.", "000-L0230", "000-L1568", display_name="x" * 51)
_refused(
    "capacity",
    "A referee of 11 matches at once is refused.",
    "000-L0129",
    "decision 17",
    role="referee",
    max_concurrent_matches=11,
)
_refused("url", "A contact_endpoint that is no URL is refused.", "000-L0243", contact_endpoint="here", is_required=True)


@REFUSED.required(
    "reason",
    "Who is refused with REJECTED is told why, and given no id.",
    "000-L0201",
    "000-L0288",
    "000-L1513",
    needs=[wrong_game],
)
async def reason(scene: ManagerScene) -> Evidence:
    exchange = scene.seen["game"]
    if exchange.error is not None:
        return exchange.evidence("an error says why by itself")
    if exchange.result.get("player_id") is not None or not isinstance(exchange.result.get("reason"), str):
        raise exchange.failed("player_id: null, and a reason in words")
    return exchange.evidence("player_id: null, and a reason in words")


@REFUSED.required(
    "missing", "A registration without a name is refused with -32602.", "001-L0327", "000-L1506", needs=player
)
async def missing(scene: ManagerScene) -> Evidence:
    return is_refusal(await scene.register("missing", "player", "Kit nameless", display_name=...), -32602)


@REFUSED.recommended(
    "duplicate", "A second player of the same name is refused with 2002.", "001-L0330", "decision 15", needs=player
)
async def duplicate(scene: ManagerScene) -> Evidence:
    taken = scene.players[0].name
    return is_refusal(await scene.register("duplicate", "player", "Kit twin", display_name=taken), 2002)


@REFUSED.recommended(
    "suggestion",
    "Who has a taken name is told which, and to take another.",
    "001-L0343",
    "001-L0344",
    needs=[duplicate],
)
async def suggestion(scene: ManagerScene) -> Evidence:
    return has_data(scene.seen["duplicate"], "display_name", "suggestion")
