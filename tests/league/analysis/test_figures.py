"""A league's figures: cross-table, points over the rounds, movement, ratings, and the sentences about them."""

from __future__ import annotations

import random
import time

import msgspec
import pytest

from leaguekit.league.analysis.figures import Figures, figures, matches_of, signed
from leaguekit.league.state import League
from tests.league.play import BY_ID, Play, drawn, failed, whole, won


def decided(play: Play, *winners: str) -> None:
    """Play the round that is announced, each match won by whom the list names, or drawn."""
    play.assign()
    for name in play.in_play:
        match = play.match(name)
        winner = next((player for player in match.players if player in winners), None)
        play.record(name, drawn(match) if winner is None else won(match, winner))


@pytest.fixture
def four() -> Play:
    """Two of three rounds: P01–P02 and P03–P04, then P01–P03 and P02–P04."""
    play = Play(players=4, referees=2, tie_breaks=BY_ID).begin()
    decided(play, "P01", "P04")
    play.announce()
    decided(play, "P03")
    return play


def test_the_cross_table_shows_each_match_from_both_sides(four: Play) -> None:
    cross = figures(four.league).cross_table
    assert cross["P01"] == {"P02": [("R1M1", "1")], "P03": [("R2M1", "0")]}
    assert cross["P02"] == {"P01": [("R1M1", "0")], "P04": [("R2M2", "½")]}
    assert cross["P03"] == {"P04": [("R1M2", "0")], "P01": [("R2M1", "1")]}


def test_points_are_told_after_each_round_that_has_begun(four: Play) -> None:
    assert figures(four.league).points == {"P04": [3, 4], "P01": [3, 3], "P03": [0, 3], "P02": [0, 1]}
    four.announce()
    assert figures(four.league).points["P03"] == [0, 3, 3]


def test_movement_is_by_the_last_round_that_brought_anything(four: Play) -> None:
    # Before the second round it was P01, P04, P02, P03; P03 has beaten P01 since.
    moved = [(line.player_id, line.movement) for line in figures(four.league).lines]
    assert moved == [("P04", 1), ("P03", 2), ("P01", -2), ("P02", -1)]
    four.announce()
    assert figures(four.league).lines[0].movement == 1


def test_in_the_first_round_nobody_has_moved() -> None:
    play = Play(players=4, referees=2).begin()
    assert {line.movement for line in figures(play.league).lines} == {None}
    decided(play, "P04")
    assert {line.movement for line in figures(play.league).lines} == {None}


def test_before_anything_is_played_there_is_nothing_to_tell() -> None:
    found = figures(Play(players=2, referees=1).league)
    assert [line.rating for line in found.lines] == [None, None]
    assert (found.equality, found.champions_chance, found.points) == (None, None, {"P01": [], "P02": []})
    assert found.sentences[-1] == "No rated match has been played yet, so there is nothing to compare with chance."
    assert figures(Play().league).lines == []


def test_technical_losses_are_counted_apart_and_not_rated() -> None:
    play = Play(players=2, referees=1).begin()
    play.record("R1M1", failed(play.match("R1M1"), "P01"))
    found = figures(play.league)
    assert found.cross_table == {"P02": {"P01": [("R1M1", "+")]}, "P01": {"P02": [("R1M1", "-")]}}
    assert (found.technical_losses, found.champions_chance) == (1, None)
    assert [(line.rating, line.technical_losses) for line in found.lines] == [(None, 0), (None, 1)]
    assert found.sentences[-1].startswith("1 match was decided by technical losses")


def test_a_second_without_a_match_played_out_is_not_compared() -> None:
    play = Play(players=4, referees=2, tie_breaks=BY_ID).begin()
    play.record("R1M1", won(play.match("R1M1"), "P01"))
    play.record("R1M2", failed(play.match("R1M2"), "P04"))
    play.announce()
    play.assign()
    play.record("R2M1", failed(play.match("R2M1"), "P03"))
    found = figures(as_game(play.league, "tic_tac_toe"))
    first, second = found.lines[:2]
    assert (first.player_id, first.points, first.rated_matches) == ("P01", 6, 1)
    assert (second.player_id, second.points, second.rated_matches) == ("P03", 3, 0)
    assert "the leader, P01:" in " ".join(found.sentences)
    assert not any("is rated" in sentence for sentence in found.sentences)


