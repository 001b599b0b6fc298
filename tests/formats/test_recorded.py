"""Swiss pairings are compared with those of another engine, in every round of recorded tournaments."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from leaguekit.formats import trf
from leaguekit.formats.base import Bye, GameResult, PastRound, Scoring, Tournament
from leaguekit.formats.swiss import Swiss
from tests.formats.recorded_rounds import FirstSide, compare, main

FILES = sorted((Path(__file__).parent / "recorded").glob("*.trf"), key=lambda path: path.stat().st_size)
# The smaller files. The others take twenty seconds.
MAX_BYTES = 12_000


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.long] if path.stat().st_size > MAX_BYTES else [])
        for path in FILES
    ],
)
def test_each_round_is_paired_as_another_engine_paired_it(path: Path) -> None:
    for number, recorded, drawn in compare(path.read_text()):
        assert drawn == recorded, f"round {number}"


def test_the_recorded_tournaments_have_what_is_hard_to_pair() -> None:
    texts = [path.read_text() for path in FILES]
    assert len(texts) >= 12
    rounds = [one for text in texts for one in trf.read(text).tournament.rounds]
    assert len(rounds) >= 60
    assert any(game.forfeit for one in rounds for game in one.games)
    assert {bye for one in rounds for bye in one.byes.values()} == {"bye", "half_point"}


def test_what_is_written_is_what_was_read() -> None:
    for path in FILES:
        report = trf.read(path.read_text())
        text = trf.write(report.tournament, 5, a_first=True, players=report.players)
        again = trf.read(text)
        assert again.tournament == report.tournament
        assert (again.rounds, again.a_first, again.players) == (5, True, report.players)
        assert trf.write(again.tournament, 5, a_first=True, players=again.players) == text


def test_rounds_that_differ_and_files_that_cannot_be_read_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    smallest = FILES[0].read_text()
    assert main([str(FILES[0])]) == 0
    assert "5 of 5 rounds and" in capsys.readouterr().out
    (tmp_path / "1.trf").write_text(f"{smallest}XXA    1  1.0\n")
    # In this tournament the first player had side B first.
    (tmp_path / "2.trf").write_text(f"\ufeffXXC white1\r\n{smallest}")
    assert main([str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "1.trf: the line 'XXA    1  1.0' is not supported" in out
    assert "2.trf, round 1: recorded [" in out
    assert "4 of 5 rounds" in out
    assert main([str(tmp_path / "3.trf")]) == 1
    assert "No such file" in capsys.readouterr().out
    assert main([]) == 2


def test_a_bye_that_a_player_has_asked_for_gives_it_no_number() -> None:
    """The sides of the first round alternate from player to player, without those that have not come yet."""
    row = "001 {:4}      {:33} {:>4}{:28}{:4.1f} {:4}  {}".format
    cells = ["0000 - H", "   4 w 1", "   5 b 1", "   2 b 0", "   3 w 0"]
    points = [0.5, 1, 1, 0, 0]
    text = "\n".join(row(n, f"Player {n}", "", "", points[n - 1], n, cells[n - 1]) for n in range(1, 6))
    (one,) = compare(text)
    assert one.drawn == one.recorded == {("2", "4"), ("5", "3")}


def _random_tournament(random: Random, rounds: int, *, a_first: bool) -> Tournament:
    """A tournament with forfeits, absences and byes of every kind, also in the first round."""
    entrants = tuple(str(number) for number in range(1, random.randint(12, 24)))
    scoring = random.choice((trf.FIDE_SCORING, Scoring(), Scoring(30, 10, 10)))
    tournament, made, engine = Tournament(entrants, (), scoring=scoring), Swiss(rounds), FirstSide(a_first=a_first)
    for _ in range(rounds):
        away = random.sample(entrants, 4)
        drawn = made.pair_next_round(tournament._replace(out=frozenset(away)), engine)
        results = [((3, 0), False), ((1, 1), False), ((0, 3), False), ((3, 0), True), ((0, 3), True), ((0, 0), True)]
        games = tuple(GameResult(a, b, *random.choice(results)) for a, b in drawn.pairs)
        byes: dict[str, Bye] = {away[0]: "half_point", away[1]: "full_point"} | dict.fromkeys(drawn.byes, "bye")
        tournament = tournament._replace(rounds=(*tournament.rounds, PastRound(games, byes)))
    return tournament


@pytest.mark.parametrize("count", [2, pytest.param(60, marks=pytest.mark.longest)])
def test_what_we_have_drawn_is_drawn_again_from_a_report_without_the_first_side(count: int) -> None:
    for seed in range(count):
        random = Random(seed)
        a_first, rounds = random.random() < 0.5, random.randint(3, 5)
        tournament = _random_tournament(random, rounds, a_first=a_first)
        lines = trf.write(tournament, rounds, a_first=a_first).splitlines()
        text = "\n".join(line for line in lines if not line.startswith(("XXC", "XXR")))
        for number, recorded, drawn in compare(text):
            assert drawn == recorded, (seed, number)
