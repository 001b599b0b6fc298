"""Swiss: in each round, players with equal points meet, and nobody meets anybody twice.

A pairing engine outside the core makes the pairs by the FIDE (Dutch) rules. Their edition is the one that was valid
until 31 January 2026. If no legal pairing exists, ``pair_with_rematches`` pairs with as few repetitions as it can find.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Literal

from leaguekit.formats import trf
from leaguekit.formats.base import (
    Ended,
    Format,
    FormatError,
    NextRound,
    Pair,
    PairingEngine,
    Tournament,
    check_number,
    lot,
)

MAX_ROUNDS = 99
# The search for a pairing with few repetitions gives up after this number of steps, and allows one more repetition.
_MAX_STEPS = 20_000


class Swiss(Format):
    """Players with equal points meet. ``rounds=auto`` takes as many rounds as a knockout would."""

    name = "swiss"
    tie_breaks = ("buchholz", "sonneborn_berger", "head_to_head", "wins", "technical_losses", "lot")
    # py4swiss takes 2.5–4.8 s for a round of 400 players, and 23–44 s for one of 1,000.
    max_players = 400
    takes_late_players = True
    needs_engine = True

    def __init__(self, rounds: int | Literal["auto"] = "auto") -> None:
        self.rounds = rounds if rounds == "auto" else check_number("rounds", rounds, range(1, MAX_ROUNDS + 1))
        self.arguments = {} if rounds == "auto" else {"rounds": rounds}

    @property
    def advancement(self) -> str:
        return "Players with equal points meet, and nobody meets anybody twice; the table decides."

    def player_count_error(self, players: int) -> str | None:
        if self.max_players < players:
            return (
                f"a Swiss has at most {self.max_players} players, not {players:,}: the pairing engine takes 5 seconds "
                "for a round of 400 players, and 40 seconds for one of 1,000"
            )
        possible = players - 1 + players % 2
        if self.rounds != "auto" and self.rounds > possible:
            limit = "1 round" if possible == 1 else f"{possible} rounds"
            return f"a Swiss of {players} players has at most {limit}, not {self.rounds}: nobody meets twice"
        return None

    def total_rounds(self, players: int) -> int:
        return (players - 1).bit_length() if self.rounds == "auto" else self.rounds

    def ended(self, tournament: Tournament) -> Ended | None:
        played = len(tournament.rounds)
        if played >= self.total_rounds(tournament.start_size):
            return Ended(f"All {played} rounds have been played.", [])
        if len(tournament.active()) < 2:
            return Ended("Fewer than two players are left.", [])
        return None

    def pair_next_round(self, tournament: Tournament, engine: PairingEngine | None = None) -> NextRound:
        if engine is None:
            raise FormatError("a Swiss needs a pairing engine")
        tournament = without_late_players(tournament)
        pairs = engine.pair(self.trf(tournament))
        label = f"Round {len(tournament.rounds) + 1}"
        if pairs is None:
            return NextRound(*pair_with_rematches(tournament), label, [])
        entrants = tournament.entrants
        return NextRound(
            [(entrants[white - 1], entrants[black - 1]) for white, black in pairs if black],
            [entrants[white - 1] for white, black in pairs if not black],
            label,
            [],
        )

    def trf(self, tournament: Tournament, title: str = "", players: dict[str, trf.PlayerInfo] | None = None) -> str:
        """A tournament as the pairing engine gets it."""
        rounds = max(self.total_rounds(tournament.start_size), len(tournament.rounds))
        return trf.write(tournament, rounds, a_first=has_a_first(tournament), title=title, players=players)


def without_late_players(tournament: Tournament) -> Tournament:
    """The tournament of the players that are in it by now. A late player gets its pairing number when it comes."""
    seen = {player for past in tournament.rounds for game in past.games for player in (game.a, game.b)}
    # A bye that a player has asked for does not give it a number.
    seen.update(player for past in tournament.rounds for player, bye in past.byes.items() if bye == "bye")
    seen.update(tournament.active())
    entrants = tuple(player for player in tournament.entrants if player in seen)
    rounds = tuple(
        past._replace(byes={player: bye for player, bye in past.byes.items() if player in seen})
        for past in tournament.rounds
    )
    return tournament._replace(entrants=entrants, rounds=rounds, starters=tournament.start_size)


def has_a_first(tournament: Tournament) -> bool:
    """Whether the first player of the seeding has side A in the first round. A lot decides, as the rules say."""
    return lot(tournament.seed, "first side") % 2 == 0


def pair_with_rematches(tournament: Tournament) -> tuple[list[Pair], list[str]]:
    """Pairs and byes for a round that the rules cannot pair: the sides do not count, and players may meet again.

    The bye goes to a player of those that had the fewest, preferably to the last. The search pairs the best player
    first, with the nearest player that it has met the fewest times.
    """
    points = trf.scores(tournament)
    numbers = {player: number for number, player in enumerate(tournament.entrants)}
    order = sorted(tournament.active(), key=lambda player: (-points[player], numbers[player]))
    met: Counter[frozenset[str]] = Counter()
    a_sides: Counter[str] = Counter()
    had_bye: Counter[str] = Counter()
    for past in tournament.rounds:
        had_bye.update([*past.byes])
        for game in past.games:
            if not game.forfeit:
                met[frozenset((game.a, game.b))] += 1
                a_sides[game.a] += 1
                a_sides[game.b] -= 1
    fewest = min(had_bye[player] for player in order)
    resting = [[player] for player in reversed(order) if had_bye[player] == fewest] if len(order) % 2 else [[]]
    for limit in count():
        for byes in resting:
            found = _search([player for player in order if player not in byes], met, limit, [_MAX_STEPS])
            if found is not None:
                return [(b, a) if a_sides[b] < a_sides[a] else (a, b) for a, b in found], byes
    raise AssertionError  # pragma: no cover - without a limit there is always a pairing


def _search(order: Sequence[str], met: Counter[frozenset[str]], limit: int, steps: list[int]) -> list[Pair] | None:
    """Pairs in which nobody has met more than ``limit`` times; None if there are none, or the steps are used up."""
    if not order:
        return []
    first, *others = order
    for index, other in enumerate(others):
        steps[0] -= 1
        if steps[0] < 0:
            return None
        if met[frozenset((first, other))] <= limit:
            rest = _search(others[:index] + others[index + 1 :], met, limit, steps)
            if rest is not None:
                return [(first, other), *rest]
    return None
