"""Who meets whom, as pages show it: brackets with byes and third places, rounds with points, and what has neither."""

from __future__ import annotations

import pytest

from leaguekit.formats.base import NextRound
from leaguekit.formats.gauntlet import Gauntlet
from leaguekit.formats.knockout import Knockout
from leaguekit.league import commands
from leaguekit.league.analysis.figures import figures
from leaguekit.league.pairings import advancement, points_before, round_stage, stages, tally, view_of, visible_stages
from leaguekit.league.ties import describe_order
from tests.league.play import Play, drawn, failed, won


def pairs(play: Play) -> list[list[tuple[str | None, str | None, str | None]]]:
    return [[(one.a, one.b, one.winner) for one in stage.pairings] for stage in stages(play.league)]


def test_a_bracket_has_all_stages_from_the_start_and_the_places_of_those_who_rest() -> None:
    play = Play(players=5, referees=2, format="knockout", seed_hex="ab" * 32).begin()
    assert view_of(play.league) == "bracket"
    first, semi_finals, final = stages(play.league)
    assert [stage.label for stage in (first, semi_finals, final)] == ["Quarter-finals", "Semi-finals", "Final"]
    assert [(one.a, one.alone, one.winner) for one in first.pairings if one.alone] == [
        ("P01", "rests", "P01"),
        ("P02", "rests", "P02"),
        ("P03", "rests", "P03"),
    ]
    assert [(one.a, one.b) for one in semi_finals.pairings] == [("P01", None), ("P02", "P03")]
    assert [(one.a, one.b) for one in final.pairings] == [(None, None)]


def test_a_winner_stands_in_the_next_stage_before_the_round_is_over() -> None:
    play = Play(players=4, referees=2, format="knockout(third_place=True)", seed_hex="ab" * 32).begin()
    play.record("R1M1", won(play.match("R1M1"), "P01"))
    assert play.league.round_in_play
    assert pairs(play) == [[("P01", "P04", "P01"), ("P02", "P03", None)], [("P01", None, None), ("P04", None, None)]]
    play.record("R1M2", won(play.match("R1M2"), "P03"))
    play.play_all()
    final, third_place = stages(play.league)[-1].pairings
    assert ({final.a, final.b}, {third_place.a, third_place.b}) == ({"P01", "P03"}, {"P02", "P04"})
    assert (final.title, third_place.title) == ("", "Third place")
    assert [final.winner, third_place.winner] == [play.league.table.ranking[0], play.league.table.ranking[2]]


def test_each_game_has_its_marks_and_a_lot_is_named() -> None:
    play = Play(players=2, referees=1, format="knockout", seed_hex="ab" * 32).begin()
    assert [stages(play.league)[0].pairings[0].marks(play.match("R1M1"))] == [None]
    play.record("R1M1", failed(play.match("R1M1"), "P01", "P02"))
    play.draw()
    play.announce()
    play.assign()
    play.record("R2M1", drawn(play.match("R2M1")))
    final = stages(play.league)[0].pairings[0]
    assert [final.marks(match) for match in final.matches] == [("-", "-"), ("½", "½")]
    assert final.by_lot
    play.draw()
    assert final.winner == play.league.table.ranking[0]
    assert [line.movement for line in figures(play.league).lines] == [None, None]
    assert [line.head_to_head for line in figures(play.league).lines] == [None, None]
    assert describe_order(play.settings) == Knockout.ranked_by


def test_a_round_has_the_points_before_it_and_those_without_an_opponent() -> None:
    play = Play(players=6, referees=3, format="swiss(rounds=3)", seed_hex="ab" * 32).begin()
    play.play_round()
    play.do(commands.withdraw(play.league, "P06", "ill", play.now))
    before = {row.player_id: row.points for row in play.league.table.rows.values()}
    play.draw()
    play.announce()
    (stage,) = stages(play.league)
    assert (view_of(play.league), stage.label) == ("rounds", "Round 2")
    met = [one for one in stage.pairings if one.alone is None]
    assert [one.points for one in met] == [(before[one.a or ""], before[one.b or ""]) for one in met]
    assert [max(one.points or (0, 0)) for one in met] == sorted(
        [max(one.points or (0, 0)) for one in met], reverse=True
    )
    # The player that has left is not among those who wait.
    assert [(one.a, one.alone) for one in stage.pairings if one.alone] == [(play.league.rounds[1].byes[0], "bye")]
    assert [len(one.pairings) for one in visible_stages(play.league, 1)] == [2]
    play.play_round()
    assert all(one.winner == one.a for one in round_stage(play.league, 2).pairings if one.alone is None)
    points = figures(play.league).points
    assert {player: of[-1] for player, of in points.items()} == {
        player: row.points for player, row in play.league.table.rows.items()
    }


