"""Who meets whom, and when: a round-robin by the circle method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

Pair = tuple[str, str]
Rounds = Literal["single", "double"]
# A start with as many takes seconds, and 400 MB.
MAX_MATCHES = 1_000_000


def match_count(players: int, rounds: Rounds) -> int:
    """How many matches a round-robin of so many players has."""
    return players * (players - 1) // (1 if rounds == "double" else 2)


def round_robin(players: Sequence[str], rounds: Rounds = "single") -> list[list[Pair]]:
    """The pairs of each round, side A first.

    Everybody meets everybody once (in a double round-robin again, with the sides swapped), nobody plays twice in a
    round, and in an odd number one rests. Nobody is on one side more than once oftener than on the other.
    """
    once = [
        [_sided(players, low, high) for low, high in pairs if high < len(players)] for pairs in _circle(len(players))
    ]
    return once if rounds == "single" else once + [[(b, a) for a, b in pairs] for pairs in once]


def _circle(count: int) -> Iterator[list[tuple[int, int]]]:
    """Rounds of index pairs, in order. Player 0 stays and the rest turn; whoever meets an added last one rests."""
    turning = range(1, count + count % 2)
    size = len(turning)
    for turn in range(size):
        pairs = [(0, turning[turn])]
        for step in range(1, size // 2 + 1):
            one, other = turning[(turn + step) % size], turning[(turn - step) % size]
            pairs.append((min(one, other), max(one, other)))
        yield sorted(pairs)


def _sided(players: Sequence[str], low: int, high: int) -> Pair:
    """The lower one is A against the half of the field that follows it, so that sides come out even."""
    return (players[low], players[high]) if high - low <= len(players) // 2 else (players[high], players[low])
