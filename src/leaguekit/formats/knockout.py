"""Knockout: the winner of a pairing advances, the loser is out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from leaguekit.formats.base import (
    BracketPlace,
    BracketStage,
    Drawn,
    Ended,
    Format,
    FormatError,
    Game,
    Pair,
    PairingEngine,
    Tournament,
    check_number,
    lot,
)

_STAGES = {2: "Final", 4: "Semi-finals", 8: "Quarter-finals"}


class Tie(NamedTuple):
    """A pairing of a stage: its games so far, and who advances."""

    players: tuple[str, str]
    games: tuple[Game, ...]
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
    ties: list[Tie]
    resting: list[str]

    @property
    def is_final(self) -> bool:
        """Whether it is the last one. A second pairing in it is for the third place."""
        return self.label == _STAGES[2]

    @property
    def is_over(self) -> bool:
        return all(tie.winner is not None for tie in self.ties)


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
        games: dict[frozenset[str], list[Game]] = {}
        for past in tournament.rounds:
            for game in past.games:
                games.setdefault(frozenset((game.a, game.b)), []).append(game)

        def tie(a: str, b: str) -> Tie:
            return self._tie(a, b, tuple(games.get(frozenset((a, b)), ())), tournament.seed)

        slots = _bracket(tournament.entrants)
        stages: list[Stage] = []
        while len(slots) > 1:
            resting: list[str] = []
            ties: list[Tie] = []
            winners: list[str | None] = []
            for one, other in zip(slots[::2], slots[1::2], strict=True):
                if one is not None and other is not None:
                    ties.append(tie(one, other))
                    winners.append(ties[-1].winner)
                else:
                    winners.append(one or other)
                    resting += [player for player in (one, other) if player is not None]
            if len(slots) == 2 and self.third_place and len(tournament.entrants) >= 4:
                ties.append(tie(*(before.loser for before in stages[-1].ties)))
            stages.append(Stage(_label(len(slots)), ties, resting))
            if not stages[-1].is_over:
                break
            slots = winners
        return stages

    def _tie(self, a: str, b: str, games: tuple[Game, ...], seed: bytes) -> Tie:
        """Who advances after these games. Games after the decision do not count: a correction made them needless."""
        wins = {a: 0, b: 0}
        for number, game in enumerate(games, start=1):
            if game.winner is not None:
                wins[game.winner] += 1
            left = max(self.best_of - number, 0)
            first = max(wins, key=wins.__getitem__)
            if 2 * wins[first] - sum(wins.values()) > left:
                return Tie((a, b), games, first)
        if len(games) <= self.best_of:
            return Tie((a, b), games, None)
        return Tie((a, b), games, min(a, b, key=lambda player: lot(seed, *sorted((a, b)), player)), by_lot=True)

    def ended(self, tournament: Tournament) -> Ended | None:
        *_, last = self.stages(tournament)
        if not last.is_final or not last.is_over:
            return None
        final = last.ties[0]
        how = "by the league's lot" if final.by_lot else "in the final"
        return Ended(f"{final.winner} won against {final.loser} {how}.", self.ranking(tournament))

    def draw(self, tournament: Tournament, engine: PairingEngine | None = None) -> Drawn:  # noqa: ARG002
        stage = self.stages(tournament)[-1]
        open_ties = [tie for tie in stage.ties if tie.winner is None]
        number = max(len(tie.games) for tie in open_ties) + 1
        game = ", deciding game" if number > self.best_of else f", game {number}" if self.best_of > 1 else ""
        label = stage.label
        if stage.is_final and len(stage.ties) == 2:
            label = {1: "Final" if open_ties[0] is stage.ties[0] else "Third place", 2: f"{label} and third place"}[
                len(open_ties)
            ]
        pairs = [_sided(tie, tournament) for tie in open_ties]
        return Drawn(pairs, [], f"{label}{game}", self.ranking(tournament))

    def ranking(self, tournament: Tournament) -> list[str]:
        """The players that are in play by seeding, then those that are out: the later the better, then by seeding."""
        places = dict.fromkeys(tournament.entrants, (0, 0))
        for number, stage in enumerate(self.stages(tournament), start=1):
            for tie in stage.ties[:1] if stage.is_final else stage.ties:
                if tie.winner is not None:
                    places[tie.loser] = (1, -2 * number)
            for third_place in stage.ties[1:] if stage.is_final else ():
                if third_place.winner is not None:
                    # Behind the other player of the same stage, and before those of earlier stages.
                    places[third_place.loser] = (1, 3 - 2 * number)
        return sorted(tournament.entrants, key=places.__getitem__)

    def bracket(self, tournament: Tournament) -> list[BracketStage]:
        ties: dict[frozenset[str | None], Tie] = {
            frozenset(tie.players): tie for stage in self.stages(tournament) for tie in stage.ties
        }
        slots = _bracket(tournament.entrants)
        stages: list[BracketStage] = []
        while len(slots) > 1:
            places: list[BracketPlace] = []
            for a, b in zip(slots[::2], slots[1::2], strict=True):
                tie = ties.get(frozenset((a, b)))
                if tie is not None:
                    places.append(BracketPlace(a, b, tie.winner, tie.by_lot))
                elif stages:
                    places.append(BracketPlace(a, b))
                else:
                    places.append(BracketPlace(a or b, None, a or b, rests=True))
            if len(slots) == 2 and self.third_place and len(tournament.entrants) >= 4:
                losers = [_loser(place) for place in stages[-1].places]
                tie = ties.get(frozenset(losers))
                decided = (None, False) if tie is None else (tie.winner, tie.by_lot)
                places.append(BracketPlace(losers[0], losers[1], *decided, title="Third place"))
            stages.append(BracketStage(_label(len(slots)), places))
            slots = [place.winner for place in places if not place.title]
        return stages

    def objection(self, before: Tournament, after: Tournament) -> str | None:
        now = {tie.players: tie.winner for stage in self.stages(after) for tie in stage.ties}
        for stage in self.stages(before):
            for tie in stage.ties:
                if tie.winner is not None and now.get(tie.players) != tie.winner:
                    settled = "has won against" if stage.is_final else "has advanced against"
                    reason = "their places are decided" if stage.is_final else "a later round is drawn"
                    return f"{tie.winner} {settled} {tie.loser}, and {reason}"
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


def _sided(tie: Tie, tournament: Tournament) -> Pair:
    """The sides: swapped from game to game. In the first game, the player that had side A less often has it."""
    one, other = tie.players
    if tie.games:
        return tie.games[-1].b, tie.games[-1].a
    a_sides = [game.a for game in _games(tournament)]
    return (other, one) if a_sides.count(other) < a_sides.count(one) else (one, other)


def _games(tournament: Tournament) -> Iterator[Game]:
    return (game for past in tournament.rounds for game in past.games if not game.forfeit)
