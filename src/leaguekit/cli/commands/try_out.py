"""``league try``: play a friendly match of an agent against a built-in player, and display every message."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import secrets
import socket
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from leaguekit.agents.calls import claimed_identity, ping
from leaguekit.agents.game_loading import known_name
from leaguekit.agents.logs import silenced_logging
from leaguekit.agents.server import agent_server
from leaguekit.agents.serving import Agent, run_until
from leaguekit.agents.world import World
from leaguekit.cli import CommandError, program
from leaguekit.cli.arguments import add_game_option
from leaguekit.cli.exchange_display import DisplayingCaller, ExchangeDisplay
from leaguekit.games import find_game
from leaguekit.games.base import DEFAULT_GAME
from leaguekit.kit import friendly_match
from leaguekit.league.settings import Settings, with_game
from leaguekit.manager.manager import Manager
from leaguekit.manager.server import manager_server
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.context import PastMatch
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES, check_can_play
from leaguekit.player.strategy_loading import OWN_STRATEGY, load
from leaguekit.protocol.codes import ENTROPY_BYTES, new_code, with_code
from leaguekit.protocol.fields import PlayerId
from leaguekit.protocol.patterns import valid
from leaguekit.protocol.refusals import Refuse, player_refusal
from leaguekit.protocol.rpc import RpcRequest
from leaguekit.referee.match_runner import MatchRunner
from leaguekit.referee.open_player_client import DialectMemory, OpenPlayerClient
from leaguekit.referee.player_client import PlayerClient
from leaguekit.referee.referee import RefereeAgent
from leaguekit.store.memory import MemoryLog
from leaguekit.transport.base import CallerLate, CallFailed, Handler, Peer
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import CannotListen, Server, listen

EXAMPLES = f"""examples:
  league try                                     wait for an agent to register here, and play with it
  league try http://127.0.0.1:8101/mcp           an agent that is running, registered or not
  league try --game tic_tac_toe --opponent frequency
  league try --json > messages.jsonl             every message in full, one per line

