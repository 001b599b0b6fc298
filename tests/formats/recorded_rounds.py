"""Compares our Swiss pairings with those of recorded tournaments.

python -m tests.formats.recorded_rounds FILE or FOLDER …

A recorded tournament is a tournament report file (TRF). It is cut after each round, and the next round is drawn.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from leaguekit.formats import trf
from leaguekit.formats.base import Pair, PastRound, Tournament
from leaguekit.formats.swiss import Swiss, without_late_players
from leaguekit.manager.rounds.pairing_engine import Py4Swiss


class Comparison(NamedTuple):
    """A round as it was recorded, and as we draw it. A bye is a pair with an empty name."""

    number: int
    recorded: set[Pair]
    drawn: set[Pair]


class FirstSide(Py4Swiss):
    """The pairing engine, with the side that the recorded tournament drew for its first player."""

    def __init__(self, *, a_first: bool) -> None:
        super().__init__()
        self._sign = "white1" if a_first else "black1"

    def pair(self, trf: str) -> list[tuple[int, int]] | None:
        return super().pair(trf.replace("white1", self._sign).replace("black1", self._sign))


def compare(text: str) -> Iterator[Comparison]:
    """Draw every round of a recorded tournament. Raises FormatError if it cannot be read."""
    report = trf.read(text)
    tournament = report.tournament
    a_first = _has_a_first(tournament) if report.a_first is None else report.a_first
    made = Swiss(report.rounds or len(tournament.rounds) or 1)
    for index, recorded in enumerate(tournament.rounds):
        wanted = {(game.a, game.b) for game in recorded.games} | {(player, "") for player in _unpaired(recorded)}
        out = frozenset(tournament.entrants) - {player for pair in wanted for player in pair}
        drawn = made.pair_next_round(
            tournament._replace(rounds=tournament.rounds[:index], out=out), FirstSide(a_first=a_first)
        )
        yield Comparison(index + 1, wanted, {*drawn.pairs} | {(player, "") for player in drawn.byes})


def _unpaired(past: PastRound) -> list[str]:
    return [player for player, bye in past.byes.items() if bye == "bye"]


def _has_a_first(tournament: Tournament) -> bool:
    """Whether the first player of all has side A: in the first round the sides alternate from player to player."""
    first = next((past for past in tournament.rounds if past.games), None)
    if first is None:
        return True
    playing = {player for game in first.games for player in (game.a, game.b)} | {*_unpaired(first)}
    numbered = without_late_players(Tournament(tournament.entrants, (), out=frozenset(tournament.entrants) - playing))
    game = first.games[0]
    best = min((game.a, game.b), key=numbered.entrants.index)
    return (best == game.a) == (numbered.entrants.index(best) % 2 == 0)


def main(names: Sequence[str]) -> int:
    """Compare files, or all files of folders, and print what differs. Returns 1 if anything does."""
    if not names:
        sys.stderr.write("Name a tournament report file (.trf), or a folder with some.\n")
        return 2
    paths = [path for name in names for path in ([*sorted(Path(name).glob("*.trf"))] or [Path(name)])]
    rounds = equal_rounds = pairs = equal_pairs = failed = 0
    for path in paths:
        try:
            for number, recorded, drawn in compare(path.read_text(encoding="utf-8")):
                rounds, pairs = rounds + 1, pairs + len(recorded)
                equal_rounds, equal_pairs = equal_rounds + (recorded == drawn), equal_pairs + len(recorded & drawn)
                if recorded != drawn:
                    theirs, ours = sorted(recorded - drawn), sorted(drawn - recorded)
                    sys.stdout.write(f"{path}, round {number}: recorded {theirs}, drawn {ours}\n")
        except (OSError, ValueError) as error:
            failed += 1
            sys.stdout.write(f"{path}: {error}\n")
    sys.stdout.write(f"{equal_rounds} of {rounds} rounds and {equal_pairs:,} of {pairs:,} pairings are equal.\n")
    return 1 if failed or equal_rounds < rounds else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
