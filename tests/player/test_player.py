"""The player: a scripted manager and a scripted referee call it, in virtual time and once over real sockets."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from inspect import signature
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

import leaguekit
from leaguekit.agents.serving import endpoint_of, serve
from leaguekit.agents.world import World
from leaguekit.games import GAMES
from leaguekit.player.context import Context, Move
from leaguekit.player.player import Player, PlayerAgent, RegistrationRefused
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol import messages as m
from leaguekit.protocol import times, tokens
from leaguekit.protocol.decoding import decode, encode, violations
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import MANAGER, match_conversation
from leaguekit.protocol.methods import BY_REQUEST, PING, read_call
from leaguekit.protocol.refusals import manager_refusal, player_refusal
from leaguekit.protocol.rpc import Call, RpcRequest, answer, request
from leaguekit.sim.loop import VirtualLoop, run
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import Peer
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.memory import MemoryCaller, MemoryNetwork
from leaguekit.transport.server.server import CannotListen, Server, listen
from tests.transport.running import of_requests

START = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)
LEAGUE = "league_2025_even_odd"
MANAGER_URL = "http://127.0.0.1:8000/mcp"
PLAYER_URL = "http://127.0.0.1:8101/mcp"
TOKEN = "tok-p01-" + "s" * 43
KEY = tokens.signing_key(TOKEN)
ACCEPTED = {"status": "ACCEPTED", "player_id": "P01", "auth_token": TOKEN, "league_id": LEAGUE, "reason": None}
DERIVED = ACCEPTED | {"token_scheme": "derived"}


def now() -> datetime:
    """The time: virtual in virtual time, real over real sockets."""
    loop = asyncio.get_running_loop()
    return START + timedelta(seconds=loop.time()) if isinstance(loop, VirtualLoop) else datetime.now(UTC)


class ScriptedManager:
    """Answers registrations as it is told; notes what came."""

    def __init__(self, said: dict[str, Any] | Exception) -> None:
        self.said = said
        self.came = asyncio.Event()
        self.ping: Any = {"status": "ok", "league_id": LEAGUE}
        self.registrations: list[m.LeagueRegisterRequest] = []
        self.bodies: list[bytes] = []

    async def handle(self, body: bytes, peer: Peer) -> bytes | None:
        self.bodies.append(body)
        return await answer(RpcRequest(body), self._answer, manager_refusal(now))

    async def _answer(self, call: Call) -> Any:
        if call.method == PING:
            return self.ping
        _, message = read_call(call, "league_manager")
        assert isinstance(message, m.LeagueRegisterRequest)
        self.registrations.append(message)
        self.came.set()
        if isinstance(self.said, Exception):
            raise self.said
        return m.LeagueRegisterResponse(**m.envelope(MANAGER, now(), message.conversation_id), **self.said)


class Stage:
    """A network with a scripted manager and one real player; ``call`` speaks to the player as anybody would."""

    def __init__(
        self,
        root: Path,
        choose: Any = STRATEGIES["always_even"],
        said: Any = DERIVED,
        name: str = "Agent Alpha",
        **more: Any,
    ) -> None:
        self.network = MemoryNetwork()
        self.caller = MemoryCaller(self.network)
        self.manager = ScriptedManager(said)
        self.network.listen(MANAGER_URL, self.manager.handle)
        self.world = World(
            caller=MemoryCaller(self.network), data_root=root, now=now, entropy=lambda size: b"e" * size, inline=True
        )
        self.agent = PlayerAgent(Player(name, choose), self.world, MANAGER_URL, PLAYER_URL, **more)
        self.network.listen(PLAYER_URL, self.agent.handle)

    async def raw(self, method: str, params: bytes) -> Any:
        came = await self.caller.post(PLAYER_URL, request(method, params, 7), 30)
        found = json.loads(came.body)
        assert (found["jsonrpc"], found["id"]) == ("2.0", 7)
        return found

    async def call(self, message: m.Message, method: str | None = None) -> Any:
        """The player's answer to a message: every one is a valid message with a full envelope of its own."""
        found = await self.raw(method or BY_REQUEST[type(message)].name, encode(message))
        assert "error" not in found, found["error"]
        result = found["result"]
        assert violations(result) == []
        assert (result["protocol"], result["sender"], result["player_id"]) == ("league.v2", "player:P01", "P01")
        assert result["conversation_id"] == message.conversation_id
        assert result["timestamp"] == times.written(now())
        return decode(json.dumps(result).encode())

    async def refused(self, message: m.Message) -> dict[str, Any]:
        return (await self.raw(BY_REQUEST[type(message)].name, encode(message)))["error"]

    async def state(self) -> dict[str, Any]:
        return (await self.raw("get_player_state", b"{}"))["result"]

    def saved(self) -> dict[str, Any]:
        return json.loads((self.world.data_root / "data/players/P01/history.json").read_text())


def played(scene: Callable[[Stage], Awaitable[Any]], stage: Stage, *, registered: bool = True) -> Any:
    """Play a scene in virtual time, with the player registered before and closed after."""

    async def main() -> Any:
        if registered:
            await stage.agent.register()
        try:
            return await scene(stage)
        finally:
            await stage.agent.close()

    return run(main())


# What a manager and a referee send.


def from_manager(token: str | None = None) -> dict[str, Any]:
    shown = tokens.manager_to_agent(KEY, LEAGUE, "P01") if token is None else token
    return {**m.envelope(MANAGER, now(), "conv-league-001"), "auth_token": shown or UNSET, "league_id": LEAGUE}


def announcement(round_id: int = 1, **more: Any) -> m.RoundAnnouncement:
    match = m.AnnouncedMatch(
        match_id=f"R{round_id}M1",
        game_type="even_odd",
        player_A_id="P01",
        player_B_id="P02",
        referee_endpoint="http://127.0.0.1:8001/mcp",
    )
    return m.RoundAnnouncement(**from_manager(**more), round_id=round_id, matches=[match])


def standing(rank: int, player_id: str, wins: int) -> m.Standing:
    return m.Standing(
        rank=rank,
        player_id=player_id,
        display_name=f"Agent {player_id}",
        played=1,
        wins=wins,
        draws=0,
        losses=1 - wins,
        points=3 * wins,
    )


def standings(**more: Any) -> m.LeagueStandingsUpdate:
    rows = [standing(1, "P01", 1), standing(2, "P02", 0)]
    return m.LeagueStandingsUpdate(**from_manager(**more), round_id=1, standings=rows)


def round_completed(round_id: int = 1, **more: Any) -> m.RoundCompleted:
    return m.RoundCompleted(**from_manager(**more), round_id=round_id, next_round_id=round_id + 1, matches_completed=1)


def league_completed(**more: Any) -> m.LeagueCompleted:
    return m.LeagueCompleted(
        **from_manager(**more),
        total_rounds=1,
        total_matches=1,
        champion=m.Champion(player_id="P01", display_name="Agent Alpha", points=3),
        final_standings=[
            m.FinalStanding(rank=1, player_id="P01", points=3),
            m.FinalStanding(rank=2, player_id="P02", points=0),
        ],
    )


def from_referee(match_id: str, attempt: int = 1, token: str | None = None, referee: str = "REF01") -> dict[str, Any]:
    shown = tokens.referee_to_player(KEY, LEAGUE, match_id, attempt, referee) if token is None else token
    conversation = match_conversation(match_id, attempt)
    return {**m.envelope(f"referee:{referee}", now(), conversation), "auth_token": shown or UNSET, "match_id": match_id}


def invitation(match_id: str = "R1M1", attempt: int = 1, **more: Any) -> m.GameInvitation:
    fields = {"round_id": int(match_id[1]), "game_type": "even_odd", "role_in_match": "PLAYER_A", "player_id": "P01"}
    fields |= {name: more.pop(name) for name in (*fields, "opponent_id") if name in more}
    return m.GameInvitation(
        **from_referee(match_id, attempt, **more),
        **{"opponent_id": "P02"} | fields,
        league_id=LEAGUE,
        attempt=attempt,
    )


def parity_call(match_id: str = "R1M1", attempt: int = 1, *, seconds: float = 30, **more: Any) -> m.ChooseParityCall:
    fields = {"player_id": more.pop("player_id", "P01"), "context": more.pop("context", UNSET)}
    deadline = times.written(now() + timedelta(seconds=seconds))
    return m.ChooseParityCall(
        **from_referee(match_id, attempt, **more), **fields, game_type="even_odd", deadline=deadline
    )


