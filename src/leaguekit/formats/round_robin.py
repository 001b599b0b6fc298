"""Round-robin: everybody meets everybody, by the circle method."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leaguekit.formats.base import Pair, ScheduledFormat, check_number


class RoundRobin(ScheduledFormat):
    """Each player meets each other player ``legs`` times. In the second leg the sides are swapped."""

    name = "round_robin"

    def __init__(self, legs: int = 1) -> None:
        self.legs = check_number("legs", legs, (1, 2))
        self.arguments = {"legs": legs} if legs != 1 else {}

    @property
    def advancement(self) -> str:
        return f"Everybody meets everybody {'once' if self.legs == 1 else 'twice'}; the table decides."

    def match_count(self, players: int) -> int:
        return players * (players - 1) // 2 * self.legs

    def total_rounds(self, players: int) -> int:
        return (players - 1 + players % 2) * self.legs

    def full_schedule(self, entrants: Sequence[str]) -> list[list[Pair]]:
        """The pairs of each round, side A first.

        A player plays at most once per round. With an odd number of players, one of them rests. The numbers of a
        player's matches on the two sides differ by at most one.
        """
        once = [
            [_sided(entrants, low, high) for low, high in pairs if high < len(entrants)]
            for pairs in _circle(len(entrants))
        ]
        return once if self.legs == 1 else once + [[(b, a) for a, b in pairs] for pairs in once]


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