def test_everything_that_can_happen_in_a_league_can_be_put_into_figures() -> None:
    found = figures(whole().league)
    assert found.state == "LEAGUE_COMPLETED"
    assert found.sentences[-1].startswith("6 matches were decided by technical losses")
    assert all(line.points == found.points[line.player_id][-1] for line in found.lines)
    assert msgspec.json.decode(msgspec.json.encode(found), type=Figures) == found


def test_of_even_odd_it_is_said_that_chance_decides_and_nobody_is_called_stronger() -> None:
    said = " ".join(figures(whole().league).sentences)
    assert said.startswith("Even/odd is luck: chance alone decides which of two players wins.")
    assert "Chance alone may explain the first place" in said
    assert "is rated" not in said
    assert figures(whole().league).certainty.startswith("Even/odd is luck")


def as_game(league: League, game: str) -> League:
    """The same results, as if another game had been played."""
    league.settings = msgspec.structs.replace(league.settings, game_type=game)
    return league


def league_of(*strengths: float, double: bool = False) -> League:
    """A league of tic-tac-toe in which the stronger always wins."""
    play = Play(players=len(strengths), referees=2, rounds="double" if double else "single").begin()
    while play.league.state == "RUNNING_LEAGUE":
        if not play.league.round_in_play:
            play.announce()
        for name in play.in_play or play.assign():
            match = play.match(name)
            a, b = (strengths[int(player[1:]) - 1] for player in match.players)
            play.record(name, drawn(match) if a == b else won(match, match.a if a > b else match.b))
    return as_game(play.league, "tic_tac_toe")


def test_a_champion_that_beats_everybody_twice_is_told_from_chance() -> None:
    found = figures(league_of(*range(12, 0, -1), double=True))
    assert found.champions_chance is not None
    assert found.champions_chance < 0.001
    assert found.sentences[0].startswith(
        "The players differ by more than chance explains: 12 players who are all alike"
    )
    assert found.sentences[1] == (
        "Chance alone hardly explains the first place of the champion, P01: among players who are all alike, one does "
        "so well in fewer than 1 of 1,000 such leagues."
    )
    assert "P01 is rated" in found.sentences[2]
    assert found.certainty == found.sentences[1]


def test_a_champion_of_equals_is_not_told_from_chance() -> None:
    found = figures(league_of(1, 1, 1, 2))
    assert found.sentences[0].startswith("The players differ by no more than chance explains")
    assert found.sentences[1].startswith("Chance alone may explain the first place of the champion, P04:")
    assert found.sentences[2].endswith("and may be the weaker of the two.")
    leading = Play(players=4, referees=2).begin()
    decided(leading, "P01")
    assert "the leader, P01:" in " ".join(figures(leading.league).sentences)
    # Of players that share the lead none is called the leader.
    level = Play(players=4, referees=2).begin()
    for name in level.assign() or level.in_play:
        level.record(name, drawn(level.match(name)))
    shared = figures(level.league)
    assert [line.shown_rank for line in shared.lines[:2]] == ["1=", "1="]
    assert "the leader" not in " ".join(shared.sentences)


def test_players_are_not_compared_with_chance_where_results_decide_who_meets_whom() -> None:
    """In a knockout of equal players there is always a champion that has won all its matches."""
    play = Play(players=4, referees=2, format="knockout", seed_hex="ab" * 32).begin()
    play.draw()
    decided(play, "P01", "P02")
    found = figures(play.league)
    assert (found.equality, found.champions_chance) == (None, None)
    said = "Who meets whom depends on results here. So there is no test of all players against chance"
    assert found.sentences[1].startswith(said)
    assert "the leader" not in " ".join(found.sentences), "nobody leads: the first of the seeding is listed first"
    found = figures(play.play_all().league)
    assert found.champions_chance == 1.0
    assert "first place of the champion, P0" in found.sentences[2]


def test_a_champion_clearly_above_the_second_is_called_the_stronger() -> None:
    play = Play(players=2, referees=1, rounds="double").begin().play_all()
    template = next(iter(play.league.matches.values()))
    for number in range(3, 43):
        match = msgspec.structs.replace(template, id=f"R1M{number}")
        match.end(won(match, "P01"), play.now)
        play.league.matches[match.id] = match
    for _ in range(40):
        play.league.table.count(won(template, "P01"))
    sentences = figures(as_game(play.league, "tic_tac_toe")).sentences
    assert any(sentence.endswith("and is the stronger of the two.") for sentence in sentences)
    assert sentences[-1].startswith("Side A was worth ")


