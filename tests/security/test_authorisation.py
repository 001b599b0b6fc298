"""Who may do what: role × method × object, every cell with its exact code, at the manager and at a referee.

A cell is ``ok``, or the catalogue's code and the JSON-RPC number that the refusal has. What is refused changes nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from leaguekit.manager import operator
from leaguekit.manager.operator_queries import ADMIN_QUERIES, PUBLIC_QUERIES
from leaguekit.protocol import tokens
from leaguekit.protocol.methods import METHODS, PING
from leaguekit.referee.referee import GET_MATCH_STATE, RefereeAgent
from leaguekit.transport.base import Peer
from tests.agents.leagues import ADMIN, LEAGUE, Hall, Json, Scripted, in_virtual_time, silent, url_of

MADE_UP = "tok-ref01-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

# REF01 has R1M1 (P01 against P02), REF02 has R1M2 (P03 against P04), and there is no R9M9. "player" is P01. Nobody
# shows no token, the stranger one that it made up, and the operator the admin token; each names itself as its token's
# owner, or REF01 if there is none. The league has started.
AT_THE_MANAGER = """
method                 object         nobody   stranger   player     REF02      REF01      operator

report_match_result    R1M1           E011/11  E012/5001  E012/5001  E050/5002  ok         E012/5001
report_match_result    R1M2           E011/11  E012/5001  E012/5001  ok         E050/5002  E012/5001
report_match_result    R9M9           E011/11  E012/5001  E012/5001  E050/5002  E050/5002  E012/5001
report_match_result    as-another     E011/11  E012/5001  E012/5001  E055/55    E055/55    E012/5001
report_match_result    other-league   E011/11  E012/5001  E012/5001  E053/53    E053/53    E012/5001

report_match_progress  R1M1           E011/11  E012/5001  E012/5001  E050/5002  ok         E012/5001
report_match_progress  R1M2           E011/11  E012/5001  E012/5001  ok         E050/5002  E012/5001
report_match_progress  R9M9           E011/11  E012/5001  E012/5001  E050/5002  E050/5002  E012/5001
report_match_progress  as-another     E011/11  E012/5001  E012/5001  E055/55    E055/55    E012/5001
report_match_progress  other-league   E011/11  E012/5001  E012/5001  E053/53    E053/53    E012/5001

report_match_void      R1M1           E011/11  E012/5001  E012/5001  E050/5002  ok         E012/5001
report_match_void      R1M2           E011/11  E012/5001  E012/5001  ok         E050/5002  E012/5001
report_match_void      R9M9           E011/11  E012/5001  E012/5001  E050/5002  E050/5002  E012/5001
report_match_void      as-another     E011/11  E012/5001  E012/5001  E055/55    E055/55    E012/5001
report_match_void      other-league   E011/11  E012/5001  E012/5001  E053/53    E053/53    E012/5001

transcript             R1M1           E011     E012       E012       E050       ok         E012
transcript             R1M2           E011     E012       E012       ok         E050       E012
transcript             R9M9           E011     E012       E012       E050       E050       E012
transcript             as-another     E011     E012       E012       E055       E055       E012
transcript             other-league   E011     E012       E012       E053       E053       E012

record                 R1M1           E011     E012       E012       E050       ok         E012
record                 R1M2           E011     E012       E012       ok         E050       E012
record                 R9M9           E011     E012       E012       E050       E050       E012
record                 as-another     E011     E012       E012       E055       E055       E012
record                 other-league   E011     E012       E012       E053       E053       E012

league_query           own            E011/11  E012/6001  ok         ok         ok         E012/6001
league_query           other          E011/11  E012/6001  ok         ok         ok         E012/6001
league_query           none           E011/11  E012/6001  E005       E005       E005       E012/6001
league_query           as-another     E011/11  E012/6001  E055/55    E055/55    E055/55    E012/6001
league_query           other-league   E011/11  E012/6001  E053/6003  E053/6003  E053/6003  E012/6001

