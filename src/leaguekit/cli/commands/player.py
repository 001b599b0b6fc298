"""``league player``: play in a league."""

from __future__ import annotations

import argparse
import asyncio
import logging
from datetime import datetime
from functools import wraps
from inspect import isawaitable
from typing import Any

from leaguekit.agents import serving
from leaguekit.agents.logs import restored_logging
from leaguekit.agents.serving import run_until
from leaguekit.agents.world import World
from leaguekit.cli import CommandError, add_manager_option, program
from leaguekit.cli.arguments import add_own_game_option
from leaguekit.games import GAMES
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.context import Context, Strategy
from leaguekit.player.player import Player
from leaguekit.player.relay import RelayClient, serve_relayed
from leaguekit.player.strategies import strategies_for
from leaguekit.player.strategy_loading import LLM, OWN_STRATEGY, load
from leaguekit.protocol.codes import mcp_url
from leaguekit.protocol.refusals import player_refusal
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller

_STRATEGIES_BY_GAME = "\n".join(f"  {game}: {', '.join(strategies_for(game))}" for game in sorted(GAMES))
EXAMPLES = f"""examples:
  league player                                        in a league on this machine
  league player --manager http://127.0.0.1:8000/mcp --port 8102 --name Bob --strategy frequency
  league player --manager http://127.0.0.1:8000/mcp --strategy my_agent:choose
  league player --manager http://127.0.0.1:8000/mcp --strategy llm --model llama3.2 \\
                --base-url http://127.0.0.1:11434/v1
  league player --manager 'http://10.0.0.5:8000/mcp?seat=7K2M-Q9XD-0RTB-5HVN'
  {serving.SEAT_VARIABLE}=7K2M-Q9XD-0RTB-5HVN league player …      the same, unseen by others on this machine
  league player --manager http://10.0.0.5:8000/mcp --relay http://10.0.0.5:8200
                                                       from behind a router, through the league's gateway
  league player --manager http://127.0.0.1:8000/mcp --profile open
                                                       under a manager that somebody else wrote

Strategies, by game:
{_STRATEGIES_BY_GAME}
or {OWN_STRATEGY}, a function of your own that is given a context and returns a move;
or llm, a language model at any OpenAI-compatible server. The model's options may also be in the environment, as
LEAGUE_LLM_MODEL and so on. The key of its server is read only from the environment.
The player registers, plays, prints each result, and ends with the league. Started again with the same name and
--data-dir, it keeps its id.
"""

PORT = 8101
MAX_NAME_LENGTH = 50
# The options of a language model, each with its metavar and its help.
_MODEL_OPTIONS = {
    "model": ("NAME", "as its server calls it"),
    "base-url": ("URL", "its server's, such as http://127.0.0.1:11434/v1 (default: OpenAI's)"),
    "api-key-env": ("VARIABLE", "the environment variable with the server's key (default OPENAI_API_KEY)"),
    "temperature": ("T", "how freely it chooses (default: the server's)"),
    "max-tokens": ("N", "in one answer (default 1000)"),
    "price-in": ("P", "of a million tokens that it is sent"),
    "price-out": ("P", "of a million tokens that it writes"),
    "max-tokens-total": ("N", "ask for no more in all; after that, it gives no move"),
    "max-cost": ("C", "spend no more in all, at those prices; after that, it gives no move"),
    "on-failure": ("random|loss", "what happens without a legal move in time (default random)"),
    "retries": ("N", "after a bad answer, say what was wrong and ask again, for one move (default 1)"),
    "legal-moves": ("shown|hidden", "whether the prompt lists the legal moves (default shown)"),
}


