"""A Swiss without a legal pairing, late players, and tournament report files."""

from __future__ import annotations

from collections import Counter

import pytest

from leaguekit.formats import trf
from leaguekit.formats.base import FormatError, GameResult, PastRound, Tournament
from leaguekit.formats.swiss import Swiss, has_a_first, pair_with_rematches
from leaguekit.formats.testing import play_tournament
from leaguekit.league import commands
from leaguekit.manager.rounds.pairing_engine import Py4Swiss
from tests.league.play import Play

PLAYERS = ("P01", "P02", "P03", "P04", "P05")


def test_a_late_player_lost_the_rounds_that_it_missed_and_gets_the_last_number() -> None:
    """FIDE, C.04.2.3.3: the missed rounds are unplayed."""
    rounds = (
        PastRound((GameResult("P01", "P03", (3, 0)), GameResult("P04", "P02", (0, 3))), {}),
        PastRound((GameResult("P02", "P01", (1, 1)), GameResult("P03", "P04", (3, 0))), {}),
    )
    late = Tournament(PLAYERS, rounds, starters=4)
    made = Swiss(3)
    text = made.trf(late)
    assert next(line for line in text.splitlines() if "P05" in line).endswith("  0000 - Z  0000 - Z")
    drawn = made.pair_next_round(late, Py4Swiss())
    assert "P05" in {player for pair in drawn.pairs for player in pair} | {*drawn.byes}
    assert len(drawn.pairs) == 2
    # The number of rounds stays that of the start.
    assert Swiss().ended(late) is not None
    assert Swiss().ended(late._replace(starters=None)) is None


class TestFideRules:
    """What the engine must make of byes, forfeits and absences. C.04.2 is numbered as in the edition of 2026."""

    def test_c_04_1_4_who_has_won_by_forfeit_or_had_a_bye_gets_no_bye(self) -> None:
        # P01 and P03 are equal in points and have met nobody, but P01 has won by forfeit.
        for won_by_forfeit, wanted in (("P01", "P03"), ("P03", "P01")):
            points = (3, 0) if won_by_forfeit == "P01" else (0, 3)
            first = PastRound((GameResult("P01", "P03", points, forfeit=True),), {"P02": "bye"})
            drawn = Swiss(2).pair_next_round(Tournament(PLAYERS[:3], (first,)), Py4Swiss())
            assert drawn.byes == [wanted]

    def test_c_04_2_3_2_and_3_3_who_has_left_is_not_paired_and_scores_nothing(self) -> None:
        first = PastRound((GameResult("P01", "P03", (3, 0)), GameResult("P04", "P02", (0, 3))), {})
        without = Tournament(PLAYERS[:4], (first,), out=frozenset({"P02"}))
        drawn = Swiss(3).pair_next_round(without, Py4Swiss())
        assert "P02" not in {player for pair in drawn.pairs for player in pair} | {*drawn.byes}
        second = PastRound(tuple(GameResult(a, b, (3, 0)) for a, b in drawn.pairs), dict.fromkeys(drawn.byes, "bye"))
        assert trf.scores(without._replace(rounds=(first, second)))["P02"] == trf.scores(without)["P02"]

    def test_c_04_2_3_4_the_sides_of_a_forfeit_do_not_count(self) -> None:
        # In the first round P01 and P02 had the sides that their numbers give them. They have them again.
        first_side = has_a_first(Tournament(PLAYERS[:4], ()))
        pairs = Swiss(3).pair_next_round(Tournament(PLAYERS[:4], ()), Py4Swiss()).pairs
        forfeits = tuple(GameResult(a, b, (3, 0) if a < b else (0, 3), forfeit=True) for a, b in pairs)
        drawn = Swiss(3).pair_next_round(Tournament(PLAYERS[:4], (PastRound(forfeits, {}),)), Py4Swiss())
        assert (("P01", "P02") if first_side else ("P02", "P01")) in drawn.pairs

    def test_c_04_2_3_5_a_pair_that_has_not_played_may_be_paired_again(self) -> None:
        engine, made = Py4Swiss(), Swiss(2)
        for forfeit in (True, False):
            met = Tournament(PLAYERS[:2], (PastRound((GameResult("P01", "P02", (3, 0), forfeit=forfeit),), {}),))
            assert (engine.pair(made.trf(met)) is not None) == forfeit


