"""``league players``: many players in one process, for load and practice."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import socket
from collections.abc import Sequence

import msgspec

from leaguekit.agents.credentials import TokenOwner
from leaguekit.agents.logs import log_to, silenced_logging
from leaguekit.agents.registration import RegistrationRefused
from leaguekit.agents.server import agent_server
from leaguekit.agents.serving import run_until
from leaguekit.agents.world import World
from leaguekit.cli import CommandError, add_data_dir_option, add_manager_option, program
from leaguekit.cli.arguments import add_own_game_option
from leaguekit.cli.commands.player import add_move_delay_option, delayed
from leaguekit.cli.run_agents import Member
from leaguekit.cli.tables import total_origins, warn_of_replaced_moves
from leaguekit.league.commands.registration import HAS_LEFT
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.player.strategy_loading import OWN_STRATEGY, load
from leaguekit.protocol.codes import without_codes
from leaguekit.protocol.refusals import player_refusal
from leaguekit.protocol.rpc import RpcRequest
from leaguekit.store.base import StoreError
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import Peer
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import listen

EXAMPLES = f"""examples:
  league players --count 7                                  opponents to practise with
  league players --count 200 --port 0 --manager http://127.0.0.1:8000/mcp
  league players --count 10 --strategy frequency,random --name Bot