register_player        own            E019     E019       ok         E019       E019       E019
register_player        other          E019     E019       E047/2002  E019       E019       E019
register_referee       own            E058     E058       E058       ok         ok         E058
register_referee       other          E058     E058       E058       E048       E048       E058

ping                   -              ok       ok         ok         ok         ok         ok
"""
# Commands of the operator, by who shows which token as the admin token.
LOOKS = ("status", "standings", "schedule", "moves")

# A referee that has R1M1 and R1M2 in hand. The manager shows what was derived for this referee, the players what was
# derived for their matches; "P01 real" is P01's own token, and P03 is of the other match.
AT_THE_REFEREE = """
method                   object      nobody     stranger   P01        P01-real   P03        REF01      manager

start_match              R2M1        E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  ok
start_match              as-another  E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  E055/55
start_match              other-league E012/3001 E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  E053/53
notify_round             -           E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  ok
notify_round             as-another  E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  E055/55
notify_round             other-league E012/3001 E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  E053/53
notify_round_completed   -           E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  ok
notify_league_completed  -           E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  ok
league_error             -           E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  ok
league_error             as-another  E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  E012/3001  E055/55

game_join_ack            R1M1        E011/11    E012/4001  ok         ok         E012/4001  E012/4001  E012/4001
game_join_ack            R1M2        E005/4002  E005/4002  E005/4002  E005/4002  E005/4002  E005/4002  E005/4002
game_join_ack            R9M9        E050/4003  E050/4003  E050/4003  E050/4003  E050/4003  E050/4003  E050/4003
game_join_ack            as-another  E011/11    E012/4001  E055/55    E055/55    E012/4001  E012/4001  E012/4001
game_join_ack            for-another E011/11    E012/4001  E012/4001  E012/4001  E012/4001  E012/4001  E012/4001

choose_parity_response   R1M1        E011/11    E012/4001  E051/4005  E051/4005  E012/4001  E012/4001  E012/4001
choose_parity_response   R9M9        E050/4003  E050/4003  E050/4003  E050/4003  E050/4003  E050/4003  E050/4003
choose_parity_response   for-another E011/11    E012/4001  E012/4001  E012/4001  E012/4001  E012/4001  E012/4001
game_move_response       R1M1        E011/11    E012/4001  E051/4005  E051/4005  E012/4001  E012/4001  E012/4001
game_move_response       R9M9        E050/4003  E050/4003  E050/4003  E050/4003  E050/4003  E050/4003  E050/4003
game_move_response       for-another E011/11    E012/4001  E012/4001  E012/4001  E012/4001  E012/4001  E012/4001

