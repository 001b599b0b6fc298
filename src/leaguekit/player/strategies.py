"""The built-in strategies, and the games that each of them can play.

A strategy is a function from a Context to one of its ``valid_options``. The built-in ones are short examples, and
opponents to practise against. A strategy raises CannotPlay in a game that it cannot play.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import unwrap
from typing import Any

from leaguekit.games import GAMES, find_game
from leaguekit.games.base import Game, Knowledge
from leaguekit.player.context import Context, PastMatch, Result, Strategy
from leaguekit.player.search import values_of_moves


def at_random(ctx: Context) -> Any:
    """Any legal move."""
    return ctx.random.choice(ctx.valid_options)


class CannotPlay(ValueError):
    """A strategy cannot play a game. The text names strategies that can."""


class Always:
    """The same move every time, in the games in which it is always legal."""

    def __init__(self, move: str) -> None:
        self.__name__ = f"always_{move}"
        self.move = move

    def __call__(self, ctx: Context) -> Any:
        if self.move not in ctx.valid_options:
            raise CannotPlay(f"{self.__name__} cannot play {ctx.game_type}")
        return self.move


def alternating(ctx: Context) -> Any:
    """The legal moves in turn, one per match."""
    return ctx.valid_options[len(ctx.history) % len(ctx.valid_options)]


def history_based(ctx: Context) -> Any:
    """The move that was best in this player's own matches so far."""
    played = ctx.played()
    won, lost = _choices(played, "WIN"), _choices(played, "LOSS")
    return _best(ctx, lambda option: won.count(str(option)) - lost.count(str(option)))


def _choices(matches: list[PastMatch], result: Result) -> list[str]:
    """This player's choices in the matches with a result. In a game of turns, every move is a choice."""
    return ",".join([match.choice or "" for match in matches if match.result == result]).split(",")


def frequency(ctx: Context) -> Any:
    """Expect the opponent's most frequent choice, and answer it. For a new opponent, use the choices of all others."""
    game = find_game(ctx.game_type, ctx.game_args)
    try:
        worth = None if game is None else game.move_rater(_knowledge(ctx))
    except ValueError as error:
        raise CannotPlay(f"frequency {error}") from None
    if worth is None:
        raise CannotPlay(f"frequency cannot play {ctx.game_type}")
    return _best(ctx, worth)


def search(ctx: Context) -> Any:
    """Look ahead, and choose the move after which even the best replies of the opponent leave most.

    Where the end is too far away to see, equally good moves are judged as ``frequency`` judges them.
    """
    game = find_game(ctx.game_type, ctx.game_args)
    try:
        position = None if game is None else game.position(ctx.view)
    except ValueError as error:
        raise CannotPlay(f"search {error}") from None
    if game is None or position is None:
        raise CannotPlay(f"search cannot play {ctx.game_type}")
    values, is_complete = values_of_moves(game, position, ctx.valid_options)
    worth = None if is_complete else game.move_rater(_knowledge(ctx))

    def value(option: Any) -> tuple[float, ...]:
        best, hope = values[ctx.valid_options.index(option)]
        return (best, hope) if worth is None else (best, worth(option), hope)

    return _best(ctx, value)


def _knowledge(ctx: Context) -> Knowledge:
    return Knowledge(ctx.view, partial(_opponent_choices, ctx), partial(_drawn_numbers, ctx))


def _drawn_numbers(ctx: Context) -> list[int]:
    return [match.drawn_number for match in ctx.history if match.drawn_number]


def _opponent_choices(ctx: Context) -> list[str | None]:
    """The choices of this opponent, or else of all opponents."""
    played, opponent = ctx.played(), ctx.opponent_id
    theirs = [match.opponent_choice for match in played if match.opponent_id == opponent]
    return theirs or [match.opponent_choice for match in played]


def _best(ctx: Context, worth: Callable[[Any], float | tuple[float, ...]]) -> Any:
    """One of the options with the highest worth."""
    options = ctx.valid_options
    worths = [*map(worth, options)]
    most = max(worths)
    if worths.count(most) == 1:
        return options[worths.index(most)]
    return ctx.random.choice([option for option, value in zip(options, worths, strict=True) if value == most])


def _has_constant_move(move: str, game: Game[Any]) -> bool:
    return move in game.constant_moves


_ALWAYS = [Always(move) for move in dict.fromkeys(move for game in GAMES.values() for move in game.constant_moves)]
STRATEGIES: dict[str, Strategy] = {
    "random": at_random,
    **{strategy.__name__: strategy for strategy in _ALWAYS},
    "alternating": alternating,
    "history_based": history_based,
    "frequency": frequency,
    "search": search,
}
# What a game must have for the strategies that cannot play every game.
_NEEDS: dict[Strategy, Callable[[Game[Any]], bool]] = {
    **{one: partial(_has_constant_move, one.move) for one in _ALWAYS},
    frequency: lambda game: type(game).move_rater is not Game.move_rater,
    search: lambda game: type(game).position is not Game.position,
}


def games_of(strategy: Strategy) -> tuple[str, ...]:
    """Our own games that a strategy can play."""
    return tuple(name for name in GAMES if can_play(strategy, name))


def can_play(strategy: Strategy, game_type: str) -> bool:
    """Whether a strategy can play a game. Strategies that need its rules cannot play one that is not installed here."""
    try:
        is_fit = _NEEDS.get(unwrap(strategy))
    except TypeError:  # an author's own object that is not hashable
        return True
    if is_fit is None:
        return True
    game = find_game(game_type)
    return game is not None and is_fit(game)


def strategies_for(game_type: str) -> list[str]:
    """The names of the built-in strategies that can play a game."""
    return [name for name, strategy in STRATEGIES.items() if can_play(strategy, game_type)]


def check_can_play(name: str, strategy: Strategy, game_type: str) -> None:
    """Raise CannotPlay if a strategy cannot play a game."""
    if not can_play(strategy, game_type):
        others = ", ".join(strategies_for(game_type))
        raise CannotPlay(f"the strategy {name} cannot play {game_type}; these can: {others}, or your own")
