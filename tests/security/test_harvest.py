"""A player collects every string that it ever sees, and tries each as a token and as a code wherever one is wanted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import stat
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from leaguekit.agents.registration import Registrar
from leaguekit.agents.world import World
from leaguekit.player.agent import GET_STATE, PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.decoding import decode, of_type
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import QUERY_TYPES
from leaguekit.referee.referee import GET_MATCH_STATE
from leaguekit.transport.base import Handler, HttpAnswer, Peer
from leaguekit.transport.memory import MemoryCaller
from tests.agents.leagues import ADMIN, LEAGUE, MANAGER_URL, Hall, Json, in_virtual_time, url_of
from tests.security.test_authorisation import outcome

ELSEWHERE = "10.0.0.7"
WORD = re.compile(rb"[^\s\"'{}\[\],<>()?&=]{6,512}")


class Attempt(NamedTuple):
    """Something that one secret opens: what sending a text in its place comes to, and how a wrong one is refused."""

    send: Callable[[str], Awaitable[str]]
    refusal: str
    secret: str


class Harvester:
    """What a player can come by."""

    def __init__(self) -> None:
        self.strings: set[str] = set()
        self.heard: list[bytes] = []

    def hear(self, raw: bytes) -> None:
        """Take every string out of some bytes: JSON's, and whatever else looks like one."""
        self.heard.append(raw)
        found = {word.decode(errors="replace") for word in WORD.findall(raw)}
        with contextlib.suppress(ValueError):
            found |= set(_strings(json.loads(raw)))
        # A token has 1 to 512 characters.
        self.strings |= {text for text in found if 0 < len(text) <= 512}

    def read(self, root: Path) -> list[str]:
        """Take what lies in files that others than their owner may read; their names."""
        readable = [path for path in root.rglob("*") if path.is_file() and path.stat().st_mode & stat.S_IROTH]
        for path in readable:
            self.hear(path.read_bytes())
            self.strings |= set(path.parts)
        return [path.name for path in readable]

    def beside(self, handle: Handler) -> Handler:
        async def handled(body: bytes, peer: Peer) -> bytes | None:
            self.hear(body)
            return await handle(body, peer)

        return handled


class Eavesdropping(MemoryCaller):
    """A caller of which every answer is overheard."""

    harvester: Harvester

    async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576) -> HttpAnswer:
        answer = await super().post(url, body, seconds, max_bytes)
        self.harvester.hear(answer.body)
        return answer


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


class Stage:
    """A league whose second round is held at a choice of P03, with a harvester as P01 that has looked at everything."""

    def __init__(self, hall: Hall, root: Path) -> None:
        self.hall = hall
        self.root = root
        self.harvester = Harvester()
        self.free = asyncio.Event()
        self._held = asyncio.Event()
        self._calls = 0

    async def set(self) -> None:
        hall = self.hall
        self.code = await hall.manager.provide_referee_code(None) or ""
        self.seats = [one["code"] for one in (await hall.operate("seats_new", count=2))["seats"]]
        await hall.referee()
        self.me = await self._player_that_harvests()
        for gate in (None, self._hold, None):
            await hall.player("random", gate=gate)
        await hall.operate("start")
        await self._held.wait()
        await hall.quiet()
        await self.look_around()

    async def _player_that_harvests(self) -> PlayerAgent:
        hall = self.hall
        caller = Eavesdropping(hall.network)
        caller.harvester = self.harvester
        hall._callers[caller] = "harvester"
        world = World(caller, self.root, now=hall.clock, entropy=hall._random.randbytes, inline=True)
        url = url_of("player", 90)
        agent = PlayerAgent(Player("Harvester", STRATEGIES["random"]), world, MANAGER_URL, url, seed=1)
        hall.network.listen(url, self.harvester.beside(agent.handle))
        await agent.register()
        return agent

    async def _hold(self, kind: str) -> None:
        if kind == "CHOOSE_PARITY_CALL":
            self._calls += 1
            if self._calls == 2:
                self._held.set()
                await self.free.wait()

    def identity(self, registrar: Registrar) -> tuple[str, str]:
        identity = registrar.identity
        assert identity is not None
        assert identity.auth_token is not None
        return identity.agent_id, identity.auth_token

    def everybodys(self) -> dict[str, str]:
        """The token of every agent."""
        agents = [self.me, *self.hall.players, *self.hall.referees]
        return dict(self.identity(agent.registrar) for agent in agents)

    async def look_around(self) -> None:
        """Ask everything that anybody, or this player, may ask; and read every file that it may."""
        name, token = self.identity(self.me.registrar)
        for kind in QUERY_TYPES:
            for player in ("P01", "P02", "P03", "P04"):
                asked = {"message_type": "LEAGUE_QUERY", "query_type": kind, "query_params": {"player_id": player}}
                message = self.hall.envelope(f"player:{name}") | asked | {"league_id": LEAGUE, "auth_token": token}
                await self._ask(self.hall.manager.handle, "league_query", message)
        for command in ("status", "standings", "schedule", "agents", "seats", "make_tea"):
            await self._ask(self.hall.manager.handle, "operator", {"command": command})
        for method in ("ping", "no_such_method", "report_match_result", "register_referee", "league_query"):
            for agent in (self.hall.manager, *self.hall.referees, *self.hall.players):
                await self._ask(agent.handle, method, {"auth_token": "x", "sender": "y"})
        for referee in self.hall.referees:
            await self._ask(referee.handle, GET_MATCH_STATE, {})
        for player in self.hall.players:
            await self._ask(player.handle, GET_STATE, {})
        self.harvester.read(self.root)

    async def _ask(self, handle: Handler, method: str, params: Json) -> None:
        self.harvester.hear(await call(handle, method, params))

    def secrets(self) -> dict[str, str]:
        return {**self.everybodys(), "admin": ADMIN, "referee code": self.code} | {
            f"seat {number}": code for number, code in enumerate(self.seats)
        }


