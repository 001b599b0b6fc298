"""The strategy that looks ahead: it tries all moves and all replies, as far as a number of positions allows.

It needs nothing but the rules of a game. It can play the games whose view shows the whole position, and in which the
sides move in turn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from leaguekit.games.base import CHANCE, Game, Side, asked

# The positions that are looked at for one move. This takes half a second.
MAX_POSITIONS = 20_000
# Positions that are known to the end are kept for the next moves, up to this number.
MAX_KEPT = 100_000
# An early win is worth more than a late one, and a late loss more than an early one.
_PER_TURN = 0.99


class Value(NamedTuple):
    """How good a position is for one side, from -1 to 1.

    ``best`` is the value if both sides play well. ``hope`` decides between moves that are equally good: it is the value
    if the opponent moves at random.
    """

    best: float
    hope: float


class _TooManyPositions(Exception):
    pass


_kept: dict[tuple[Game[Any], Side, Any], Value] = {}


def values_of_moves(game: Game[Any], position: Any, options: list[Any]) -> tuple[list[Value], bool]:
    """The value of each option for the side that moves, and whether every game was followed to its end."""
    (side,) = asked(game, position)
    values = [Value(0.0, 0.0)] * len(options)
    left = MAX_POSITIONS
    depth, count = 1, 0
    while True:
        search = _Search(game, side, left)
        try:
            values = [search.value(game.play(position, {side: option}), depth) for option in options]
        except _TooManyPositions:
            return values, False
        if search.is_complete:
            if len(_kept) > MAX_KEPT:
                _kept.clear()
            _kept.update({(game, side, one): value for (one, _), value in search.values.items()})
            return values, True
        last_count, count = count, left - search.left
        # Looking twice as far multiplies the positions again, and mostly by more than the last time.
        if last_count and count * count / last_count > search.left:
            return values, False
        left, depth = search.left, depth * 2


class _Search:
    """Looks some turns ahead, for one side."""

    def __init__(self, game: Game[Any], side: Side, max_positions: int) -> None:
        self._game = game
        self._side = side
        self.left = max_positions
        # Whether every game was followed to its end.
        self.is_complete = True
        self.values: dict[tuple[Any, int], Value] = {}
        # The same values by the positions as they were reached.
        self._reached: dict[tuple[Any, int], Value] = {}

    def value(self, position: Any, depth: int) -> Value:
        value = self._reached.get((position, depth))
        if value is None:
            # The same position may be reached by other moves.
            shown = self._game.position(self._game.view(position, None))
            value = self._reached[position, depth] = self._value_of_shown(shown, depth)
        return value

    def _value_of_shown(self, position: Any, depth: int) -> Value:
        kept = _kept.get((self._game, self._side, position)) or self.values.get((position, depth))
        if kept is None:
            if self.left == 0:
                raise _TooManyPositions
            self.left -= 1
            kept = self.values[position, depth] = self._compute(position, depth)
        return kept

    def _compute(self, position: Any, depth: int) -> Value:
        outcome = self._game.outcome(position)
        if outcome is not None:
            points = 0.0 if outcome.winner is None else 1.0 if outcome.winner == self._side else -1.0
            return Value(points, points)
        if depth == 0:
            self.is_complete = False
            return Value(0.0, 0.0)
        if self._game.to_move(position) == CHANCE:
            return self._expected(position, depth)
        (side,) = asked(self._game, position)
        moves = self._game.question(position, side).valid_options
        values = [self.value(self._game.play(position, {side: move}), depth - 1) for move in moves]
        best = max(values) if side == self._side else min(values)
        hope = best.hope if side == self._side else sum(value.hope for value in values) / len(values)
        # Rounded, so that moves that mirror each other are equal.
        return Value(round(best.best * _PER_TURN, 9), round(hope * _PER_TURN, 9))

    def _expected(self, position: Any, depth: int) -> Value:
        """The mean of what chance may give. Steps of chance do not count as turns."""
        odds = self._game.odds(position) or ()
        values = [(self.value(self._game.play(position, {"chance": given}), depth), weight) for given, weight in odds]
        total = sum(weight for _, weight in values)
        best = sum(value.best * weight for value, weight in values) / total
        hope = sum(value.hope * weight for value, weight in values) / total
        return Value(round(best, 9), round(hope, 9))