Without a URL the command is the agent's manager, referee and opponent in a league of one match. Start the agent with
--manager http://127.0.0.1:8000/mcp, or with the port that is printed. With a URL the command is the referee and the
opponent. If the agent there says that it has not registered yet, the command waits for its registration.
Each call for a move, and the result, is followed by the board with the moves of both sides, if the game has one.
The exit code is 0 if the match was played, every message of the agent was right, and no move replaced one of its
strategy, by the agent's own statement. It is 1 otherwise.
Opponents: {", ".join(STRATEGIES)}, or {OWN_STRATEGY}.
"""
OPPONENT = "Opponent"
LOOPBACK = "127.0.0.1"
PING_SECONDS = 5.0
HINT_SECONDS = 15.0
MATCH = "R1M1"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", nargs="?", help="where the agent listens")
    add_game_option(parser, DEFAULT_GAME)
    parser.add_argument("--opponent", metavar="STRATEGY", default="random", help="default random")
    parser.add_argument("--json", action="store_true", help="every message in full, one JSON object per line")
    parser.add_argument("--host", default=LOOPBACK, help=f"the address to listen at (default {LOOPBACK})")
    parser.add_argument("--port", type=int, default=8000, help="the port (default 8000; 0 takes a free one)")
    parser.add_argument(
        "--profile",
        choices=["spec", "open"],
        default="spec",
        help="open: accept agents that deviate from the specification (default spec)",
    )
    program.add_allow_option(parser)


def run(options: argparse.Namespace) -> int:
    options.game = known_name(options.game)
    strategy = load(options.opponent)
    check_can_play(options.opponent, strategy, options.game)
    opponent = Player(OPPONENT, strategy)
    # The display has everything that matters, so the logs of our own agents are not needed.
    with silenced_logging():
        return program.run(lambda stop: _try(options, opponent, stop))


async def _try(options: argparse.Namespace, opponent: Player, stop: program.Stop) -> int:
    with TemporaryDirectory() as folder, contextlib.ExitStack() as opened:
        match = _FriendlyMatch(options, opponent, opened, Path(folder))
        try:
            code = await run_until(stop, match.play())
        finally:
            await match.caller.close()
    return 130 if code is None else code


class _FriendlyMatch:
    """The agent that is tried, and our own agents, each with its own socket."""

    def __init__(
        self, options: argparse.Namespace, opponent: Player, opened: contextlib.ExitStack, folder: Path
    ) -> None:
        self._options = options
        self._opponent = opponent
        self._opened = opened
        self._folder = folder
        # Our agents call the manager at another port than the agent, so that its requests can be distinguished.
        self._sockets = {name: self._listen(LOOPBACK, 0) for name in ("opponent", "referee", "manager")}
        self._urls = {name: program.url_of_socket(sock) for name, sock in self._sockets.items()}
        policy = program.policy_for(options).trusting(options.url or "", *self._urls.values())
        self.caller = HttpCaller(policy)
        self._display = ExchangeDisplay(
            find_game(options.game), as_json=options.json, is_open=options.profile == "open"
        )
        self._displaying_caller = DisplayingCaller(self.caller, self._display, self._urls.values())

    def _listen(self, host: str, port: int) -> socket.socket:
        try:
            return self._opened.enter_context(contextlib.closing(listen(host, port)))
        except CannotListen as error:
            raise CommandError(f"{error} With another --port, give the agent that port as its manager's.") from None

    def _server(self, agent: Agent, name: str, refuse: Refuse) -> Server:
        return agent_server(
            agent.answer,
            [self._sockets[name]],
            refuse,
            admits_large_body=agent.admits_large_body,
            identify_sender=agent.identify_sender,
        )

    async def play(self) -> int:
        """Play the match. Returns the exit code."""
        url = self._options.url
        if url is None:
            return await self._play_as_manager("")
        try:
            player_id, league_id = claimed_identity(await ping(self.caller, url, PING_SECONDS)) or ("P01", None)
        except (CallFailed, CallerLate) as failure:
            raise CommandError(f"{failure}; start the agent first, and give its URL as http://HOST:PORT/mcp") from None
        if player_id is None:
            return await self._play_as_manager(f"The agent at {url} has not registered yet. ")
        if league_id is not None:
            program.print_notice(
                f"The agent is {player_id} in {league_id}. If it plays with nobody else, run `league try` without a "
                "URL, and start it again with the manager's URL that is printed."
            )
        return await self._play_as_referee(url, player_id if valid(PlayerId, player_id) else "P01")

    async def _play_as_referee(self, url: str, player_id: str) -> int:
        """Play a match without a league, with the id that the agent says it has."""
        world, own = World(self._displaying_caller, self._folder), World(self.caller, self._folder)
        other = "P02" if player_id != "P02" else "P01"
        ours = friendly_match.unregistered_player(self._opponent, own, other, self._urls["opponent"])
        seats = (
            friendly_match.assigned_player(player_id, url),
            friendly_match.assigned_player(other, self._urls["opponent"]),
        )
        assignment = friendly_match.assignment(world, seats, self._options.game, secrets.token_bytes(32))
        server = self._server(ours, "opponent", player_refusal)
        await server.start()
        make_client = (
            partial(OpenPlayerClient, memory=DialectMemory()) if self._options.profile == "open" else PlayerClient
        )
        match = MatchRunner(world, assignment, friendly_match.REFEREE, lambda _match: None, make_client)
        try:
            await friendly_match.play(match)
        finally:
            await match.close()
            await server.stop()
            await ours.close()
        return self._print_outcome(ours.history.get(MATCH))

    async def _play_as_manager(self, why: str) -> int:
        """Play a league of one match."""
        options = self._options
        agent_socket = self._listen(options.host, options.port)
        endpoint = program.url_of_socket(agent_socket, program.outward_url(options))
        settings = with_game(
            Settings(
                league_id=f"friendly_{secrets.token_hex(4)}",
                game_type=options.game,
                max_players=2,
                max_referees=1,
                announce_lead=0.0,
                profile=options.profile,
                seed_hex=secrets.token_hex(32),
            )
        )
        code = new_code(secrets.token_bytes(ENTROPY_BYTES))
        world = World(self._displaying_caller, self._folder)
        manager = Manager(world, MemoryLog(), settings, endpoint, secrets.token_hex(), referee_code=code)
        await manager.open()
        manager.runner.start_when = (2, 1)
        handler = _displaying_handler(agent_socket.getsockname()[1], manager.answer, self._display)
        own_url = self._urls["manager"]
        referee = RefereeAgent(
            world, manager_url=with_code(own_url, "referee", code), endpoint=self._urls["referee"], name="Referee"
        )
        ours = PlayerAgent(self._opponent, World(self.caller, self._folder), own_url, self._urls["opponent"])
        servers = [
            manager_server(manager, self._sockets["manager"], handler=handler),
            self._server(referee, "referee", referee.refuse),
            self._server(ours, "opponent", player_refusal),
            manager_server(manager, agent_socket, handler=handler),
        ]
        hint = asyncio.get_running_loop().call_later(HINT_SECONDS, self._remind, manager, endpoint)
        try:
            for server in servers[:-1]:
                await server.start()
            await referee.register()
            await ours.register()
            # Our player registers first, so the agent is always P02.
            await servers[-1].start()
            program.print_notice(f"{why}Waiting for an agent to register at {endpoint}")
            await manager.run()
        finally:
            hint.cancel()
            for server in servers:
                await server.stop()
            for agent in (referee, ours, manager):
                await agent.close()
        return self._print_outcome(ours.history.get(MATCH))

    def _remind(self, manager: Manager, endpoint: str) -> None:
        if len(manager.ledger.league.players) < 2:
            program.print_notice(
                f"Nothing has registered yet. Is the agent running, with {endpoint} as its manager's URL?"
            )

    def _print_outcome(self, match: PastMatch | None) -> int:
        """Print the outcome, as the opponent received it. Returns the exit code."""
        if match is None:
            raise CommandError("the match has no result")
        result = {"WIN": "LOSS", "LOSS": "WIN"}.get(match.result, match.result)
        lost_technically = match.technical and result == "LOSS"
        outcome = {"result": result, "technical": match.technical, "reason": match.reason}
        words = {"WIN": "Your agent won", "DRAW": "A draw", "LOSS": "Your agent lost"}[result]
        text = f"{words}{' without play' if match.technical else ''}: {match.reason}."
        if faults := self._display.faults:
            count = "once" if faults == 1 else f"{faults} times"
            text += f"\nSomething was wrong {count}; `league check player` looks at everything."
        origins = self._display.origins
        if replaced := origins.describe_replaced("its strategy"):
            text += f"\nBut {replaced}."
        self._display.end(outcome | {"faults": self._display.faults, "moves": msgspec.to_builtins(origins)}, text)
        return int(bool(self._display.faults or origins.replaced) or lost_technically)


def _displaying_handler(port: int, handler: Handler, display: ExchangeDisplay) -> Handler:
    """A handler that displays requests to one port, and their answers."""

    async def displayed(request: RpcRequest, peer: Peer) -> bytes | None:
        if peer.server[1] != port:
            return await handler(request, peer)
        display.from_agent(request.body)
        answer = await handler(request, peer)
        if answer is not None:
            display.to_agent(answer)
        return answer

    return displayed