def move_call(board: str, options: list[int], match_id: str = "R1M1") -> m.GameMoveCall:
    asked = m.MoveRequest(move_type="place_mark", valid_options=options, context={"board": board, "your_mark": "X"})
    return m.GameMoveCall(
        **from_referee(match_id),
        player_id="P01",
        game_type="tic_tac_toe",
        move_request=asked,
        deadline=times.written(now() + timedelta(seconds=30)),
    )


def game_over(match_id: str = "R1M1", winner: str | None = "P01", attempt: int = 1, **more: Any) -> m.GameOver:
    result = m.GameResult(
        status="DRAW" if winner is None else "WIN",
        winner_player_id=winner,
        drawn_number=8,
        number_parity="even",
        choices={"P01": "even", more.pop("opponent_id", "P02"): "odd"},
        reason="P01 chose even, and 8 is even",
    )
    return m.GameOver(**from_referee(match_id, attempt, **more), game_type="even_odd", game_result=result)


def game_error(match_id: str = "R1M1", **more: Any) -> m.GameError:
    return m.GameError(
        **from_referee(match_id, **more),
        error_code="E001",
        error_description="TIMEOUT_ERROR",
        affected_player="P01",
        consequence="Technical loss if no answer comes within 3 retries.",
    )


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


# Registration.


