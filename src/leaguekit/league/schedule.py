"""The schedule of a league: a round-robin by the circle method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

Pair = tuple[str, str]
Rounds = Literal["single", "double"]
# A start with this number of matches takes seconds, and 400 MB.
MAX_MATCHES = 1_000_000


def match_count(players: int, rounds: Rounds) -> int:
    """The number of matches in a round-robin."""
    return players * (players - 1) // (1 if rounds == "double" else 2)


def round_robin(players: Sequence[str], rounds: Rounds = "single") -> list[list[Pair]]:
    """The pairs of each round, side A first.

    Each player meets each other player once, and in a double round-robin again with the sides swapped. A player plays
    at most once per round. With an odd number of players, one of them does not play in a round. The numbers of a
    player's matches on the two sides differ by at most one.
    """
    once = [
        [_sided(players, low, high) for low, high in pairs if high < len(players)] for pairs in _circle(len(players))
    ]
    return once if rounds == "single" else once + [[(b, a) for a, b in pairs] for pairs in once]


def _circle(count: int) -> Iterator[list[tuple[int, int]]]:
    """Rounds of index pairs, in order. Player 0 stays, and the other players rotate.

    An odd number of players is completed by one more index. The player that meets it does not play in that round.
    """
    rotating = range(1, count + count % 2)
    size = len(rotating)
    for turn in range(size):
        pairs = [(0, rotating[turn])]
        for step in range(1, size // 2 + 1):
            one, other = rotating[(turn + step) % size], rotating[(turn - step) % size]
            pairs.append((min(one, other), max(one, other)))
        yield sorted(pairs)


def _sided(players: Sequence[str], low: int, high: int) -> Pair:
    """Choose the sides. The lower index is side A against the half of the players that follows it.

    So each player has as many matches on one side as on the other, or one more.
    """
    return (players[low], players[high]) if high - low <= len(players) // 2 else (players[high], players[low])
