"""Swiss pairings are compared with those of another engine, in every round of recorded tournaments."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaguekit.formats import trf
from tests.formats.recorded_rounds import compare, main

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