get_match_state          R1M1        ok         ok         ok         ok         ok         ok         ok
get_match_state          R9M9        E050/50    E050/50    E050/50    E050/50    E050/50    E050/50    E050/50
ping                     -           ok         ok         ok         ok         ok         ok         ok
"""


class Cell(NamedTuple):
    """One cell of a table."""

    method: str
    object: str
    role: str
    expected: str


def cells(table: str) -> list[Cell]:
    heads, *rows = [line.split() for line in table.splitlines() if line.strip()]
    assert all(len(row) == len(heads) for row in rows)
    return [
        Cell(method, what, role, expected)
        for method, what, *row in rows
        for role, expected in zip(heads[2:], row, strict=True)
    ]


MANAGER_CELLS, REFEREE_CELLS = cells(AT_THE_MANAGER), cells(AT_THE_REFEREE)


@pytest.mark.parametrize(
    ("role", "table", "others"),
    [
        ("league_manager", MANAGER_CELLS, {PING, "transcript", "record"}),
        ("referee", REFEREE_CELLS, {PING, GET_MATCH_STATE}),
    ],
)
def test_the_tables_have_every_method_there_is(role: str, table: list[Cell], others: set[str]) -> None:
    known = {method.name for method in METHODS if role in method.receivers}
    assert {cell.method for cell in table} == known | others
    assert len(set(table)) == len(table)


def outcome(answer: Json) -> str:
    """What came of a call, as the tables have it."""
    if "error" in answer:
        error = answer["error"]
        return f"{error['data']['error_code']}/{error['code']}"
    result = answer["result"]
    if result.get("status") == "REJECTED":
        return str(result["error_code"])
    return "ok" if result.get("success", True) else str(result["error"]["error_code"])


# The manager


class Played:
    """A league in play with two referees, and what each role sends."""

    def __init__(self, hall: Hall, agents: list[Scripted]) -> None:
        self.hall = hall
        first, second, *players = agents
        self._senders = {
            "nobody": ("referee:REF01", None),
            "stranger": ("referee:REF01", MADE_UP),
            "player": (players[0].sender, players[0].token),
            "REF01": (first.sender, first.token),
            "REF02": (second.sender, second.token),
            "operator": ("referee:REF01", ADMIN),
        }

    @classmethod
    async def start(cls, hall: Hall) -> Played:
        agents = await hall.scripted_league(players=4, referees=2, capacity=1)
        await hall.until(lambda: all(agent.got("MATCH_ASSIGNMENT") for agent in agents[:2]))
        assert {one.id: one.referee_id for one in hall.league.matches.values() if one.in_play} == {
            "R1M1": "REF01",
            "R1M2": "REF02",
        }
        return cls(hall, agents)

    async def outcome(self, cell: Cell) -> str:
        if cell.method in ("transcript", "record"):
            return await self._document(cell)
        params = self._message(cell)
        body = json.dumps({"jsonrpc": "2.0", "method": cell.method, "params": params, "id": 1}).encode()
        # At an address that is there for others, too: even a referee has to show there who it is.
        answer = await self.hall.manager.handle(body, Peer("127.0.0.1", "", ("10.0.0.5", 8000)))
        return outcome(json.loads(answer or b"null"))

    async def _document(self, cell: Cell) -> str:
        message = self._message(cell)
        body = json.dumps(message).encode()
        answer = await self.hall.manager.reports.receive_document(f"/{cell.method}s/{message['match_id']}", body)
        came = json.loads(answer.body)
        return "ok" if answer.status == 200 else str(came["error_code"])

    def _message(self, cell: Cell) -> Json:
        if cell.method == PING:
            return {}
        sender, token = self._senders[cell.role]
        if cell.object == "as-another":
            sender = "player:P02" if cell.role == "player" else "referee:REF09"
        shown = {} if token is None else {"auth_token": token}
        message = self.hall.envelope(sender) | shown
        if cell.method.startswith("register"):
            return message | self._registration(cell)
        message["league_id"] = "another_league" if cell.object == "other-league" else LEAGUE
        if cell.method == "league_query":
            asked = {"own": "P01", "other": "P02"}.get(cell.object, "P77" if cell.object == "none" else "P01")
            query = {"query_type": "GET_PLAYER_STATS", "query_params": {"player_id": asked}}
            return message | {"message_type": "LEAGUE_QUERY"} | query
        return message | self._of_match(cell)

    def _of_match(self, cell: Cell) -> Json:
        own = "R1M2" if cell.role == "REF02" else "R1M1"
        name = cell.object if cell.object.startswith("R") else own
        one, two = ("P03", "P04") if name == "R1M2" else ("P01", "P02")
        result = {
            "winner": one,
            "score": {one: 3, two: 0},
            "details": {"choices": {one: "even", two: "odd"}, "drawn_number": 8},
        }
        more: dict[str, Json] = {
            "report_match_result": {
                "message_type": "MATCH_RESULT_REPORT",
                "game_type": "even_odd",
                "result": result,
            },
            "report_match_progress": {
                "message_type": "MATCH_PROGRESS",
                "stage": "COLLECTING_CHOICES",
                "entered_at": self.hall.timestamp,
            },
            "report_match_void": {"message_type": "MATCH_VOID_REPORT", "reason": "late"},
            "transcript": {"message_type": "MATCH_TRANSCRIPT", "entries": []},
            "record": {"message_type": "MATCH_RECORD", "record": [{"A": "rock", "B": "paper"}]},
        }
        return {"match_id": name, "round_id": 1, "attempt": 1} | more[cell.method]

    def _registration(self, cell: Cell) -> Json:
        """Their own name and place, or another's."""
        role = cell.method.removeprefix("register_")
        number = {"player": 1, "REF01": 1, "REF02": 2}.get(cell.role, 9)
        if role == "player" and cell.role != "player":
            number = 9
        other = {"display_name": "Player 2"} if role == "player" else {"contact_endpoint": url_of("player", 1)}
        registration = self.hall.registration(role, number, meta=other if cell.object == "other" else {})
        return {name: registration[name] for name in ("message_type", f"{role}_meta")}


