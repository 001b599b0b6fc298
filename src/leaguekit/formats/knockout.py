"""Knockout: the winner of a pairing advances, the loser is out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from leaguekit.formats.base import (
    BracketPlace,
    BracketStage,
    Ended,
    Format,
    FormatError,
    GameResult,
    NextRound,
    Pair,
    PairingEngine,
    Tournament,
    check_number,
    lot,
)

_STAGES = {2: "Final", 4: "Semi-finals", 8: "Quarter-finals"}


class KnockoutPairing(NamedTuple):
    """A pairing of a stage: its games so far, and who advances."""

    players: tuple[str, str]
    games: tuple[GameResult, ...]
    winner: str | None
    # Whether the committed lot decided.
    by_lot: bool = False

    @property
    def loser(self) -> str:
        one, other = self.players
        return other if self.winner == one else one


class Stage(NamedTuple):
    """A stage: its name, its pairings, and the players that advance without one."""

    label: str
    pairings: list[KnockoutPairing]
    resting: list[str]

    @property
    def is_final(self) -> bool:
        """Whether it is the last one. A second pairing in it is for the third place."""
        return self.label == _STAGES[2]

    @property
    def is_over(self) -> bool:
        return all(pairing.winner is not None for pairing in self.pairings)


class Knockout(Format):
    """Each pairing has up to ``best_of`` games. After a tie, one more game is played, and then a lot decides.

    The better half of the seeding meets the other half, so that the first two can meet in the final only. If the number
    of players is not a power of two, the best of the seeding rest in the first stage.
    """

    name = "knockout"
    ranked_by = "how far a player came, then by the seeding"

    def __init__(self, best_of: int = 1, third_place: bool = False) -> None:
        self.best_of = check_number("best_of", best_of, (1, 3, 5, 7, 9))
        if not isinstance(third_place, bool):
            raise FormatError(f"third_place must be true or false, got {third_place!r}")
        self.third_place = third_place
        given = {"best_of": (best_of, 1), "third_place": (self.third_place, False)}
        self.arguments = {name: value for name, (value, default) in given.items() if value != default}

    @property
    def advancement(self) -> str:
        how = "a game" if self.best_of == 1 else f"the best of {self.best_of} games"
        return f"The winner of {how} advances. After a tie, one more game decides, and then the league's lot."

    def stages(self, tournament: Tournament) -> list[Stage]:
        """All stages that are known: those that are over, and the present one."""
        games: dict[frozenset[str], list[GameResult]] = {}
        for past in tournament.rounds:
            for game in past.games:
                games.setdefault(frozenset((game.a, game.b)), []).append(game)

        def pairing_of(a: str, b: str) -> KnockoutPairing:
            return self._judge_pairing(a, b, tuple(games.get(frozenset((a, b)), ())), tournament.seed)

        slots = _bracket(tournament.entrants)
        stages: list[Stage] = []
        while len(slots) > 1:
            resting: list[str] = []
            pairings: list[KnockoutPairing] = []
            winners: list[str | None] = []
            for one, other in zip(slots[::2], slots[1::2], strict=True):
                if one is not None and other is not None:
                    pairings.append(pairing_of(one, other))
                    winners.append(pairings[-1].winner)
                else:
                    winners.append(one or other)
                    resting += [player for player in (one, other) if player is not None]
            if len(slots) == 2 and self.third_place and len(tournament.entrants) >= 4:
                pairings.append(pairing_of(*(before.loser for before in stages[-1].pairings)))
            stages.append(Stage(_label(len(slots)), pairings, resting))
            if not stages[-1].is_over:
                break
            slots = winners
        return stages

    def _judge_pairing(self, a: str, b: str, games: tuple[GameResult, ...], seed: bytes) -> KnockoutPairing:
        """Who advances after these games. Games after the decision do not count: a correction made them needless."""
        wins = {a: 0, b: 0}
        for number, game in enumerate(games, start=1):
            if game.winner is not None:
                wins[game.winner] += 1
            left = max(self.best_of - number, 0)
            first = max(wins, key=wins.__getitem__)
            if 2 * wins[first] - sum(wins.values()) > left:
                return KnockoutPairing((a, b), games, first)
        if len(games) <= self.best_of:
            return KnockoutPairing((a, b), games, None)
        return KnockoutPairing(
            (a, b), games, min(a, b, key=lambda player: lot(seed, *sorted((a, b)), player)), by_lot=True
        )

    def ended(self, tournament: Tournament) -> Ended | None:
        *_, last = self.stages(tournament)
        if not last.is_final or not last.is_over:
            return None
        final = last.pairings[0]
        how = "by the league's lot" if final.by_lot else "in the final"
        return Ended(f"{final.winner} won against {final.loser} {how}.", self.ranking(tournament))

    def pair_next_round(self, tournament: Tournament, engine: PairingEngine | None = None) -> NextRound:  # noqa: ARG002
        stage = self.stages(tournament)[-1]
        open_pairings = [pairing for pairing in stage.pairings if pairing.winner is None]
        number = max(len(pairing.games) for pairing in open_pairings) + 1
        game = ", deciding game" if number > self.best_of else f", game {number}" if self.best_of > 1 else ""
        label = stage.label
        if stage.is_final and len(stage.pairings) == 2:
            label = {
                1: "Final" if open_pairings[0] is stage.pairings[0] else "Third place",
                2: f"{label} and third place",
            }[len(open_pairings)]
        pairs = [_sided(pairing, tournament) for pairing in open_pairings]
        return NextRound(pairs, [], f"{label}{game}", self.ranking(tournament))

    def ranking(self, tournament: Tournament) -> list[str]:
        """The players that are in play by seeding, then those that are out: the later the better, then by seeding."""
        places = dict.fromkeys(tournament.entrants, (0, 0))
        for number, stage in enumerate(self.stages(tournament), start=1):
            for pairing in stage.pairings[:1] if stage.is_final else stage.pairings:
                if pairing.winner is not None:
                    places[pairing.loser] = (1, -2 * number)
            for third_place in stage.pairings[1:] if stage.is_final else ():
                if third_place.winner is not None:
                    # Behind the other player of the same stage, and before those of earlier stages.
                    places[third_place.loser] = (1, 3 - 2 * number)
        return sorted(tournament.entrants, key=places.__getitem__)

    def bracket(self, tournament: Tournament) -> list[BracketStage]:
        pairings: dict[frozenset[str | None], KnockoutPairing] = {
            frozenset(pairing.players): pairing for stage in self.stages(tournament) for pairing in stage.pairings
        }
        slots = _bracket(tournament.entrants)
        stages: list[BracketStage] = []
        while len(slots) > 1:
            places: list[BracketPlace] = []
            for a, b in zip(slots[::2], slots[1::2], strict=True):
                pairing = pairings.get(frozenset((a, b)))
                if pairing is not None:
                    places.append(BracketPlace(a, b, pairing.winner, pairing.by_lot))
                elif stages:
                    places.append(BracketPlace(a, b))
                else:
                    places.append(BracketPlace(a or b, None, a or b, rests=True))
            if len(slots) == 2 and self.third_place and len(tournament.entrants) >= 4:
                losers = [_loser(place) for place in stages[-1].places]
                pairing = pairings.get(frozenset(losers))
                decided = (None, False) if pairing is None else (pairing.winner, pairing.by_lot)
                places.append(BracketPlace(losers[0], losers[1], *decided, title="Third place"))
            stages.append(BracketStage(_label(len(slots)), places))
            slots = [place.winner for place in places if not place.title]
        return stages

    def objection(self, before: Tournament, after: Tournament) -> str | None:
        now = {pairing.players: pairing.winner for stage in self.stages(after) for pairing in stage.pairings}
        for stage in self.stages(before):
            for pairing in stage.pairings:
                if pairing.winner is not None and now.get(pairing.players) != pairing.winner:
                    settled = "has won against" if stage.is_final else "has advanced against"
                    reason = "their places are decided" if stage.is_final else "a later round is drawn"
                    return f"{pairing.winner} {settled} {pairing.loser}, and {reason}"
        return None


def _bracket(entrants: tuple[str, ...]) -> list[str | None]:
    """The players in the order of the bracket. None is a place without a player."""
    order = [0]
    while len(order) < len(entrants):
        size = 2 * len(order)
        order = [place for seed in order for place in (seed, size - 1 - seed)]
    return [entrants[place] if place < len(entrants) else None for place in order]


def _label(players: int) -> str:
    """What a stage with this number of places is called."""
    return _STAGES.get(players, f"Round of {players}")


def _loser(place: BracketPlace) -> str | None:
    """The player that does not advance. It is None if nobody has advanced yet, or nobody has lost."""
    if place.winner is None:
        return None
    return place.b if place.winner == place.a else place.a


def _sided(pairing: KnockoutPairing, tournament: Tournament) -> Pair:
    """The sides: swapped from game to game. In the first game, the player that had side A less often has it."""
    one, other = pairing.players
    if pairing.games:
        return pairing.games[-1].b, pairing.games[-1].a
    a_sides = [game.a for game in _games(tournament)]
    return (other, one) if a_sides.count(other) < a_sides.count(one) else (one, other)


def _games(tournament: Tournament) -> Iterator[GameResult]:
    return (game for past in tournament.rounds for game in past.games if not game.forfeit)