def test_a_first_that_is_rated_like_the_second_is_said_to_be() -> None:
    play = Play(players=2, referees=1, tie_breaks=BY_ID).begin()
    (name,) = play.in_play
    play.record(name, drawn(play.match(name)))
    found = figures(as_game(play.league, "tic_tac_toe"))
    assert any("P01 is rated as high as the second, P02" in sentence for sentence in found.sentences)


def test_a_first_that_is_rated_below_the_second_is_said_to_be() -> None:
    """P01 and P02 draw and have the same points, but P01 has the others' without play."""
    play = Play(players=4, referees=2, tie_breaks=BY_ID).begin()
    while play.league.state == "RUNNING_LEAGUE":
        if not play.league.round_in_play:
            play.announce()
        for name in play.in_play or play.assign():
            match = play.match(name)
            if match.players == ("P01", "P02"):
                play.record(name, drawn(match))
            elif "P01" in match.players:
                play.record(name, failed(match, match.opponent_of("P01")))
            else:
                play.record(name, won(match, min(match.players)))
    found = figures(as_game(play.league, "tic_tac_toe"))
    assert [(line.player_id, line.points) for line in found.lines[:2]] == [("P01", 7), ("P02", 7)]
    assert any("points below the second, P02 (95 %: −" in sentence for sentence in found.sentences)


@pytest.mark.parametrize(
    ("strengths", "said"),
    [
        ((1, 1, 1, 1), "in nearly every such league"),
        ((6, 5, 4, 3, 2, 1, 0), "in 4 of 1,000 such leagues"),
        ((6, 5, 4, 3, 2, 1, 0, 0), "in fewer than 1 of 1,000 such leagues"),
    ],
)
def test_probabilities_are_told_as_people_count(strengths: tuple[float, ...], said: str) -> None:
    assert any(said in sentence for sentence in figures(league_of(*strengths)).sentences)


def test_an_upper_bound_is_never_told_as_the_probability_itself() -> None:
    """Between equal players the bound is often 1, and the probability is 0.8 and less."""
    found = figures(league_of(1, 1, 1, 1))
    assert found.champions_chance == 1.0
    (champion,) = (sentence for sentence in found.sentences if "the champion" in sentence)
    assert champion.endswith("one does so well perhaps in every such league.")


def test_ratings_are_told_as_the_table_shows_them() -> None:
    assert [signed(points) for points in (94, 0, -12)] == ["+94", "0", "−12"]
    for strengths in ((6, 5, 4, 3, 2, 1, 0, 0), (3, 2, 1), (2, 1, 1, 0)):
        found = figures(as_game(league_of(*strengths), "tic_tac_toe"))
        first, second = (line.rating or 0 for line in found.lines[:2])
        (sentence,) = (one for one in found.sentences if "is rated" in one)
        assert f"is rated {first - second} points above the second" in sentence


@pytest.mark.long
def test_two_hundred_players_take_less_than_a_second() -> None:
    """All figures of 19,900 matches, by processor time; making the league takes longer."""
    chance = random.Random(2)
    play = Play(players=200, referees=1)
    play.start()
    league = play.league
    for match in league.matches.values():
        result = drawn(match) if chance.random() < 0.3 else won(match, chance.choice(match.players))
        match.end(result, play.now)
        league.table.count(result)
    league.current_round = len(league.rounds)
    began = time.process_time()
    found = figures(league)
    seconds = time.process_time() - began
    assert (len(found.lines), found.played) == (200, 19_900)
    # Twice the goal: other tests share the machine. Alone it takes 0.8 s.
    assert seconds < 2


def test_figures_can_be_given_up_at_every_row_of_their_matrices() -> None:
    league = league_of(*range(12, 0, -1), double=True)
    calls = 0

    def counted() -> None:
        nonlocal calls
        calls += 1

    assert figures(league, counted) == figures(league)
    # Newton's steps, the inverse and the test of all being equal: each goes through all rows.
    assert calls > 5 * 12

    def given_up() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        figures(league, given_up)


def test_a_league_of_a_game_that_is_not_installed_here_has_figures_as_well(four: Play) -> None:
    four.league.settings = msgspec.structs.replace(four.league.settings, game_type="chess")
    assert figures(four.league).sentences[0].startswith("The players differ by no more than chance explains")


def test_the_matches_of_a_player_grow_with_every_round_that_is_drawn() -> None:
    play = Play(players=6, referees=3, format="swiss", seed_hex="5e" * 32).begin()
    assert [match.round_id for match in matches_of(play.league, "P01")] == [1]
    play.play_round()
    play.draw()
    assert [match.round_id for match in matches_of(play.league, "P01")] == [1, 2]