def test_a_player_that_is_still_absent_has_no_number_yet() -> None:
    waits = Tournament(PLAYERS, (), out=frozenset({"P01"}))
    drawn = Swiss(3).pair_next_round(waits, Py4Swiss())
    assert {frozenset(pair) for pair in drawn.pairs} == {frozenset({"P02", "P04"}), frozenset({"P03", "P05"})}


def test_without_an_engine_no_round_is_drawn() -> None:
    with pytest.raises(FormatError, match="a Swiss needs a pairing engine"):
        Swiss().pair_next_round(Tournament(PLAYERS, ()))


def test_if_everybody_has_met_everybody_the_sides_and_the_byes_stay_even(monkeypatch: pytest.MonkeyPatch) -> None:
    # With few steps the search gives up early, and allows a repetition.
    for steps in (20_000, 1):
        monkeypatch.setattr("leaguekit.formats.swiss._MAX_STEPS", steps)
        tournament = Tournament(PLAYERS[:3], ())
        byes: Counter[str] = Counter()
        for _ in range(6):
            pairs, resting = pair_with_rematches(tournament)
            byes.update(resting)
            games = tuple(GameResult(a, b, (3, 0)) for a, b in pairs)
            tournament = tournament._replace(
                rounds=(*tournament.rounds, PastRound(games, dict.fromkeys(resting, "bye")))
            )
        assert {*byes.values()} == {2}


def test_a_search_that_takes_too_long_allows_a_repetition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaguekit.formats.swiss._MAX_STEPS", 2)
    met = PastRound((GameResult("P01", "P02", (1, 1)), GameResult("P03", "P04", (1, 1))), {})
    pairs, byes = pair_with_rematches(Tournament(PLAYERS[:4], (met,)))
    # The best player meets the nearest one again; a longer search would have found another opponent.
    assert ({frozenset(pair) for pair in pairs}, byes) == ({frozenset({"P01", "P02"}), frozenset({"P03", "P04"})}, [])


def test_a_league_is_exported_as_a_report_from_which_the_engine_makes_the_same_pairs() -> None:
    play = Play(players=9, referees=4, format="swiss(rounds=4)", seeding="rating", seeds={"Agent 3": 1900.4})
    with pytest.raises(FormatError, match="the league has not started"):
        commands.tournament_report(play.league)
    play.begin()
    for number in (2, 3, 4):
        play.play_round()
        if number == 3:
            play.do(commands.withdraw(play.league, "P05", "ill", play.now))
        text = commands.tournament_report(play.league)
        report = trf.read(text)
        assert (report.rounds, len(report.tournament.rounds)) == (4, number - 1)
        names = dict(enumerate(play.league.seeding, start=1))
        assert report.players["1"].rating == 1900
        points = {row.display_name: row.points for row in play.league.table.placed_rows()}
        scores = trf.scores(report.tournament)
        assert {report.players[one].name: score / 10 for one, score in scores.items()} == points
        play.draw()
        drawn = [tuple(play.match(name).players) for name in play.league.rounds[-1].matches]
        pairs = Py4Swiss().pair(text)
        assert pairs is not None
        assert [(names[a], names[b]) for a, b in pairs if b] == drawn
        assert [names[a] for a, b in pairs if not b] == play.league.rounds[-1].byes
        play.announce()


