"""``league games``: list the games that can be played here."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator
from typing import Any

from leaguekit.agents.game_loading import known_name
from leaguekit.cli import CommandError
from leaguekit.cli.tables import json_line
from leaguekit.games import GAMES, game, rules
from leaguekit.games.base import SIDES, Game, has_chance
from leaguekit.games.plugins import GROUP, entry_points, names_of
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.plain_text import sanitize_line

EXAMPLES = f"""examples:
  league games                              our games, and how many each installed package has
  league games openspiel                    the games of a package
  league games prisoners_dilemma            its rules and its arguments
  league games tic_tac_toe 'openspiel:go(board_size=9)' my_game.py:Nim
  league games --json

A package has games by entry points of the group {GROUP} (docs/games.md). The list says who moves at the start, how many
turns the longest game has, whether there is chance, whether there are payoffs, and whether the game is drawn as a
picture. Of a single game it also says the rules, and which arguments the game has, with their defaults. A package is
imported only if it is named, or with --json. The exit code is 1 if a game cannot be loaded.
"""
# The steps within which a game shows who moves.
_MAX_STEPS = 20


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("games", metavar="GAME", nargs="*", help="a game, or a package (default: all games)")
    parser.add_argument("--json", action="store_true", help="print one JSON object, with the games of every package")


def run(options: argparse.Namespace) -> int:
    named: list[str] = options.games or [*GAMES, *entry_points()]
    if unknown := [name for name in named if name == ""]:
        raise CommandError(f"a game has a name, got {unknown[0]!r}")
    rows = [row for name in named for row in _rows(name, expands=bool(options.games) or options.json)]
    if options.json:
        print(json_line({"games": rows}))
    else:
        lines = [*_as_text(rows)]
        if len(rows) == 1 and "error" not in rows[0]:
            lines += _details(rows[0]["game"])
        print("\n".join(map(sanitize_line, lines)))
    return int(any("error" in row for row in rows))


def _rows(name: str, *, expands: bool) -> Iterator[dict[str, Any]]:
    """The rows of a game, or of the games of a package."""
    point = entry_points().get(name)
    source = "leaguekit"
    try:
        if point is not None:
            source = name if point.dist is None else f"{point.dist.name} {point.dist.version}"
            names = [*names_of(point)]
            if names != [name] and not expands:
                yield {"game": f"{name}:…", "source": source, "games": len(names)}
                return
            for one in names:
                yield _row(one, source)
            return
        known = known_name(name)
        prefix = known.partition(":")[0]
        if known != name:
            source = name.partition("(")[0]
        elif (found := entry_points().get(prefix)) is not None and found.dist is not None:
            source = f"{found.dist.name} {found.dist.version}"
        yield _row(known, source)
    except (ProtocolError, ValueError) as error:
        yield {"game": name, "source": source, "error": getattr(error, "detail", str(error))}


def _row(name: str, source: str) -> dict[str, Any]:
    try:
        found = game(name)
    except ProtocolError as error:
        return {"game": name, "source": source, "error": error.detail}
    payoffs = found.payoff_range
    return {
        "game": name,
        "source": source,
        "players": _movers(found),
        "turns": found.max_turns,
        "chance": has_chance(found),
        "payoffs": None if payoffs is None else [*payoffs],
        "picture": type(found).picture is not Game.picture,
    }


def _movers(found: Game[Any]) -> str:
    """Whether the players move in turns or at once, by the first step in which a player moves."""
    position = found.start()
    for step in range(_MAX_STEPS):
        movers = found.to_move(position)
        if movers != ("chance",):
            return "at once" if movers == SIDES else "in turns"
        position = found.play(position, {"chance": found.roll(position, bytes(32), step)})
    return "in turns"


def _details(name: str) -> Iterator[str]:
    """The rules and the arguments of a game."""
    yield from ("", *rules(name).splitlines())
    made = type(game(name))
    # A class of many games has its name as an argument, and takes those of each game.
    if not hasattr(made, "names") and (parameters := inspect.signature(made).parameters.values()):
        yield from ("", f"Arguments: {', '.join(str(one.replace(annotation=one.empty)) for one in parameters)}")


def _as_text(rows: list[dict[str, Any]]) -> Iterator[str]:
    width = max([len(row["game"]) for row in rows], default=0)
    for row in rows:
        start = f"{row['game']:{width}}  "
        if "error" in row:
            yield f"{start}cannot be loaded: {row['error']}"
        elif "games" in row:
            package = row["game"].partition(":")[0]
            yield f"{start}{row['games']} games of {row['source']}; `league games {package}` lists them"
        else:
            turns = "1 turn" if row["turns"] == 1 else f"{row['turns']:,} turns"
            facts = [row["players"], turns, *(name for name in ("chance", "picture") if row[name])]
            if row["payoffs"] is not None:
                facts.append("payoffs from {:g} to {:g}".format(*row["payoffs"]))
            yield f"{start}{', '.join(facts)} ({row['source']})"
