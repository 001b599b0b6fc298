"""Which agents the manager registers, which it refuses, and its answers."""

from __future__ import annotations

import json
from typing import Any

from leaguekit.kit.answer_checks import came_in_time, has_data, is_refusal, is_result
from leaguekit.kit.checks import Area, Check, Evidence, NotCheckable
from leaguekit.kit.exchanges import Exchange, Json
from leaguekit.kit.field_checks import Field, add_answer_checks, recommended
from leaguekit.kit.manager.harness import ManagerHarness
from leaguekit.protocol.ids import Role
from leaguekit.protocol.messages import message_type
from leaguekit.protocol.methods import BY_NAME

PING_SECONDS = 10.0
NO_LISTENER = "http://127.0.0.1:9/mcp"
HAS_STARTED = "E019"

REACH: Area[ManagerHarness] = Area("reach", "Reaching the manager")
REFEREE: Area[ManagerHarness] = Area("referee", "Registration of referees")
PLAYER: Area[ManagerHarness] = Area("player", "Registration of players")
REFUSED: Area[ManagerHarness] = Area("refused", "Refused registrations")


@REACH.required("001-L0008", "001-L1851")
async def ping(harness: ManagerHarness) -> Evidence:
    """The manager answers at its URL."""
    return came_in_time(await harness.ping(PING_SECONDS))


def _registration(
    area: Area[ManagerHarness], status_line: int, answer: tuple[str, ...], status: str, reason: str
) -> list[Check[ManagerHarness]]:
    """Add the checks of the answer to the first registration of a role.

    Document 001 prints the status of the answer in ``status_line``, and other fields in the lines below it. The other
    arguments are requirements. Return the checks that must pass for an agent to take part in the league.
    """
    role: Role = "referee" if area is REFEREE else "player"
    kind = BY_NAME[f"register_{role}"].answer
    name = message_type(kind)
    line = [f"001-L{status_line + more:04d}" for more in range(9)]

    @area.required(*answer, name="answer", needs=[ping], role=role)
    async def answered(harness: ManagerHarness) -> Evidence:
        """A {role}'s registration is answered with a result."""
        return is_result(await harness.register(role, role, f"Kit {role} 1"))

    @area.required(status, line[0], name="status", needs=[answered], role=role)
    async def accepted(harness: ManagerHarness) -> Evidence:
        """The first {role} is taken: status ACCEPTED."""
        exchange = harness.answers[role]
        if error_code_of(exchange) == HAS_STARTED:
            raise NotCheckable("its league has started; check a manager whose league is new and has nobody in it")
        return exchange.fail_if(exchange.result.get("status") != "ACCEPTED", "status: ACCEPTED")

    fields = [
        Field(f"{role}_id", f"An accepted {role} is given its id.", also=(line[1],)),
        Field("message_type", f"The answer is a {name}.", instead=(line[8],)),
        Field("protocol", f"{name} names the protocol.", instead=("000-L0062",), value="league.v2"),
        Field("timestamp", f"{name} has a timestamp in UTC.", instead=("000-L0065",)),
        Field("auth_token", f"An accepted {role} is given its token.", also=("000-L1512",)),
        Field("league_id", f"The answer to an accepted {role} names its league.", instead=(line[3],)),
        *recommended(
            Field("reason", "The reason is null for an accepted agent.", instead=(reason,), value=None),
            Field("sender", f"{name} names the manager as its sender.", instead=("000-L0058", "decision 4")),
            Field(
                "conversation_id",
                f"{name} repeats the conversation_id of the request.",
                instead=("000-L0066", "decision 4"),
                value=lambda harness: json.loads(harness.answers[role].sent)["params"]["conversation_id"],
            ),
        ),
    ]
    checks = add_answer_checks(area, role, kind, fields, needs=[accepted])
    vital = {f"{area.name}.{name}" for name in (f"{role}_id", "auth_token", "league_id")}
    return [accepted, *(one for one in checks if one.id in vital)]


referee_accepted = _registration(REFEREE, 150, ("000-L0089", "000-L0090"), "000-L0182", "000-L0195")
player_accepted = _registration(PLAYER, 292, ("000-L0210", "000-L0211"), "000-L0295", "000-L0279")


def _have_own_ids(harness: ManagerHarness, role: Role, exchanges: list[Exchange]) -> Evidence:
    """Check that each agent was accepted, with an id and a token of its own."""
    for exchange in exchanges:
        is_result(exchange)
    results = [one.result for one in (harness.answers[role], *exchanges)]
    different = [{str(one.get(name)) for one in results} for name in (f"{role}_id", "auth_token")]
    is_right = all(one.get("status") == "ACCEPTED" for one in results) and {*map(len, different)} == {len(results)}
    expected = f"status: ACCEPTED, with a {role}_id and an auth_token of its own"
    return exchanges[-1].fail_if(not is_right, expected)


@REFEREE.required("000-L0187", "002-L0040", name="others", needs=referee_accepted)
async def other_referees(harness: ManagerHarness) -> Evidence:
    """A second referee is taken, with an id and a token of its own."""
    return _have_own_ids(harness, "referee", [await harness.register("second referee", "referee", "Kit referee 2")])