class Doors:
    """What there is to break into while P03 is held: each by one secret."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._hall = hall = stage.hall
        self._tokens = stage.everybodys()
        (match,) = [one for one in hall.league.matches.values() if one.in_play and "P03" in one.players]
        self._players = match.players
        self._of_match = {"league_id": LEAGUE, "round_id": 2, "match_id": match.id, "attempt": 1}
        self._referee = hall.referees[0].handle
        self._victim = hall.players[1]
        assert self._victim.player_id == "P03"
        purpose = (tokens.signing_key(self._tokens["P03"]), LEAGUE, match.id, 1, "REF01")
        self._from_p03 = tokens.player_to_referee(*purpose)
        self._to_p03 = tokens.referee_to_player(*purpose)

    def at_the_manager(self) -> dict[str, Attempt]:
        one, two = self._players
        details = {"choices": {one: "even", two: "odd"}, "drawn_number": 8}
        result = {"winner": one, "score": {one: 3, two: 0}, "details": details}
        progress = {"stage": "COLLECTING_CHOICES", "entered_at": self._hall.timestamp}
        query = {"query_type": "GET_STATUS"}
        a_lie = {"reason": "a lie"}
        of, referee = self._tokens, self._tokens["REF01"]
        at, wrong = self._at_manager, "E012/5001"
        return {
            "query as P03": Attempt(at("league_query", "player:P03", "LEAGUE_QUERY", query), "E012/6001", of["P03"]),
            "query as REF01": Attempt(at("league_query", "referee:REF01", "LEAGUE_QUERY", query), "E012/6001", referee),
            "progress": Attempt(
                at("report_match_progress", "referee:REF01", "MATCH_PROGRESS", progress), wrong, referee
            ),
            "transcript": Attempt(self._transcript, "E012", referee),
            "operator": Attempt(self._operated, "E012/12", ADMIN),
            "return as P03": Attempt(self._registered("player", display_name="Player 2"), "E019", of["P03"]),
            "referee by token": Attempt(self._registered("referee"), "E058", referee),
            "referee by code": Attempt(self._registered("referee", "referee"), "E058", self._stage.code),
            "player by seat": Attempt(self._registered("player", "seat"), "E058", self._stage.seats[0]),
            "void": Attempt(at("report_match_void", "referee:REF01", "MATCH_VOID_REPORT", a_lie), wrong, referee),
            "report": Attempt(
                at(
                    "report_match_result",
                    "referee:REF01",
                    "MATCH_RESULT_REPORT",
                    {"game_type": "even_odd", "result": result},
                ),
                wrong,
                referee,
            ),
        }

    def at_agents(self) -> dict[str, Attempt]:
        hall, victim, referee = self._hall, self._victim.handle, self._referee
        assignment = hall.sent("MATCH_ASSIGNMENT")[-1].params
        announcement = hall.sent("ROUND_ANNOUNCEMENT", to=url_of("player", 1))[-1].params
        over = hall.sent("GAME_OVER", to=url_of("player", 2))[-1].params | {"match_id": self._of_match["match_id"]}
        invitation = hall.sent("GAME_INVITATION", to=url_of("player", 2))[-1].params
        joined = {"arrival_timestamp": hall.timestamp, "accept": True}
        to_referee, to_p03 = (
            tokens.manager_to_agent(tokens.signing_key(self._tokens[agent]), LEAGUE, agent)
            for agent in ("REF01", "P03")
        )
        posted, of_p03, manager = self._posted, self._from_player, "league_manager"
        return {
            "assignment": Attempt(posted(referee, "start_match", manager, assignment), "E012/3001", to_referee),
            "round to REF01": Attempt(posted(referee, "notify_round", manager, announcement), "E012/3001", to_referee),
            "round to P03": Attempt(posted(victim, "notify_round", manager, announcement), "E012/3001", to_p03),
            "invitation to P03": Attempt(
                posted(victim, "handle_game_invitation", "referee:REF01", invitation), "E012/4001", self._to_p03
            ),
            "result to P03": Attempt(
                posted(victim, "notify_match_result", "referee:REF01", over), "E012/4001", self._to_p03
            ),
            "join as P03": Attempt(of_p03("game_join_ack", "GAME_JOIN_ACK", joined), "E012/4001", self._from_p03),
            "move as P03": Attempt(
                of_p03("game_move_response", "GAME_MOVE_RESPONSE", {"move_data": 1}), "E012/4001", self._tokens["P03"]
            ),
            "choice as P03": Attempt(
                of_p03("choose_parity_response", "CHOOSE_PARITY_RESPONSE", {"parity_choice": "odd"}),
                "E012/4001",
                self._from_p03,
            ),
        }

    def _posted(self, handle: Handler, method: str, sender: str, message: Json) -> Callable[[str], Awaitable[str]]:
        async def send(shown: str) -> str:
            params = message | self._hall.envelope(sender) | {"auth_token": shown}
            return outcome(json.loads(await call(handle, method, params)))

        return send

    def _at_manager(self, method: str, sender: str, kind: str, fields: Json) -> Callable[[str], Awaitable[str]]:
        message = self._of_match | {"message_type": kind} | fields
        return self._posted(self._hall.manager.handle, method, sender, message)

    def _from_player(self, method: str, kind: str, fields: Json) -> Callable[[str], Awaitable[str]]:
        message = {"match_id": self._of_match["match_id"], "player_id": "P03", "message_type": kind} | fields
        return self._posted(self._referee, method, "player:P03", message)

    async def _transcript(self, shown: str) -> str:
        message = self._hall.envelope("referee:REF01") | self._of_match | {"message_type": "MATCH_TRANSCRIPT"}
        try:
            text = json.dumps(message | {"entries": [], "auth_token": shown}).encode()
            await self._hall.manager.reports.keep_transcript(
                of_type(m.MatchTranscript, decode(text)), message["match_id"]
            )
        except ProtocolError as error:
            return error.code
        return "ok"

    async def _operated(self, shown: str) -> str:
        params = {"command": "agents", "admin_token": shown}
        return outcome(json.loads(await call(self._hall.manager.handle, "operator", params)))

    def _registered(self, role: str, query: str = "", **meta: Any) -> Callable[[str], Awaitable[str]]:
        async def send(shown: str) -> str:
            token = {} if query else {"auth_token": shown}
            params = self._hall.registration(role, 91, meta={"contact_endpoint": url_of("player", 90), **meta}, **token)
            at = f"{query}={shown}" if query else ""
            return outcome(json.loads(await call(self._hall.manager.handle, f"register_{role}", params, at)))

        return send


async def call(handle: Handler, method: str, params: Json, query: str = "") -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 1}).encode()
    return await handle(body, Peer(ELSEWHERE, query, ("10.0.0.5", 8000))) or b""


async def broken_into(stage: Stage, doors: dict[str, Attempt]) -> list[tuple[str, str, str]]:
    """Which strings opened what."""
    # Its own token is refused for the name that goes with it.
    misused = {"E055/55", "E047/2002"}
    own = stage.identity(stage.me.registrar)[1]
    opened = []
    for name, attempt in doors.items():
        for text in sorted(stage.harvester.strings):
            came = await attempt.send(text)
            if came != attempt.refusal and not (text == own and came in misused):
                opened.append((name, text, came))
    return opened


@pytest.fixture
def _usual_modes() -> Iterator[None]:
    """Files that others may read are made so, whatever this process was started with."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_usual_modes")
