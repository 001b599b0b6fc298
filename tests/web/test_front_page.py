"""What the front page says about matches: form, what comes next, and what is worth a look at the end."""

from __future__ import annotations

from leaguekit.league import commands
from leaguekit.web.front_page import RecentResults, highlights, upcoming_matches
from tests.league.play import BY_ID, Play, drawn, failed, won


def test_the_form_of_a_player_is_its_last_five_results_and_follows_corrections() -> None:
    play = Play(players=8, referees=4).begin()
    form = RecentResults(play.league)
    assert form.of("P01") == ""
    play.play_all()
    matches = [match for match in play.league.matches.values() if "P01" in match.players]
    assert len(matches) == 7
    form.forget(["P01"])
    assert form.of("P01") == "".join("1" if match.a == "P01" else "0" for match in matches[-5:])
    last = matches[-1]
    play.do(commands.correct(play.league, last.id, drawn(last), "wrong", play.now))
    before = form.of("P01")
    form.forget(last.players)
    assert (before[:-1], form.of("P01")[-1]) == (form.of("P01")[:-1], "½")


def test_the_form_shows_what_was_decided_without_play() -> None:
    play = Play(players=2, referees=1).begin()
    match = play.match("R1M1")
    play.record("R1M1", failed(match, match.a))
    form = RecentResults(play.league)
    assert [form.of(player) for player in match.players] == ["-", "+"]


def test_what_comes_next_are_the_matches_left_of_the_round_and_then_those_of_the_next_round() -> None:
    play = Play(players=8, referees=1)
    assert upcoming_matches(play.league) == []
    play.begin()
    # One referee plays two matches at once.
    first = [match.id for match in upcoming_matches(play.league)]
    assert sorted([*first, *play.in_play]) == ["R1M1", "R1M2", "R1M3", "R1M4"]
    while {match.round_id for match in upcoming_matches(play.league)} == {1}:
        play.record(play.in_play[0])
        play.assign()
    assert {match.round_id for match in upcoming_matches(play.league)} == {2}


def test_of_what_comes_next_the_matches_of_the_best_players_are_the_first() -> None:
    play = Play(players=16, referees=4, tie_breaks=BY_ID).begin()
    play.play_round()
    ranks = {name: row.rank for name, row in play.league.table.standings().items()}
    upcoming = upcoming_matches(play.league)
    sums = [ranks[match.a] + ranks[match.b] for match in upcoming]
    assert len(upcoming) == 6
    assert sums == sorted(sums)
    others = [match for match in play.league.matches.values() if match.round_id == 2 and match not in upcoming]
    assert all(ranks[match.a] + ranks[match.b] >= sums[-1] for match in others)


def test_at_the_end_the_match_of_the_first_two_and_the_greatest_surprise_are_worth_a_look() -> None:
    play = Play(players=4, referees=2, tie_breaks=BY_ID).begin()
    # The lower number wins, but P04 beats P01.
    while play.league.state == "RUNNING_LEAGUE":
        play.announce()
        while play.league.round_in_play:
            play.assign()
            for name in play.in_play:
                match = play.match(name)
                play.record(name, won(match, "P04" if set(match.players) == {"P01", "P04"} else min(match.players)))
    # P01 and P02 have two wins each, and P01 beat P02.
    assert list(play.league.table.standings())[:2] == ["P01", "P02"]
    decisive, surprise = highlights(play.league)
    assert {decisive.match.a.id, decisive.match.b.id} == {"P01", "P02"}
    assert decisive.reason == "The first two of the table"
    rank = play.league.table.standings()["P04"].rank
    assert surprise.reason == f"The greatest surprise: P04, number {rank} of the table, beat P01, number 1"
    assert {surprise.match.a.id, surprise.match.b.id} == {"P01", "P04"}


def test_a_match_that_was_not_played_is_not_worth_a_look() -> None:
    play = Play(players=2, referees=1).begin()
    play.record("R1M1", failed(play.match("R1M1"), "P01"))
    assert highlights(play.league) == []


def test_in_a_bracket_the_final_is_worth_a_look() -> None:
    play = Play(players=4, referees=2, format="knockout(third_place=True)", seed_hex="5e" * 32).begin().play_all()
    first, *_ = highlights(play.league)
    assert first.reason == "The final"
    assert {first.match.a.id, first.match.b.id} == set(list(play.league.table.standings())[:2])
