"""The player as its author writes it, and the whole program over real sockets."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import pytest

import leaguekit
from leaguekit.agents.serving import endpoint_of, serve
from leaguekit.agents.world import World
from leaguekit.games import GAMES
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.context import Context
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import decode, encode, violations
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.refusals import player_refusal
from leaguekit.protocol.rpc import request
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import CannotListen, Server, listen
from tests.marks import proves
from tests.player.player_setup import (
    DERIVED,
    LEAGUE,
    MANAGER_URL,
    ScriptedManager,
    announcement,
    game_over,
    invitation,
    league_completed,
    parity_call,
    round_completed,
    standings,
)
from tests.transport.running import of_requests

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


def test_a_players_own_command_takes_the_seat_code_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    managers = list[str]()

    class Noting(Player):
        def run(self, manager: str = "http://127.0.0.1:8000/mcp", **_options: object) -> int:
            managers.append(manager)
            return 0

    player, given = Noting("Agent Alpha", choose), "http://10.0.0.5:8000/mcp?seat=OTHER"
    monkeypatch.setattr(Noting.run, "__signature__", signature(Player.run), raising=False)
    for code in ("7K2M-Q9XD-0RTB-5HVN", ""):
        monkeypatch.setenv("LEAGUE_SEAT", code)
        assert player.main(["--manager", given]) == 0
    assert managers == ["http://10.0.0.5:8000/mcp?seat=7K2M-Q9XD-0RTB-5HVN", given]


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
    # This replaces a socket: a test must not listen at every address.
    sock = SimpleNamespace(family=family, getsockname=lambda: (host, 8101))
    assert endpoint_of(sock, manager) == url  # type: ignore[arg-type]


def test_a_player_that_is_to_stay_stays_after_the_end_of_the_league(tmp_path: Path) -> None:
    package = logging.getLogger("leaguekit")
    before = ([*package.handlers], package.level, package.propagate)

    async def main() -> bytes:
        manager, caller = ScriptedManager(DERIVED), HttpCaller(AddressPolicy.local())
        handler = of_requests(manager.handle)
        server = Server(handler, sockets=[listen("127.0.0.1", 0)], max_bytes=100_000, too_large=b"{}")
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
    """The player's endpoint, when it has sent its registration."""
    await manager.came.wait()
    return manager.registrations[0].player_meta.contact_endpoint


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
    assert "R1M1: WIN. Agent Alpha (P01) chose even, and 8 is even" in printed


proves(
    test_the_program_plays_over_real_sockets_saves_and_exits_with_0,
    "000-L1454", "003-L0194", "001-L0890", "002-L0183", "003-L0037",
)  # fmt: skip


def test_the_program_ends_cleanly_on_ctrl_c(tmp_path: Path) -> None:
    async def main() -> tuple[int | None, str]:
        manager = ScriptedManager(DERIVED)
        server, caller, program = await started(tmp_path, manager)
        url = await asked(manager)
        # The program answers, so its start is complete.
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