class ResultPrinter(logging.Handler):
    """Prints the results that a player logs, and its warnings."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING or getattr(record, "message_type", "") == "GAME_OVER":
            program.print_notice(f"{datetime.now().astimezone():%H:%M:%S} {record.getMessage()}")


def configure(parser: argparse.ArgumentParser) -> None:
    program.add_options(parser, port=PORT)
    # No defaults, so that an error can be raised if one of these is given with --relay.
    parser.set_defaults(host=None, port=None)
    add_manager_option(parser)
    parser.add_argument(
        "--relay",
        metavar="URL",
        help="receive calls through this gateway; no port is opened, so not with --host, --port and --endpoint",
    )
    parser.add_argument("--name", help="its name in the league (default: the strategy's or the model's)")
    parser.add_argument("--strategy", default="random", help=f"a name, {OWN_STRATEGY} (default random)")
    parser.add_argument(
        "--profile",
        choices=["spec", "open"],
        default="spec",
        help="open: also play under managers and referees that deviate from the specification (default spec)",
    )
    parser.add_argument("--seed", metavar="N", type=int, help="make the strategy's chance repeatable")
    add_move_delay_option(parser)
    add_own_game_option(parser, ", if the strategy needs its rules")
    parser.add_argument("--wanted-id", help=argparse.SUPPRESS)
    model_group = parser.add_argument_group("a language model, with --strategy llm")
    for name, (metavar, text) in _MODEL_OPTIONS.items():
        model_group.add_argument(f"--{name}", metavar=metavar, help=text)


def run(options: argparse.Namespace) -> int:
    try:
        name, strategy = _load_strategy(options)
        player = Player(options.name or name, delayed(strategy, options.move_delay or 0))
    except (ValueError, LookupError, ImportError) as error:
        raise CommandError(str(error)) from None
    with restored_logging("leaguekit.player.agent") as log:
        if options.parent_fd is None:
            log.addHandler(ResultPrinter())
        code = program.run(lambda stop: _serve(options, player, stop), options.parent_fd)
    if options.strategy == LLM:
        program.print_notice(f"{player.name}: {strategy}")
    return code


def add_move_delay_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--move-delay", metavar="SECONDS", type=float, help="wait before each move, so that people can watch"
    )


def delayed(strategy: Strategy, seconds: float) -> Strategy:
    """A strategy that waits before it answers, at most half of its time."""
    if not seconds:
        return strategy

    @wraps(strategy)
    async def choose(ctx: Context) -> Any:
        await asyncio.sleep(min(seconds, ctx.seconds_left / 2))
        move = strategy(ctx)
        return await move if isawaitable(move) else move

    return choose


def _load_strategy(options: argparse.Namespace) -> tuple[str, Strategy]:
    """The default name of the player, and its strategy."""
    given = {name.replace("-", "_"): getattr(options, name.replace("-", "_")) for name in _MODEL_OPTIONS}
    if options.strategy == LLM:
        from leaguekit.player.llm import from_options

        model = from_options(given, program.print_notice)
        return model.model.rpartition("/")[2][:MAX_NAME_LENGTH] or LLM, model
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"--{name.replace('_', '-')} is for --strategy {LLM}, not for {options.strategy}")
    return options.strategy.rpartition(":")[2], load(options.strategy)


async def _serve(options: argparse.Namespace, player: Player, stop: program.Stop) -> int:
    if options.relay is not None:
        program.check_url("--relay", options.relay)
        given = [f"--{name}" for name in ("host", "port", "endpoint") if getattr(options, name) is not None]
        if given:
            raise CommandError(f"with --relay no port is opened here, and the gateway is called: leave out {given[0]}")
    # It calls only the manager and the gateway.
    allowed = AddressPolicy.only(options.manager).trusting(*([] if options.relay is None else [options.relay]))
    world = World(HttpCaller(allowed), options.data_dir)
    manager = serving.manager_url(options.manager, "seat")

    def make_agent(endpoint: str) -> PlayerAgent:
        return PlayerAgent(
            player,
            world,
            manager,
            endpoint,
            seed=options.seed,
            wanted_id=options.wanted_id,
            notify=program.print_notice,
            profile=options.profile,
        )

    try:
        if options.relay is not None:
            relay = RelayClient(world, mcp_url(options.relay), player.name)
            endpoint = await run_until(stop, relay.open())
            if endpoint and await serve_relayed(make_agent(endpoint), relay, stop, notify=program.print_notice):
                return 0
            return 130
        options.host = program.HOST if options.host is None else options.host
        options.port = PORT if options.port is None else options.port
        sock, endpoint = program.open_socket(options, options.manager)
        return await program.serve_agent(make_agent(endpoint), sock, player_refusal, stop)
    finally:
        await world.caller.close()
