"""Swiss pairings are compared with those of another engine, in every round of recorded tournaments."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaguekit.formats import trf
from leaguekit.formats.base import Tournament
from leaguekit.formats.swiss import Swiss
from leaguekit.manager.pairing_engine import Py4Swiss

FILES = sorted((Path(__file__).parent / "recorded").glob("*.trf"), key=lambda path: path.stat().st_size)
# The smaller files. The others take twenty seconds.
MAX_BYTES = 12_000


class FirstSide:
    """The pairing engine, with the side that the recorded tournament drew for its first player."""

    def __init__(self, tournament: Tournament) -> None:
        game = tournament.rounds[0].games[0]
        best = min((game.a, game.b), key=int)
        seen = {player for one in tournament.rounds[0].games for player in (one.a, one.b)}
        seen |= tournament.rounds[0].byes.keys()
        place = sorted(seen, key=int).index(best)
        self._sign = "white1" if (game.a == best) == (place % 2 == 0) else "black1"
        self._engine = Py4Swiss()
        self.version = self._engine.version

    def pair(self, text: str) -> list[tuple[int, int]] | None:
        return self._engine.pair(text.replace("white1", self._sign).replace("black1", self._sign))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.long] if path.stat().st_size > MAX_BYTES else [])
        for path in FILES
    ],
)
def test_each_round_is_paired_as_another_engine_paired_it(path: Path) -> None:
    recorded = trf.read(path.read_text()).tournament
    engine, count = FirstSide(recorded), len(recorded.rounds)
    for number, wanted in enumerate(recorded.rounds):
        byes = [player for player, bye in wanted.byes.items() if bye == "bye"]
        playing = {player for game in wanted.games for player in (game.a, game.b)} | {*byes}
        so_far = recorded._replace(rounds=recorded.rounds[:number], out=frozenset(recorded.entrants) - playing)
        drawn = Swiss(rounds=count).draw(so_far, engine)
        assert {*drawn.pairs} == {(game.a, game.b) for game in wanted.games}, f"round {number + 1}"
        assert drawn.byes == byes


def test_the_recorded_tournaments_have_what_is_hard_to_pair() -> None:
    texts = [path.read_text() for path in FILES]
    assert len(texts) == 12
    rounds = [one for text in texts for one in trf.read(text).tournament.rounds]
    assert len(rounds) == 60
    assert any(game.forfeit for one in rounds for game in one.games)
    assert {bye for one in rounds for bye in one.byes.values()} >= {"bye"}


def test_what_is_written_is_what_was_read() -> None:
    for path in FILES:
        report = trf.read(path.read_text())
        text = trf.write(report.tournament, 5, a_first=True, players=report.players)
        again = trf.read(text)
        assert again.tournament == report.tournament
        assert (again.rounds, again.a_first, again.players) == (5, True, report.players)
        assert trf.write(again.tournament, 5, a_first=True, players=again.players) == text
