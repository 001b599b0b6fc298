"""The built-in strategies, and the games that each of them can play.

A strategy is a function from a Context to one of its ``valid_options``. The built-in ones are short examples, and
opponents to practise against. A strategy raises CannotPlay in a game that it cannot play.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any

from leaguekit.games.rock_paper_scissors import BEATS
from leaguekit.games.tic_tac_toe import FREE, LINES
from leaguekit.player.context import Context, PastMatch, Result, Strategy


def at_random(ctx: Context) -> Any:
    """Any legal move."""
    return ctx.random.choice(ctx.valid_options)


class CannotPlay(ValueError):
    """A strategy cannot play a game. The text names strategies that can."""


def always_even(ctx: Context) -> Any:
    """Even, every time."""
    return _parity("even", ctx)


def always_odd(ctx: Context) -> Any:
    """Odd, every time."""
    return _parity("odd", ctx)


def _parity(choice: str, ctx: Context) -> Any:
    if choice not in ctx.valid_options:
        raise CannotPlay(f"always_{choice} cannot play {ctx.game_type}")
    return choice


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
    play = _FREQUENCY.get(ctx.game_type)
    if play is None:
        raise CannotPlay(f"frequency cannot play {ctx.game_type}")
    return play(ctx)


def _frequency_even_odd(ctx: Context) -> Any:
    """Weigh a draw (1 point, if the opponent chooses the same) against a win (3, if the number is right)."""
    theirs = [match.opponent_choice for match in _relevant_matches(ctx)]
    numbers = [match.drawn_number for match in ctx.history if match.drawn_number]
    odd = sum([number % 2 for number in numbers])

    def points(option: Any) -> float:
        # Without any match, both are equally likely.
        same = (theirs.count(option) + 1) / (len(theirs) + 2)
        right = ((odd if option == "odd" else len(numbers) - odd) + 1) / (len(numbers) + 2)
        return same + 3 * right * (1 - same)

    return _best(ctx, points)


def _frequency_rock_paper_scissors(ctx: Context) -> Any:
    """Beat the most frequent choice. A draw against it is better than a loss."""
    theirs = [match.opponent_choice for match in _relevant_matches(ctx)]
    return _best(ctx, lambda option: 3 * theirs.count(BEATS.get(option)) + theirs.count(option))


def _frequency_tic_tac_toe(ctx: Context) -> Any:
    """Win, else block, else take the centre, else a corner."""
    board, mine = ctx.view.get("board"), ctx.view.get("your_mark")
    if not (isinstance(board, str) and len(board) == 9):
        raise CannotPlay(f"frequency cannot read the board {reprlib.repr(board)}")

    def worth(cell: Any) -> int:
        pairs = [{board[other] for other in line if other != cell} for line in LINES if cell in line]
        complete = [pair for pair in pairs if len(pair) == 1 and FREE not in pair]
        if {mine} in complete:
            return 4
        if complete:
            return 3
        return {4: 2, 0: 1, 2: 1, 6: 1, 8: 1}.get(cell, 0)

    return _best(ctx, worth)


_FREQUENCY: dict[str, Strategy] = {
    "even_odd": _frequency_even_odd,
    "rock_paper_scissors": _frequency_rock_paper_scissors,
    "tic_tac_toe": _frequency_tic_tac_toe,
}


def _relevant_matches(ctx: Context) -> list[PastMatch]:
    """Our matches against this opponent, or else against all opponents."""
    played, opponent = ctx.played(), ctx.opponent_id
    return [match for match in played if match.opponent_id == opponent] or played


def _best(ctx: Context, worth: Callable[[Any], float]) -> Any:
    """One of the options with the highest worth."""
    worths = [worth(option) for option in ctx.valid_options]
    most = max(worths)
    best = [option for option, value in zip(ctx.valid_options, worths, strict=True) if value == most]
    return best[0] if len(best) == 1 else ctx.random.choice(best)


STRATEGIES: dict[str, Strategy] = {
    "random": at_random,
    "always_even": always_even,
    "always_odd": always_odd,
    "alternating": alternating,
    "history_based": history_based,
    "frequency": frequency,
}
# The games of the strategies that cannot play every game.
_GAMES: dict[Strategy, tuple[str, ...]] = {
    always_even: ("even_odd",),
    always_odd: ("even_odd",),
    frequency: tuple(_FREQUENCY),
}


def games_of(strategy: Strategy) -> tuple[str, ...] | None:
    """The games that a strategy can play. None if it may be able to play every game."""
    try:
        return _GAMES.get(strategy)
    except TypeError:  # an author's own object that is not hashable
        return None


def can_play(strategy: Strategy, game_type: str) -> bool:
    games = games_of(strategy)
    return games is None or game_type in games


def strategies_for(game_type: str) -> list[str]:
    """The names of the built-in strategies that can play a game."""
    return [name for name, strategy in STRATEGIES.items() if can_play(strategy, game_type)]


def check_can_play(name: str, strategy: Strategy, game_type: str) -> None:
    """Raise CannotPlay if a strategy cannot play a game."""
    if not can_play(strategy, game_type):
        others = ", ".join(strategies_for(game_type))
        raise CannotPlay(f"the strategy {name} cannot play {game_type}; these can: {others}, or your own")