@pytest.mark.proves(
    "000-L0208", "000-L0209", "000-L0257", "000-L1452", "000-L1453", "000-L1510", "001-L0240", "001-L0241",
    "001-L0242", "001-L1937", "002-L0146", "002-L0182", "003-L0037", "003-L0038", "004-L0059",
    "004-L0060", "004-L0550",
)  # fmt: skip
def test_a_player_introduces_itself_to_the_manager_with_every_field_and_without_a_token(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        (came,) = stage.manager.registrations
        assert violations(msgspec.to_builtins(came)) == []
        assert came.sender == "player:agent-alpha"
        assert came.auth_token is UNSET
        assert came.player_meta == m.PlayerMeta(
            display_name="Agent Alpha",
            version="1.0.0",
            # All that its strategy can play.
            game_types=["even_odd"],
            contact_endpoint=PLAYER_URL,
            protocol_version="2.1.0",
        )
        assert b'"method":"register_player"' in stage.manager.bodies[-1]

    played(scene, stage)


@pytest.mark.proves("001-L1929", "001-L1930", "000-L0312", "000-L0314", "003-L0190", "003-L0191")
def test_an_accepted_player_keeps_its_id_and_token(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        assert stage.agent.state == "UNREGISTERED"
        assert (await stage.state())["player_id"] is None
        identity = await stage.agent.register()
        assert (identity.agent_id, identity.auth_token, identity.league_id) == ("P01", TOKEN, LEAGUE)
        found = await stage.state()
        assert (found["player_id"], found["league_id"], found["state"]) == ("P01", LEAGUE, "REGISTERED")

    played(scene, stage, registered=False)


def test_an_id_can_be_asked_for(tmp_path: Path) -> None:
    stage = Stage(tmp_path, wanted_id="P07")
    played(lambda stage: asyncio.sleep(0), stage)
    assert stage.manager.registrations[0].sender == "player:P07"


@pytest.mark.proves("001-L0362")
def test_a_rejection_is_final_and_says_what_to_do(tmp_path: Path) -> None:
    said = {"status": "REJECTED", "player_id": None, "reason": "Maximum players reached", "error_code": "E020"}
    stage = Stage(tmp_path, said=said)
    with pytest.raises(
        RegistrationRefused, match=r"Maximum players reached\. Ask the operator for a place\."
    ) as caught:
        played(lambda stage: asyncio.sleep(0), stage)
    assert (caught.value.reason, caught.value.code) == ("Maximum players reached", "E020")
    assert len(stage.manager.registrations) == 1
    assert stage.agent.state == "UNREGISTERED"


def test_a_rejection_without_a_reason_is_told_as_well(tmp_path: Path) -> None:
    with pytest.raises(RegistrationRefused, match=r"No reason was given\. Ask the league's operator\."):
        played(lambda stage: asyncio.sleep(0), Stage(tmp_path, said={"status": "REJECTED"}))


@pytest.mark.proves("001-L0362", "001-L1554", "001-L1556")
def test_an_error_is_final_and_says_what_to_do(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(tmp_path, said=ProtocolError("E047", "Another player is called 'Agent Alpha'."))
    with pytest.raises(
        RegistrationRefused, match=r"Another player is called 'Agent Alpha'\. Choose a different"
    ) as caught:
        played(lambda stage: asyncio.sleep(0), stage)
    assert caught.value.code == "E047"
    assert "The registration was refused" in caplog.text
    assert len(stage.manager.registrations) == 1


@pytest.mark.proves("001-L1555")
def test_too_many_at_once_is_no_refusal(tmp_path: Path) -> None:
    stage = Stage(tmp_path, said=ProtocolError("E059"))

    async def main() -> None:
        registering = asyncio.ensure_future(stage.agent.register())
        await asyncio.sleep(3)
        stage.manager.said = DERIVED
        await registering

    run(main())
    assert len({encode(one) for one in stage.manager.registrations}) == 1


def test_what_is_no_manager_is_told_at_once(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.network.close(MANAGER_URL)

    async def page(body: bytes, peer: Peer) -> bytes:
        return b"<html>It works!</html>"

    stage.network.listen(MANAGER_URL, page)
    with pytest.raises(RegistrationRefused, match=r"no League Manager .* Check the manager's URL; it ends in /mcp"):
        played(lambda stage: asyncio.sleep(0), stage)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://here/mcp", "", "http://"])
def test_a_manager_without_an_address_is_not_waited_for(tmp_path: Path, url: str) -> None:
    stage = Stage(tmp_path)
    stage.agent.registrar.manager_url = url
    with pytest.raises(RegistrationRefused, match="Give the manager's URL as http://HOST:PORT/mcp"):
        played(lambda stage: asyncio.sleep(0), stage)


@pytest.mark.proves("001-L0362")
def test_a_player_tries_until_the_manager_is_there_at_most_five_seconds_apart(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[float] = []
    stage.network.close(MANAGER_URL)
    stage.network.tap = lambda caller, url, body, came, when: tries.append(when.sent)

    async def main() -> float:
        registering = asyncio.ensure_future(stage.agent.register())
        await asyncio.sleep(3600)
        stage.network.listen(MANAGER_URL, stage.manager.handle)
        await registering
        return asyncio.get_running_loop().time()

    assert run(main()) <= 3605
    pauses = [later - earlier for earlier, later in pairwise(tries)]
    assert pauses[:6] == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0]
    assert max(pauses) == 5.0
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1


@pytest.mark.proves("001-L0243", "000-L0211", "000-L1572", "003-L0178")
def test_a_registration_that_gets_no_answer_in_ten_seconds_is_repeated_to_the_letter(stage: Stage) -> None:
    answering = stage.manager.handle
    silent = asyncio.Event()

    async def slow(body: bytes, peer: Peer) -> bytes | None:
        answered = await answering(body, peer)
        if b"register_player" in body and len(stage.manager.registrations) == 1:
            await silent.wait()
        return answered

    stage.network.close(MANAGER_URL)
    stage.network.listen(MANAGER_URL, slow)

    async def main() -> float:
        await stage.agent.register()
        silent.set()
        return asyncio.get_running_loop().time()

    assert run(main()) == pytest.approx(10.25)
    first, second = stage.manager.registrations
    assert encode(first) == encode(second)


def test_a_manager_that_knows_no_ping_is_registered_with_all_the_same(stage: Stage) -> None:
    silent = asyncio.Event()

    async def deaf(body: bytes, peer: Peer) -> bytes | None:
        if b'"ping"' in body:
            await silent.wait()
        return await stage.manager.handle(body, peer)

    stage.network.close(MANAGER_URL)
    stage.network.listen(MANAGER_URL, deaf)

    async def scene(stage: Stage) -> None:
        silent.set()
        assert stage.agent.player_id == "P01"

    played(scene, stage)


# The state file.


@pytest.mark.proves("000-L0314")
def test_id_and_token_are_kept_where_only_the_owner_reads_them(stage: Stage, tmp_path: Path) -> None:
    played(lambda stage: asyncio.sleep(0), stage)
    path = tmp_path / "agents" / LEAGUE / "player-Agent%20Alpha" / "state.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    kept = json.loads(path.read_text())
    assert (kept["agent_id"], kept["auth_token"], kept["league_id"]) == ("P01", TOKEN, LEAGUE)


def test_the_answer_to_anybody_who_asks_for_a_players_state_stays_short(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        await stage.call(invitation())
        await stage.call(game_over())
        (one,) = stage.agent.history.values()
        for number in range(2_000):
            stage.agent.history[f"R{number}M2"] = msgspec.structs.replace(
                one, match_id=f"R{number}M2", reason="x" * 500
            )
        found = await stage.state()
        assert found["record"]["wins"] == 2_001
        assert found["matches"][-1]["match_id"] == "R1999M2"
        assert len(json.dumps(found)) < 65_536

    played(scene, Stage(tmp_path))


def test_the_rest_of_a_large_body_is_read_from_the_manager_and_from_referees_of_matches(tmp_path: Path) -> None:
    def is_read(stage: Stage, message: m.Request, **changes: Any) -> bool:
        beginning = request("x", encode(msgspec.structs.replace(message, **changes)), 1)
        return stage.agent.admits(beginning, Peer("127.0.0.1"))

    async def before(stage: Stage) -> None:
        await stage.call(invitation())
        await after(stage)

    async def after(stage: Stage) -> None:
        for message in (invitation(), parity_call(), game_over(), announcement()):
            assert is_read(stage, message)
            assert not is_read(stage, message, auth_token="drv-made-by-nobody")
            assert not is_read(stage, message, auth_token=UNSET)
        assert not is_read(stage, invitation(), match_id="R9M9")

    async def unregistered(stage: Stage) -> None:
        assert not is_read(stage, invitation())

    played(unregistered, Stage(tmp_path), registered=False)
    played(before, Stage(tmp_path))
    played(after, Stage(tmp_path))


def test_a_player_that_comes_back_shows_its_token_and_remembers_its_matches(tmp_path: Path) -> None:
    async def before(stage: Stage) -> None:
        await stage.call(invitation())
        await stage.call(game_over())

    async def after(stage: Stage) -> None:
        (came,) = stage.manager.registrations
        assert came.auth_token == TOKEN
        assert [match["match_id"] for match in (await stage.state())["matches"]] == ["R1M1"]

    played(before, Stage(tmp_path))
    played(after, Stage(tmp_path))


@pytest.mark.parametrize(
    "ping",
    [
        {"status": "ok", "league_id": "another_league"},
        {"status": "ok"},
        {"league_id": None},
        {"league_id": ["../../.."]},
        "pong",
        None,
    ],
)
def test_a_token_is_shown_to_no_other_league(tmp_path: Path, ping: Any) -> None:
    played(lambda stage: asyncio.sleep(0), Stage(tmp_path))
    stage = Stage(tmp_path)
    stage.manager.ping = ping
    played(lambda stage: asyncio.sleep(0), stage)
    assert stage.manager.registrations[0].auth_token is UNSET


def test_a_token_is_shown_under_no_other_name(tmp_path: Path) -> None:
    played(lambda stage: asyncio.sleep(0), Stage(tmp_path))
    stage = Stage(tmp_path, name="Agent Beta")
    played(lambda stage: asyncio.sleep(0), stage)
    assert stage.manager.registrations[0].auth_token is UNSET


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"agent_id": 1}', b"\xff"])
def test_a_spoilt_state_file_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    stage = Stage(tmp_path)
    path = stage.agent.registrar.folder(LEAGUE) / "state.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    played(lambda stage: asyncio.sleep(0), stage)
    assert stage.manager.registrations[0].auth_token is UNSET


def test_the_memory_is_the_owners_alone_and_a_torn_line_is_dropped_from_it(tmp_path: Path) -> None:
    async def before(stage: Stage) -> None:
        await stage.call(game_over())

    async def after(stage: Stage) -> None:
        assert [*stage.agent.history] == ["R1M1"]
        # What follows is read again, so the torn line is out of the way.
        await stage.call(game_over(match_id="R2M1"))

    first = Stage(tmp_path)
    played(before, first)
    path = first.agent.registrar.folder(LEAGUE) / "history.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(path.read_bytes() + b'{"match_id": "R9M9", "game_t')
    played(after, Stage(tmp_path))
    third = Stage(tmp_path)
    played(lambda stage: asyncio.sleep(0), third)
    assert [*third.agent.history] == ["R1M1", "R2M1"]


def test_who_does_not_come_back_to_a_league_remembers_nothing_of_it(tmp_path: Path) -> None:
    async def before(stage: Stage) -> None:
        await stage.call(game_over())

    first = Stage(tmp_path)
    played(before, first)
    (first.agent.registrar.folder(LEAGUE) / "state.json").unlink()
    stage = Stage(tmp_path)
    played(lambda stage: asyncio.sleep(0), stage)
    assert stage.agent.history == {}


def test_a_first_registration_that_was_not_seen_answered_is_repeated_to_the_letter_by_the_next_run(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path)
    path = stage.agent.registrar.folder(None) / "asked.json"
    played(lambda stage: asyncio.sleep(0), stage)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    asked = json.loads(path.read_text())
    (sent,) = stage.manager.registrations
    named = {"league_id": LEAGUE}
    assert asked == {"conversation_id": sent.conversation_id, "timestamp": sent.timestamp} | named
    # As if the answer had not come, from another time.
    before = {"conversation_id": "conv-before", "timestamp": "2025-01-14T09:00:00Z"}
    path.write_text(json.dumps(before | named))
    (stage.agent.registrar.folder(LEAGUE) / "state.json").unlink()
    for repeated, token in ((True, UNSET), (False, TOKEN)):
        stage = Stage(tmp_path)
        played(lambda stage: asyncio.sleep(0), stage)
        (sent,) = stage.manager.registrations
        assert ({"conversation_id": sent.conversation_id, "timestamp": sent.timestamp} == before) is repeated
        assert sent.auth_token == token


def test_a_match_that_a_referee_plays_anew_finds_the_same_chance(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        chosen = []
        for _ in range(2):
            await stage.call(invitation())
            chosen.append([(await stage.call(parity_call())).parity_choice for _ in range(12)])
        assert chosen[0] == chosen[1]
        assert len({*chosen[0]}) == 2

    played(scene, Stage(tmp_path, STRATEGIES["random"], seed=1))


def test_a_data_folder_that_cannot_be_written_stops_no_player(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "agents").write_text("a file where a folder should be")
    (tmp_path / "data").write_text("a file where a folder should be")

    async def scene(stage: Stage) -> None:
        await stage.call(invitation())
        await stage.call(game_over())

    played(scene, Stage(tmp_path))
    warned = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    failed = {text.split(" ")[0].rpartition("/")[2] for text in warned}
    assert failed == {"asked.json", "state.json", "history.jsonl", "history.json"}


# Broadcasts.


@pytest.mark.proves(
    "001-L0493", "001-L0494", "001-L0495", "001-L0439", "001-L0440", "001-L0441", "001-L1931",
)  # fmt: skip
def test_an_announcement_is_acknowledged_and_its_round_remembered(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        ack = await stage.call(announcement(2))
        assert isinstance(ack, m.RoundAnnouncementAck)
        assert (ack.status, ack.round_id) == ("ACKNOWLEDGED", 2)
        found = await stage.state()
        assert (found["state"], found["round"]) == ("WAITING_FOR_ROUND", 2)

    played(scene, stage)


@pytest.mark.proves("001-L0603", "001-L0604", "001-L0605", "001-L0640", "001-L0641")
def test_standings_are_acknowledged_and_shown_to_the_strategy(tmp_path: Path) -> None:
    seen: list[Context] = []

    def choose(ctx: Context) -> str:
        seen.append(ctx)
        return "odd"

    async def scene(stage: Stage) -> None:
        ack = await stage.call(standings())
        assert isinstance(ack, m.StandingsUpdateAck)
        assert (ack.status, ack.round_id) == ("ACKNOWLEDGED", 1)
        await stage.call(parity_call())

    played(scene, Stage(tmp_path, choose))
    assert [(row.rank, row.player_id, row.points) for row in seen[0].standings] == [(1, "P01", 3), (2, "P02", 0)]


@pytest.mark.proves("001-L0700", "001-L0701", "001-L0702", "001-L0737", "001-L0738", "001-L1931")
def test_the_end_of_a_round_is_acknowledged_and_the_player_waits_for_the_next(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        await stage.call(announcement(1))
        await stage.call(invitation())
        ack = await stage.call(round_completed(1))
        assert isinstance(ack, m.RoundCompletedAck)
        assert (ack.status, ack.round_id) == ("ACKNOWLEDGED", 1)
        assert stage.agent.state == "WAITING_FOR_ROUND"

    played(scene, stage)


def test_the_end_of_a_round_that_was_overtaken_ends_no_match_of_the_next(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        await stage.call(invitation("R2M1"))
        await stage.call(round_completed(1))
        assert stage.agent.state == "IN_MATCH"

    played(scene, stage)


@pytest.mark.proves("001-L0854", "001-L0855", "001-L0889", "001-L0890", "001-L0891")
def test_the_end_of_the_league_is_acknowledged_and_the_final_statistics_saved(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        assert not stage.agent.finished.is_set()
        await stage.call(game_over())
        ack = await stage.call(league_completed())
        assert isinstance(ack, m.LeagueCompletedAck)
        assert ack.status == "ACKNOWLEDGED"
        assert stage.agent.finished.is_set()
        assert (await stage.state())["league_completed"] is True

    played(scene, stage)
    saved = stage.saved()
    assert saved["record"] == {"wins": 1, "losses": 0, "draws": 0, "points": 3}
    assert saved["final"]["standing"] == {"rank": 1, "player_id": "P01", "points": 3}
    assert saved["final"]["champion"]["player_id"] == "P01"


def test_the_final_statistics_are_saved_where_the_own_row_is_missing(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        await stage.call(msgspec.structs.replace(league_completed(), final_standings=[]))

    played(scene, stage)
    assert stage.saved()["final"]["standing"] is None


# A match.


@pytest.mark.proves(
    "000-L0577", "000-L0615", "000-L1464", "000-L1465", "000-L1517", "001-L0960", "001-L0962", "001-L0964",
    "001-L0965", "001-L0966", "001-L0967", "001-L1025", "001-L1932", "002-L0147", "002-L0212", "003-L0039",
    "004-L0164", "004-L0165", "004-L0168", "004-L0556", "004-L0578",
)  # fmt: skip
def test_an_invitation_is_accepted_and_the_match_remembered(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        await asyncio.sleep(3)
        ack = await stage.call(invitation())
        assert isinstance(ack, m.GameJoinAck)
        assert ack.accept is True
        assert (ack.match_id, ack.arrival_timestamp) == ("R1M1", "2025-01-15T10:30:03Z")
        assert ack.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 1, "REF01")
        assert stage.agent.state == "IN_MATCH"

    played(scene, stage)


@pytest.mark.proves("000-L1463", "001-L0906")
def test_an_invitation_is_answered_at_once(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        began = asyncio.get_running_loop().time()
        await stage.call(invitation())
        assert asyncio.get_running_loop().time() == began

    played(scene, stage)


@pytest.mark.proves("001-L0494", "003-L0293c")
@pytest.mark.settles("001-L1000")
def test_an_invitation_needs_no_announcement_and_may_be_repeated(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        first = await stage.call(invitation("R3M2"))
        second = await stage.call(invitation("R3M2"))
        assert first == second
        assert stage.agent.round_id == 3

    played(scene, stage)


@pytest.mark.proves("001-L1026", "001-L1027", "000-L0569")
def test_a_strategy_sees_what_the_invitation_said(tmp_path: Path) -> None:
    seen: list[Context] = []

    def choose(ctx: Context) -> str:
        seen.append(ctx)
        return "odd"

    async def scene(stage: Stage) -> None:
        await stage.call(invitation("R2M3", opponent_id="P04", role_in_match="PLAYER_B"))
        await stage.call(parity_call("R2M3"))

    played(scene, Stage(tmp_path, choose))
    (ctx,) = seen
    assert (ctx.match_id, ctx.round_id, ctx.opponent_id, ctx.role) == ("R2M3", 2, "P04", "PLAYER_B")
    assert (ctx.league_id, ctx.player_id) == (LEAGUE, "P01")
    assert (ctx.game_type, ctx.move_type, ctx.valid_options) == ("even_odd", "choose_parity", ["even", "odd"])
    assert ctx.view == {}


def test_a_strategy_sees_what_the_call_says_even_of_a_match_it_was_not_invited_to(tmp_path: Path) -> None:
    seen: list[Context] = []

    def choose(ctx: Context) -> str:
        seen.append(ctx)
        return "odd"

    record = m.OwnRecord(wins=2, losses=1, draws=1)
    context = m.CallContext(opponent_id="P09", round_id=5, your_standings=record)

    async def scene(stage: Stage) -> None:
        answered = await stage.call(parity_call("R5M1", context=context))
        assert answered.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R5M1", 1, "REF01")

    played(scene, Stage(tmp_path, choose))
    (ctx,) = seen
    assert (ctx.opponent_id, ctx.round_id, ctx.role) == ("P09", 5, None)
    assert (ctx.record.wins, ctx.record.losses, ctx.record.draws, ctx.record.points) == (2, 1, 1, 7)


def test_a_strategy_has_its_own_record_where_the_call_does_not_say_it(tmp_path: Path) -> None:
    seen: list[Context] = []

    def choose(ctx: Context) -> str:
        seen.append(ctx)
        return "odd"

    async def scene(stage: Stage) -> None:
        await stage.call(game_over("R1M1"))
        await stage.call(game_over("R2M1", winner=None))
        await stage.call(parity_call("R3M1"))

    played(scene, Stage(tmp_path, choose))
    record = seen[0].record
    assert (record.wins, record.losses, record.draws, record.points) == (1, 0, 1, 4)


@pytest.mark.proves(
    "000-L0812", "000-L1473", "000-L1474", "000-L1475", "000-L1518", "001-L1119", "001-L1121", "001-L1123",
    "001-L1124", "001-L1125", "001-L1182", "001-L1183", "001-L1932", "001-L1933", "002-L0148", "002-L0218",
    "002-L0258", "003-L0040", "004-L0186", "004-L0211", "004-L0212", "004-L0558", "004-L0576",
)  # fmt: skip
def test_a_call_is_answered_with_the_strategys_choice(tmp_path: Path) -> None:
    async def choose(ctx: Context) -> str:
        await asyncio.sleep(20)
        return "odd"

    async def scene(stage: Stage) -> None:
        await stage.call(invitation())
        answering = asyncio.ensure_future(stage.call(parity_call()))
        await asyncio.sleep(10)
        assert stage.agent.state == "IN_MATCH"
        answered = await answering
        assert isinstance(answered, m.ChooseParityResponse)
        assert (answered.match_id, answered.parity_choice) == ("R1M1", "odd")
        assert answered.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 1, "REF01")
        assert asyncio.get_running_loop().time() == 20
        assert stage.agent.state == "WAITING_FOR_RESULT"

    played(scene, Stage(tmp_path, choose))


@pytest.mark.parametrize("method", ["parity_choose", "choose_parity", "CHOOSE_PARITY_CALL", "choose_parity_call"])
def test_a_call_may_come_under_any_of_its_names(stage: Stage, method: str) -> None:
    async def scene(stage: Stage) -> None:
        assert (await stage.call(parity_call(), method)).parity_choice == "even"

    played(scene, stage)


@pytest.mark.proves("003-L0012")
def test_any_other_game_is_played_by_the_generic_messages(tmp_path: Path) -> None:
    seen: list[Context] = []

    def choose(ctx: Context) -> int:
        seen.append(ctx)
        return ctx.valid_options[-1]

    async def scene(stage: Stage) -> None:
        await stage.call(invitation(game_type="tic_tac_toe"))
        first = await stage.call(move_call(".........", [*range(9)]))
        assert isinstance(first, m.GameMoveResponse)
        assert (first.match_id, first.move_data) == ("R1M1", 8)
        assert first.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 1, "REF01")
        assert stage.agent.state == "WAITING_FOR_RESULT"
        assert (await stage.call(move_call("O.......X", [*range(1, 8)]))).move_data == 7

    played(scene, Stage(tmp_path, choose))
    assert seen[1].view == {"board": "O.......X", "your_mark": "X"}
    assert seen[1].move_type == "place_mark"
    # One chance a match: a second move does not draw the first one's numbers again.
    assert seen[0].random is seen[1].random


@pytest.mark.proves(
    "001-L1272", "001-L1273", "001-L1274", "001-L1309", "001-L1310", "001-L1311", "001-L1312", "001-L1931",
    "003-L0041",
)  # fmt: skip
def test_the_end_of_a_match_is_acknowledged_and_written_to_the_history(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        await stage.call(announcement())
        await stage.call(invitation())
        await stage.call(parity_call())
        ack = await stage.call(game_over())
        assert isinstance(ack, m.GameOverAck)
        assert (ack.status, ack.match_id) == ("ACKNOWLEDGED", "R1M1")
        assert stage.agent.state == "WAITING_FOR_ROUND"
        # Nobody has to close the program for that.
        assert stage.saved()["matches"][0]["match_id"] == "R1M1"
        assert (await stage.state())["matches"] == stage.saved()["matches"]

    played(scene, stage)
    saved = stage.saved()
    assert (saved["player_id"], saved["league_id"]) == ("P01", LEAGUE)
    assert saved["record"] == {"wins": 1, "losses": 0, "draws": 0, "points": 3}
    (match,) = saved["matches"]
    assert match == {
        "match_id": "R1M1",
        "game_type": "even_odd",
        "result": "WIN",
        "opponent_id": "P02",
        "choice": "even",
        "opponent_choice": "odd",
        "drawn_number": 8,
        "technical": False,
        "reason": "P01 chose even, and 8 is even",
        "round_id": 1,
        "role": "PLAYER_A",
    }


@pytest.mark.proves("003-L0293a", "003-L0293c")
def test_a_repeated_end_counts_once_and_a_match_played_again_as_it_ended_last(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        await stage.call(invitation())
        await stage.call(game_over())
        await stage.call(game_over())
        assert (await stage.state())["record"] == {"wins": 1, "losses": 0, "draws": 0, "points": 3}
        await stage.call(game_over("R2M1", winner=None))
        await stage.call(invitation(attempt=2))
        await stage.call(game_over(winner="P02", attempt=2))
        assert (await stage.state())["record"] == {"wins": 0, "losses": 1, "draws": 1, "points": 1}
        assert [*stage.agent.history] == ["R2M1", "R1M1"]

    played(scene, stage)


def test_the_end_of_other_peoples_match_is_acknowledged_and_no_history(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        message = game_over()
        message.game_result.choices = {"P05": "even", "P06": "odd"}
        message.game_result.winner_player_id = "P05"
        assert (await stage.call(message)).match_id == "R1M1"
        assert stage.agent.history == {}

    played(scene, stage)


@pytest.mark.proves("001-L1621", "001-L1622", "001-L1623", "001-L1660", "001-L1662")
def test_an_error_is_acknowledged_and_logged(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    async def scene(stage: Stage) -> None:
        await stage.call(invitation())
        ack = await stage.call(game_error())
        assert isinstance(ack, m.GameErrorAck)
        assert (ack.status, ack.match_id) == ("ACKNOWLEDGED", "R1M1")
        assert stage.agent.state == "IN_MATCH"

    played(scene, stage)
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "R1M1: the referee reports E001 TIMEOUT_ERROR. Technical loss if no answer" in record.getMessage()
    assert (record.message_type, record.conversation_id) == ("GAME_ERROR", "conv-r1m1-001")


@pytest.mark.proves("001-L1312")
def test_every_match_is_in_the_history_file_within_a_second(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        for round_id in range(1, 8):
            await stage.call(game_over(f"R{round_id}M1"))
            await asyncio.sleep(1)
            assert len(stage.saved()["matches"]) == round_id

    played(scene, stage)


def league_error(**changes: Any) -> m.LeagueError:
    fields = from_manager() | {
        "error_code": "E012",
        "error_description": "AUTH_TOKEN_INVALID",
        "original_message_type": "LEAGUE_QUERY",
        "context": {"detail": "The auth_token is not valid here.", "action": "LEAGUE_QUERY"},
    }
    del fields["league_id"]
    return m.LeagueError(**fields | changes)


LEAGUE_ERROR_TEXT = "The manager reports E012 AUTH_TOKEN_INVALID about LEAGUE_QUERY. The auth_token is not valid here."


@pytest.mark.proves("001-L1482", "002-L0129")
@pytest.mark.parametrize("method", ["LEAGUE_ERROR", "league_error", "notify_league_error"])
def test_a_league_error_is_acknowledged_logged_and_told_at_the_terminal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    caplog.set_level(logging.INFO)
    told: list[str] = []

    async def scene(stage: Stage) -> None:
        ack = await stage.call(league_error(), method)
        assert isinstance(ack, m.LeagueErrorAck)
        assert ack.status == "ACKNOWLEDGED"
        # As a notification, which gets no answer.
        body = b'{"jsonrpc":"2.0","method":"%b","params":%b}' % (method.encode(), encode(league_error()))
        assert (await stage.caller.post(PLAYER_URL, body, 10)).status == 204

    played(scene, Stage(tmp_path, tell=told.append))
    assert told == [LEAGUE_ERROR_TEXT] * 2
    records = [record for record in caplog.records if getattr(record, "message_type", "") == "LEAGUE_ERROR"]
    assert [record.getMessage() for record in records] == [LEAGUE_ERROR_TEXT] * 2


def test_a_league_error_from_anybody_but_the_manager_is_refused_and_told_to_nobody(tmp_path: Path) -> None:
    told: list[str] = []

    async def scene(stage: Stage) -> None:
        for token in ("tok-nobody", UNSET):
            refusal = await stage.refused(league_error(auth_token=token))
            assert (refusal["code"], refusal["data"]["error_code"]) == (3001, "E012")

    played(scene, Stage(tmp_path, tell=told.append))
    assert told == []


def test_a_league_error_before_the_registration_is_told_once_and_without_its_words(tmp_path: Path) -> None:
    told: list[str] = []

    async def scene(stage: Stage) -> None:
        message = league_error(auth_token=UNSET, context=UNSET, original_message_type=UNSET, action_required="Wait.")
        ack = (await stage.raw("LEAGUE_ERROR", encode(message)))["result"]
        assert violations(ack) == []
        assert (ack["sender"], ack["status"]) == ("player:agent-alpha", "ACKNOWLEDGED")
        assert "player_id" not in ack
        await stage.raw("LEAGUE_ERROR", encode(message))

    played(scene, Stage(tmp_path, tell=told.append), registered=False)
    assert told == ["A caller that may not be the manager reports E012."]


@pytest.mark.proves("001-L1661", "000-L1247")
def test_a_player_answers_again_when_it_is_asked_again_after_an_error(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        await stage.call(invitation())
        first = await stage.call(parity_call())
        await stage.call(game_error())
        assert (await stage.call(parity_call())).parity_choice == first.parity_choice

    played(scene, stage)


def test_an_error_that_names_no_match_is_about_the_one_in_play(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        bare = msgspec.structs.replace(game_error(), match_id=UNSET)
        assert (await stage.refused(bare))["data"]["error_code"] == "E003"
        await stage.call(invitation("R4M2"))
        assert (await stage.call(bare)).match_id == "R4M2"

    played(scene, Stage(tmp_path, said=ACCEPTED))


# The author's code.


def boom(ctx: Context) -> str:
    raise ZeroDivisionError("my mistake")


async def slow(ctx: Context) -> str:
    await asyncio.sleep(1000)
    return "even"


def shouting(ctx: Context) -> str:
    return "EVEN"


@pytest.mark.parametrize(
    ("choose", "text", "seconds"),
    [
        (boom, "R1M1: the strategy raised ZeroDivisionError('my mistake'); played ", 0),
        (slow, "R1M1: the strategy took longer than 28.5 s; played ", 28.5),
        (shouting, "R1M1: the strategy chose 'EVEN', which is none of ['even', 'odd']; played ", 0),
    ],
)
@pytest.mark.proves("000-L1473", "000-L1475", "000-L1518", "001-L1047", "003-L0180", "000-L1574", "002-L0216")
def test_a_legal_choice_is_made_in_time_whatever_the_authors_code_does(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, choose: Any, text: str, seconds: float
) -> None:
    async def scene(stage: Stage) -> None:
        await stage.call(invitation())
        answered = await stage.call(parity_call())
        assert answered.parity_choice in ("even", "odd")
        assert asyncio.get_running_loop().time() == seconds
        assert stage.agent.state == "WAITING_FOR_RESULT"

    played(scene, Stage(tmp_path, choose))
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage().startswith(text)
    assert (record.exc_info is not None and record.exc_info[0] is ZeroDivisionError) == (choose is boom)


def test_the_author_is_told_of_every_move_that_was_played_for_the_strategy_and_of_the_place(tmp_path: Path) -> None:
    told: list[str] = []

    async def scene(stage: Stage) -> None:
        for match_id in ("R1M1", "R2M1"):
            await stage.call(invitation(match_id))
            await stage.call(parity_call(match_id))
        for _ in range(2):
            await stage.call(league_completed())

    stage = Stage(tmp_path, boom, tell=told.append)
    played(scene, stage)
    first, second, place, summary = told
    assert re.match(r"R1M1: the strategy raised ZeroDivisionError\('my mistake'\); played '\w+' instead\.\n", first)
    # From the author's own line on.
    assert first.count("File ") == 1
    assert ", in boom\n" in first
    assert second.startswith("R2M1: ")
    assert place == "Agent Alpha is number 1 with 3 points"
    assert summary.startswith(
        "Moves of Agent Alpha since it was started: 2 replaced (the first because the strategy raised ZeroDivisionError"
    )
    assert (stage.agent.origins.replaced, [one.match_id for one in stage.agent.replaced]) == (2, ["R1M1", "R2M1"])


def answer_of(tmp_path: Path, choose: Any, call: Callable[[], m.Message] = parity_call) -> Any:
    answers: list[Any] = []

    async def scene(stage: Stage) -> None:
        await stage.call(invitation())
        answers.append(await stage.call(call()))

    played(scene, Stage(tmp_path, choose))
    return answers[0]


@pytest.mark.parametrize(
    ("choose", "info"),
    [
        (lambda ctx: ctx.valid_options[0], m.MoveInfo(origin="own")),
        (STRATEGIES["alternating"], m.MoveInfo(origin="own")),
        (lambda ctx: Move(ctx.valid_options[0], "retried", "busy"), m.MoveInfo(origin="retried", reason="busy")),
        (lambda ctx: Move(ctx.valid_options[0], "replaced", "down"), m.MoveInfo(origin="replaced", reason="down")),
        (boom, m.MoveInfo(origin="replaced", reason="the strategy raised ZeroDivisionError('my mistake')")),
        (lambda ctx: "EVEN", None),
    ],
)
def test_every_answer_states_where_its_move_came_from(tmp_path: Path, choose: Any, info: m.MoveInfo | None) -> None:
    for call in (parity_call, lambda: move_call("X........", [3, 5])):
        stated = answer_of(tmp_path, choose, call).move_info
        if info is None:
            assert (stated.origin, "which is none of" in stated.reason) == ("replaced", True)
        else:
            assert stated == info


def test_a_stated_reason_is_short_on_one_line_and_without_tokens(tmp_path: Path) -> None:
    def choose(ctx: Context) -> Any:
        raise ValueError(f"line\n\nline {TOKEN} " + "x" * 500)

    reason = answer_of(tmp_path, choose).move_info.reason
    assert len(reason) == 200
    assert reason.endswith("x…")
    assert TOKEN not in reason

    stated = answer_of(tmp_path, lambda ctx: Move("odd", "retried", "a\nb"))
    assert stated.move_info.reason == "a b"


def test_a_strategy_knows_how_long_it_has_whatever_the_two_clocks_say(tmp_path: Path) -> None:
    left: list[float] = []

    async def choose(ctx: Context) -> str:
        left.append(ctx.seconds_left)
        await asyncio.sleep(4)
        left.append(ctx.seconds_left)
        return "even"

    async def scene(stage: Stage) -> None:
        call = parity_call()
        call.timestamp, call.deadline = "2031-01-01T00:00:00Z", "2031-01-01T00:00:20Z"
        assert (await stage.call(call)).parity_choice == "even"

    played(scene, Stage(tmp_path, choose))
    assert left == [18.5, 14.5]


def drawn(tmp_path: Path, seed: int | None, match_id: str = "R1M1", attempt: int = 1) -> list[float]:
    numbers: list[float] = []

    def choose(ctx: Context) -> str:
        numbers.extend(ctx.random.random() for _ in range(3))
        return "even"

    async def scene(stage: Stage) -> None:
        await stage.call(invitation(match_id, attempt))
        await stage.call(parity_call(match_id, attempt))

    played(scene, Stage(tmp_path, choose, seed=seed))
    return numbers


def test_in_a_seeded_league_chance_is_the_same_for_the_same_match_and_attempt(tmp_path: Path) -> None:
    assert drawn(tmp_path, 7) == drawn(tmp_path, 7)
    others = [drawn(tmp_path, 8), drawn(tmp_path, 7, "R1M2"), drawn(tmp_path, 7, attempt=2)]
    assert len({tuple(numbers) for numbers in [drawn(tmp_path, 7), *others]}) == 4


def test_in_any_other_league_chance_comes_from_the_world(tmp_path: Path) -> None:
    numbers: list[float] = []
    entropy = iter(range(100))

    def choose(ctx: Context) -> str:
        numbers.append(ctx.random.random())
        return "even"

    async def scene(stage: Stage) -> None:
        stage.agent.world = World(
            caller=stage.caller,
            data_root=tmp_path,
            now=now,
            entropy=lambda size: bytes([next(entropy)] * size),
            inline=True,
        )
        await stage.call(parity_call("R1M1"))
        await stage.call(parity_call("R2M1"))

    played(scene, Stage(tmp_path, choose))
    assert numbers[0] != numbers[1]


# Who may call, and what is shown to whom.

CALLS: list[Callable[..., m.Message]] = [
    announcement, standings, round_completed, league_completed, invitation, parity_call, game_over, game_error,
]  # fmt: skip
NUMBERS = {announcement: 3001, standings: 3001, round_completed: 3001, league_completed: 3001}


@pytest.mark.parametrize("token", ["", "tok-lm-guessed", TOKEN])
@pytest.mark.parametrize("build", CALLS)
@pytest.mark.proves("001-L0471", "001-L0483", "001-L0998", "001-L1304", "003-L0130c")
def test_under_the_scheme_a_caller_without_the_right_token_is_refused(stage: Stage, build: Any, token: str) -> None:
    async def scene(stage: Stage) -> None:
        refusal = await stage.refused(build(token=token))
        assert refusal["code"] == NUMBERS.get(build, 4001)
        assert refusal["message"] == "Invalid auth token"
        assert (refusal["data"]["error_code"], refusal["data"]["player_id"]) == ("E012", "P01")
        assert stage.agent.state == "REGISTERED"
        assert stage.agent.history == {}
        assert not stage.agent.finished.is_set()

    played(scene, stage)


@pytest.mark.parametrize("build", CALLS)
@pytest.mark.parametrize("token", ["", "tok-of-another-managers-own-kind"])
def test_without_the_scheme_any_token_or_none_is_taken(tmp_path: Path, build: Any, token: str) -> None:
    async def scene(stage: Stage) -> None:
        await stage.call(build(token=token))

    played(scene, Stage(tmp_path, said=ACCEPTED))


def test_every_answer_carries_a_token_and_without_the_scheme_it_is_the_players_own(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        for build in CALLS:
            assert (await stage.call(build())).auth_token == TOKEN

    played(scene, Stage(tmp_path, said=ACCEPTED))


@pytest.mark.settles("000-L1377b", "001-L1939", "003-L0130b", "001-L0087")
@pytest.mark.proves("003-L0130c")
def test_under_the_scheme_no_referee_ever_sees_the_players_own_token(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        for build in (invitation, parity_call, game_error, game_over):
            shown = (await stage.call(build())).auth_token
            assert shown == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 1, "REF01")

    played(scene, stage)


@pytest.mark.proves("003-L0130c")
def test_a_token_made_for_another_match_attempt_or_referee_opens_nothing(stage: Stage) -> None:
    made = tokens.referee_to_player

    async def scene(stage: Stage) -> None:
        await stage.call(invitation())
        for wrong in (
            made(KEY, LEAGUE, "R1M2", 1, "REF01"),
            made(KEY, LEAGUE, "R1M1", 2, "REF01"),
            made(KEY, LEAGUE, "R1M1", 1, "REF02"),
            made(KEY, "another_league", "R1M1", 1, "REF01"),
            tokens.manager_to_agent(KEY, LEAGUE, "P01"),
            tokens.player_to_referee(KEY, LEAGUE, "R1M1", 1, "REF01"),
        ):
            assert (await stage.refused(parity_call(token=wrong)))["code"] == 4001

    played(scene, stage)


def test_a_new_attempt_is_played_with_its_new_referee_and_the_old_one_is_refused(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        await stage.call(invitation())
        ack = await stage.call(invitation(attempt=2, referee="REF02"))
        assert ack.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 2, "REF02")
        # The old referee's invitation comes late: it is answered, but the match stays with the new one.
        late = await stage.call(invitation())
        assert late.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 1, "REF01")
        assert (await stage.refused(game_over(winner="P02")))["code"] == 4001
        answered = await stage.call(parity_call(attempt=2, referee="REF02"))
        assert answered.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 2, "REF02")

    played(scene, stage)


def test_a_player_that_forgot_the_invitation_recognises_the_attempt_by_its_token(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        answered = await stage.call(parity_call(attempt=3))
        assert answered.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 3, "REF01")

    played(scene, stage)


@pytest.mark.proves("001-L0999")
def test_what_is_meant_for_another_player_is_refused(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        refusal = await stage.refused(invitation(player_id="P02"))
        assert (refusal["code"], refusal["message"]) == (4002, "Player not found")
        assert (await stage.refused(parity_call(player_id="P02")))["data"]["error_code"] == "E005"

    played(scene, stage)


@pytest.mark.proves("001-L0472")
def test_before_it_has_registered_a_player_says_so(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        refusal = await stage.refused(announcement())
        assert (refusal["code"], refusal["message"]) == (3002, "Player not registered")

    played(scene, stage, registered=False)


def test_a_call_that_overtakes_the_registrations_answer_waits_for_it(stage: Stage) -> None:
    answering, released = stage.manager.handle, asyncio.Event()

    async def late(body: bytes, peer: Peer) -> bytes | None:
        answered = await answering(body, peer)
        if b"register_player" in body:
            await released.wait()
        return answered

    stage.network.close(MANAGER_URL)
    stage.network.listen(MANAGER_URL, late)

    async def scene(stage: Stage) -> None:
        registering = asyncio.ensure_future(stage.agent.register())
        await asyncio.sleep(1)
        # It has asked and waits, but answers within the time limit of every call.
        assert (await stage.refused(announcement()))["code"] == 3002
        assert asyncio.get_running_loop().time() - 1 < 3
        calling = asyncio.ensure_future(stage.call(announcement()))
        await asyncio.sleep(1)
        released.set()
        assert (await calling).player_id == "P01"
        await registering

    played(scene, stage, registered=False)


def test_a_manager_that_gives_neither_token_nor_league_is_played_under_all_the_same(tmp_path: Path) -> None:
    said = {"status": "ACCEPTED", "player_id": "P01", "token_scheme": "derived"}

    async def scene(stage: Stage) -> None:
        assert (await stage.call(announcement(token=""))).auth_token is UNSET
        assert (await stage.call(invitation(token=""))).auth_token is UNSET
        await stage.call(game_over(token=""))

    stage = Stage(tmp_path, said=said)
    played(scene, stage)
    assert stage.saved()["league_id"] == LEAGUE
    assert not stage.agent.registrar.folder(LEAGUE).exists()


# What else may come.


def test_anybody_may_ping_a_player_and_ask_for_its_state(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        for params in (b"{}", b'{"anything":1}', b"[]"):
            assert (await stage.raw("ping", params))["result"]["status"] == "ok"
        await stage.call(invitation())
        await stage.call(parity_call())
        found = await stage.state()
        assert found["state"] == "WAITING_FOR_RESULT"
        # What it chose is nobody's business before the match is over.
        assert found["matches"] == []
        assert "even" not in json.dumps(found).replace(LEAGUE, "")

    played(scene, stage)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"[]", -32600),
        (b'{"jsonrpc":"2.0","method":"register_player","params":{},"id":1}', -32601),
        (b'{"jsonrpc":"2.0","method":"notify_round","params":{},"id":1}', -32602),
        (b'{"jsonrpc":"2.0","method":"notify_round","id":1}', -32602),
    ],
)
def test_what_makes_no_sense_is_answered_with_an_error(stage: Stage, body: bytes, code: int) -> None:
    async def scene(stage: Stage) -> None:
        came = await stage.agent.handle(body, Peer("127.0.0.1"))
        assert json.loads(came or b"")["error"]["code"] == code

    played(scene, stage)


@pytest.mark.parametrize("build", CALLS)
@pytest.mark.proves(
    "001-L0470", "001-L0634", "001-L0731", "001-L0883", "001-L0997", "001-L1303", "000-L1430",
)  # fmt: skip
def test_a_message_that_lacks_a_field_is_refused_with_what_is_missing(stage: Stage, build: Any) -> None:
    async def scene(stage: Stage) -> None:
        message = build()
        params = msgspec.to_builtins(message)
        del params["conversation_id"]
        refusal = (await stage.raw(BY_REQUEST[type(message)].name, msgspec.json.encode(params)))["error"]
        assert (refusal["code"], refusal["message"]) == (-32602, "Invalid params")
        assert refusal["data"]["error_code"] == "E003"
        assert "conversation_id: missing" in refusal["data"]["context"]["detail"]

    played(scene, stage)


def test_a_notification_is_heeded_and_not_answered(stage: Stage) -> None:
    async def scene(stage: Stage) -> None:
        body = b'{"jsonrpc":"2.0","method":"notify_round","params":%b}' % encode(announcement())
        assert await stage.agent.handle(body, Peer("127.0.0.1")) is None
        assert stage.agent.round_id == 1

    played(scene, stage)


@pytest.mark.proves("003-L0296a")
def test_a_player_calls_nobody_but_its_manager(stage: Stage) -> None:
    called: list[str] = []

    async def scene(stage: Stage) -> None:
        stage.network.tap = lambda caller, url, *_: called.append(url) if caller is stage.world.caller else None
        await stage.agent.register()
        for build in CALLS:
            await stage.call(build())

    played(scene, stage, registered=False)
    assert set(called) == {MANAGER_URL}


# What an author writes.


def choose(ctx: Context) -> str:
    return "even"


def test_a_player_is_one_function() -> None:
    assert leaguekit.Player is Player
    assert leaguekit.Context is Context
    assert Player.from_function(choose).name == "choose"
    named = Player.from_function(choose, name="Agent Alpha", games=["even_odd"], version="2.0.1")
    assert (named.name, named.strategy, named.games, named.version) == ("Agent Alpha", choose, ("even_odd",), "2.0.1")


@pytest.mark.parametrize(
    ("arguments", "more", "error"),
    [
        (("", choose), {}, ValueError),
        (("x" * 51, choose), {}, ValueError),
        (("Agent Alpha", "random"), {}, TypeError),
        (("Agent Alpha", choose), {"games": []}, ValueError),
        (("Agent Alpha", choose), {"games": "even_odd"}, ValueError),
        (("Agent Alpha", choose), {"version": "one"}, ValueError),
    ],
)
def test_what_no_league_would_take_is_refused_when_it_is_written(arguments: tuple, more: dict, error: type) -> None:
    with pytest.raises(error):
        Player(*arguments, **more)


def test_a_player_plays_the_games_that_its_strategy_can() -> None:
    assert Player("me", STRATEGIES["always_odd"]).games == ("even_odd",)
    assert Player("me", STRATEGIES["random"]).games == tuple(GAMES)
    assert Player("me", lambda ctx: 4).games == tuple(GAMES)
    with pytest.raises(ValueError, match="the strategy always_odd cannot play tic_tac_toe; these can: random, "):
        Player("me", STRATEGIES["always_odd"], games=["even_odd", "tic_tac_toe"])


def test_the_first_player_listens_at_port_8101() -> None:
    assert signature(Player.run).parameters["port"].default == 8101


def test_the_package_exports_what_it_says_and_nothing_else_by_accident() -> None:
    assert leaguekit.__all__ == ["Context", "Move", "Player", "__version__", "llm"]
    assert all(getattr(leaguekit, name) for name in leaguekit.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Referee'"):
        leaguekit.Referee  # noqa: B018


# The whole program, over real sockets.


def test_a_busy_port_is_told_with_what_to_do(tmp_path: Path) -> None:
    with closing(listen("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        with pytest.raises(CannotListen, match=f"Port {port} at 127.0.0.1 is in use"):
            Player("Agent Alpha", choose).run(port=port, data_dir=tmp_path)


def test_a_players_own_command_says_in_a_sentence_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    player, files = Player("Agent Alpha", choose), ["--data-dir", str(tmp_path)]
    with closing(listen("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        assert player.main(["--port", str(port), *files]) == 2
    assert player.main(["--port", "0", "--manager", "nowhere", *files]) == 2
    taken, nowhere = capsys.readouterr().err.splitlines()
    assert taken.startswith(f"Agent Alpha: Port {port} at 127.0.0.1 is in use")
    assert nowhere.endswith("Give the manager's URL as http://HOST:PORT/mcp.")


def test_a_players_own_command_has_the_options_of_run(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        Player("Agent Alpha", choose).main(["--help"])
    shown = capsys.readouterr().out
    names = [name for name in signature(Player.run).parameters if name != "self"]
    assert [name for name in names if f"--{name.replace('_', '-')}" not in shown] == []


@pytest.mark.parametrize(
    ("host", "family", "manager", "url"),
    [
        ("127.0.0.1", socket.AF_INET, MANAGER_URL, "http://127.0.0.1:8101/mcp"),
        ("::1", socket.AF_INET6, MANAGER_URL, "http://[::1]:8101/mcp"),
        ("0.0.0.0", socket.AF_INET, MANAGER_URL, "http://127.0.0.1:8101/mcp"),
        ("0.0.0.0", socket.AF_INET, "no address", "http://0.0.0.0:8101/mcp"),
    ],
)
def test_a_player_names_an_address_at_which_its_manager_can_reach_it(
    host: str, family: int, manager: str, url: str
) -> None:
    # Stands for a socket, for a test must not really listen everywhere.
    sock = SimpleNamespace(family=family, getsockname=lambda: (host, 8101))
    assert endpoint_of(sock, manager) == url  # type: ignore[arg-type]


def test_a_player_that_is_to_stay_stays_after_the_end_of_the_league(tmp_path: Path) -> None:
    package = logging.getLogger("leaguekit")
    before = ([*package.handlers], package.level, package.propagate)

    async def main() -> bytes:
        manager, caller = ScriptedManager(DERIVED), HttpCaller(AddressPolicy.local())
        answer = of_requests(manager.handle)
        server = Server(answer, sockets=[listen("127.0.0.1", 0)], max_bytes=100_000, too_large=b"{}")
        await server.start()
        sock = listen("127.0.0.1", 0)
        url = f"http://127.0.0.1:{sock.getsockname()[1]}/mcp"
        manager_url = f"http://127.0.0.1:{server.port}/mcp"
        agent = PlayerAgent(Player("Agent Alpha", choose), World(caller, tmp_path), manager_url, url)
        serving = asyncio.ensure_future(serve(agent, sock, player_refusal, stay=True))
        await manager.came.wait()
        await caller.post(url, request("notify_league_completed", encode(league_completed()), 1), 10)
        await agent.finished.wait()
        answered = (await caller.post(url, request("get_player_state", b"{}", 2), 10)).body
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await caller.close()
        await server.stop()
        return answered

    assert json.loads(asyncio.run(main()))["result"]["league_completed"] is True
    assert json.loads((tmp_path / "data/players/P01/history.json").read_text())["final"] is not None
    assert ([*package.handlers], package.level, package.propagate) == before


PROGRAM = """
import sys
from leaguekit import Player

def choose(ctx):
    if ctx.round_id is None:
        raise ValueError("no idea")
    return "odd"

sys.exit(Player("Agent Alpha", choose).run(sys.argv[1], port=0, data_dir=sys.argv[2]))
"""


async def started(tmp_path: Path, manager: ScriptedManager) -> tuple[Server, HttpCaller, asyncio.subprocess.Process]:
    sock = listen("127.0.0.1", 0)
    server = Server(of_requests(manager.handle), sockets=[sock], max_bytes=100_000, too_large=b"{}")
    await server.start()
    url = f"http://127.0.0.1:{server.port}/mcp"
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, url, str(tmp_path), stderr=subprocess.PIPE
    )
    return server, HttpCaller(AddressPolicy.local()), program


async def asked(manager: ScriptedManager) -> str:
    """The player's address, as soon as it has asked to be registered."""
    await manager.came.wait()
    return manager.registrations[0].player_meta.contact_endpoint


@pytest.mark.proves(
    "000-L1454", "003-L0194", "001-L0890", "002-L0183", "003-L0037",
)  # fmt: skip
def test_the_program_plays_over_real_sockets_saves_and_exits_with_0(tmp_path: Path) -> None:
    async def main() -> tuple[list[m.Message], int, str]:
        manager = ScriptedManager(DERIVED)
        server, caller, program = await started(tmp_path, manager)
        url = await asked(manager)
        answers = []
        for build in (announcement, invitation, parity_call, game_over, standings, round_completed, league_completed):
            message = build()
            came = await caller.post(url, request(BY_REQUEST[type(message)].name, encode(message), 1), 10)
            result = json.loads(came.body)["result"]
            assert violations(result) == []
            answers.append(decode(json.dumps(result).encode()))
        _, printed = await program.communicate()
        await caller.close()
        await server.stop()
        return answers, program.returncode or 0, printed.decode()

    answers, code, printed = asyncio.run(main())
    assert code == 0, printed
    assert [m.message_type(one) for one in answers] == [
        "ROUND_ANNOUNCEMENT_ACK",
        "GAME_JOIN_ACK",
        "CHOOSE_PARITY_RESPONSE",
        "GAME_OVER_ACK",
        "STANDINGS_UPDATE_ACK",
        "ROUND_COMPLETED_ACK",
        "LEAGUE_COMPLETED_ACK",
    ]
    assert answers[2].parity_choice == "odd"
    saved = json.loads((tmp_path / "data/players/P01/history.json").read_text())
    assert saved["final"]["standing"]["rank"] == 1
    lines = (tmp_path / "agents" / LEAGUE / "player-Agent%20Alpha" / "log.jsonl").read_text().splitlines()
    logged = [json.loads(line) for line in lines]
    assert {line["agent_id"] for line in logged} == {"P01"}
    assert [line["message_type"] for line in logged] == ["GAME_OVER", "LEAGUE_COMPLETED"]
    assert "Agent Alpha is P01 in league_2025_even_odd" in printed
    assert "R1M1: WIN. P01 chose even, and 8 is even" in printed


def test_the_program_ends_cleanly_on_ctrl_c(tmp_path: Path) -> None:
    async def main() -> tuple[int | None, str]:
        manager = ScriptedManager(DERIVED)
        server, caller, program = await started(tmp_path, manager)
        url = await asked(manager)
        # It answers, so it is past the start.
        await caller.post(url, request("ping", b"{}", 1), 10)
        os.kill(program.pid, signal.SIGINT)
        _, printed = await program.communicate()
        await caller.close()
        await server.stop()
        return program.returncode, printed.decode()

    code, printed = asyncio.run(main())
    assert code == 130
    assert "Traceback" not in printed


def test_a_program_whose_registration_is_refused_says_why_and_fails(tmp_path: Path) -> None:
    async def main() -> tuple[int | None, str]:
        manager = ScriptedManager(ProtocolError("E047"))
        server, caller, program = await started(tmp_path, manager)
        _, printed = await program.communicate()
        await caller.close()
        await server.stop()
        return program.returncode, printed.decode()

    code, printed = asyncio.run(main())
    assert code == 1
    assert printed.splitlines()[-1].endswith("Choose a different display_name.")