def test_a_report_of_every_round_is_read_back() -> None:
    tournament, _, _ = play_tournament(Swiss(5), 11, 4, engine=Py4Swiss())
    numbers = {player: str(number) for number, player in enumerate(tournament.entrants, start=1)}
    again = trf.read(Swiss(5).trf(tournament, title="Cup")).tournament
    assert again.scoring == tournament.scoring
    assert [one.byes for one in again.rounds] == [
        {numbers[player]: bye for player, bye in one.byes.items()} for one in tournament.rounds
    ]
    assert [{(game.a, game.b, game.points, game.forfeit) for game in one.games} for one in again.rounds] == [
        {(numbers[game.a], numbers[game.b], game.points, game.forfeit) for game in one.games}
        for one in tournament.rounds
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("001    2      B\n001    2      C", "player 2 is there twice"),
        ("001    x      B", "not a tournament report file that can be read"),
        ("001    1      B", "not a tournament report file that can be read"),
        (f"001    1      {'B':33}{'':33} 9.0    1", "player 1 has 9 points, and its results give 0"),
        (f"001    1      {'B':33}{'':33} 1.0    1     2 w 1", "players 1 and 2 do not agree about round 1"),
        ("XXP 1 2", "the line 'XXP 1 2' is not supported"),
        ("XXA    1  1.0", "the line 'XXA    1  1.0' is not supported"),
    ],
)
def test_what_is_not_a_report_is_refused(text: str, why: str) -> None:
    with pytest.raises(FormatError, match=why):
        trf.read(text)


def test_reports_of_other_programs_are_read() -> None:
    """Numbers are missing, forfeits have no side, byes are forfeits without an opponent, and ranks decide the order."""
    row = "001 {:4}      {:33} {:4}{:28}{:4.1f} {:4}  {}".format
    rows = [
        row(7, "G", "", "", 2.0, "", "   2 - +     4 w 1"),
        row(2, "B", "", "", 0.5, "", "   7 - -  0000 - ="),
        row(4, "D", 1500, "", 1.0, 2, "0000 - +     7 b 0"),
        row(9, "I", "", "", 0.0, "", "0000 - -"),
    ]
    report = trf.read("\ufeff" + "\r\n".join(["012 Cup", *rows]))
    assert report.tournament.entrants == ("2", "4", "7", "9")
    assert report.players["4"] == trf.PlayerInfo("D", 1500, 2)
    assert report.players["7"] == trf.PlayerInfo("G")
    first, second = report.tournament.rounds
    assert first == PastRound((GameResult("2", "7", (0, 3), forfeit=True),), {"4": "bye"})
    assert second == PastRound((GameResult("7", "4", (3, 0)),), {"2": "half_point"})
    by_rank = trf.read("\n".join(["XXC rank black1", *rows]))
    assert by_rank.tournament.entrants == ("7", "2", "4", "9")
    assert by_rank.a_first is False


def test_the_points_of_fide_need_no_line_of_their_own() -> None:
    plain = Tournament(PLAYERS, (), scoring=trf.FIDE_SCORING)
    assert "XXS" not in trf.write(plain, 3, a_first=True)
    assert "XXS W=3.0 D=1.0 PAB=3.0" in trf.write(plain._replace(scoring=trf.Scoring()), 3, a_first=True)


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ([], trf.FIDE_SCORING),
        (["XXS W=3.0 D=1.0"], trf.Scoring()),
        (["BBW  3.0", "BBD  1.0"], trf.Scoring()),
        (["BBW  3.0", "BBD  1.0", "BBU  1.5"], trf.Scoring(bye=15)),
        (["BBD  0.0"], trf.Scoring(win=10, draw=0, bye=10)),
    ],
)
def test_the_points_are_read_from_the_lines_of_either_program(lines: list[str], wanted: trf.Scoring) -> None:
    assert trf.read("\n".join(lines)).tournament.scoring == wanted
    again = trf.write(Tournament((), (), scoring=wanted), 1, a_first=True)
    assert trf.read(again).tournament.scoring == wanted
    assert ("BBW" in again) == ("XXS" in again) == bool(lines)


def test_a_report_has_at_most_9999_players() -> None:
    many = Tournament(tuple(map(str, range(10_000))), ())
    with pytest.raises(FormatError, match="at most 9,999 players"):
        trf.write(many, 1, a_first=True)