@in_virtual_time
async def test_nothing_that_a_player_sees_in_a_whole_league_lets_it_speak_as_someone_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    async with Hall(tmp_path) as hall:
        stage = Stage(hall, tmp_path)
        await stage.set()
        before = hall.substance()
        assert len(stage.harvester.strings) > 300
        doors = Doors(stage)
        attempts = doors.at_the_manager() | doors.at_agents()
        assert await broken_into(stage, attempts) == []
        assert hall.substance() == before
        # Each of these doors is a door: its own secret opens it, or is refused for another reason.
        for name, attempt in attempts.items():
            if name not in ("void", "report"):
                assert await attempt.send(attempt.secret) != attempt.refusal, name
        secrets = stage.secrets()
        stage.free.set()
        await hall.end()
        await stage.look_around()
        await stage.me.close()
        names = stage.harvester.read(tmp_path)
        assert {"agents_config.json", "standings.json", "rounds.json", "history.json", "R1M1.json"} <= set(names)
        own = stage.identity(stage.me.registrar)[1]
        for owner, secret in secrets.items():
            heard = [one for one in stage.harvester.heard if secret.encode() in one]
            assert not heard or secret == own, owner
            assert secret not in caplog.text
            holding = [path for path in _files(tmp_path) if secret.encode() in path.read_bytes()]
            assert all(path.name == "state.json" and path.stat().st_mode & 0o777 == 0o600 for path in holding), owner


def _files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]