@PLAYER.required("000-L0297", name="others", needs=player_accepted)
async def other_players(harness: ManagerHarness) -> Evidence:
    """Further players are taken, each with an id and a token of its own."""
    names = [f"Kit player {number}" for number in (2, 3)]
    return _have_own_ids(harness, "player", [await harness.register(name, "player", name) for name in names])


@PLAYER.recommended("decision 15", name="repeat", needs=[other_players])
async def repeated(harness: ManagerHarness) -> Evidence:
    """The same registration once more, with the same conversation_id and timestamp, gets the same id."""
    agent = harness.players[-1]
    return _keeps_id(agent.id, await harness.send_registration(agent, agent.registration_request))


@PLAYER.recommended("decision 15", name="return", needs=player_accepted)
async def returns(harness: ManagerHarness) -> Evidence:
    """A player that registers again with its token keeps its id."""
    agent = harness.players[0]
    return _keeps_id(agent.id, await harness.send_registration(agent, agent.registration()))


def _keeps_id(first_id: str, again: Exchange) -> Evidence:
    is_result(again)
    expected = f"status: ACCEPTED, player_id: {first_id}"
    return again.fail_if(again.result.get("player_id") != first_id, expected)


# Refusals


def is_refused(exchange: Exchange) -> Evidence:
    """Check that a registration was refused, by a result with REJECTED or by an error."""
    if exchange.error is not None:
        return is_refusal(exchange)
    exchange.fail_if(exchange.message.get("status") != "REJECTED", "status: REJECTED, or an error")
    return exchange.evidence("status: REJECTED")


def error_code_of(exchange: Exchange) -> Any:
    """Return the code of the catalogue in a refusal: in the data of an error, or in a result."""
    fields = exchange.error_data if isinstance(exchange.error, dict) else exchange.message
    return fields.get("error_code")


_CHESS = {"game_types": ["chess"]}
# The name of the check, the agent that is refused, how it describes itself, and the requirements.
_REFUSED: tuple[tuple[str, str, Json, tuple[str, ...]], ...] = (
    ("game", "A player that does not know the league's game", _CHESS, ("000-L0304", "001-L0332")),
    ("referees_game", "A referee that does not know the league's game", _CHESS, ("000-L0194", "001-L0205")),
    ("endpoint", "A player that nobody can reach", {"contact_endpoint": NO_LISTENER}, ("000-L0305", "decision 20")),
    ("version", "A player of protocol version 1.0.0", {"protocol_version": "1.0.0"}, ("000-L0306", "003-L0288")),
    ("long_name", "A name of 51 characters", {"display_name": "x" * 51}, ("000-L0230", "000-L1568")),
    ("capacity", "A referee of 11 matches at once", {"max_concurrent_matches": 11}, ("000-L0129", "decision 17")),
    ("url", "A contact_endpoint that is no URL", {"contact_endpoint": "here"}, ("000-L0243",)),
)


def _add_refusal_check(name: str, what: str, meta: Json, requirements: tuple[str, ...]) -> Check[ManagerHarness]:
    is_referee = what.startswith("A referee")

    @REFUSED.check(
        *requirements,
        name=name,
        is_required=name in ("game", "url"),
        needs=referee_accepted if is_referee else player_accepted,
        what=what,
    )
    async def refused(harness: ManagerHarness) -> Evidence:
        """{what} is refused."""
        role: Role = "referee" if is_referee else "player"
        return is_refused(await harness.register(name, role, f"Kit {name}", **meta))

    return refused


wrong_game, *_ = [_add_refusal_check(*row) for row in _REFUSED]


@REFUSED.required("000-L0201", "000-L0288", "000-L1513", needs=[wrong_game])
async def reason(harness: ManagerHarness) -> Evidence:
    """An agent that is REJECTED gets the reason, and no id."""
    exchange = harness.answers["game"]
    if exchange.error is not None:
        return exchange.evidence("an error says why by itself")
    is_right = exchange.result.get("player_id") is None and isinstance(exchange.result.get("reason"), str)
    return exchange.fail_if(not is_right, "player_id: null, and a reason in words")


@REFUSED.required("001-L0327", "000-L1506", needs=player_accepted)
async def missing(harness: ManagerHarness) -> Evidence:
    """A registration without a name is refused with -32602."""
    return is_refusal(await harness.register("missing", "player", "Kit nameless", display_name=...), -32602)


@REFUSED.recommended("001-L0330", "decision 15", needs=player_accepted)
async def duplicate(harness: ManagerHarness) -> Evidence:
    """A second player of the same name is refused with 2002."""
    taken = harness.players[0].name
    return is_refusal(await harness.register("duplicate", "player", "Kit twin", display_name=taken), 2002)


@REFUSED.recommended("001-L0343", "001-L0344", needs=[duplicate])
async def suggestion(harness: ManagerHarness) -> Evidence:
    """The answer to a taken name shows that name, and asks for another."""
    return has_data(harness.answers["duplicate"], "display_name", "suggestion")