Player n listens at port BASE + n - 1 and is called PREFIX n. The players take the strategies in turn. All share one
process, so an author's own strategy that blocks slows the others down. The command ends when the league is over for all
of them. The exit code is 0 if all took part, 1 if some were refused, 130 after Ctrl-C.
Strategies: {", ".join(STRATEGIES)}, or {OWN_STRATEGY}.
"""
# The manager calls each applicant back, and limits the registrations per second from one address.
MAX_CONCURRENT_REGISTRATIONS = 8
PROGRESS_SECONDS = 2.0
# The socket of a player, one connection from the manager, and one from a referee.
FILES_PER_PLAYER = 3


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", metavar="N", type=int, default=2, help="how many players (default 2)")
    add_manager_option(parser)
    parser.add_argument("--strategy", metavar="A,B,…", default="random", help="default random")
    parser.add_argument("--name", metavar="PREFIX", default="Player", help="default Player")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (default 127.0.0.1)")
    parser.add_argument("--port", metavar="BASE", type=int, default=8101, help="default 8101; 0 takes free ones")
    parser.add_argument("--seed", metavar="N", type=int, help="make the strategies' chance repeatable")
    add_move_delay_option(parser)
    add_own_game_option(parser, ", if a strategy needs its rules")
    add_data_dir_option(parser, "default SHARED")
    # For `league run`: the players, their sockets in the same order, and a pipe that closes when the parent ends.
    parser.add_argument("--members", help=argparse.SUPPRESS)
    parser.add_argument("--socket-fd", help=argparse.SUPPRESS)
    parser.add_argument("--parent-fd", type=int, help=argparse.SUPPRESS)


def run(options: argparse.Namespace) -> int:
    if options.count < 1:
        raise CommandError(f"--count must be at least 1, got {options.count}")
    if options.port and options.port + options.count - 1 > 65_535:
        raise CommandError(f"{options.count} ports from {options.port} on go beyond 65535; take a lower --port, or 0")
    if options.count > 1 and without_codes(options.manager) != options.manager:
        raise CommandError("a seat is one player's: give the manager's URL without a code, or --count 1")
    members = _members_of(options)
    program.check_file_limit(FILES_PER_PLAYER * len(members))
    try:
        strategies = {name: load(name) for name in dict.fromkeys(one.strategy for one in members)}
        delay = options.move_delay or 0
        players = [Player(one.name, delayed(strategies[one.strategy], delay)) for one in members]
    except ValueError as error:
        raise CommandError(str(error)) from None
    return program.run(lambda stop: _serve(options, members, players, stop), options.parent_fd)


def _members_of(options: argparse.Namespace) -> list[Member]:
    """The players of this process: those that `league run` names, or --count of them."""
    if options.members is not None:
        return msgspec.json.decode(options.members, type=list[Member])
    strategies, base = options.strategy.split(","), options.port
    return [
        Member(f"{options.name} {number + 1}", strategies[number % len(strategies)], base and base + number)
        for number in range(options.count)
    ]


async def _serve(
    options: argparse.Namespace, members: Sequence[Member], players: Sequence[Player], stop: program.Stop
) -> int:
    with contextlib.ExitStack() as opened:
        if options.socket_fd is not None:
            sockets = [socket.socket(fileno=int(number)) for number in options.socket_fd.split(",")]
        else:
            sockets = [opened.enter_context(contextlib.closing(listen(options.host, one.port))) for one in members]
        caller = HttpCaller(AddressPolicy.only(options.manager))
        world = World(caller, options.data_dir)
        group = _PlayerGroup(
            [
                PlayerAgent(
                    player,
                    world,
                    options.manager,
                    program.url_of_socket(sock, options.manager),
                    seed=options.seed,
                    wanted_id=member.wanted_id,
                )
                for member, player, sock in zip(members, players, sockets, strict=True)
            ],
            sockets,
            None if options.members is None else (members[0].wanted_id, members[-1].wanted_id),
        )
        try:
            return await group.serve(stop)
        finally:
            await caller.close()


class _PlayerGroup:
    """Many players behind one server, distinguished by the port at which they are called.

    ``ids`` are those of the first and the last player that `league run` starts. Then it is an error if the league
    refuses a player that has not left it.
    """

    def __init__(
        self, agents: list[PlayerAgent], sockets: list[socket.socket], ids: tuple[str | None, str | None] | None
    ) -> None:
        self._agents = agents
        self._sockets = sockets
        self._is_of_run = ids is not None
        # Processes must not share a log.
        self._log_name = "players" if ids is None else f"players_{ids[0]}_{ids[1]}"
        self._by_port = {sock.getsockname()[1]: agent for agent, sock in zip(agents, sockets, strict=True)}
        # A few register one after the other, so that their ids are in the order of their names.
        slots = MAX_CONCURRENT_REGISTRATIONS if len(agents) > MAX_CONCURRENT_REGISTRATIONS else 1
        self._registration_slots = asyncio.Semaphore(slots)
        self._registered = 0
        self._refusals: list[str] = []

    async def answer(self, request: RpcRequest, peer: Peer) -> bytes | None:
        return await self._by_port[peer.server[1]].answer(request, peer)

    def admits_large_body(self, beginning: bytes, peer: Peer) -> bool:
        return self._by_port[peer.server[1]].admits_large_body(beginning, peer)

    def identify_sender(self, beginning: bytes, peer: Peer) -> TokenOwner | None:
        return self._by_port[peer.server[1]].identify_sender(beginning, peer)

    async def serve(self, stop: program.Stop) -> int:
        """Register all players and serve them until their league is over or ``stop`` is set. Returns the exit code."""
        registrar = self._agents[0].registrar
        server = agent_server(
            self.answer,
            self._sockets,
            player_refusal,
            registrar.endpoint,
            admits_large_body=self.admits_large_body,
            identify_sender=self.identify_sender,
        )
        await server.start()
        ports = sorted(self._by_port)
        is_consecutive = ports == [*range(ports[0], ports[-1] + 1)]
        where = f"ports {ports[0]} to {ports[-1]}" if is_consecutive else "free ports"
        program.print_notice(
            f"{len(ports)} players listen at {where} and register at {without_codes(registrar.manager_url)}"
        )
        progress = asyncio.create_task(self._report_progress())
        try:
            await run_until(stop, self._play_league(progress))
        finally:
            progress.cancel()
            await server.stop()
            for agent in self._agents:
                await agent.close()
        if stop.is_set():
            return 130
        program.print_notice("The league is over.")
        moves = {agent.player.name: agent.origins for agent in self._agents}
        program.print_notice(f"Moves since they were started: {total_origins(moves.values())}")
        warn_of_replaced_moves(moves)
        return 1 if self._refusals and not self._is_of_run else 0

    async def _play_league(self, progress: asyncio.Task[None]) -> None:
        # Two hundred players would log the same two hundred times.
        with silenced_logging():
            await asyncio.gather(*map(self._register, self._agents))
        progress.cancel()
        unexpected = [why for why in self._refusals if HAS_LEFT not in why] if self._is_of_run else []
        if unexpected or not self._registered:
            raise CommandError((unexpected or self._refusals)[0])
        program.print_notice(f"{self._registered} players are registered")
        registered = [agent for agent in self._agents if agent.identity is not None]
        # One log for all players: the match and the conversation in a record show whose it is.
        folder = registered[0].registrar.folder(registered[0].league_id).with_name(self._log_name)
        with log_to(folder / "log.jsonl", self._log_name):
            await asyncio.gather(*(agent.finished.wait() for agent in registered))

    async def _register(self, agent: PlayerAgent) -> None:
        async with self._registration_slots:
            try:
                await agent.register()
                self._registered += 1
            except (RegistrationRefused, StoreError) as error:
                self._refusals.append(str(error))
                if len(self._refusals) == 1:
                    program.print_notice(f"{agent.player.name} is not taken: {error}")

    async def _report_progress(self) -> None:
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            note = f", {len(self._refusals)} refused" if self._refusals else ""
            if not (self._registered or self._refusals):
                note = "; is the manager there?"
            program.print_notice(f"{self._registered} of {len(self._agents)} are registered{note}")