@in_virtual_time
async def test_what_is_refused_at_the_manager_is_refused_with_its_code_and_changes_nothing(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        played = await Played.start(hall)
        before, kept = hall.substance(), dict(hall.log.content.documents)
        refused = [cell for cell in MANAGER_CELLS if cell.expected != "ok"]
        found = [cell._replace(expected=await played.outcome(cell)) for cell in refused]
        assert found == refused
        # Refused registrations are recorded for the operator, and nothing else has changed.
        assert {one.role for one in hall.league.refused.values()} == {"player", "referee"}
        assert hall.substance() == before
        assert hall.manager.runner.progress.latest == {}
        assert hall.log.content.documents == kept


@pytest.mark.parametrize(
    "cell", [cell for cell in MANAGER_CELLS if cell.expected == "ok"], ids=lambda cell: " ".join(cell[:3])
)
@in_virtual_time
async def test_what_is_allowed_at_the_manager_is_done(tmp_path: Path, cell: Cell) -> None:
    async with Hall(tmp_path) as hall:
        assert await (await Played.start(hall)).outcome(cell) == "ok"


@in_virtual_time
async def test_every_command_of_the_operator_but_looking_needs_the_admin_token(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        played = await Played.start(hall)
        before = hall.substance()
        commands = [*operator._ACTIONS, *ADMIN_QUERIES, *hall.manager._operator._secret_actions]
        assert len(commands) == 20
        for command in commands:
            for role, (_, token) in played._senders.items():
                answer = await hall.post("operator", {"command": command, "admin_token": token or ""})
                if role == "operator":
                    assert outcome(answer).partition("/")[0] not in ("E011", "E012")
                    break
                assert outcome(answer) == ("E011/11" if token is None else "E012/12"), (command, role)
                assert hall.substance() == before
            before = hall.substance()
            if command == "token_rotate_admin":
                hall.manager._operator._admin = tokens.verifier(ADMIN)
        assert set(PUBLIC_QUERIES) == set(LOOKS)
        for command in LOOKS:
            assert outcome(await hall.post("operator", {"command": command})) == "ok"


# A referee


class Judging:
    """A real referee with two matches in hand, whose players have not answered their invitations yet."""

    def __init__(self, hall: Hall, referee: RefereeAgent, players: list[Scripted]) -> None:
        self.hall = hall
        self.referee = referee
        identity = referee.registrar.identity
        assert identity is not None
        assert identity.auth_token is not None
        keys = {player.id: tokens.signing_key(player.token) for player in players}
        self._tokens: dict[str, str | None] = {
            "nobody": None,
            "stranger": MADE_UP,
            "P01": tokens.player_to_referee(keys["P01"], LEAGUE, "R1M1", 1, "REF01"),
            "P01-real": players[0].token,
            "P03": tokens.player_to_referee(keys["P03"], LEAGUE, "R1M2", 1, "REF01"),
            "REF01": identity.auth_token,
            "manager": tokens.manager_to_agent(identity.key, LEAGUE, "REF01"),
        }

    @classmethod
    async def start(cls, hall: Hall) -> Judging:
        referee = await hall.referee()
        replies = {"GAME_INVITATION": silent, "CHOOSE_PARITY_CALL": silent}
        players = [await hall.scripted("player", number, replies) for number in (1, 2, 3, 4)]
        await hall.operate("start")
        await hall.until(lambda: all(player.got("GAME_INVITATION") for player in players))
        return cls(hall, referee, players)

    async def outcome(self, cell: Cell) -> str:
        call = {"jsonrpc": "2.0", "method": cell.method, "params": self._message(cell), "id": 1}
        return outcome(json.loads(await self.referee.handle(json.dumps(call).encode(), Peer("10.0.0.7")) or b"null"))

    def _message(self, cell: Cell) -> Json:
        token = self._tokens[cell.role]
        shown = {} if token is None else {"auth_token": token}
        if cell.method == GET_MATCH_STATE:
            return {"match_id": cell.object} | shown
        if cell.method == PING:
            return shown
        if cell.method.startswith(("notify", "start", "league")):
            return self._from_manager(cell) | shown
        name = cell.object if cell.object.startswith("R") else "R1M1"
        player = "P02" if cell.object == "for-another" else "P01"
        said: dict[str, Json] = {
            "game_join_ack": {
                "message_type": "GAME_JOIN_ACK",
                "arrival_timestamp": self.hall.timestamp,
                "accept": True,
            },
            "choose_parity_response": {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even"},
            "game_move_response": {"message_type": "GAME_MOVE_RESPONSE", "move_data": 1},
        }
        sender = "player:P02" if cell.object == "as-another" else f"player:{player}"
        message = self.hall.envelope(sender) | shown | {"match_id": name, "player_id": player}
        return message | said[cell.method]

    def _from_manager(self, cell: Cell) -> Json:
        """What the manager has sent, or will send, once more."""
        sent = self.hall.sent("MATCH_ASSIGNMENT", "ROUND_ANNOUNCEMENT", to=url_of("referee", 1))
        known = {one.method: one.params for one in sent}
        message: Json = {
            "start_match": known["start_match"] | {"match_id": "R2M1", "round_id": 2},
            "notify_round": known["notify_round"],
            "notify_round_completed": {
                "message_type": "ROUND_COMPLETED",
                "round_id": 1,
                "matches_completed": 2,
                "next_round_id": 2,
                "summary": {"total_matches": 2, "wins": 2, "draws": 0, "technical_losses": 0},
            },
            "notify_league_completed": {
                "message_type": "LEAGUE_COMPLETED",
                "total_rounds": 3,
                "total_matches": 6,
                "champion": {"player_id": "P01", "display_name": "Player 1", "points": 9},
                "final_standings": [],
            },
            "league_error": {
                "message_type": "LEAGUE_ERROR",
                "error_code": "E012",
                "error_description": "AUTH_TOKEN_INVALID",
            },
        }[cell.method]
        sender = "referee:REF01" if cell.object == "as-another" else "league_manager"
        league = "another_league" if cell.object == "other-league" else LEAGUE
        whole = {**message, **self.hall.envelope(sender), "league_id": league}
        return {name: value for name, value in whole.items() if name != "auth_token"}


@in_virtual_time
async def test_what_is_refused_at_a_referee_is_refused_with_its_code_and_changes_nothing(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        judging = await Judging.start(hall)

        def state() -> Any:
            return [match.state() for match in judging.referee.matches.remembered.values()], judging.referee.state

        before = state()
        refused = [cell for cell in REFEREE_CELLS if cell.expected != "ok"]
        found = [cell._replace(expected=await judging.outcome(cell)) for cell in refused]
        assert found == refused
        assert state() == before


@pytest.mark.parametrize(
    "cell", [cell for cell in REFEREE_CELLS if cell.expected == "ok"], ids=lambda cell: " ".join(cell[:3])
)
@in_virtual_time
async def test_what_is_allowed_at_a_referee_is_done(tmp_path: Path, cell: Cell) -> None:
    async with Hall(tmp_path) as hall:
        assert await (await Judging.start(hall)).outcome(cell) == "ok"