def test_a_match_that_is_played_again_has_no_points_before_the_next_round() -> None:
    play = Play(players=4, referees=2, format="swiss(rounds=2)", seed_hex="ab" * 32).begin()
    play.play_round()
    play.draw()
    play.announce()
    play.do(commands.rematch(play.league, "R1M1", "again", play.now))
    points = points_before(play.league, 2)
    assert [points[player] for player in play.match("R1M1").players] == [0, 0]
    assert points[play.match("R1M2").a] == 3


def test_a_player_without_a_game_and_without_a_bye_rests() -> None:
    play = Play(players=3, referees=1, format="swiss(rounds=2)", seed_hex="ab" * 32)
    play.start()
    play.do(commands.record_draw(play.league, _without_bye(), "by hand", play.now))
    play.announce()
    assert [(one.a, one.alone) for one in stages(play.league)[0].pairings] == [("P01", None), ("P03", "rests")]
    play.assign()
    play.record("R1M1", drawn(play.match("R1M1")))
    assert stages(play.league)[0].pairings[0].winner is None


def _without_bye() -> NextRound:
    return NextRound([("P01", "P02")], [], "", [])


@pytest.mark.parametrize(("players", "text"), [(4, "round_robin"), (8, "gauntlet(challengers=7)")])
def test_other_leagues_with_a_schedule_have_no_pairings_beside_it(players: int, text: str) -> None:
    play = Play(players=players, referees=2, format=text).begin()
    assert (view_of(play.league), stages(play.league)) == ("rounds", [])


def test_each_challenger_of_a_gauntlet_has_its_results_against_everybody() -> None:
    play = Play(players=6, referees=2, format="gauntlet(challengers=2, legs=2)").begin()
    play.play_round()
    assert view_of(play.league) == "challengers"
    first, second = stages(play.league)
    assert [stage.label for stage in (first, second)] == ["P01 against everybody", "P02 against everybody"]
    assert [(one.a, one.b, len(one.matches)) for one in second.pairings] == [
        ("P02", other, 2) for other in ("P04", "P05", "P06", "P03", "P01")
    ]
    marks = [marks for match in first.pairings[0].matches if (marks := first.pairings[0].marks(match))]
    assert marks == [("1", "0")]
    assert [len(stage.pairings) for stage in visible_stages(play.league, 2)] == [4, 4]
    assert stages(Play(players=3, referees=1, format="gauntlet").league) == []


def test_marks_are_counted_in_words() -> None:
    assert tally(["1", "+", "½", "-", "0", "1"]) == "3 won, 1 drawn, 2 lost"
    assert tally([]) == "0 won, 0 drawn, 0 lost"


def test_a_gauntlet_names_its_challengers_unless_they_are_many() -> None:
    players = [f"P{number:02}" for number in range(1, 10)]
    assert Gauntlet().describe(players) == "P01 meets everybody once; the table decides."
    assert Gauntlet(2).describe(players) == "Each of P01 and P02 meets everybody once; the table decides."
    assert Gauntlet(7).describe(players) == Gauntlet(7).advancement
    open_league = Play(players=3, referees=1, format="gauntlet").league
    assert advancement(open_league) == "The first player meets everybody once; the table decides."
    assert advancement(Play(format="mine.py:Mine").league) == "The format is mine.py:Mine."


def test_stages_of_many_places_are_left_out() -> None:
    play = Play(players=9, referees=2, format="knockout", seed_hex="ab" * 32).begin()
    assert [len(stage.pairings) for stage in visible_stages(play.league, 4)] == [4, 2, 1]
